//! The session store in one SQLite file: a thread that owns the connection, and its front.

use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use async_trait::async_trait;
use tokio::sync::oneshot;

use super::database::{Database, Piece};
use super::{Notice, SessionInfo, SessionStore, StoreError, schema};
use crate::transcript::{Entry, SessionKey};

/// Gives the time in milliseconds since 1970.
pub type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// How the database keeps itself whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Journal {
    /// A write-ahead log, but a rollback journal on file systems where processes cannot share locks.
    #[default]
    Automatic,
    /// A write-ahead log wherever the file lies: several processes may write.
    WriteAhead,
    /// A rollback journal; this process has the file for itself, and a second one is refused.
    Rollback,
}

/// What a loss of power may take. The end of a process, however sudden, takes nothing either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// What was appended since the last [`SessionStore::settle`].
    #[default]
    Results,
    /// Nothing: each append waits for the disk. Always so with a rollback journal.
    Appends,
}

/// How a store is opened where the defaults do not fit.
#[derive(Clone)]
pub struct StoreOptions {
    /// The clock behind the times of writes. They grow strictly even if it does not.
    pub clock: Clock,
    /// See [`Journal`].
    pub journal: Journal,
    /// See [`Durability`].
    pub durability: Durability,
}

impl Default for StoreOptions {
    fn default() -> Self {
        let clock: Clock = Arc::new(|| jiff::Timestamp::now().as_millisecond());
        Self { clock, journal: Journal::default(), durability: Durability::default() }
    }
}

impl fmt::Debug for StoreOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreOptions")
            .field("journal", &self.journal)
            .field("durability", &self.durability)
            .finish_non_exhaustive()
    }
}

/// A project or session with a slash would be another one's: `a/b` + `c` and `a` + `b/c` are one row
/// key. None such is ever stored, so none is found.
fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains('/')
}

/// A piece of a transcript, as [`SessionStore::load_each`] holds it in memory, is as small as whole
/// entries allow beyond this many bytes.
const PIECE: usize = 1 << 20;

type Work = Box<dyn FnOnce(&mut Database) + Send>;

/// A session store in one file. SQLite blocks, so a thread of its own does the work; callers wait
/// without holding up the runtime. What was handed over is done even if the caller stops waiting.
///
/// Dropping it finishes what is queued and closes the file, like [`SessionStore::close`], but blocks
/// meanwhile.
pub struct SqliteStore {
    path: String,
    /// Empty once closed.
    line: Mutex<Option<Line>>,
    notices: Mutex<Notices>,
}

/// What was noticed since the store was opened, and how much of it was told.
#[derive(Default)]
struct Notices {
    all: Vec<Notice>,
    told: usize,
}

struct Line {
    orders: mpsc::Sender<Work>,
    thread: JoinHandle<()>,
}

impl SqliteStore {
    /// Opens the store in this file, which is made with its folder where it is missing; `:memory:`
    /// keeps everything in memory. Blocks for a moment.
    ///
    /// # Errors
    /// Where the file cannot be made, is no session store, was written by a newer flower, or is held
    /// by another process on a file system where only one can write.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_with(path, StoreOptions::default())
    }

    /// Opens the store with another clock or journal.
    ///
    /// # Errors
    /// As [`SqliteStore::open`].
    pub fn open_with(path: &Path, options: StoreOptions) -> Result<Self, StoreError> {
        let mut opened = schema::open(path, &options)?;
        let notices = Notices { all: std::mem::take(&mut opened.notices), told: 0 };
        let mut database = Database::new(opened, options.clock);
        let (orders, queue) = mpsc::channel::<Work>();
        let path = path.display().to_string();
        let thread = std::thread::Builder::new()
            .name("session-store".into())
            .spawn(move || {
                for work in queue {
                    work(&mut database);
                }
                database.finish();
            })
            .map_err(|error| StoreError::Open { path: path.clone(), reason: error.to_string() })?;
        Ok(Self {
            path,
            line: Mutex::new(Some(Line { orders, thread })),
            notices: Mutex::new(notices),
        })
    }

    /// What should be told to the person, each once: a second call gives only what is new.
    pub fn take_notices(&self) -> Vec<Notice> {
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        let new = notices.all[notices.told..].to_vec();
        notices.told = notices.all.len();
        new
    }

    /// The projects that have transcripts, sorted (core.md S-25).
    ///
    /// # Errors
    /// Where the database fails or the store is closed.
    pub async fn projects(&self) -> Result<Vec<String>, StoreError> {
        self.ask(|database| database.projects()).await
    }

    async fn piece(
        &self,
        key: &SessionKey,
        from: i64,
        bytes: usize,
    ) -> Result<Option<Piece>, StoreError> {
        if !is_name(&key.project) || !is_name(&key.session) {
            return Ok(None);
        }
        let key = key.clone();
        self.ask(move |database| database.load(&key, from, bytes)).await
    }

    fn note_unreadable(&self, key: &SessionKey, rows: usize) {
        let notice = Notice::UnreadableRows { transcript: key.joined(), rows };
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        if rows > 0 && !notices.all.contains(&notice) {
            notices.all.push(notice);
        }
    }

    pub(super) async fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Database) -> Result<T, rusqlite::Error> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let order: Work = Box::new(move |database| {
            // Nobody may be waiting any more; the work is done all the same.
            let _ = reply.send(work(database));
        });
        let sent = self
            .line
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .as_ref()
            .is_some_and(|line| line.orders.send(order).is_ok());
        let closed = || StoreError::Closed { path: self.path.clone() };
        if !sent {
            return Err(closed());
        }
        answer
            .await
            .map_err(|_| closed())?
            .map_err(|source| StoreError::from_database(&self.path, source))
    }

    /// Takes the line away; from now on the store is closed.
    fn hang_up(&self) -> Option<JoinHandle<()>> {
        let line = self.line.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        drop(line.orders);
        Some(line.thread)
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        if let Some(thread) = self.hang_up() {
            let _ = thread.join();
        }
    }
}

