//! One git worktree with a branch of its own, and its end: removed only when nothing can be lost.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::git::{Git, GitError, quoted, words};
use super::turn::Turn;
use super::work::{self, Reason};

/// A worktree that somebody works in. It stays, locked, until [`Worktree::end`] is called.
#[derive(Debug, Clone)]
pub struct Worktree {
    pub(super) spot: Spot,
    pub(super) folder: PathBuf,
    pub(super) environment: Arc<Vec<(OsString, OsString)>>,
}

/// Where a worktree stands.
#[derive(Debug, Clone)]
pub(super) struct Spot {
    pub(super) git: Git,
    /// The folder from which git is asked about it: the project.
    pub(super) workspace: PathBuf,
    /// Where the worktrees of this project are.
    pub(super) home: PathBuf,
    pub(super) path: PathBuf,
    /// `flower/…`.
    pub(super) branch: String,
}

/// What became of a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// It is gone. The branch stays where it has commits; nothing where it had none and is gone too.
    Removed {
        /// `flower/…`.
        branch: Option<String>,
    },
    /// It stays, unlocked.
    Kept(Kept),
}

/// A worktree that stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Where it is.
    pub path: PathBuf,
    /// The branch that was made for it.
    pub branch: String,
    /// Why it stays.
    pub reason: Reason,
    /// What removes it, for a shell.
    pub command: String,
}

impl Worktree {
    /// Its root.
    pub fn path(&self) -> &Path {
        &self.spot.path
    }

    /// Where to work in it: the same folder of the repository that the workspace is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Its branch, `flower/…`.
    pub fn branch(&self) -> &str {
        &self.spot.branch
    }

    /// The complete environment for tools in it.
    pub fn environment(&self) -> &[(OsString, OsString)] {
        &self.environment
    }

    /// Nobody works in it any more: removes it if all that was done is committed on its branch, else keeps
    /// and unlocks it. Whatever goes wrong keeps it. Waits `patience` for each git command. Blocks.
    pub fn end(&self, patience: Duration) -> Ending {
        let git = self.spot.git.hurried(patience);
        Spot { git, ..self.spot.clone() }.end()
    }
}

impl Spot {
    /// See [`Worktree::end`].
    pub(super) fn end(&self) -> Ending {
        match self.try_to_remove() {
            Ok(Ok(branch)) => Ending::Removed { branch },
            Ok(Err(reason)) => self.keep(reason),
            Err(error) => self.keep(Reason::Unsure(error.to_string())),
        }
    }

    /// Gives the branch that stays, or the reason for keeping the worktree.
    fn try_to_remove(&self) -> Result<Result<Option<String>, Reason>, GitError> {
        let Self { git, workspace, path, branch, .. } = self;
        if let Some(reason) = work::find(git, path, branch)? {
            return Ok(Err(reason));
        }
        let _turn = Turn::take(&self.home, git.patience())?;
        let untouched = work::is_untouched(git, workspace, branch);
        let tip = git.line(path, &["rev-parse", "--verify", "HEAD"])?;
        self.unlock();
        // Without --force: git looks once more, and refuses where something was written meanwhile.
        git.run(workspace, &words(&[&"worktree", &"remove", path]))?;
        let name = format!("refs/heads/{branch}");
        // Only if it is still what it was. Where that fails, a branch too many is no harm.
        let gone = untouched && git.run(workspace, &["update-ref", "-d", &name, &tip]).is_ok();
        Ok(Ok((!gone).then(|| branch.clone())))
    }

    /// One that is not locked is none that flower uses.
    fn unlock(&self) {
        let _ = self.git.run(&self.workspace, &words(&[&"worktree", &"unlock", &self.path]));
    }

    fn keep(&self, reason: Reason) -> Ending {
        self.unlock();
        Ending::Kept(Kept {
            path: self.path.clone(),
            branch: self.branch.clone(),
            reason,
            command: format!(
                "git -C {} worktree remove --force {}",
                quoted(&self.workspace),
                quoted(&self.path)
            ),
        })
    }
}
