//! The fourteen contracts that every session store keeps (claude-code.md A3), as one function.

use flower::store::SessionStore;
use flower::transcript::{Entry, SessionKey};

fn row(uuid: &str, text: &str) -> Entry {
    let raw = format!(
        r#"{{"type":"user","uuid":"{uuid}","timestamp":"2025-11-02T10:00:01.000Z","message":{{"role":"user","content":"{text}"}},"n":1.0}}"#
    );
    Entry::parse(raw).unwrap()
}

fn raws(entries: Option<Vec<Entry>>) -> Option<Vec<String>> {
    entries.map(|entries| entries.iter().map(|entry| entry.raw().to_owned()).collect())
}

async fn load(store: &dyn SessionStore, key: &SessionKey) -> Option<Vec<String>> {
    raws(store.load(key).await.unwrap())
}

/// Checks all fourteen; the store must be empty.
pub(crate) async fn keeps_the_contracts(store: &dyn SessionStore) {
    let main = SessionKey::main("-p", "s1");
    let (a, b, c) = (row("a", "one"), row("b", "two"), row("c", "three"));
    let text = |entry: &Entry| entry.raw().to_owned();

    // 2: nothing where the key or the subpath is unknown.
    assert_eq!(load(store, &main).await, None);
    assert_eq!(load(store, &main.subagent("x")).await, None);

    // 4: appending nothing does nothing.
    store.append(&main, &[]).await.unwrap();
    assert_eq!(load(store, &main).await, None);
    assert!(store.list_sessions("-p").await.unwrap().is_empty());

    // 1 and 3: the same bytes in the same order, also over several appends.
    store.append(&main, &[b.clone(), a.clone()]).await.unwrap();
    store.append(&main, std::slice::from_ref(&c)).await.unwrap();
    assert_eq!(load(store, &main).await, Some(vec![text(&b), text(&a), text(&c)]));

    // 5: subpaths are transcripts of their own.
    let (one, two) = (main.subagent("1"), main.subagent("2"));
    store.append(&one, std::slice::from_ref(&a)).await.unwrap();
    store.append(&two, &[a.clone(), b.clone()]).await.unwrap();
    assert_eq!(load(store, &one).await, Some(vec![text(&a)]));
    assert_eq!(load(store, &main).await.unwrap().len(), 3);

    // 6: projects do not see each other.
    let other = SessionKey::main("-other", "s1");
    assert_eq!(load(store, &other).await, None);
    store.append(&other, std::slice::from_ref(&a)).await.unwrap();
    store.append(&other.subagent("1"), std::slice::from_ref(&a)).await.unwrap();
    let second = SessionKey::main("-p", "s2");
    store.append(&second, std::slice::from_ref(&a)).await.unwrap();
    store.append(&second.subagent("1"), std::slice::from_ref(&a)).await.unwrap();

    // 7 and 8: sessions with a time in milliseconds, without subpaths.
    let mut listed = store.list_sessions("-p").await.unwrap();
    listed.sort_by(|x, y| x.session_id.cmp(&y.session_id));
    let ids: Vec<&str> = listed.iter().map(|info| info.session_id.as_str()).collect();
    assert_eq!(ids, ["s1", "s2"]);
    assert!(listed.iter().all(|info| info.mtime > 1_000_000_000_000));
    assert!(store.list_sessions("-unknown").await.unwrap().is_empty());

    // 12 and 13: the subpaths of that session, without the main transcript.
    let mut subkeys = store.list_subkeys("-p", "s1").await.unwrap();
    subkeys.sort();
    assert_eq!(subkeys, ["subagents/agent-1", "subagents/agent-2"]);
    assert!(store.list_subkeys("-p", "unknown").await.unwrap().is_empty());

    // 14: a summary for each main transcript, as new as the listing, not touched by subpaths.
    let summaries = store.list_session_summaries("-p").await.unwrap();
    assert_eq!(summaries.len(), 2);
    for info in &listed {
        let summary = summaries
            .iter()
            .map(|text| serde_json::from_str::<serde_json::Value>(text).unwrap())
            .find(|summary| summary["session_id"] == info.session_id.as_str())
            .unwrap();
        assert!(summary["mtime"].as_i64().unwrap() >= info.mtime);
    }
    store.append(&one, std::slice::from_ref(&b)).await.unwrap();
    assert_eq!(store.list_session_summaries("-p").await.unwrap(), summaries);
    assert!(store.list_session_summaries("-unknown").await.unwrap().is_empty());

    // 11: deleting a subpath takes only that.
    store.delete(&one).await.unwrap();
    assert_eq!(load(store, &one).await, None);
    assert_eq!(load(store, &two).await.unwrap().len(), 2);
    assert_eq!(load(store, &main).await.unwrap().len(), 3);
    assert_eq!(store.list_session_summaries("-p").await.unwrap().len(), 2);

    // 9 and 10: deleting a main transcript takes its subpaths and summary, and nothing else.
    store.delete(&main).await.unwrap();
    assert_eq!(load(store, &main).await, None);
    assert_eq!(load(store, &two).await, None);
    assert!(store.list_subkeys("-p", "s1").await.unwrap().is_empty());
    assert!(!store.has_session("-p", "s1").await.unwrap());
    assert_eq!(store.list_session_summaries("-p").await.unwrap().len(), 1);
    assert_eq!(load(store, &second.subagent("1")).await.unwrap().len(), 1);
    assert_eq!(load(store, &other.subagent("1")).await.unwrap().len(), 1);
    store.delete(&SessionKey::main("-p", "never")).await.unwrap();
}
