//! What git is like here, without changing anything: for those who ask before a run.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::git::{Git, GitError};

/// Nobody waits longer for a look.
const PATIENCE: Duration = Duration::from_secs(10);

/// What was seen of git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// Such as `2.47.1`.
    pub version: String,
    /// Commits have an author: name and address are set, not guessed.
    pub identity: Option<String>,
    /// The folder is in the work tree of a repository.
    pub repository: bool,
    /// The repository has `extensions.relativeWorktrees`.
    pub relative: bool,
    /// Why this git does not read the repository that is there.
    pub unreadable: Option<String>,
}

impl Look {
    /// At git, seen from a folder that is there. Blocks.
    ///
    /// # Errors
    /// Where there is no git, or one that does not even say its version.
    pub fn at(folder: &Path, environment: &[(OsString, OsString)]) -> Result<Self, GitError> {
        let git = Git::new(environment).hurried(PATIENCE);
        let said = git.line(folder, &["version"])?;
        let version = said.split_whitespace().nth(2).unwrap_or(&said).to_owned();
        let strict = ["-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT"];
        let identity = git.line(folder, &strict).ok().as_deref().and_then(author);
        let inside = git.line(folder, &["rev-parse", "--is-inside-work-tree"]);
        let unreadable = match &inside {
            Err(GitError::Failed { said, .. }) if !said.contains("not a git repository") => {
                Some(said.clone())
            }
            _ => None,
        };
        let relative = unreadable.as_ref().is_some_and(|said| said.contains("relativeworktrees"))
            || git
                .line(folder, &["config", "--bool", "extensions.relativeWorktrees"])
                .is_ok_and(|value| value == "true");
        let repository = inside.is_ok_and(|answer| answer == "true");
        Ok(Self { version, identity, repository, relative, unreadable })
    }
}

/// `Name <address>` of `Name <address> seconds zone`; nothing where the name is empty.
fn author(ident: &str) -> Option<String> {
    let end = ident.rfind('>')?;
    let author = &ident[..=end];
    (!author.starts_with('<')).then(|| author.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_author_is_name_and_address() {
        assert_eq!(author("A B <a@b> 17 +0000").as_deref(), Some("A B <a@b>"));
        assert_eq!(author("<a@b> 17 +0000"), None);
        assert_eq!(author("fatal"), None);
    }

    #[test]
    fn a_repository_is_told_from_a_plain_folder_and_an_unset_author_is_not_guessed() {
        let folder = tempfile::tempdir().unwrap();
        let path = std::env::var_os("PATH").unwrap();
        let environment: Vec<(OsString, OsString)> = vec![
            ("PATH".into(), path),
            ("HOME".into(), folder.path().into()),
            ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
            ("GIT_CEILING_DIRECTORIES".into(), folder.path().parent().unwrap().into()),
        ];
        let plain = Look::at(folder.path(), &environment).unwrap();
        assert!(plain.version.starts_with(|c: char| c.is_ascii_digit()), "{plain:?}");
        assert!(!plain.repository && plain.identity.is_none() && plain.unreadable.is_none());
        let git = Git::new(&environment);
        git.run(folder.path(), &["init", "-q"]).unwrap();
        git.run(folder.path(), &["config", "user.name", "A"]).unwrap();
        git.run(folder.path(), &["config", "user.email", "a@b"]).unwrap();
        let there = Look::at(folder.path(), &environment).unwrap();
        assert!(there.repository && !there.relative, "{there:?}");
        assert_eq!(there.identity.as_deref(), Some("A <a@b>"));
    }
}
