//! What the store asks of its database, one function for each method; runs on one thread.

use std::collections::HashMap;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::SessionInfo;
use super::schema::{Opened, VERSION, patiently};
use super::sqlite::Clock;
use super::summary::Summary;
use crate::transcript::{Entry, RawObject, SessionKey, Usage};

/// How far back `last_context` looks, in entries (core.md S-27).
const SCAN: i64 = 60;

/// Transcripts of which the end is remembered. More are hardly written at the same time.
const REMEMBERED: usize = 64;

type Result<T> = std::result::Result<T, rusqlite::Error>;

/// One connection and what must be remembered between calls.
pub(super) struct Database {
    pub(super) connection: Connection,
    wal: bool,
    clock: Clock,
    /// SQLite's mark for "another connection has committed"; what stands below is read anew when it
    /// changes.
    seen: Option<i64>,
    /// The newest time given to a write of any process.
    newest: i64,
    /// Where transcripts go on, by their row key.
    ends: HashMap<String, End>,
    /// True where commits do not wait for the disk.
    settles: bool,
    /// True where a loss of power could still take something.
    unsettled: bool,
}

/// Where a transcript goes on.
struct End {
    /// The first free place.
    next: i64,
    /// Of a main transcript, once it has one.
    summary: Option<Summary>,
}

/// Some entries of a transcript, in order.
pub(super) struct Piece {
    /// The place of the first row.
    pub(super) first: i64,
    pub(super) entries: Vec<Entry>,
    /// How many rows were none.
    pub(super) unreadable: usize,
    /// The place of the row behind them, where there is one.
    pub(super) next: Option<i64>,
}

impl Piece {
    fn new(first: i64) -> Self {
        Self { first, entries: Vec::new(), unreadable: 0, next: None }
    }
}

impl Database {
    pub(super) fn new(opened: Opened, clock: Clock) -> Self {
        let Opened { connection, wal, settles, .. } = opened;
        // Every statement of this file stays prepared.
        connection.set_prepared_statement_cache_capacity(32);
        Self {
            connection,
            wal,
            clock,
            seen: None,
            newest: 0,
            ends: HashMap::new(),
            settles,
            unsettled: false,
        }
    }

