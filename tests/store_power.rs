//! What remains of a session store when the power fails: everything up to the last result.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::Command;

use flower::store::{SessionStore, SqliteStore};
use serde_json::{Value, json};

#[path = "support/server.rs"]
mod server;
#[path = "support/mod.rs"]
mod support;

use server::Server;

/// A library that copies each file when the program waits for the disk; see `support/power.c`.
fn shim(folder: &Path) -> Result<std::path::PathBuf, String> {
    let library = folder.join("power.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/power.c");
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let mut command = Command::new(compiler);
    command.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).arg("-ldl");
    let output = command.output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.success() { Ok(library) } else { Err(said) }
}

/// Entries with these uuids, long enough for a few of them to fill the log.
fn rows(uuids: &[String]) -> Vec<Value> {
    uuids.iter().map(|uuid| json!({"uuid": uuid, "pad": "x".repeat(30_000)})).collect()
}

fn uuids(file: &Path) -> Vec<String> {
    let database = rusqlite::Connection::open(file).unwrap();
    let mut query = database.prepare("SELECT uid FROM entries ORDER BY seq").unwrap();
    let rows = query.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

/// What a store that was copied off the disk holds, in a new place.
async fn after_power_loss(disk: &Path) -> Vec<String> {
    let place = tempfile::tempdir().unwrap();
    for name in ["sessions.db", "sessions.db-wal"] {
        if disk.join(name).exists() {
            std::fs::copy(disk.join(name), place.path().join(name)).unwrap();
        }
    }
    let file = place.path().join("sessions.db");
    let verdict: String = rusqlite::Connection::open(&file)
        .unwrap()
        .pragma_query_value(None, "integrity_check", |row| row.get(0))
        .unwrap();
    assert_eq!(verdict, "ok");
    let store = SqliteStore::open(&file).unwrap();
    assert!(store.has_session("p", "s").await.unwrap());
    store.close().await.unwrap();
    uuids(&file)
}

#[tokio::test]
async fn a_loss_of_power_takes_nothing_that_was_settled() {
    let folder = tempfile::tempdir().unwrap();
    let shim = match shim(folder.path()) {
        Ok(shim) => shim,
        Err(why) => return support::skip("loss of power", &why),
    };
    let disk = folder.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let mut command = Server::command(&folder.path().join("runs"));
    command.env("LD_PRELOAD", shim).env("POWER_TEST_DISK", &disk);
    let mut server = Server::start(command);
    let (mut stored, mut settled): (Vec<String>, usize) = (Vec::new(), 0);
    let mut append = |server: &mut Server, name: &str, count: usize| {
        let uuids: Vec<String> = (0..count).map(|number| format!("{name}-{number}")).collect();
        server.append(&rows(&uuids)).unwrap();
        stored.extend(uuids);
        stored.clone()
    };
    for turn in 0..9 {
        // Some turns are short; a long one fills the log, which is then moved into the file.
        let mut all = Vec::new();
        for part in 0..(turn % 3) * 20 + 1 {
            all = append(&mut server, &format!("{turn}-{part}"), 5);
        }
        if turn % 4 == 2 {
            // The next one begins without a result.
            continue;
        }
        server.ask("settle", &json!({})).unwrap();
        assert_eq!(
            after_power_loss(&disk).await,
            all,
            "turn {turn}: what is settled is on the disk"
        );
        settled = all.len();
    }
    // Streaming does not wait for the disk: that is what the settling is for.
    let all = append(&mut server, "last", 1);
    assert_eq!(after_power_loss(&disk).await, all[..settled]);
    // Nor does a kill need it.
    server.kill();
    assert_eq!(uuids(&folder.path().join("runs/sessions.db")), all);
}
