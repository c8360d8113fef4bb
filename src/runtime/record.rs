//! The run folder: where it is, its lock, and how its JSON files are replaced.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::disk::{self, Care};
use crate::store::StoreError;

/// Why a record cannot be used. Nothing was written when one of these comes back.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The folder or a file in it cannot be made, read or replaced.
    #[error("{path} cannot be {action}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// read, written, made, locked.
        action: &'static str,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file is not what flower writes there.
    #[error(
        "{path} is damaged ({reason}); move it away or repair it, then run the same command again"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The session store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl RecordError {
    fn io(path: &Path, action: &'static str, source: std::io::Error) -> Self {
        Self::Io { path: path.to_owned(), action, source }
    }
}

/// A folder that holds `sessions.db`, `manifest.json` and `lineage.json`.
#[derive(Debug, Clone)]
pub struct RunFolder {
    path: PathBuf,
}

impl RunFolder {
    /// Makes the folder where it is missing and finds out whether it can be written to.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        fs::create_dir_all(path).map_err(|e| RecordError::io(path, "made", e))?;
        let path = path.canonicalize().map_err(|e| RecordError::io(path, "read", e))?;
        let folder = Self { path };
        tempfile::tempfile_in(&folder.path)
            .map_err(|e| RecordError::io(&folder.path, "written to", e))?;
        Ok(folder)
    }

    /// The folder, absolute and without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Reads a JSON file; nothing where it does not exist.
    pub(super) fn read(&self, name: &str) -> Result<Option<Value>, RecordError> {
        let path = self.file(name);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(RecordError::io(&path, "read", e)),
        };
        serde_json::from_str(&text)
            .map(Some)
            .map_err(|e| RecordError::Damaged { path, reason: e.to_string() })
    }

    /// Replaces a JSON file in one step: a kill leaves the old or the new one, never half of it.
    pub(super) fn replace(&self, name: &str, value: &Value) -> Result<(), RecordError> {
        let path = self.file(name);
        let failed = |e: std::io::Error| RecordError::io(&path, "written", e);
        let mut text = serde_json::to_string_pretty(value).map_err(|e| failed(e.into()))?;
        text.push('\n');
        disk::replace(&path, text.as_bytes(), Care::Private).map_err(failed)
    }

    /// Waits for the folder's lock; it is let go when the guard is dropped, also by a kill.
    ///
    /// Every change of a record is read, changed and replaced under it, so that two processes never
    /// erase each other's rows.
    pub(super) fn lock(&self) -> Result<File, RecordError> {
        let path = self.file(".lock");
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|e| RecordError::io(&path, "locked", e))?;
        file.lock().map_err(|e| RecordError::io(&path, "locked", e))?;
        Ok(file)
    }
}