    /// One transaction; nothing of it remains where anything fails (core.md S-10 to S-14).
    pub(super) fn append(&mut self, key: &SessionKey, entries: &[Entry]) -> Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let joined = key.joined();
        let Self { connection, clock, newest, seen, ends, .. } = self;
        let written = patiently(|| {
            let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mark: i64 =
                change.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
            if *seen != Some(mark) {
                // No index helps here, and none may be added; hence only after a foreign commit.
                let stored: Option<i64> =
                    change.query_row("SELECT max(mtime) FROM meta", [], |row| row.get(0))?;
                *newest = stored.map_or(*newest, |stored| stored.max(*newest));
                *seen = Some(mark);
                ends.clear();
            }
            // Taken out, so that nothing is remembered of a change that fails.
            let mut end = match ends.remove(&joined) {
                Some(end) => end,
                None => End { next: next_seq(&change, &joined)?, summary: None },
            };
            let first = end.next;
            let added = insert(&change, &joined, &mut end.next, entries)?;
            if !added.is_empty() {
                let now = clock().max(newest.saturating_add(1));
                change.prepare_cached(
                    "INSERT INTO meta (store_key, mtime, next_seq) VALUES (?1, ?2, ?3)
                     ON CONFLICT (store_key) DO UPDATE SET mtime = excluded.mtime, next_seq = excluded.next_seq",
                )?
                .execute(params![joined, now, end.next])?;
                if is_main(key) {
                    let mut summary = match end.summary.take() {
                        Some(summary) => summary,
                        None => stored_summary(&change, key, first)?,
                    };
                    added.iter().for_each(|entry| summary.fold(entry));
                    store_summary(&change, key, now, &summary)?;
                    end.summary = Some(summary);
                }
                change.commit()?;
                *newest = now;
            }
            if ends.len() >= REMEMBERED {
                ends.clear();
            }
            ends.insert(joined.clone(), end);
            Ok(!added.is_empty())
        })?;
        self.unsettled |= written && self.settles;
        Ok(())
    }

    /// Waits until the disk has everything that was committed.
    pub(super) fn settle(&mut self) -> Result<()> {
        if !self.unsettled {
            return Ok(());
        }
        patiently(|| {
            self.connection.pragma_update(None, "synchronous", "FULL")?;
            let settled = touch(&mut self.connection);
            self.connection.pragma_update(None, "synchronous", "NORMAL")?;
            settled
        })?;
        self.unsettled = false;
        Ok(())
    }

    /// The entries from this place on until their text has at least this many bytes; nothing where no
    /// row is there.
    pub(super) fn load(&self, key: &SessionKey, from: i64, bytes: usize) -> Result<Option<Piece>> {
        patiently(|| {
            let mut query = self.connection.prepare_cached(
                "SELECT seq, payload FROM entries WHERE store_key = ?1 AND seq >= ?2 ORDER BY seq",
            )?;
            let mut rows = query.query(params![key.joined(), from])?;
            let mut piece: Option<Piece> = None;
            let mut size = 0;
            while let Some(row) = rows.next()? {
                let seq = row.get(0)?;
                let piece = piece.get_or_insert_with(|| Piece::new(seq));
                if size >= bytes {
                    piece.next = Some(seq);
                    break;
                }
                let payload = row.get_ref(1)?;
                size += payload.as_bytes().map_or(0, <[u8]>::len);
                match read(payload) {
                    Some(entry) => piece.entries.push(entry),
                    None => piece.unreadable += 1,
                }
            }
            Ok(piece)
        })
    }

    pub(super) fn list_sessions(&self, project: &str) -> Result<Vec<SessionInfo>> {
        let prefix = format!("{project}/");
        let rows: Vec<(String, i64)> = self.list(
            "SELECT store_key, mtime FROM meta WHERE store_key >= ?1 AND store_key < ?2 ORDER BY rowid",
            &prefix,
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        Ok(rows
            .into_iter()
            .filter_map(|(key, mtime)| {
                let session_id = key.strip_prefix(&prefix)?.to_owned();
                (!session_id.contains('/')).then_some(SessionInfo { session_id, mtime })
            })
            .collect())
    }

    pub(super) fn list_session_summaries(&self, project: &str) -> Result<Vec<String>> {
        patiently(|| {
            self.connection
                .prepare_cached(
                    "SELECT data FROM summaries WHERE project_key = ?1 ORDER BY session_id",
                )?
                .query_map([project], |row| row.get(0))?
                .collect()
        })
    }

    pub(super) fn list_subkeys(&self, project: &str, session: &str) -> Result<Vec<String>> {
        let prefix = format!("{project}/{session}/");
        let keys: Vec<String> = self.list(
            "SELECT store_key FROM meta WHERE store_key >= ?1 AND store_key < ?2 ORDER BY store_key",
            &prefix,
            |row| row.get(0),
        )?;
        Ok(keys.iter().filter_map(|key| key.strip_prefix(&prefix)).map(str::to_owned).collect())
    }

    pub(super) fn projects(&self) -> Result<Vec<String>> {
        patiently(|| {
            // From one project to the next, past all of its transcripts. SQL's own functions on text
            // would stop at a NUL in a name.
            let mut query = self.connection.prepare_cached(
                "SELECT store_key FROM meta WHERE store_key >= ?1 ORDER BY store_key LIMIT 1",
            )?;
            let (mut projects, mut from) = (Vec::new(), String::new());
            while let Some(key) = query.query_row([&from], |row| row.get(0)).optional()? {
                let key: String = key;
                from = match key.split_once('/') {
                    Some((project, _)) => {
                        projects.push(project.to_owned());
                        below(&format!("{project}/")).1
                    }
                    None => format!("{key}\0"),
                };
            }
            projects.sort();
            Ok(projects)
        })
    }

    pub(super) fn delete(&mut self, key: &SessionKey) -> Result<()> {
        let exact = key.joined();
        let (from, to) = below(&format!("{exact}/"));
        self.ends.clear();
        patiently(|| {
            let change =
                self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for table in ["entries", "meta"] {
                change.execute(&format!("DELETE FROM {table} WHERE store_key = ?1"), [&exact])?;
                if is_main(key) {
                    // A range, not LIKE: `_` and `%` in a key are just characters.
                    change.execute(
                        &format!("DELETE FROM {table} WHERE store_key >= ?1 AND store_key < ?2"),
                        [&from, &to],
                    )?;
                }
            }
            if is_main(key) {
                change.execute(
                    "DELETE FROM summaries WHERE project_key = ?1 AND session_id = ?2",
                    [&key.project, &key.session],
                )?;
            }
            change.commit()
        })?;
        self.unsettled |= self.settles;
        Ok(())
    }

    pub(super) fn has_session(&self, project: &str, session: &str) -> Result<bool> {
        patiently(|| {
            self.connection
                .prepare_cached("SELECT 1 FROM meta WHERE store_key = ?1")?
                .exists([SessionKey::main(project, session).joined()])
        })
    }

    pub(super) fn last_context(&self, project: &str, session: &str) -> Result<u64> {
        patiently(|| {
            let mut query = self.connection.prepare_cached(
                "SELECT payload FROM entries WHERE store_key = ?1 ORDER BY seq DESC LIMIT ?2",
            )?;
            let mut rows =
                query.query(params![SessionKey::main(project, session).joined(), SCAN])?;
            while let Some(row) = rows.next()? {
                let size = read(row.get_ref(0)?).and_then(|entry| usage(&entry));
                if let Some(size) = size.map(|usage| usage.context()).filter(|size| *size > 0) {
                    return Ok(size);
                }
            }
            Ok(0)
        })
    }

    /// Moves the log into the file and lets go. Where others have the file open, the last of them
    /// cleans up; nothing is lost either way.
    pub(super) fn finish(self) {
        if self.wal {
            // Whoever is in our way is still at work, so none of this waits for them.
            let _ = self.connection.busy_timeout(std::time::Duration::ZERO);
            let _: Result<i64> =
                self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
            // A file in write-ahead mode cannot be read from a read-only folder.
            let _: Result<String> =
                self.connection
                    .pragma_update_and_check(None, "journal_mode", "DELETE", |row| row.get(0));
        }
        drop(self.connection);
    }

    fn list<T>(
        &self,
        query: &str,
        prefix: &str,
        read: impl Fn(&rusqlite::Row<'_>) -> Result<T> + Copy,
    ) -> Result<Vec<T>> {
        let (from, to) = below(prefix);
        patiently(|| {
            self.connection.prepare_cached(query)?.query_map([&from, &to], read)?.collect()
        })
    }
}

/// The half-open range of all keys that begin with `prefix`, which ends in a slash.
pub(super) fn below(prefix: &str) -> (String, String) {
    // `0` is the character behind `/`, and keys are compared byte by byte.
    (prefix.to_owned(), format!("{}0", prefix.strip_suffix("/").unwrap_or(prefix)))
}

fn is_main(key: &SessionKey) -> bool {
    key.subpath.as_deref().is_none_or(str::is_empty)
}

/// The first free place. The table is asked as well as the counter, because the reference program
/// can leave rows behind that its counter does not know.
fn next_seq(change: &Transaction<'_>, key: &str) -> Result<i64> {
    let counted: Option<i64> = change
        .prepare_cached("SELECT next_seq FROM meta WHERE store_key = ?1")?
        .query_row([key], |row| row.get(0))
        .optional()?;
    let stored: Option<i64> = change
        .prepare_cached("SELECT max(seq) + 1 FROM entries WHERE store_key = ?1")?
        .query_row([key], |row| row.get(0))?;
    Ok(counted.unwrap_or(0).max(stored.unwrap_or(0)))
}

/// Inserts what is new, at consecutive places from `next` on, and returns it.
fn insert<'a>(
    change: &Transaction<'_>,
    key: &str,
    next: &mut i64,
    entries: &'a [Entry],
) -> Result<Vec<&'a Entry>> {
    // Only a known uid is passed over; a place that is taken must fail, or an entry would be lost.
    let mut insert = change.prepare_cached(
        "INSERT INTO entries (store_key, seq, uid, payload) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (store_key, uid) WHERE uid IS NOT NULL DO NOTHING",
    )?;
    let mut added = Vec::with_capacity(entries.len());
    for entry in entries {
        if insert.execute(params![key, *next, uid(entry), entry.raw()])? > 0 {
            added.push(entry);
            *next += 1;
        }
    }
    Ok(added)
}

