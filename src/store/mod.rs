//! The record: stored conversations. The only place that knows SQL.

use async_trait::async_trait;

use crate::transcript::{Entry, SessionKey};

mod database;
mod inspect;
mod notice;
mod place;
mod schema;
mod sqlite;
mod summary;

pub use inspect::Held;
pub use notice::Notice;
pub use sqlite::{Clock, Journal, SqliteStore, StoreOptions};

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
    /// The worker thread is gone.
    #[error("the session store {path} is closed")]
    Closed { path: String },
}

/// Keeps transcripts. Appending is idempotent by uuid; what was appended is never changed.
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Appends in one transaction; entries whose uuid is stored already are dropped (core.md S-10 to S-13).
    async fn append(&self, key: &SessionKey, entries: &[Entry]) -> Result<(), StoreError>;
    /// All entries in order; nothing where the key is unknown.
    async fn load(&self, key: &SessionKey) -> Result<Option<Vec<Entry>>, StoreError>;
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
