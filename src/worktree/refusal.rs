//! Why a project can have no worktrees, as a sentence of the catalogue.

use std::io;
use std::path::PathBuf;

use super::git::GitError;

/// Why there can be no worktrees.
#[derive(Debug, thiserror::Error)]
pub enum YardError {
    /// The workspace is not in the work tree of a git repository.
    #[error("{0} is not in the work tree of a git repository")]
    NoRepository(PathBuf),
    /// The repository has no commit to begin from.
    #[error("the git repository of {0} has no commit yet")]
    NoCommit(PathBuf),
    /// A branch `flower` leaves no room for branches `flower/…`.
    #[error("git cannot make branches flower/… beside the branch flower in {0}")]
    BranchInTheWay(PathBuf),
    /// The repository has `extensions.relativeWorktrees`, which this git does not know.
    #[error("this git cannot read {0}: extensions.relativeWorktrees is set")]
    Relative(PathBuf),
    /// The place for worktrees lies inside the project.
    #[error("the place for worktrees, {0}, lies inside the project")]
    Inside(PathBuf),
    /// git failed otherwise.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The place for worktrees could not be made.
    #[error("{path}: {source}")]
    Folder {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl YardError {
    /// The text's key in the catalogue.
    pub fn key(&self) -> &'static str {
        match self {
            Self::NoRepository(_) => "worktree.no_repository",
            Self::NoCommit(_) => "worktree.no_commit",
            Self::BranchInTheWay(_) => "worktree.branch_in_the_way",
            Self::Relative(_) => "worktree.relative",
            Self::Inside(_) => "worktree.inside",
            Self::Git(GitError::Missing) => "worktree.no_git",
            Self::Git(_) | Self::Folder { .. } => "worktree.unusable",
        }
    }

    /// The text's value for `{what}`.
    pub fn what(&self) -> String {
        match self {
            Self::NoRepository(path)
            | Self::NoCommit(path)
            | Self::BranchInTheWay(path)
            | Self::Relative(path)
            | Self::Inside(path) => path.display().to_string(),
            Self::Git(_) | Self::Folder { .. } => self.to_string(),
        }
    }
}
