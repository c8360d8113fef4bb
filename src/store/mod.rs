//! The record: stored conversations. The only place that knows SQL.
//!
//! An append that came back without an error survives the end of every process, however sudden. A loss
//! of power may take what was appended since the last [`SessionStore::settle`], which the runtime calls
//! for each result of a turn. [`conformance::check`] says whether another implementation keeps the same
//! promises.

use std::ops::ControlFlow;

use async_trait::async_trait;
use rusqlite::ffi;

use crate::transcript::{Entry, SessionKey};

pub mod conformance;
mod database;
mod inspect;
mod notice;
mod place;
mod schema;
mod sqlite;
mod summary;

pub use inspect::Held;
pub use notice::Notice;
pub use sqlite::{Clock, Durability, Journal, SqliteStore, StoreOptions};

/// A main transcript in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionInfo {
    /// The session's id.
    pub session_id: String,
    /// When it was last written, in milliseconds since 1970; strictly growing across processes.
    pub mtime: i64,
}

/// Why the store could not do it. Each says what, with the file.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum StoreError {
    /// The database refused.
    #[error("the session store {path} failed: {source}")]
    Database { path: String, source: rusqlite::Error },
    /// The file or its folder cannot be made or opened.
    #[error("the session store {path} cannot be opened: {reason}")]
    Open { path: String, reason: String },
    /// A transcript was to be written whose name could be read as another one's.
    #[error(
        "the session store {path} refuses the name {name:?}: a project or session has no slash in it and is not empty"
    )]
    Name { path: String, name: String },
    /// There is no room for it: a full disk, a quota, a limit on the length of files, or a broken disk.
    #[error(
        "the session store {path} cannot grow ({reason}): nothing of this is stored, nothing stored before is lost; make room on its disk, then run the same command again"
    )]
    NoRoom { path: String, reason: String },
    /// The transcript was deleted while it was being read.
    #[error("{transcript} was deleted from the session store {path} while it was being read")]
    Gone { path: String, transcript: String },
    /// The worker thread is gone.
    #[error("the session store {path} is closed")]
    Closed { path: String },
}

impl StoreError {
    fn from_database(path: &str, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        let code = source.sqlite_error().map(|error| error.extended_code);
        match code {
            // A quota or a limit is told apart from a full disk by the system, not by SQLite.
            Some(ffi::SQLITE_FULL) => Self::NoRoom { path, reason: "the disk is full".to_owned() },
            Some(ffi::SQLITE_IOERR_WRITE | ffi::SQLITE_IOERR_SHMSIZE) => {
                Self::NoRoom { path, reason: format!("a write failed: {source}") }
            }
            _ => Self::Database { path, source },
        }
    }
}

/// Keeps transcripts. Appending is idempotent by uuid; what was appended is never changed.
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Appends in one transaction; entries whose uuid is stored already are dropped (core.md S-10 to S-13).
    async fn append(&self, key: &SessionKey, entries: &[Entry]) -> Result<(), StoreError>;
    /// All entries in order; nothing where the key is unknown.
    async fn load(&self, key: &SessionKey) -> Result<Option<Vec<Entry>>, StoreError>;
    /// Hands over all entries in order until `each` breaks off; false where the key is unknown. For
    /// transcripts that need not lie in memory as a whole: a store that can read in pieces does. What is
    /// appended meanwhile may be among them.
    async fn load_each(
        &self,
        key: &SessionKey,
        each: &mut (dyn FnMut(Entry) -> ControlFlow<()> + Send),
    ) -> Result<bool, StoreError> {
        let Some(entries) = self.load(key).await? else { return Ok(false) };
        let _ = entries.into_iter().try_for_each(each);
        Ok(true)
    }
    /// Waits until everything appended so far survives a loss of power. The default is for a store
    /// whose appends all do.
    async fn settle(&self) -> Result<(), StoreError> {
        Ok(())
    }
    /// Main transcripts of a project.
    async fn list_sessions(&self, project: &str) -> Result<Vec<SessionInfo>, StoreError>;
    /// The summaries of a project, as the JSON texts that were stored.
    async fn list_session_summaries(&self, project: &str) -> Result<Vec<String>, StoreError>;
    /// Subpaths of a session.
    async fn list_subkeys(&self, project: &str, session: &str) -> Result<Vec<String>, StoreError>;
    /// Deletes a transcript; a main one with its summary and subagents.
    async fn delete(&self, key: &SessionKey) -> Result<(), StoreError>;
    /// True where the main transcript is stored.
    async fn has_session(&self, project: &str, session: &str) -> Result<bool, StoreError>;
    /// Size of the conversation after the last reply that reports usage, in tokens; 0 if none does (core.md S-27).
    async fn last_context(&self, project: &str, session: &str) -> Result<u64, StoreError>;
    /// Writes everything to the one file and lets go of it.
    async fn close(&self) -> Result<(), StoreError>;
}
