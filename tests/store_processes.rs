//! Several processes on one session store, and what remains when they are killed.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use flower::store::{Journal, SessionStore, SqliteStore, StoreError, StoreOptions};
use flower::transcript::{Entry, SessionKey};

/// Set for a child: which writer it is; the file is in the second.
const WRITER: &str = "STORE_TEST_WRITER";
const FILE: &str = "STORE_TEST_FILE";
const ENTRIES: usize = 60;

fn entry(writer: &str, number: usize) -> Entry {
    Entry::parse(format!(
        r#"{{"type":"user","uuid":"{writer}-{number}","message":{{"role":"user","content":"hi"}}}}"#
    ))
    .unwrap()
}

fn shared() -> SessionKey {
    SessionKey::main("-p", "shared")
}

/// What a child does; in the test run itself, without the variables, it is an empty test.
#[tokio::test]
async fn child_writes() {
    let (Ok(writer), Ok(file)) = (std::env::var(WRITER), std::env::var(FILE)) else { return };
    let own = SessionKey::main("-p", writer.as_str());
    for number in 0..ENTRIES {
        // Opening and closing all the time is what several flowers do, and it changes the journal.
        let store = SqliteStore::open(Path::new(&file)).unwrap();
        let row = [entry(&writer, number)];
        store.append(&shared(), &row).await.unwrap();
        store.append(&own, &row).await.unwrap();
        println!("stored {number}");
        if number % 2 == 0 {
            store.close().await.unwrap();
        }
    }
}

