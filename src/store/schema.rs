//! Opening the database file: version, tables, journal, permissions.

use std::fs::{self, OpenOptions};
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use super::place::shared_file_system;
use super::sqlite::{Durability, Journal, StoreOptions};
use super::{Notice, StoreError};

/// The layout that this program writes. The reference program writes 0, with the same tables.
pub(super) const VERSION: i64 = 1;

/// SQLite up to 3.51.2 can lose a write-ahead log that several processes reset at once.
const OLDEST_SQLITE: i32 = 3_051_003;

/// How long SQLite itself waits for a lock, once.
pub(super) const BUSY: Duration = Duration::from_secs(10);

/// The log is moved into the file when it has this many pages of 4 KiB. Each time the disk is waited
/// for twice; SQLite's own 1,000 pages are full after a second of work.
const LOG_PAGES: i64 = 4000;

/// Memory for pages, negative since it is told in KiB. Uuids are random, so each append changes pages
/// all over their index, which for 100,000 entries has 12 MB; SQLite's own 2 MB would be read anew
/// again and again.
const CACHE_KIB: i64 = -16_000;

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS entries (store_key TEXT NOT NULL, seq INTEGER NOT NULL, uid TEXT, payload TEXT NOT NULL, PRIMARY KEY (store_key, seq));
CREATE UNIQUE INDEX IF NOT EXISTS entries_uid ON entries(store_key, uid) WHERE uid IS NOT NULL;
CREATE TABLE IF NOT EXISTS meta (store_key TEXT PRIMARY KEY, mtime INTEGER NOT NULL, next_seq INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS summaries (project_key TEXT NOT NULL, session_id TEXT NOT NULL, mtime INTEGER NOT NULL, data TEXT NOT NULL, PRIMARY KEY (project_key, session_id));
";

/// An open connection with what was noticed on the way.
pub(super) struct Opened {
    pub(super) connection: Connection,
    /// True where a write-ahead log is in use.
    pub(super) wal: bool,
    /// True where a commit does not wait for the disk, until it is asked to.
    pub(super) settles: bool,
    pub(super) notices: Vec<Notice>,
}

/// Opens or makes the database.
pub(super) fn open(path: &Path, options: &StoreOptions) -> Result<Opened, StoreError> {
    let shown = path.display().to_string();
    let refuse = |reason: String| StoreError::Open { path: shown.clone(), reason };
    if rusqlite::version_number() < OLDEST_SQLITE {
        return Err(refuse(format!(
            "SQLite {} can lose data when several processes write; 3.51.3 or later is needed",
            rusqlite::version()
        )));
    }
    let in_memory = path.as_os_str() == ":memory:";
    if !in_memory {
        make_file(path).map_err(|error| refuse(error.to_string()))?;
    }
    let mut notices = Vec::new();
    let kind = path.parent().filter(|_| !in_memory).and_then(|folder| {
        // An empty parent means the current folder.
        shared_file_system(if folder.as_os_str().is_empty() { Path::new(".") } else { folder })
    });
    let rollback = match options.journal {
        Journal::Automatic => kind.is_some(),
        Journal::WriteAhead => false,
        Journal::Rollback => true,
    };
    if let Some(kind) = kind.filter(|_| rollback) {
        notices.push(Notice::SharedFileSystem { path: shown.clone(), kind });
    }

    let explain = |error: rusqlite::Error| match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => refuse("it is not an SQLite database".to_owned()),
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            refuse(format!("it cannot be written ({error})"))
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) if rollback => refuse(
            "another flower is writing to it, and on this file system only one can at a time"
                .to_owned(),
        ),
        _ => StoreError::from_database(&shown, error),
    };
    // Made absolute, a path is a path: SQLite would take `file:x?mode=memory` for an address.
    let file = std::path::absolute(path).map_err(|error| refuse(error.to_string()))?;
    let mut connection =
        if in_memory { Connection::open_in_memory() } else { Connection::open(&file) }
            .map_err(explain)?;
    // A second writer on a shared file system is told at once instead of waiting for hours.
    let patience = if rollback { Duration::ZERO } else { BUSY };
    connection.busy_timeout(patience).map_err(explain)?;
    let read_version =
        || connection.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0));
    let version = if rollback { read_version() } else { patiently(read_version) };
    let version = version.map_err(explain)?;
    if version > VERSION {
        return Err(refuse(format!(
            "it was written by a newer flower (layout {version}, this one knows {VERSION}); update flower or use another run folder"
        )));
    }
    let wal = if rollback {
        take_alone(&connection).map_err(explain)?;
        false
    } else {
        !in_memory && patiently(|| write_ahead(&connection)).map_err(explain)?
    };
    // With a write-ahead log, NORMAL loses at most the last writes when the power fails; with a
    // rollback journal it could lose the file.
    let settles = wal && options.durability == Durability::Results;
    let synchronous = if settles { "NORMAL" } else { "FULL" };
    connection.pragma_update(None, "synchronous", synchronous).map_err(explain)?;
    connection.pragma_update(None, "wal_autocheckpoint", LOG_PAGES).map_err(explain)?;
    connection.pragma_update(None, "cache_size", CACHE_KIB).map_err(explain)?;
    // Only where it is new, so that opening an existing file writes nothing.
    if version < VERSION {
        let foreign = patiently(|| lay_out(&mut connection)).map_err(explain)?;
        if foreign {
            return Err(refuse("it is a database of another program".to_owned()));
        }
    }
    Ok(Opened { connection, wal, settles, notices })
}

/// Repeats what failed because another process held the lock, for at most six times [`BUSY`].
///
/// SQLite's own waiting is not enough: changing the journal and recovering one can fail at once.
pub(super) fn patiently<T>(
    mut work: impl FnMut() -> Result<T, rusqlite::Error>,
) -> Result<T, rusqlite::Error> {
    let end = std::time::Instant::now() + BUSY * 6;
    let mut pause = Duration::from_millis(1);
    loop {
        match work() {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && std::time::Instant::now() < end =>
            {
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(50));
            }
            result => return result,
        }
    }
}

/// Makes folder and file; a new file can be read by its owner only, because transcripts hold what
/// people said and tools printed.
fn make_file(path: &Path) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Switches to the write-ahead log; false where SQLite cannot have one here.
fn write_ahead(connection: &Connection) -> Result<bool, rusqlite::Error> {
    let mode: String =
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    Ok(mode.eq_ignore_ascii_case("wal"))
}

/// Takes the file for this process alone, with a rollback journal.
fn take_alone(connection: &Connection) -> Result<(), rusqlite::Error> {
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    let _: String =
        connection.pragma_update_and_check(None, "journal_mode", "DELETE", |row| row.get(0))?;
    connection.execute_batch("BEGIN EXCLUSIVE; COMMIT;")
}

/// Makes the tables or adopts those of the reference program; true where the file is somebody else's.
fn lay_out(connection: &mut Connection) -> Result<bool, rusqlite::Error> {
    let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let (ours, all): (i64, i64) = change.query_row(
        "SELECT coalesce(sum(name IN ('entries', 'meta', 'summaries')), 0), count(*)
         FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    if all > 0 && ours == 0 {
        return Ok(true);
    }
    change.execute_batch(TABLES)?;
    change.pragma_update(None, "user_version", VERSION)?;
    change.commit()?;
    Ok(false)
}
