//! The session store in one SQLite file.

/// To be written.
#[derive(Debug)]
pub struct SqliteStore {}
