//! What the store wants to be told to a person, without stopping for it.

/// Something worth a line on the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The folder lies on a file system where processes cannot share locks, so that one writer at a
    /// time is allowed and a rollback journal is used.
    SharedFileSystem {
        /// The database file.
        path: String,
        /// The kind of file system.
        kind: &'static str,
    },
    /// Rows of a transcript that are not entries were passed over; they stay in the file.
    UnreadableRows {
        /// The transcript, as `project/session` or with a subpath behind.
        transcript: String,
        /// How many.
        rows: usize,
    },
}

impl Notice {
    /// The key of its text in the language catalogues.
    pub fn key(&self) -> &'static str {
        match self {
            Notice::SharedFileSystem { .. } => "store.shared_file_system",
            Notice::UnreadableRows { .. } => "store.unreadable_rows",
        }
    }

    /// The values for the placeholders of that text.
    pub fn values(&self) -> Vec<(&'static str, String)> {
        match self {
            Notice::SharedFileSystem { path, kind } => {
                vec![("path", path.clone()), ("kind", (*kind).to_owned())]
            }
            Notice::UnreadableRows { transcript, rows } => {
                vec![("transcript", transcript.clone()), ("rows", rows.to_string())]
            }
        }
    }
}
