//! The reference program's store, step by step: what it kept, ours keeps, except where it was wrong.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use flower::store::{Clock, SessionStore, SqliteStore, StoreError, StoreOptions};
use flower::transcript::{Entry, RawObject, SessionKey, decode_string};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Steps whose result or tables differ on purpose: series, index of the step, why.
const DIFFERENT: &[(&str, usize, &str)] = &[
    ("no_uuid_entries", 7, "an empty uuid is none: both entries are kept"),
    ("subpath_empty_string", 0, "an empty subpath is the main transcript, with its summary"),
    ("subpath_empty_string", 4, "deleting it takes summary and subpaths along"),
    ("delete_like_wildcards", 6, "keys are compared as they are, not as LIKE patterns"),
    ("delete_like_wildcards", 7, "keys are compared as they are, not as LIKE patterns"),
    ("monotonic_mtime", 7, "a replay that adds nothing uses up no time"),
    ("monotonic_mtime", 9, "times grow across processes although the clock went back"),
    ("monotonic_mtime", 10, "times grow across processes although the clock went back"),
    ("last_context", 18, "a null count is zero"),
    ("json_values", 2, "NaN is not JSON; such a text never becomes an entry"),
    ("uuid_not_a_string", 1, "the replay of a numeric uuid is recognised"),
    ("uuid_not_a_string", 2, "nothing is left half done"),
    ("uuid_not_a_string", 3, "nothing is left half done"),
    ("uuid_not_a_string", 4, "nothing is left half done, so that the append works"),
    ("large_batch", 3, "a batch may have any size"),
];

struct Step<'a> {
    op: String,
    clock: Option<i64>,
    args: Vec<&'a str>,
    result: Option<&'a str>,
    tables: Option<&'a str>,
    suspect: bool,
}

fn steps(text: &str) -> Vec<Step<'_>> {
    let rows: Vec<&RawValue> = serde_json::from_str(text).unwrap();
    rows.into_iter()
        .map(|row| {
            let fields = RawObject::parse(row.get()).unwrap();
            let args: Vec<&RawValue> =
                serde_json::from_str(fields.get("args").unwrap_or("[]")).unwrap();
            Step {
                op: fields.string("op").unwrap(),
                clock: fields.get("clock_ms").and_then(|ms| ms.parse().ok()),
                args: args.into_iter().map(RawValue::get).collect(),
                result: fields.get("result"),
                tables: fields.get("tables_after"),
                suspect: fields.flag("suspect"),
            }
        })
        .collect()
}

fn key(text: &str) -> SessionKey {
    let fields = RawObject::parse(text).unwrap();
    SessionKey {
        project: fields.string("project_key").unwrap(),
        session: fields.string("session_id").unwrap(),
        subpath: fields.string("subpath"),
    }
}

