//! The runtime waits for the disk at each result, good or bad, and not before.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use flower::engine::{Conversation, Engine, EngineError, Fault, Host, Opening, Spent, TurnEnd};
use flower::event::Sink;
use flower::language::Language;
use flower::role;
use flower::runtime::{
    Assignment, HandoffPolicy, Limits, Parts, Resilience, RunFolder, Runtime, Session, ViewOptions,
};
use flower::store::{SessionInfo, SessionStore, SqliteStore, StoreError};
use flower::transcript::{Entry, SessionKey};

/// Our store; what was done with it is written down.
struct Noted {
    store: SqliteStore,
    done: Mutex<Vec<&'static str>>,
    settles: bool,
}

#[async_trait]
impl SessionStore for Noted {
    async fn append(&self, key: &SessionKey, entries: &[Entry]) -> Result<(), StoreError> {
        self.done.lock().unwrap().push("append");
        self.store.append(key, entries).await
    }
    async fn settle(&self) -> Result<(), StoreError> {
        self.done.lock().unwrap().push("settle");
        if self.settles {
            return self.store.settle().await;
        }
        Err(StoreError::NoRoom { path: "here".into(), reason: "the disk is full".into() })
    }
    async fn load(&self, key: &SessionKey) -> Result<Option<Vec<Entry>>, StoreError> {
        self.store.load(key).await
    }
    async fn list_sessions(&self, project: &str) -> Result<Vec<SessionInfo>, StoreError> {
        self.store.list_sessions(project).await
    }
    async fn list_session_summaries(&self, project: &str) -> Result<Vec<String>, StoreError> {
        self.store.list_session_summaries(project).await
    }
    async fn list_subkeys(&self, project: &str, session: &str) -> Result<Vec<String>, StoreError> {
        self.store.list_subkeys(project, session).await
    }
    async fn delete(&self, key: &SessionKey) -> Result<(), StoreError> {
        self.store.delete(key).await
    }
    async fn has_session(&self, project: &str, session: &str) -> Result<bool, StoreError> {
        self.store.has_session(project, session).await
    }
    async fn last_context(&self, project: &str, session: &str) -> Result<u64, StoreError> {
        self.store.last_context(project, session).await
    }
    async fn close(&self) -> Result<(), StoreError> {
        self.store.close().await
    }
}

/// An engine whose only turn records two entries and ends well or not.
struct Brief {
    good: bool,
}

struct Talk {
    key: SessionKey,
    host: Arc<dyn Host>,
    good: bool,
}

#[async_trait]
impl Engine for Brief {
    async fn open(
        &self,
        opening: Opening,
        host: Arc<dyn Host>,
    ) -> Result<Box<dyn Conversation>, EngineError> {
        Ok(Box::new(Talk { key: opening.key, host, good: self.good }))
    }
}

#[async_trait]
impl Conversation for Talk {
    fn session_id(&self) -> &str {
        &self.key.session
    }
    async fn turn(&mut self, _prompt: &str) -> Result<TurnEnd, EngineError> {
        for uuid in ["a", "b"] {
            let entry = format!(r#"{{"type":"user","uuid":"{uuid}"}}"#);
            self.host.record(&self.key, &[Entry::parse(entry).unwrap()]).await.unwrap();
        }
        if !self.good {
            return Err(EngineError::new(Fault::BadRequest, "no"));
        }
        Ok(TurnEnd { text: "done".into(), stop_reason: "end_turn".into(), context: 1 })
    }
    fn spent(&self) -> Spent {
        Spent::default()
    }
}

/// What is done with the store in one step, and how the step ends.
async fn step(good: bool, settles: bool) -> (Vec<&'static str>, Result<String, String>) {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(Path::new(":memory:")).unwrap();
    let store = Arc::new(Noted { store, done: Mutex::default(), settles });
    let parts = Parts {
        engine: Arc::new(Brief { good }),
        store: Arc::clone(&store) as Arc<dyn SessionStore>,
        folder: RunFolder::open(folder.path()).unwrap(),
        workspace: folder.path().to_owned(),
        workbench: None,
        channel: None,
        sink: Sink::nobody(),
        language: Language::English,
        resilience: Resilience::default(),
        handoff: HandoffPolicy::default(),
        view: ViewOptions::default(),
        door: None,
        tool_environment: Vec::new(),
        yard: None,
        ground: None,
    };
    let assignment = Assignment {
        label: "once".into(),
        step: "once".into(),
        role: &role::once("", Vec::new()),
        prompt: "hi".into(),
        session: Session::New,
        folder: None,
        on_session: &|_| {},
    };
    let result = Runtime::new(parts, Limits::default()).unwrap().run(assignment).await.unwrap();
    let done = store.done.lock().unwrap().clone();
    (done, if result.ok { Ok(result.text) } else { Err(result.error.unwrap_or_default()) })
}

#[tokio::test]
async fn each_result_is_settled_once_behind_everything_that_belongs_to_it() {
    // The first entry holds the instructions.
    let wanted = ["append", "append", "append", "settle"];
    assert_eq!(step(true, true).await, (wanted.to_vec(), Ok("done".to_owned())));
    assert_eq!(step(false, true).await, (wanted.to_vec(), Err("no".to_owned())));
}

#[tokio::test]
async fn a_result_that_cannot_be_settled_is_none() {
    let (_, end) = step(true, false).await;
    assert!(end.as_ref().is_err_and(|error| error.contains("the disk is full")), "{end:?}");
    // What went wrong first is what is told.
    let (_, end) = step(false, false).await;
    assert_eq!(end, Err("no".to_owned()));
}