/// What an entry is known by. A number counts too, as in existing files: its replay must be recognised
/// like any other. An empty string is no name, or the second such entry would be lost.
fn uid(entry: &Entry) -> Option<&str> {
    entry.uuid.as_deref().or_else(|| {
        let raw = entry.field("uuid")?;
        raw.starts_with(|c: char| c == '-' || c.is_ascii_digit()).then_some(raw)
    })
}

/// The summary of the entries before `first`: the stored one, or one that is made of them where that
/// is missing or cannot be read.
fn stored_summary(change: &Transaction<'_>, key: &SessionKey, first: i64) -> Result<Summary> {
    let stored: Option<String> = change
        .prepare_cached("SELECT data FROM summaries WHERE project_key = ?1 AND session_id = ?2")?
        .query_row([&key.project, &key.session], |row| row.get(0))
        .optional()?;
    if let Some(summary) = stored.as_deref().and_then(Summary::parse) {
        return Ok(summary);
    }
    let mut summary = Summary::default();
    let mut query = change.prepare_cached(
        "SELECT payload FROM entries WHERE store_key = ?1 AND seq < ?2 ORDER BY seq",
    )?;
    let mut rows = query.query(params![key.joined(), first])?;
    while let Some(row) = rows.next()? {
        if let Some(entry) = read(row.get_ref(0)?) {
            summary.fold(&entry);
        }
    }
    Ok(summary)
}