#[async_trait]
impl SessionStore for SqliteStore {
    async fn append(&self, key: &SessionKey, entries: &[Entry]) -> Result<(), StoreError> {
        if let Some(name) = [&key.project, &key.session].into_iter().find(|name| !is_name(name)) {
            return Err(StoreError::Name { path: self.path.clone(), name: name.clone() });
        }
        let (key, entries) = (key.clone(), entries.to_vec());
        self.ask(move |database| database.append(&key, &entries)).await
    }

    async fn load(&self, key: &SessionKey) -> Result<Option<Vec<Entry>>, StoreError> {
        let piece = self.piece(key, 0, usize::MAX).await?;
        Ok(piece.map(|piece| {
            self.note_unreadable(key, piece.unreadable);
            piece.entries
        }))
    }

    async fn load_each(
        &self,
        key: &SessionKey,
        each: &mut (dyn FnMut(Entry) -> ControlFlow<()> + Send),
    ) -> Result<bool, StoreError> {
        let (mut from, mut unreadable) = (0, 0);
        loop {
            let piece = match self.piece(key, from, PIECE).await? {
                Some(piece) if from == 0 || piece.first == from => piece,
                None if from == 0 => return Ok(false),
                _ => {
                    let (path, transcript) = (self.path.clone(), key.joined());
                    return Err(StoreError::Gone { path, transcript });
                }
            };
            unreadable += piece.unreadable;
            if piece.entries.into_iter().try_for_each(&mut *each).is_break() {
                return Ok(true);
            }
            match piece.next {
                Some(next) => from = next,
                None => break,
            }
        }
        self.note_unreadable(key, unreadable);
        Ok(true)
    }

    async fn settle(&self) -> Result<(), StoreError> {
        self.ask(Database::settle).await
    }

    async fn list_sessions(&self, project: &str) -> Result<Vec<SessionInfo>, StoreError> {
        if !is_name(project) {
            return Ok(Vec::new());
        }
        let project = project.to_owned();
        self.ask(move |database| database.list_sessions(&project)).await
    }

    async fn list_session_summaries(&self, project: &str) -> Result<Vec<String>, StoreError> {
        if !is_name(project) {
            return Ok(Vec::new());
        }
        let project = project.to_owned();
        self.ask(move |database| database.list_session_summaries(&project)).await
    }

    async fn list_subkeys(&self, project: &str, session: &str) -> Result<Vec<String>, StoreError> {
        if !is_name(project) || !is_name(session) {
            return Ok(Vec::new());
        }
        let (project, session) = (project.to_owned(), session.to_owned());
        self.ask(move |database| database.list_subkeys(&project, &session)).await
    }

    async fn delete(&self, key: &SessionKey) -> Result<(), StoreError> {
        if !is_name(&key.project) || !is_name(&key.session) {
            return Ok(());
        }
        let key = key.clone();
        self.ask(move |database| database.delete(&key)).await
    }

    async fn has_session(&self, project: &str, session: &str) -> Result<bool, StoreError> {
        if !is_name(project) || !is_name(session) {
            return Ok(false);
        }
        let (project, session) = (project.to_owned(), session.to_owned());
        self.ask(move |database| database.has_session(&project, &session)).await
    }

    async fn last_context(&self, project: &str, session: &str) -> Result<u64, StoreError> {
        if !is_name(project) || !is_name(session) {
            return Ok(0);
        }
        let (project, session) = (project.to_owned(), session.to_owned());
        self.ask(move |database| database.last_context(&project, &session)).await
    }

    async fn close(&self) -> Result<(), StoreError> {
        let Some(thread) = self.hang_up() else { return Ok(()) };
        let joined = tokio::task::spawn_blocking(move || thread.join().is_ok()).await;
        match joined {
            Ok(true) => Ok(()),
            _ => Err(StoreError::Closed { path: self.path.clone() }),
        }
    }
}
