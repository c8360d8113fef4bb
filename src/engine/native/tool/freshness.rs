//! Which files a conversation has seen, and whether they are still what it saw.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};

use super::Complaint;

/// Files up to this size are compared by content, larger ones by size and times.
const COMPARED_BYTES: u64 = 8 * 1024 * 1024;

/// What a file was like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Print {
    Content([u8; 32]),
    Times { size: u64, modified: (i64, i64), changed: (i64, i64) },
}

impl Print {
    /// Of the file as it is now.
    pub(super) fn take(path: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        if metadata.len() > COMPARED_BYTES {
            return Ok(Self::Times {
                size: metadata.len(),
                modified: (metadata.mtime(), metadata.mtime_nsec()),
                changed: (metadata.ctime(), metadata.ctime_nsec()),
            });
        }
        let mut hasher = Sha256::new();
        let mut file = File::open(path)?;
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(Self::Content(hasher.finalize().into())),
                count => hasher.update(&buffer[..count]),
            }
        }
    }
}

/// The files that were read or written, by real path.
#[derive(Debug, Default)]
pub(super) struct Seen(Mutex<HashMap<PathBuf, Print>>);

impl Seen {
    pub(super) fn remember(&self, path: &Path, print: Print) {
        if let Ok(path) = fs::canonicalize(path) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(path, print);
        }
    }

    /// A complaint unless the existing file was read before and is still the same.
    pub(super) fn check(&self, path: &Path, name: &str) -> Result<(), Complaint> {
        let unreadable = |error: io::Error| super::place::failed("read", name, &error);
        let real = fs::canonicalize(path).map_err(unreadable)?;
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&real).cloned();
        match known {
            None => Err(Complaint(format!(
                "{name} exists but was not read in this conversation; Read it first."
            ))),
            Some(known) if known != Print::take(&real).map_err(unreadable)? => Err(Complaint(
                format!("{name} has changed since it was read; Read it again first."),
            )),
            Some(_) => Ok(()),
        }
    }
}