fn store_summary(
    change: &Transaction<'_>,
    key: &SessionKey,
    now: i64,
    summary: &Summary,
) -> Result<()> {
    change
        .prepare_cached(
            "INSERT INTO summaries (project_key, session_id, mtime, data) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (project_key, session_id) DO UPDATE SET mtime = excluded.mtime, data = excluded.data",
        )?
        .execute(params![key.project, key.session, now, summary.to_json(&key.session, now)])?;
    Ok(())
}

/// Commits a change that changes nothing, so that the log is brought to the disk with all that
/// stands in it.
fn touch(connection: &mut Connection) -> Result<()> {
    let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    change.pragma_update(None, "user_version", VERSION)?;
    change.commit()
}

/// A stored row, where it is an entry.
fn read(payload: ValueRef<'_>) -> Option<Entry> {
    Entry::parse(payload.as_str().ok()?).ok()
}

/// The usage in an entry's message, without reading its blocks.
fn usage(entry: &Entry) -> Option<Usage> {
    let usage = RawObject::parse(entry.field("message")?).ok()?.get("usage")?;
    serde_json::from_str(usage).ok()
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::super::schema;
    use super::super::sqlite::StoreOptions;
    use super::*;

    fn rows(range: std::ops::Range<usize>) -> Vec<Entry> {
        let pad = "x".repeat(500);
        range
            .map(|i| Entry::parse(format!(r#"{{"uuid":"u{i}","pad":"{pad}"}}"#)).unwrap())
            .collect()
    }

    fn count(database: &Database, key: &SessionKey) -> usize {
        database.load(key, 0, usize::MAX).unwrap().unwrap().entries.len()
    }

    #[test]
    fn a_full_disk_takes_nothing_that_was_stored() {
        let folder = tempfile::tempdir().unwrap();
        let opened = schema::open(&folder.path().join("s.db"), &StoreOptions::default()).unwrap();
        let mut database = Database::new(opened, Arc::new(|| 1));
        let key = SessionKey::main("p", "s");
        database.append(&key, &rows(0..3)).unwrap();
        database.connection.pragma_update(None, "max_page_count", 20).unwrap();
        let error = database.append(&key, &rows(3..500)).unwrap_err();
        assert_eq!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::DiskFull));
        assert_eq!(count(&database, &key), 3);
        assert_eq!(database.list_session_summaries("p").unwrap().len(), 1);
        // There is room again: the same batch goes in, in one piece.
        database.connection.pragma_update(None, "max_page_count", 100_000).unwrap();
        database.append(&key, &rows(0..500)).unwrap();
        assert_eq!(count(&database, &key), 500);
        let next = database.list_sessions("p").unwrap();
        assert_eq!(next[0].mtime, 2);
    }

    #[test]
    fn times_grow_over_two_connections_with_slow_clocks() {
        let folder = tempfile::tempdir().unwrap();
        let open = |now: i64| {
            let path = folder.path().join("s.db");
            let opened = schema::open(&path, &StoreOptions::default()).unwrap();
            Database::new(opened, Arc::new(move || now))
        };
        let (mut ahead, mut behind) = (open(1000), open(5));
        let key = SessionKey::main("p", "s");
        let mut times = Vec::new();
        for i in 0..6 {
            let database = if i % 2 == 0 { &mut ahead } else { &mut behind };
            database.append(&key, &rows(i..i + 1)).unwrap();
            times.push(database.list_sessions("p").unwrap()[0].mtime);
        }
        assert_eq!(times, [1000, 1001, 1002, 1003, 1004, 1005]);
        // A replay leaves the time alone.
        behind.append(&key, &rows(0..6)).unwrap();
        assert_eq!(behind.list_sessions("p").unwrap()[0].mtime, 1005);
    }

    #[test]
    fn the_store_in_memory_knows_no_files() {
        let opened = schema::open(Path::new(":memory:"), &StoreOptions::default()).unwrap();
        assert!(!opened.wal && opened.notices.is_empty());
        assert!(!Path::new(":memory:").exists());
    }
}
