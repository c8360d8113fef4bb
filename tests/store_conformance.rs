//! Every promise of a session store is kept by ours, and missed where a store breaks it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::ops::ControlFlow;
use std::path::Path;

use async_trait::async_trait;
use flower::store::conformance::{Breach, CONTRACTS, check};
use flower::store::{
    Durability, Journal, SessionInfo, SessionStore, SqliteStore, StoreError, StoreOptions,
};
use flower::transcript::{Entry, SessionKey};

fn in_memory() -> SqliteStore {
    SqliteStore::open(Path::new(":memory:")).unwrap()
}

#[tokio::test]
async fn ours_keeps_them_all_however_it_is_opened() {
    check(&in_memory()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (name, journal, durability) in [
        ("log", Journal::Automatic, Durability::Results),
        ("sure", Journal::WriteAhead, Durability::Appends),
        ("alone", Journal::Rollback, Durability::Results),
    ] {
        let options = StoreOptions { journal, durability, ..StoreOptions::default() };
        let store = SqliteStore::open_with(&folder.path().join(name), options).unwrap();
        check(&store).await.unwrap();
        // It may be in use, and it is left as it was found.
        let key = SessionKey::main("-p", "s");
        store.append(&key, &[Entry::parse(r#"{"uuid":"a"}"#).unwrap()]).await.unwrap();
        check(&store).await.unwrap();
        assert_eq!(store.projects().await.unwrap(), ["-p"]);
    }
}

/// What is wrong with a store.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Defect {
    Reversed,
    UnknownIsEmpty,
    NewestBatchFirst,
    EmptyAppendWrites,
    SubpathIgnored,
    ProjectIgnored,
    TimesInSeconds,
    SubagentsAreSessions,
    DeletionForgotten,
    DeletionWithoutSubagents,
    DeletionOfTooMuch,
    OtherSubagentsListed,
    MainAmongSubagents,
    SubagentInSummary,
    ReplaysStored,
    NamelessStoredOnce,
    ReplayTakesTime,
    ClockStandsStill,
    BytesWrittenAnew,
    KnownBySubagent,
    ContextOfFirst,
    OneByOneUnstoppable,
}

/// For each contract a store that breaks it and nothing before it.
const DEFECTS: [Defect; CONTRACTS.len()] = [
    Defect::Reversed,
    Defect::UnknownIsEmpty,
    Defect::NewestBatchFirst,
    Defect::EmptyAppendWrites,
    Defect::SubpathIgnored,
    Defect::ProjectIgnored,
    Defect::TimesInSeconds,
    Defect::SubagentsAreSessions,
    Defect::DeletionForgotten,
    Defect::DeletionWithoutSubagents,
    Defect::DeletionOfTooMuch,
    Defect::OtherSubagentsListed,
    Defect::MainAmongSubagents,
    Defect::SubagentInSummary,
    Defect::ReplaysStored,
    Defect::NamelessStoredOnce,
    Defect::ReplayTakesTime,
    Defect::ClockStandsStill,
    Defect::BytesWrittenAnew,
    Defect::KnownBySubagent,
    Defect::ContextOfFirst,
    Defect::OneByOneUnstoppable,
];

/// Our store with one defect.
struct Defective {
    store: SqliteStore,
    defect: Defect,
}

impl Defective {
    fn has(&self, defect: Defect) -> bool {
        self.defect == defect
    }

    /// The key that it takes this one for.
    fn key(&self, key: &SessionKey) -> SessionKey {
        let mut key = key.clone();
        if self.has(Defect::SubpathIgnored) && key.subpath.as_deref() != Some("subagents/agent-x") {
            key.subpath = None;
        }
        if self.has(Defect::ProjectIgnored) {
            // Of two names of which one begins like the other.
            key.project = key.project.trim_end_matches("-2").to_owned();
        }
        key
    }

    async fn stored(&self, key: &SessionKey) -> Vec<Entry> {
        self.store.load(key).await.unwrap().unwrap_or_default()
    }
}

#[async_trait]
impl SessionStore for Defective {
    async fn append(&self, key: &SessionKey, entries: &[Entry]) -> Result<(), StoreError> {
        let key = &self.key(key);
        let marked = |text: &str| vec![Entry::parse(text).unwrap()];
        let mut entries = entries.to_vec();
        match self.defect {
            Defect::EmptyAppendWrites if entries.is_empty() => entries = marked("{}"),
            Defect::NewestBatchFirst => {
                let older = self.stored(key).await;
                self.store.delete(key).await?;
                entries.extend(older);
            }
            Defect::ReplaysStored => {
                for (place, entry) in entries.iter_mut().enumerate() {
                    let known = self.stored(key).await.iter().any(|old| old.uuid == entry.uuid);
                    if known && entry.uuid.is_some() {
                        *entry = entry.with_field("uuid", &format!("\"again{place}\"")).unwrap();
                    }
                }
            }
            Defect::NamelessStoredOnce => {
                let known = self.stored(key).await;
                entries.retain(|entry| {
                    entry.uuid.is_some() || known.iter().all(|old| old.raw() != entry.raw())
                });
            }
            Defect::ReplayTakesTime => {
                let before = self.stored(key).await.len();
                self.store.append(key, &entries).await?;
                if !entries.is_empty() && self.stored(key).await.len() == before {
                    let all = self.stored(key).await;
                    self.store.delete(key).await?;
                    return self.store.append(key, &all).await;
                }
                return Ok(());
            }
            Defect::BytesWrittenAnew => {
                for entry in &mut entries {
                    let value: serde_json::Value =
                        serde_json::from_str(&entry.raw().replace("\\ud83d", "x")).unwrap();
                    *entry = Entry::parse(value.to_string()).unwrap();
                }
            }
            _ => {}
        }
        self.store.append(key, &entries).await
    }

    async fn load(&self, key: &SessionKey) -> Result<Option<Vec<Entry>>, StoreError> {
        let loaded = self.store.load(&self.key(key)).await?;
        Ok(match self.defect {
            Defect::Reversed => loaded.map(|entries| entries.into_iter().rev().collect()),
            Defect::UnknownIsEmpty => Some(loaded.unwrap_or_default()),
            _ => loaded,
        })
    }

    async fn load_each(
        &self,
        key: &SessionKey,
        each: &mut (dyn FnMut(Entry) -> ControlFlow<()> + Send),
    ) -> Result<bool, StoreError> {
        let Some(entries) = self.load(key).await? else { return Ok(false) };
        for entry in entries {
            if each(entry).is_break() && !self.has(Defect::OneByOneUnstoppable) {
                break;
            }
        }
        Ok(true)
    }

    async fn list_sessions(&self, project: &str) -> Result<Vec<SessionInfo>, StoreError> {
        let mut listed = self.store.list_sessions(project).await?;
        match self.defect {
            Defect::TimesInSeconds => listed.iter_mut().for_each(|info| info.mtime /= 1000),
            Defect::ClockStandsStill => {
                listed.iter_mut().for_each(|info| info.mtime = 1_760_000_000_000);
            }
            Defect::SubagentsAreSessions => {
                for info in listed.clone() {
                    for session_id in self.store.list_subkeys(project, &info.session_id).await? {
                        listed.push(SessionInfo { session_id, mtime: info.mtime });
                    }
                }
            }
            _ => {}
        }
        Ok(listed)
    }

    async fn list_session_summaries(&self, project: &str) -> Result<Vec<String>, StoreError> {
        let mut texts = self.store.list_session_summaries(project).await?;
        let subkeys = self.store.list_subkeys(project, "s").await?;
        if self.has(Defect::SubagentInSummary) && !subkeys.is_empty() {
            texts.iter_mut().for_each(|text| *text = text.replace("second", "agent"));
        }
        Ok(texts)
    }

    async fn list_subkeys(&self, project: &str, session: &str) -> Result<Vec<String>, StoreError> {
        let mut listed = self.store.list_subkeys(project, session).await?;
        if self.has(Defect::OtherSubagentsListed) && session == "a" {
            listed.extend(self.store.list_subkeys(project, "b").await?);
        }
        if self.has(Defect::MainAmongSubagents) && session == "alone" {
            listed.push(String::new());
        }
        Ok(listed)
    }

    async fn delete(&self, key: &SessionKey) -> Result<(), StoreError> {
        let main = key.subpath.is_none();
        match self.defect {
            Defect::DeletionForgotten => return Ok(()),
            Defect::DeletionWithoutSubagents if main => {
                let mut kept = Vec::new();
                for subpath in self.store.list_subkeys(&key.project, &key.session).await? {
                    let sub = SessionKey { subpath: Some(subpath), ..key.clone() };
                    kept.push((sub.clone(), self.stored(&sub).await));
                }
                self.store.delete(key).await?;
                for (sub, entries) in kept {
                    self.store.append(&sub, &entries).await?;
                }
                return Ok(());
            }
            Defect::DeletionOfTooMuch if !main => {
                let whole = SessionKey { subpath: None, ..key.clone() };
                return self.store.delete(&whole).await;
            }
            _ => {}
        }
        self.store.delete(key).await
    }

    async fn has_session(&self, project: &str, session: &str) -> Result<bool, StoreError> {
        let subkeys = self.store.list_subkeys(project, session).await?;
        let known = self.store.has_session(project, session).await?;
        Ok(known || self.has(Defect::KnownBySubagent) && !subkeys.is_empty())
    }

    async fn last_context(&self, project: &str, session: &str) -> Result<u64, StoreError> {
        let known = self.store.last_context(project, session).await?;
        Ok(if self.has(Defect::ContextOfFirst) { known.min(1) } else { known })
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.store.close().await
    }
}

#[tokio::test]
async fn a_store_that_breaks_a_promise_is_told_which() {
    let mut wrong = Vec::new();
    for (place, defect) in DEFECTS.into_iter().enumerate() {
        let found = check(&Defective { store: in_memory(), defect }).await;
        match found {
            Err(Breach::Broken { number, promise, .. })
                if number == place + 1 && promise == CONTRACTS[place] => {}
            other => wrong.push(format!("{defect:?}, contract {}: {other:?}", place + 1)),
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn a_store_that_fails_is_told_as_such() {
    let store = in_memory();
    store.close().await.unwrap();
    let breach = check(&store).await.unwrap_err();
    assert!(matches!(breach, Breach::Failed { number: 1, .. }), "{breach:?}");
    assert!(breach.to_string().contains("is closed"), "{breach}");
}

#[tokio::test]
async fn names_with_odd_characters_do_not_meet() {
    let odd = [
        "a",
        "A",
        "a ",
        " a",
        "a%",
        "a_",
        "ab",
        "a*",
        "a?",
        "a\\",
        "a'",
        "a\"",
        "a;--",
        "a\n",
        "a\0",
        "a\0b",
        "a-",
        "a.",
        "..",
        ".",
        "a0",
        "a\u{301}",
        "\u{e1}",
        "\u{8bb0}\u{5f55}",
        "\u{1f600}",
        "\u{10ffff}",
        "null",
        "-journal",
        &"x".repeat(5000),
    ];
    let store = in_memory();
    let row = |name: &str| Entry::parse(serde_json::json!({"uuid": "u", "n": name}).to_string());
    let subpath = |name: &str| format!("subagents/{name}/../%_//{name}/");
    for project in odd {
        for session in odd {
            let main = SessionKey::main(project, session);
            let sub = SessionKey { subpath: Some(subpath(session)), ..main.clone() };
            store.append(&main, &[row(&format!("{project} {session}")).unwrap()]).await.unwrap();
            store.append(&sub, &[row(session).unwrap()]).await.unwrap();
        }
    }
    let mut left = odd.to_vec();
    left.sort_unstable();
    assert_eq!(store.projects().await.unwrap(), left);
    while let Some(gone) = left.pop() {
        for project in odd {
            let listed = store.list_sessions(project).await.unwrap();
            assert_eq!(listed.len(), left.len() + 1, "{project:?}");
            let main = SessionKey::main(project, gone);
            let text = store.load(&main).await.unwrap().unwrap()[0].string("n").unwrap();
            assert_eq!(text, format!("{project} {gone}"));
            assert_eq!(store.list_subkeys(project, gone).await.unwrap(), [subpath(gone)]);
            store.delete(&main).await.unwrap();
            assert!(store.list_subkeys(project, gone).await.unwrap().is_empty());
        }
    }
    assert!(store.projects().await.unwrap().is_empty());
    // What would be another one's name is refused, and there is nothing under it.
    store.append(&SessionKey::main("p", "q").subagent("1"), &[row("").unwrap()]).await.unwrap();
    for (project, session) in [("p/q", "subagents/agent-1"), ("", "s"), ("p", ""), ("p", "q/x")] {
        let key = SessionKey::main(project, session);
        let refused = store.append(&key, &[row("").unwrap()]).await;
        assert!(matches!(refused, Err(StoreError::Name { .. })), "{key:?}");
        assert!(store.load(&key).await.unwrap().is_none());
        assert!(!store.has_session(project, session).await.unwrap());
        store.delete(&key).await.unwrap();
    }
    assert!(store.list_sessions("p/q").await.unwrap().is_empty());
    assert_eq!(store.list_subkeys("p", "q").await.unwrap().len(), 1);
}
