//! A project's `.env` may come with somebody else's repository: it may not redirect the user's key unasked.

use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use super::assemble::House;
use super::exit::Refusal;
use super::output::warn;
use crate::settings::{Standing, Trust};

/// An error where the run may not go on.
pub(super) fn project_env(house: &House) -> anyhow::Result<()> {
    let settings = &house.settings;
    let Some(project) = settings.project().filter(|_| !settings.redirects().is_empty()) else {
        return Ok(());
    };
    let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let standing = Standing {
        tracked: is_tracked(&project.real),
        terminal,
        trusted_before: settings.trusted_before(),
    };
    match settings.trust(standing) {
        Trust::Fine => Ok(()),
        Trust::Warn(warning) => {
            warn(&warning.text(house.language));
            Ok(())
        }
        Trust::Refuse(warning) => Err(refused(warning.text(house.language))),
        Trust::Ask(warning) => {
            let question = warning.text(house.language);
            if !ask(&question)? {
                return Err(refused(question));
            }
            // In a box the place is read-only; the answer counts all the same.
            if let Err(error) = settings.remember_trust() {
                let reason = error.to_string();
                warn(&house.language.text("settings.not_remembered", &[("reason", &reason)]));
            }
            Ok(())
        }
    }
}

fn refused(sentence: String) -> anyhow::Error {
    Refusal::new("untrusted_project", sentence).into()
}

/// One question; only a clear yes counts.
fn ask(question: &str) -> anyhow::Result<bool> {
    let mut stderr = std::io::stderr().lock();
    write!(stderr, "{} [y/N] ", super::terminal::clean(question))?;
    stderr.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes" | "是" | "да" | "д"))
}

/// Whether the file belongs to a repository. Where git cannot say (it is not installed, or refuses the
/// folder), a repository around it is enough to take the file for tracked.
fn is_tracked(file: &Path) -> bool {
    let Some(folder) = file.parent() else { return true };
    if !folder.ancestors().any(|folder| folder.join(".git").exists()) {
        return false;
    }
    let asked = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(["ls-files", "--error-unmatch", "--"])
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    // 1: git looked, and the file is not in the index.
    !matches!(asked.map(|status| status.code()), Ok(Some(1)))
}
