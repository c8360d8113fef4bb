//! One process at a time changes a repository's list of worktrees; git itself does not see to that.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::{Duration, Instant};

use super::git::GitError;

/// The right to change the list, until it is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    _file: File,
}

impl Turn {
    /// Waits for it. On a file system without locks there is nothing to wait for.
    pub(super) fn take(home: &Path, patience: Duration) -> Result<Self, GitError> {
        let failed = |error: std::io::Error| GitError::Start(error.to_string());
        let path = home.join(".turn");
        let file =
            File::options().create(true).truncate(false).write(true).open(path).map_err(failed)?;
        let started = Instant::now();
        loop {
            match file.try_lock() {
                Err(TryLockError::WouldBlock) if started.elapsed() < patience => {
                    // A lock can be waited for only without an end; this one may belong to a stopped process.
                    std::thread::sleep(Duration::from_millis(10));
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(GitError::Late("worktree".to_owned()));
                }
                Ok(()) | Err(TryLockError::Error(_)) => return Ok(Self { _file: file }),
            }
        }
    }
}
