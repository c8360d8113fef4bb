//! The hand-over: what a run that worked leaves in the project for whoever goes on with another tool.
//!
//! It comes last and is not part of what is judged. Nothing that goes wrong here changes how the run ended.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use super::outcome::{FlowError, Outcome};
use super::starter::{Flow, Turn};
use crate::disk::{self, Care};
use crate::document::{Bequest, weave};
use crate::role::{closing, prompt};
use crate::runtime::Session;

/// The row of the manifest, and the step as a gate is told.
pub const HANDOVER: &str = "handover";

/// The files that other tools read by themselves.
const FILES: [&str; 2] = ["CLAUDE.md", "AGENTS.md"];

/// The work is done and its result known: nobody waits long for a paper about it, whatever the endpoint
/// is waiting for.
const PATIENCE: Duration = Duration::from_secs(600);

/// More than anybody's own words to a tool.
const LARGEST: u64 = 4 << 20;

impl Flow<'_> {
    /// Writes the block where the run came to an end of its own; says in one line where it is.
    pub(super) async fn leave_handover(&self, outcome: &Outcome) -> Result<(), FlowError> {
        let language = self.workbench.language();
        let outcome = match outcome {
            Outcome::Achieved { .. } => language.text("workflow.handover_achieved", &[]),
            Outcome::NotAchieved { reason, .. } => {
                language.text("workflow.handover_not_achieved", &[("reason", reason)])
            }
            Outcome::Worked => language.text("workflow.handover_worked", &[]),
            Outcome::AlreadyAchieved
            | Outcome::Clarified
            | Outcome::AlreadyClarified
            | Outcome::Unreachable { .. }
            | Outcome::Failed(_)
            | Outcome::Incomplete { .. }
            | Outcome::Unjudged { .. } => return Ok(()),
        };
        let (mut paper, why) = match self.closing_session(&outcome).await? {
            Ok(text) => {
                let paper = Bequest::parse(&text);
                let missing = paper.missing(language).join(", ");
                let lacks = || language.text("workflow.handover_lacks", &[("missing", &missing)]);
                let why = if paper.complete() { String::new() } else { lacks() };
                (paper, why)
            }
            Err(why) => (Bequest::default(), why),
        };
        if !paper.complete() {
            // What it did write is kept; only what nobody can do without is made up for.
            let asks = self.lineage.state()?.asks.join("\n\n");
            let folder = self.workbench.shown(self.workbench.root());
            let made = Bequest::degraded(&why, &asks, &folder, language);
            if paper.what.is_empty() {
                paper.what = made.what;
            }
            if paper.workbench.is_empty() {
                paper.workbench = made.workbench;
            }
        }
        self.put_into_files(&paper.block(language), &why);
        Ok(())
    }

    /// What a fresh session that only reads writes, or why it did not.
    async fn closing_session(&self, outcome: &str) -> Result<Result<String, String>, FlowError> {
        if let Some(why) = self.runtime.used_up() {
            return Ok(Err(why));
        }
        self.notice("workflow.handover_writing", &[]);
        let language = self.workbench.language();
        let workbench = self.workbench.shown(self.workbench.root());
        let turn = Turn {
            label: HANDOVER.to_owned(),
            remember: None,
            step: HANDOVER.to_owned(),
            role: &closing(language),
            prompt: prompt::handover(language, outcome, &workbench),
            session: Session::New,
            folder: None,
        };
        match tokio::time::timeout(PATIENCE, self.step(turn)).await {
            Ok(result) => {
                let result = result?;
                Ok(match result.ok {
                    true => Ok(result.text),
                    false => Err(result.error.unwrap_or_default()),
                })
            }
            Err(_) => {
                let minutes = (PATIENCE.as_secs() / 60).to_string();
                let why = language.text("workflow.handover_late", &[("minutes", &minutes)]);
                // The turn is over: its row says so, with what it used.
                self.runtime.manifest().rescue(&why)?;
                Ok(Err(why))
            }
        }
    }

    /// Each file for itself: what cannot be written is said and left as it is.
    fn put_into_files(&self, block: &str, why: &str) {
        let mut written = Vec::new();
        for name in FILES {
            let path = self.runtime.parts().workspace.join(name);
            match put(&path, block) {
                Ok(()) => written.push(name),
                Err(refusal) => {
                    let language = self.runtime.parts().language;
                    let reason = match refusal {
                        Refusal::Because(key) => language.text(key, &[]),
                        Refusal::System(error) => error.to_string(),
                    };
                    self.notice(
                        "workflow.handover_skipped",
                        &[("file", name), ("reason", &reason)],
                    );
                }
            }
        }
        if !written.is_empty() {
            let key = match why {
                "" => "workflow.handover_left",
                _ => "workflow.handover_left_degraded",
            };
            self.notice(key, &[("files", &written.join(", ")), ("why", why)]);
        }
    }
}

/// Why a file stays as it is.
#[derive(Debug)]
enum Refusal {
    /// A sentence of the catalogue.
    Because(&'static str),
    /// What the system says.
    System(io::Error),
}

/// Puts the block into a file of the person's, or into a new one.
fn put(path: &Path, block: &str) -> Result<(), Refusal> {
    let old = match fs::symlink_metadata(path) {
        Ok(about) if about.is_symlink() => {
            return Err(Refusal::Because("workflow.handover_link"));
        }
        // A file can be replaced whatever its mode is; the mode says that it should not be.
        Ok(about) if about.permissions().readonly() => {
            return Err(Refusal::Because("workflow.handover_readonly"));
        }
        Ok(_) => disk::read(path, LARGEST).map_err(Refusal::System)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(Refusal::System(error)),
    };
    let Ok(old) = String::from_utf8(old) else {
        return Err(Refusal::Because("workflow.handover_encoding"));
    };
    let new = weave(&old, block);
    if new == old {
        return Ok(());
    }
    disk::replace(path, new.as_bytes(), Care::Record).map_err(Refusal::System)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    const BLOCK: &str = "<!-- flower:begin -->\nx\n<!-- flower:end -->";

    #[test]
    fn a_file_keeps_its_mode_and_is_not_touched_without_need() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("CLAUDE.md");
        fs::write(&path, "mine\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        put(&path, BLOCK).unwrap();
        let about = fs::metadata(&path).unwrap();
        assert_eq!(about.permissions().mode() & 0o777, 0o640);
        put(&path, BLOCK).unwrap();
        let again = fs::metadata(&path).unwrap();
        assert_eq!(again.modified().unwrap(), about.modified().unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("mine\n\n{BLOCK}\n"));
    }

    #[test]
    fn what_is_not_ours_to_write_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("other"), "theirs").unwrap();
        symlink(path("other"), path("link")).unwrap();
        fs::write(path("fixed"), "theirs").unwrap();
        fs::set_permissions(path("fixed"), fs::Permissions::from_mode(0o444)).unwrap();
        fs::write(path("bytes"), b"\xff\xfe").unwrap();
        fs::create_dir(path("folder")).unwrap();
        for name in ["link", "fixed", "bytes", "folder"] {
            assert!(put(&path(name), BLOCK).is_err(), "{name}");
        }
        assert_eq!(fs::read(path("other")).unwrap(), b"theirs");
        assert_eq!(fs::read(path("fixed")).unwrap(), b"theirs");
        assert_eq!(fs::read(path("bytes")).unwrap(), b"\xff\xfe");
    }
}
