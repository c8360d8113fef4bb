//! A session store whose disk is full: said in one sentence, nothing lost, at work again when there is room.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::Command;

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::{Value, json};

#[path = "support/server.rs"]
mod server;
#[path = "support/mod.rs"]
mod support;

use server::Server;

fn rows(batch: usize) -> Vec<Value> {
    let row = |number| json!({"uuid": format!("{batch}-{number}"), "pad": "x".repeat(2000)});
    (0..5).map(row).collect()
}

/// Appends until there is no room, makes some, and appends the rest; everything must be there, also
/// when the server was killed and its files are served again.
fn fill(
    mut server: Server,
    make_room: impl FnOnce(&Server),
    killed_and_again: impl FnOnce(Server) -> Server,
) {
    let mut wanted = Vec::new();
    let mut append = |server: &mut Server, batch: usize| {
        let rows = rows(batch);
        let result = server.append(&rows);
        if result.is_ok() {
            wanted.extend(rows.iter().map(|row| row["uuid"].as_str().unwrap().to_owned()));
        }
        (result, wanted.clone())
    };
    let mut batch = 0;
    let (sentence, stored) = loop {
        match append(&mut server, batch) {
            (Ok(()), _) => batch += 1,
            (Err(sentence), stored) => break (sentence, stored),
        }
        assert!(batch < 10_000, "there is always room");
    };
    assert!(batch > 3, "there never was room");
    assert!(sentence.contains("cannot grow") && sentence.contains("make room"), "{sentence}");
    assert!(!sentence.contains('\n'), "{sentence}");
    // Another try makes nothing worse, and what is there can be read meanwhile.
    assert!(append(&mut server, batch).0.is_err());
    assert_eq!(server.uuids(), stored);
    make_room(&server);
    for batch in batch..batch + 50 {
        append(&mut server, batch).0.unwrap();
    }
    let (_, stored) = append(&mut server, batch + 50);
    assert_eq!(server.uuids(), stored);
    let mut again = killed_and_again(server);
    assert_eq!(again.uuids(), stored);
    assert!(again.end());
}

#[test]
fn a_limit_on_the_length_of_files_is_survived() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("sh");
    // As with a full disk, the write then fails instead of ending the process.
    command.args(["-c", r#"trap "" XFSZ; exec "$0" "$@""#]);
    let served = Server::command(folder.path());
    command.arg(served.get_program()).args(served.get_args());
    let server = Server::start(command);
    let limit = |server: &Server, bytes: Option<u64>| {
        let pid = Pid::from_raw(server.id().try_into().unwrap());
        let limit = Rlimit { current: bytes, maximum: None };
        prlimit(pid, Resource::Fsize, limit).unwrap();
    };
    limit(&server, Some(400_000));
    let again = |server: Server| {
        server.kill();
        Server::start(Server::command(folder.path()))
    };
    fill(server, |server| limit(server, None), again);
    let database = rusqlite::Connection::open(folder.path().join("sessions.db")).unwrap();
    let verdict: String =
        database.pragma_query_value(None, "integrity_check", |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok");
}

/// The program in a world of its own in which `place` is a small file system with a file `ballast`.
fn enclosed(place: &Path) -> Result<Command, String> {
    let make = r#"mount -t tmpfs -o size=16m tmpfs "$0""#;
    let unshare = || {
        let mut command = Command::new("unshare");
        command.args(["-rm", "sh", "-ec"]);
        command
    };
    let output = unshare().arg(make).arg(place).output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    let ballast = r#"head -c 12000000 /dev/zero >"$0/ballast"; exec "$@""#;
    let mut command = unshare();
    command.arg(format!("{make}; {ballast}")).arg(place);
    let served = Server::command(place);
    command.arg(served.get_program()).args(served.get_args());
    Ok(command)
}

#[test]
fn a_full_file_system_is_survived() {
    let folder = tempfile::tempdir().unwrap();
    let command = match enclosed(folder.path()) {
        Ok(command) => command,
        Err(why) => return support::skip("full file system", &why),
    };
    let server = Server::start(command);
    let inside = format!("/proc/{}/root{}", server.id(), folder.path().display());
    let inside = Path::new(&inside);
    let saved = tempfile::tempdir().unwrap();
    let again = |server: Server| {
        // Its file system ends with the process.
        for name in ["sessions.db", "sessions.db-wal"] {
            std::fs::copy(inside.join(name), saved.path().join(name)).unwrap();
        }
        server.kill();
        Server::start(Server::command(saved.path()))
    };
    fill(server, |_| std::fs::remove_file(inside.join("ballast")).unwrap(), again);
}
