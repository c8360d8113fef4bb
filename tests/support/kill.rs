//! Eight processes that write to one session store and are killed at random; then everything that they
//! said was stored must be there, once.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

const FLOWER: &str = env!("CARGO_BIN_EXE_flower");
const PROCESSES: usize = 8;
/// The longest batch.
const BATCH: u32 = 6;
/// A process is ended before it has acknowledged more batches than this.
const BATCHES: u32 = 60;

/// What one process is to do, and how it ends.
struct Life {
    /// The name of its own session, `round3-w5`.
    name: String,
    seed: u64,
    /// It ends behind this acknowledgement, with more requests under way.
    batches: u32,
    /// By a kill, or by the end of its input.
    killed: bool,
}

/// A seed from `FLOWER_TEST_SEED`, or a new one.
pub(crate) fn seed() -> u64 {
    let given = std::env::var("FLOWER_TEST_SEED").ok().filter(|text| !text.is_empty());
    given.map_or_else(rand::random, |text| text.parse().expect("FLOWER_TEST_SEED is a number"))
}

/// Kills all of them that many times and looks each time; gives how many entries were acknowledged.
///
/// The run folder is new. Panics with the first thing that is wrong.
pub(crate) fn rounds(folder: &Path, seed: u64, rounds: usize) -> usize {
    let mut random = SmallRng::seed_from_u64(seed);
    let mut total = 0;
    for round in 0..rounds {
        let lives: Vec<Life> = (0..PROCESSES)
            .map(|writer| Life {
                name: format!("round{round}-w{writer}"),
                seed: random.random(),
                batches: random.random_range(1..=BATCHES),
                // Who closes last takes the log away, which must not harm those who are killed.
                killed: random.random_range(0..5) > 0,
            })
            .collect();
        let stored: Vec<Vec<String>> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                lives.iter().map(|life| scope.spawn(|| live(folder, round, life))).collect();
            threads.into_iter().map(|thread| thread.join().expect("a writer failed")).collect()
        });
        check(&folder.join("sessions.db"), round, &lives, &stored);
        total += stored.iter().map(Vec::len).sum::<usize>();
    }
    total
}

/// Lets a process write and ends it; gives the uuids of what it acknowledged.
fn live(folder: &Path, round: usize, life: &Life) -> Vec<String> {
    let mut child = Command::new(FLOWER)
        .args(["sessions", "serve", "-r"])
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("flower starts");
    let mut input = child.stdin.take().expect("it is piped");
    let output = child.stdout.take().expect("it is piped");
    let batches: Vec<Vec<String>> = batches(life);
    let requests: Vec<String> =
        batches.iter().enumerate().map(|(id, batch)| request(round, life, id, batch)).collect();
    // Requests go in without waiting for answers, so that the end comes in the middle of work.
    let writer = std::thread::spawn(move || {
        for request in requests {
            if writeln!(input, "{request}").is_err() {
                // It was killed.
                break;
            }
        }
    });
    let mut acknowledged = 0;
    for line in BufReader::new(output).lines() {
        let Ok(line) = line else { break };
        let whole: serde_json::Value = serde_json::from_str(&line).expect("an answer is JSON");
        assert!(whole["error"].is_null(), "{line}");
        assert_eq!(whole["id"], acknowledged, "answers come in the order of requests");
        acknowledged += 1;
        if life.killed && acknowledged == life.batches as usize {
            child.kill().expect("it can be killed");
        }
    }
    end(&mut child, life);
    writer.join().expect("the writer only writes");
    if !life.killed {
        assert_eq!(acknowledged, batches.len(), "who is not killed does everything");
    }
    batches.into_iter().take(acknowledged).flatten().collect()
}

fn end(child: &mut Child, life: &Life) {
    let status = child.wait().expect("it is a child");
    assert!(life.killed || status.success(), "{}: {status}", life.name);
}

/// The uuids of all batches. Who is killed has more to do than it gets done.
fn batches(life: &Life) -> Vec<Vec<String>> {
    let mut random = SmallRng::seed_from_u64(life.seed);
    let count = if life.killed { life.batches + BATCHES } else { life.batches };
    (0..count)
        .map(|batch| {
            (0..random.random_range(1..=BATCH))
                .map(|entry| format!("{}-{batch}-{entry}", life.name))
                .collect()
        })
        .collect()
}

/// Each batch goes to the process's own session or to the one that all share, by turns.
fn request(round: usize, life: &Life, id: usize, uuids: &[String]) -> String {
    let session = if id.is_multiple_of(2) { life.name.clone() } else { format!("round{round}") };
    let entries: Vec<String> = uuids
        .iter()
        .map(|uuid| {
            let text = "x".repeat(uuid.len() * 20);
            format!(r#"{{"type":"user","uuid":"{uuid}","message":{{"role":"user","content":"{text}"}}}}"#)
        })
        .collect();
    format!(
        r#"{{"id":{id},"method":"append","params":{{"key":{{"project_key":"-kill","session_id":"{session}"}},"entries":[{}]}}}}"#,
        entries.join(",")
    )
}

fn check(file: &Path, round: usize, lives: &[Life], stored: &[Vec<String>]) {
    let database = rusqlite::Connection::open(file).expect("the store opens");
    let verdict: String = database
        .pragma_query_value(None, "integrity_check", |row| row.get(0))
        .expect("the store can be checked");
    assert_eq!(verdict, "ok", "round {round}");
    let mut query = database
        .prepare("SELECT uid, payload FROM entries WHERE store_key >= ?1 AND store_key <= ?2")
        .expect("the table is there");
    let (from, to) = (format!("-kill/round{round}"), format!("-kill/round{round}-w9"));
    let mut found: HashMap<String, usize> = HashMap::new();
    let rows = query
        .query_map([from, to], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))
        .expect("the rows can be read");
    for row in rows {
        let (uid, payload) = row.expect("each row can be read");
        let value: serde_json::Value = serde_json::from_str(&payload).expect("an entry is whole");
        assert_eq!(value["uuid"], uid.as_str(), "round {round}");
        *found.entry(uid).or_default() += 1;
    }
    for (life, stored) in lives.iter().zip(stored) {
        for uuid in stored {
            let times = found.get(uuid).copied().unwrap_or(0);
            assert_eq!(times, 1, "round {round}: {uuid} was acknowledged");
        }
        // What was not acknowledged may be there too, but never half a batch.
        for batch in batches(life) {
            let there = batch.iter().filter(|uuid| found.contains_key(*uuid)).count();
            assert!(there == 0 || there == batch.len(), "round {round}: half of {batch:?}");
        }
    }
    let holes: i64 = database
        .query_row(
            "SELECT count(*) FROM (SELECT m.next_seq AS want, count(e.seq) AS have, max(e.seq) AS last
             FROM meta m JOIN entries e USING (store_key) GROUP BY store_key)
             WHERE want <> have OR last <> have - 1",
            [],
            |row| row.get(0),
        )
        .expect("the counters can be read");
    assert_eq!(holes, 0, "round {round}: places are consecutive and the counter knows them");
    let unlisted: i64 = database
        .query_row(
            "SELECT (SELECT count(*) FROM meta) - (SELECT count(*) FROM summaries)",
            [],
            |row| row.get(0),
        )
        .expect("the counters can be read");
    assert_eq!(unlisted, 0, "round {round}: each session has its summary");
}
