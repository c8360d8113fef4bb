//! Large things in a session store: one entry, many transcripts, many entries.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use flower::store::{SessionStore, SqliteStore};
use flower::transcript::{Entry, SessionKey};
use serde_json::json;

#[path = "support/server.rs"]
mod server;

use server::Server;

fn entry(uuid: &str, text: &str) -> Entry {
    let content = json!([{"type": "tool_result", "tool_use_id": "t", "content": text}]);
    let message = json!({"role": "user", "content": content});
    Entry::parse(json!({"type": "user", "uuid": uuid, "message": message}).to_string()).unwrap()
}

#[test]
fn a_result_of_twelve_megabytes_passes_through_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(Server::command(folder.path()));
    // Spacing, escapes and half a surrogate pair, which no other form of the text would keep.
    let large = format!(
        r#"{{ "uuid":"a" , "x" : "\ud83d {}" , "n": 1.0 }}"#,
        "\u{e9}\\n".repeat(3_000_000)
    );
    assert!(large.len() > 12_000_000);
    let key = server::key();
    let answer = server.raw("append", &format!(r#"{{"key":{key},"entries":[{large}]}}"#));
    assert_eq!(answer, "{\"id\":1,\"result\":null}\n");
    let answer = server.raw("load", &format!(r#"{{"key":{key}}}"#));
    // Not `assert_eq`, which would print both.
    assert!(answer == format!("{{\"id\":1,\"result\":[{large}]}}\n"));
    assert!(server.end());
}

#[tokio::test]
async fn four_hundred_subagents_come_and_go_with_their_session() {
    let store = SqliteStore::open(Path::new(":memory:")).unwrap();
    let (key, other) = (SessionKey::main("p", "s"), SessionKey::main("p", "s2"));
    store.append(&key, &[entry("m", "main")]).await.unwrap();
    store.append(&other.subagent("1"), &[entry("m", "other")]).await.unwrap();
    for agent in 0..404 {
        let rows: Vec<Entry> = (0..20).map(|n| entry(&format!("u{n}"), "part")).collect();
        store.append(&key.subagent(&agent.to_string()), &rows).await.unwrap();
    }
    let subkeys = store.list_subkeys("p", "s").await.unwrap();
    assert_eq!(subkeys.len(), 404);
    for subpath in subkeys {
        let sub = SessionKey { subpath: Some(subpath), ..key.clone() };
        assert_eq!(store.load(&sub).await.unwrap().unwrap().len(), 20);
    }
    assert_eq!(store.list_sessions("p").await.unwrap().len(), 1);
    store.delete(&key).await.unwrap();
    assert!(store.list_subkeys("p", "s").await.unwrap().is_empty());
    assert!(store.load(&key.subagent("403")).await.unwrap().is_none());
    assert_eq!(store.load(&other.subagent("1")).await.unwrap().unwrap().len(), 1);
}

#[tokio::test]
async fn a_transcript_that_is_deleted_while_it_is_read_is_not_taken_for_a_short_one() {
    let store = SqliteStore::open(Path::new(":memory:")).unwrap();
    let key = SessionKey::main("p", "s");
    let text = "x".repeat(100_000);
    let rows: Vec<Entry> = (0..50).map(|n| entry(&format!("u{n}"), &text)).collect();
    store.append(&key, &rows).await.unwrap();
    let mut seen = 0;
    let mut each = |_| {
        if seen == 0 {
            // Nobody waits for it here: it is done before the next piece is read.
            let delete = store.delete(&key);
            let mut delete = std::pin::pin!(delete);
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            let _ = delete.as_mut().poll(&mut context);
        }
        seen += 1;
        std::ops::ControlFlow::Continue(())
    };
    let error = store.load_each(&key, &mut each).await.unwrap_err();
    assert!(seen < 50);
    assert!(error.to_string().contains("p/s was deleted"), "{error}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn serving_a_long_transcript_needs_little_more_memory_than_its_text() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("sessions.db")).unwrap();
    let text = "x".repeat(1200);
    for batch in 0..25 {
        let row = |n| entry(&format!("{batch}-{n}"), &text);
        let rows: Vec<Entry> = (0..1000).map(row).collect();
        store.append(&SessionKey::main("p", "s"), &rows).await.unwrap();
    }
    store.close().await.unwrap();
    let mut server = Server::start(Server::command(folder.path()));
    let answer = server.raw("load", &format!(r#"{{"key":{}}}"#, server::key()));
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: usize = line.split_whitespace().next().unwrap().parse().unwrap();
    let text = answer.len() / 1024;
    // The answer grows by doubling; program and page cache are the rest.
    assert!(text > 30_000 && peak < text * 5 / 2 + 50_000, "{peak} KiB for {text} KiB");
}