fn start(writer: &str, file: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["child_writes", "--exact", "--nocapture", "--test-threads=1"])
        .env(WRITER, writer)
        .env(FILE, file)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn check(file: &Path) {
    let connection = rusqlite::Connection::open(file).unwrap();
    let verdict: String =
        connection.pragma_query_value(None, "integrity_check", |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok");
    let holes: i64 = connection
        .query_row(
            "SELECT count(*) FROM (SELECT m.next_seq AS want, count(e.seq) AS have, max(e.seq) AS last
             FROM meta m JOIN entries e USING (store_key) GROUP BY store_key)
             WHERE want <> have OR last <> have - 1",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(holes, 0, "places are consecutive and the counter knows them");
    let (mains, summaries): (i64, i64) = connection
        .query_row(
            "SELECT (SELECT count(*) FROM meta WHERE store_key NOT LIKE '%/%/%'), (SELECT count(*) FROM summaries)",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    assert_eq!(mains, summaries);
}

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sessions.db");
    (folder, file)
}

#[tokio::test]
async fn eight_processes_write_at_once_and_nothing_is_missing() {
    let (folder, file) = place();
    let children: Vec<Child> = (0..8).map(|n| start(&format!("w{n}"), &file)).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(
            output.status.success(),
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    check(&file);
    let store = SqliteStore::open(&file).unwrap();
    let all = store.load(&shared()).await.unwrap().unwrap();
    assert_eq!(all.len(), 8 * ENTRIES);
    for writer in 0..8 {
        let own = store.load(&SessionKey::main("-p", format!("w{writer}"))).await.unwrap().unwrap();
        assert_eq!(own.len(), ENTRIES);
    }
    store.close().await.unwrap();
    assert_eq!(files(folder.path()), ["sessions.db"]);
}

#[tokio::test]
async fn killed_writers_lose_nothing_that_was_stored() {
    use std::io::{BufRead, BufReader};
    let (_folder, file) = place();
    let mut children: Vec<Child> = (0..4).map(|n| start(&format!("k{n}"), &file)).collect();
    let mut stored = Vec::new();
    for (n, child) in children.iter_mut().enumerate() {
        // Each is killed in the middle of its work, after it said how far it is.
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let done =
            lines.map_while(Result::ok).filter(|line| line.contains("stored ")).take(5 + n).count();
        child.kill().unwrap();
        child.wait().unwrap();
        stored.push(done);
    }
    check(&file);
    let store = SqliteStore::open(&file).unwrap();
    for (n, done) in stored.into_iter().enumerate() {
        let own = store.load(&SessionKey::main("-p", format!("k{n}"))).await.unwrap().unwrap();
        assert!(done >= 5 && own.len() >= done, "{} of {done}", own.len());
    }
    store.append(&shared(), &[entry("after", 0)]).await.unwrap();
}

#[tokio::test]
async fn dropping_the_store_keeps_what_was_handed_over() {
    let (folder, file) = place();
    let store = SqliteStore::open(&file).unwrap();
    for number in 0..20 {
        store.append(&shared(), &[entry("d", number)]).await.unwrap();
    }
    drop(store);
    assert_eq!(files(folder.path()), ["sessions.db"]);
    let store = SqliteStore::open(&file).unwrap();
    assert_eq!(store.load(&shared()).await.unwrap().unwrap().len(), 20);
}

#[tokio::test]
async fn closing_is_final_and_can_be_repeated() {
    let (folder, file) = place();
    let store = SqliteStore::open(&file).unwrap();
    let other = SqliteStore::open(&file).unwrap();
    store.append(&shared(), &[entry("a", 0)]).await.unwrap();
    other.append(&shared(), &[entry("b", 0)]).await.unwrap();
    store.close().await.unwrap();
    store.close().await.unwrap();
    let late = store.append(&shared(), &[entry("a", 1)]).await;
    assert!(matches!(late, Err(StoreError::Closed { .. })));
    // The other one is not disturbed, and the last one leaves a single file.
    other.append(&shared(), &[entry("b", 1)]).await.unwrap();
    other.close().await.unwrap();
    assert_eq!(files(folder.path()), ["sessions.db"]);
}

#[tokio::test]
async fn with_a_rollback_journal_the_second_writer_is_refused() {
    let (_folder, file) = place();
    let alone = || StoreOptions { journal: Journal::Rollback, ..StoreOptions::default() };
    let first = SqliteStore::open_with(&file, alone()).unwrap();
    first.append(&shared(), &[entry("a", 0)]).await.unwrap();
    let refused = SqliteStore::open_with(&file, alone()).unwrap_err().to_string();
    assert!(refused.contains("another flower is writing"), "{refused}");
    assert!(!refused.contains('\n'));
    first.close().await.unwrap();
    let second = SqliteStore::open_with(&file, alone()).unwrap();
    assert_eq!(second.load(&shared()).await.unwrap().unwrap().len(), 1);
}

#[test]
fn what_cannot_be_opened_is_said_in_one_sentence() {
    let (folder, file) = place();
    let sentence = |path: &Path| {
        let error = SqliteStore::open(path).unwrap_err();
        assert!(matches!(error, StoreError::Open { .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains(&path.display().to_string()) && !text.contains('\n'), "{text}");
        text
    };
    std::fs::write(folder.path().join("plain"), "x").unwrap();
    sentence(&folder.path().join("plain/sessions.db"));
    sentence(Path::new("/proc/flower/sessions.db"));

    std::fs::write(&file, "this is not a database, and long enough to look at".repeat(50)).unwrap();
    assert!(sentence(&file).contains("not an SQLite database"));

    let newer = folder.path().join("newer.db");
    let connection = rusqlite::Connection::open(&newer).unwrap();
    connection.pragma_update(None, "user_version", 2).unwrap();
    assert!(sentence(&newer).contains("newer flower"));

    let foreign = folder.path().join("foreign.db");
    let connection = rusqlite::Connection::open(&foreign).unwrap();
    connection.execute_batch("CREATE TABLE recipes (name TEXT)").unwrap();
    assert!(sentence(&foreign).contains("another program"));
}

#[cfg(unix)]
#[test]
fn a_new_store_can_be_read_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, file) = place();
    let _store = SqliteStore::open(&file).unwrap();
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn the_layout_is_exactly_three_tables_and_one_index() {
    let (_folder, file) = place();
    SqliteStore::open(&file).unwrap().close().await.unwrap();
    let connection = rusqlite::Connection::open(&file).unwrap();
    let mut query = connection
        .prepare("SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite%' ORDER BY name")
        .unwrap();
    let names: Vec<String> =
        query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!(names, ["entries", "entries_uid", "meta", "summaries"]);
}
