//! Session stores whose `load` gives the view instead of the record, for users of the library.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;

use super::shelf;
use crate::context::{self, EphemeralPolicy, Policy, Report, TrimPolicy};
use crate::store::{SessionInfo, SessionStore, StoreError};
use crate::transcript::{Entry, SessionKey};

/// A session store over another one: what it loads is the view, everything else goes through.
///
/// The files that a view points to are written before `load` returns, where they are absent. Where they
/// cannot be, large results stay in the view.
pub struct ViewStore {
    store: Arc<dyn SessionStore>,
    workspace: PathBuf,
    policy: Policy,
    report: Mutex<Report>,
}

/// Makes a store that expires and trims, but keeps errors and refusals.
///
/// ```
/// # use std::sync::Arc;
/// # use flower::context::{EphemeralPolicy, TrimPolicy};
/// # use flower::store::SessionStore;
/// # use flower::transcript::{Entry, SessionKey};
/// # use flower::{SqliteSessionStore, TrimmingSessionStore};
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let workspace = tempfile::tempdir().unwrap();
/// let store = Arc::new(SqliteSessionStore::open(":memory:".as_ref()).unwrap());
/// let trim = TrimPolicy { keep_recent: 0, min_chars: 100, ..TrimPolicy::default() };
/// let store = TrimmingSessionStore::over(store, workspace.path(), trim, EphemeralPolicy::default());
/// let key = SessionKey::main("-work", "5e550000-0000-4000-8000-000000000001");
/// let call = r#"{"type":"user","uuid":"a","message":{"role":"user","content":"go"}}
/// {"type":"assistant","uuid":"b","parentUuid":"a","message":{"role":"assistant","id":"m","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"make"}}]}}"#;
/// let result = format!(
///     r#"{{"type":"user","uuid":"c","parentUuid":"b","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t","content":"{}"}}]}}}}"#,
///     "x".repeat(100)
/// );
/// let rows: Vec<Entry> =
///     call.lines().chain([result.as_str()]).map(|row| Entry::parse(row).unwrap()).collect();
/// store.append(&key, &rows).await.unwrap();
/// let seen = store.load(&key).await.unwrap().unwrap();
/// assert!(seen[2].raw().contains("工具结果已归档:100 字符"));
/// assert_eq!(store.report().cleared, 1);
/// assert_eq!(std::fs::read_dir(workspace.path().join(".flower/spill")).unwrap().count(), 1);
/// # });
/// ```
#[derive(Debug)]
pub struct TrimmingSessionStore;

impl TrimmingSessionStore {
    /// Over this store; files go below the workspace, which the agent's Read must reach.
    pub fn over(
        store: Arc<dyn SessionStore>,
        workspace: &Path,
        trim: TrimPolicy,
        ephemeral: EphemeralPolicy,
    ) -> ViewStore {
        ViewStore::new(store, workspace, Policy { trim, ephemeral, ..Policy::whole() })
    }
}

/// Makes a store that expires, trims and prunes, as `flower go` resumes conversations.
///
/// ```
/// # use std::sync::Arc;
/// # use flower::context::Policy;
/// # use flower::store::SessionStore;
/// # use flower::transcript::{Entry, SessionKey};
/// # use flower::{PruningSessionStore, SqliteSessionStore};
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let workspace = tempfile::tempdir().unwrap();
/// let store = Arc::new(SqliteSessionStore::open(":memory:".as_ref()).unwrap());
/// let store = PruningSessionStore::over(store, workspace.path(), Policy::default());
/// let key = SessionKey::main("-work", "5e550000-0000-4000-8000-000000000001");
/// let rows: Vec<Entry> = r#"{"type":"user","uuid":"a","parentUuid":null,"message":{"role":"user","content":"go"}}
/// {"type":"assistant","uuid":"e","parentUuid":"a","isApiErrorMessage":true,"message":{"role":"assistant","content":[]}}
/// {"type":"user","uuid":"b","parentUuid":"e","message":{"role":"user","content":"go on"}}"#
///     .lines()
///     .map(|row| Entry::parse(row).unwrap())
///     .collect();
/// store.append(&key, &rows).await.unwrap();
/// let seen = store.load(&key).await.unwrap().unwrap();
/// assert_eq!(seen.len(), 2);
/// assert_eq!(seen[1].parent.as_deref(), Some("a"));
/// assert_eq!(store.report().pruned, 1);
/// # });
/// ```
#[derive(Debug)]
pub struct PruningSessionStore;

impl PruningSessionStore {
    /// Over this store; files go below the workspace, which the agent's Read must reach.
    pub fn over(store: Arc<dyn SessionStore>, workspace: &Path, policy: Policy) -> ViewStore {
        ViewStore::new(store, workspace, policy)
    }
}

impl ViewStore {
    fn new(store: Arc<dyn SessionStore>, workspace: &Path, policy: Policy) -> Self {
        Self { store, workspace: workspace.to_owned(), policy, report: Mutex::default() }
    }

    /// What the last `load` left out and mended.
    pub fn report(&self) -> Report {
        self.report.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl std::fmt::Debug for ViewStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ViewStore")
            .field("workspace", &self.workspace)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl SessionStore for ViewStore {
    async fn load(&self, key: &SessionKey) -> Result<Option<Vec<Entry>>, StoreError> {
        *self.report.lock().unwrap_or_else(PoisonError::into_inner) = Report::default();
        let Some(record) = self.store.load(key).await? else { return Ok(None) };
        let (policy, workspace) = (self.policy.clone(), self.workspace.clone());
        let view = match apart(move || shelf::see(record, &policy, &workspace)).await {
            Ok(view) => view,
            // Read again instead of kept twice for a case that hardly ever happens.
            Err(_) => {
                let Some(record) = self.store.load(key).await? else { return Ok(None) };
                let policy = shelf::untrimmed(&self.policy);
                apart(move || context::view(record, &policy)).await
            }
        };
        *self.report.lock().unwrap_or_else(PoisonError::into_inner) = view.report;
        Ok(Some(view.entries))
    }

    async fn settle(&self) -> Result<(), StoreError> {
        self.store.settle().await
    }

    async fn append(&self, key: &SessionKey, entries: &[Entry]) -> Result<(), StoreError> {
        self.store.append(key, entries).await
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

/// Long work, off the threads that others wait on.
async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(failed) => match failed.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Nobody else holds the handle by which it could be aborted.
            Err(_) => unreachable!("a blocking task is not cancelled once it runs"),
        },
    }
}