/// Entries that are written out, or made up by the description of them.
fn entries(text: &str) -> Vec<Entry> {
    let described = |from: usize, to: usize, row: &dyn Fn(usize) -> String| {
        (from..to).map(|i| Entry::parse(row(i)).unwrap()).collect()
    };
    match decode_string(text).as_deref() {
        None => {
            let rows: Vec<&RawValue> = serde_json::from_str(text).unwrap();
            rows.into_iter().map(|row| Entry::parse(row.get()).unwrap()).collect()
        }
        Some("56 user entries u100..u155") => {
            described(100, 156, &|i| format!(r#"{{"type":"user","uuid":"u{i}"}}"#))
        }
        Some("40,000 entries {type:x, uuid:L<i>}" | "the same 40,000 entries") => {
            described(0, 40_000, &|i| format!(r#"{{"type":"x","uuid":"L{i}"}}"#))
        }
        Some("260,000 entries {type:x, uuid:M<i>}") => {
            described(0, 260_000, &|i| format!(r#"{{"type":"x","uuid":"M{i}"}}"#))
        }
        Some("one entry with nan=NaN, inf=Infinity") => {
            assert!(Entry::parse(r#"{"type":"x","uuid":"j3","nan":NaN,"inf":Infinity}"#).is_err());
            Vec::new()
        }
        Some(other) => panic!("a description that the test does not know: {other}"),
    }
}

/// JSON without its spacing and with one form of escapes, so that only meaning is compared, and the
/// order of keys. Halves of surrogate pairs become U+FFFD.
fn plain(text: &str) -> String {
    if let Some(string) = decode_string(text) {
        return json!(string).to_string();
    }
    if let Ok(fields) = RawObject::parse(text) {
        let parts: Vec<String> = fields
            .iter()
            .map(|(name, value)| format!("{}:{}", json!(name), plain(value)))
            .collect();
        return format!("{{{}}}", parts.join(","));
    }
    if let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(text) {
        let parts: Vec<String> = items.iter().map(|item| plain(item.get())).collect();
        return format!("[{}]", parts.join(","));
    }
    text.to_owned()
}

fn plain_sorted(text: &str) -> Vec<String> {
    let items: Vec<&RawValue> = serde_json::from_str(text).unwrap();
    let mut items: Vec<String> = items.iter().map(|item| plain(item.get())).collect();
    items.sort();
    items
}

fn lines(items: Vec<String>) -> String {
    format!("[{}]", items.join(","))
}

/// The three tables in the shape of `tables_after`.
fn tables(path: &Path) -> String {
    let connection = rusqlite::Connection::open(path).unwrap();
    let read = |query: &str| -> Vec<String> {
        let mut statement = connection.prepare(query).unwrap();
        statement
            .query_map([], |row| row.get::<_, String>(0))
            .unwrap()
            .map(Result::unwrap)
            .collect()
    };
    let entries = read(
        "SELECT json_array(store_key, seq, uid, payload) FROM entries ORDER BY store_key, seq",
    );
    let meta = read("SELECT json_array(store_key, mtime, next_seq) FROM meta ORDER BY store_key");
    // The summary's text goes in as it is.
    let summaries = read(
        "SELECT '[' || json_quote(project_key) || ',' || json_quote(session_id) || ',' || mtime || ',' || data || ']'
         FROM summaries ORDER BY project_key, session_id",
    );
    format!(
        r#"{{"entries":{},"meta":{},"summaries":{}}}"#,
        lines(entries),
        lines(meta),
        lines(summaries)
    )
}

/// Tables with payloads compared as JSON, rows in the order of their keys.
fn comparable(tables: &str) -> Vec<Vec<String>> {
    let fields = RawObject::parse(tables).unwrap();
    ["entries", "meta", "summaries"]
        .map(|table| {
            let rows: Vec<&RawValue> = serde_json::from_str(fields.get(table).unwrap()).unwrap();
            let mut rows: Vec<String> = rows
                .iter()
                .map(|row| {
                    let cells: Vec<&RawValue> = serde_json::from_str(row.get()).unwrap();
                    let cells: Vec<String> = cells
                        .iter()
                        .enumerate()
                        .map(|(i, cell)| match decode_string(cell.get()) {
                            Some(payload) if table == "entries" && i == 3 => plain(&payload),
                            _ => plain(cell.get()),
                        })
                        .collect();
                    cells.join(" ")
                })
                .collect();
            rows.sort();
            rows
        })
        .to_vec()
}

async fn perform(store: &SqliteStore, step: &Step<'_>) -> Option<String> {
    let string = |i: usize| decode_string(step.args[i]).unwrap();
    Some(match step.op.as_str() {
        "append" => {
            store.append(&key(step.args[0]), &entries(step.args[1])).await.unwrap();
            return None;
        }
        "delete" => {
            store.delete(&key(step.args[0])).await.unwrap();
            return None;
        }
        "load" => match store.load(&key(step.args[0])).await.unwrap() {
            None => "null".into(),
            Some(entries) => lines(entries.iter().map(|entry| entry.raw().to_owned()).collect()),
        },
        "list_sessions" => {
            let sessions = store.list_sessions(&string(0)).await.unwrap();
            lines(
                sessions
                    .iter()
                    .map(|s| json!({"session_id": s.session_id, "mtime": s.mtime}).to_string())
                    .collect(),
            )
        }
        "list_session_summaries" => lines(store.list_session_summaries(&string(0)).await.unwrap()),
        "list_subkeys" => {
            let key = key(step.args[0]);
            json!(store.list_subkeys(&key.project, &key.session).await.unwrap()).to_string()
        }
        "has_session" => {
            json!(store.has_session(&string(0), &string(1)).await.unwrap()).to_string()
        }
        "last_context" => {
            json!(store.last_context(&string(0), &string(1)).await.unwrap()).to_string()
        }
        "projects" => json!(store.projects().await.unwrap()).to_string(),
        "count_loaded" => {
            let key = SessionKey::main("-work-demo", "aaaaaaaa-0000-4000-8000-000000000001");
            store.load(&key).await.unwrap().unwrap().len().to_string()
        }
        other => panic!("an operation that the test does not know: {other}"),
    })
}

fn open(path: &Path, now: &Arc<AtomicI64>) -> SqliteStore {
    let now = Arc::clone(now);
    let clock: Clock = Arc::new(move || now.load(Ordering::SeqCst));
    SqliteStore::open_with(path, StoreOptions { clock, ..StoreOptions::default() }).unwrap()
}

#[tokio::test]
async fn the_store_does_what_the_reference_did() {
    let text = include_str!("fixtures/store/store_ops.json");
    let series: Vec<&RawValue> = serde_json::from_str(text).unwrap();
    let mut compared = (0, 0);
    for row in series {
        let fields = RawObject::parse(row.get()).unwrap();
        let name = fields.string("series").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sessions.db");
        let now = Arc::new(AtomicI64::new(0));
        let mut store = open(&path, &now);
        for (index, step) in steps(fields.get("steps").unwrap()).iter().enumerate() {
            let place = format!("{name}, step {index}: {}", step.op);
            if let Some(clock) = step.clock {
                now.store(clock, Ordering::SeqCst);
            }
            if name == "slash_in_project_key" {
                // Its other steps only show what had been mixed up.
                if step.op == "append" && index == 0 {
                    let refused = store.append(&key(step.args[0]), &entries(step.args[1])).await;
                    assert!(matches!(refused, Err(StoreError::Name { .. })), "{place}");
                }
                continue;
            }
            if step.op == "reopen" {
                store.close().await.unwrap();
                store = open(&path, &now);
                continue;
            }
            let result = perform(&store, step).await;
            let different = DIFFERENT.iter().any(|(s, i, _)| *s == name && *i == index);
            assert!(!step.suspect || different, "{place}: a wrong answer that nobody judged");
            if different {
                continue;
            }
            if let (Some(result), Some(want)) = (result, step.result) {
                compared.0 += 1;
                if result.starts_with('[') && step.op.starts_with("list_") {
                    assert_eq!(plain_sorted(&result), plain_sorted(want), "{place}");
                } else {
                    assert_eq!(plain(&result), plain(want), "{place}");
                }
            }
            if let Some(want) = step.tables {
                compared.1 += 1;
                assert_eq!(comparable(&tables(&path)), comparable(want), "{place}");
            }
        }
    }
    assert!(compared.0 > 40 && compared.1 > 8, "too little was compared: {compared:?}");
}

#[tokio::test]
async fn what_the_reference_got_wrong_is_right() {
    let store = SqliteStore::open(Path::new(":memory:")).unwrap();
    let key = SessionKey::main("p_x", "s_1");
    let other = SessionKey { subpath: Some("sub".into()), ..SessionKey::main("pBx", "sA1") };
    let row = |text: &str| vec![Entry::parse(text).unwrap()];

    // A number as uuid is recognised when it comes again; an empty string names nothing.
    let nameless = SessionKey::main("nameless", "s");
    for text in [r#"{"type":"x","uuid":""}"#, r#"{"type":"y","uuid":""}"#] {
        store.append(&nameless, &row(text)).await.unwrap();
    }
    assert_eq!(store.load(&nameless).await.unwrap().unwrap().len(), 2);
    store.append(&key, &row(r#"{"uuid":5}"#)).await.unwrap();
    store.append(&key, &row(r#"{"uuid": 5}"#)).await.unwrap();
    assert_eq!(store.load(&key).await.unwrap().unwrap().len(), 1);

    // A null count is zero.
    let usage =
        r#"{"uuid":"a","message":{"usage":{"input_tokens":null,"cache_read_input_tokens":5}}}"#;
    store.append(&key, &row(usage)).await.unwrap();
    assert_eq!(store.last_context("p_x", "s_1").await.unwrap(), 5);

    // `_` in a key is just a character.
    store.append(&other, &row(r#"{"uuid":"a"}"#)).await.unwrap();
    store.delete(&key).await.unwrap();
    assert_eq!(store.load(&other).await.unwrap().unwrap().len(), 1);

    // An empty subpath is the main transcript, with a summary, and takes everything along.
    let empty = SessionKey { subpath: Some(String::new()), ..key.clone() };
    store.append(&empty, &row(r#"{"uuid":"a"}"#)).await.unwrap();
    assert_eq!(store.list_session_summaries("p_x").await.unwrap().len(), 1);
    store.append(&key.subagent("1"), &row(r#"{"uuid":"a"}"#)).await.unwrap();
    store.delete(&empty).await.unwrap();
    assert!(store.list_session_summaries("p_x").await.unwrap().is_empty());
    assert!(store.list_subkeys("p_x", "s_1").await.unwrap().is_empty());
}

#[tokio::test]
async fn the_file_of_the_reference_is_taken_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    let old = rusqlite::Connection::open(&path).unwrap();
    old.execute_batch(
        r#"CREATE TABLE entries (store_key TEXT NOT NULL, seq INTEGER NOT NULL, uid TEXT, payload TEXT NOT NULL, PRIMARY KEY (store_key, seq));
        CREATE UNIQUE INDEX entries_uid ON entries(store_key, uid) WHERE uid IS NOT NULL;
        CREATE TABLE meta (store_key TEXT PRIMARY KEY, mtime INTEGER NOT NULL, next_seq INTEGER NOT NULL);
        CREATE TABLE summaries (project_key TEXT NOT NULL, session_id TEXT NOT NULL, mtime INTEGER NOT NULL, data TEXT NOT NULL, PRIMARY KEY (project_key, session_id));
        INSERT INTO entries VALUES ('p/s', 0, 'a', '{"uuid": "a"}'), ('p/s', 1, 'b', '{"uuid": "b"}'), ('p/s', 2, NULL, 'NaN');
        INSERT INTO meta VALUES ('p/s', 9000000000000, 1);"#,
    )
    .unwrap();
    drop(old);
    let store = SqliteStore::open(&path).unwrap();
    let key = SessionKey::main("p", "s");
    // Rows behind the counter are not written over, and the time goes on from the newest one.
    store.append(&key, &[Entry::parse(r#"{"uuid":"c","cwd":"/w"}"#).unwrap()]).await.unwrap();
    let loaded = store.load(&key).await.unwrap().unwrap();
    let texts: Vec<&str> = loaded.iter().map(Entry::raw).collect();
    assert_eq!(texts, [r#"{"uuid": "a"}"#, r#"{"uuid": "b"}"#, r#"{"uuid":"c","cwd":"/w"}"#]);
    assert_eq!(store.take_notices().len(), 1, "the unreadable row is told");
    store.load(&key).await.unwrap();
    assert!(store.take_notices().is_empty(), "and told once");
    assert_eq!(store.list_sessions("p").await.unwrap()[0].mtime, 9_000_000_000_001);
    let summary: Value =
        serde_json::from_str(&store.list_session_summaries("p").await.unwrap()[0]).unwrap();
    assert_eq!(summary["data"], json!({"is_sidechain": false, "cwd": "/w"}));
    store.close().await.unwrap();
    let version: i64 = rusqlite::Connection::open(&path)
        .unwrap()
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    assert_eq!(version, 1);
}
