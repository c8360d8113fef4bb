//! The numbers that the README quotes of the session store: appends, reading, and rounds of killing.
//!
//! `cargo bench --bench store` measures everything in the folder for temporary files (`TMPDIR`);
//! `-- appends`, `-- reading` or `-- kills` only that. Beside each figure stands what the machine can do.

#![allow(clippy::print_stdout)] // Printing is what a bench is for.
#![allow(clippy::unwrap_used)] // A bench that cannot be set up has nothing to say.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use flower::store::{Durability, SessionStore, SqliteStore, StoreOptions};
use flower::transcript::{Entry, SessionKey};

#[path = "../tests/support/kill.rs"]
mod kill;

const ENTRIES: usize = 100_000;
const BATCH: usize = 50;
/// The longest that one figure is measured.
const LONGEST: Duration = Duration::from_secs(10);
const KILL_ROUNDS: usize = 200;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if let [first, database] = words.as_slice()
        && first == "read"
    {
        return read(Path::new(database));
    }
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| word == name);
    let folder = tempfile::tempdir().unwrap();
    if wanted("appends") || wanted("reading") {
        let entries = transcript(folder.path());
        let bytes: usize = entries.iter().map(|entry| entry.raw().len()).sum();
        println!("{} entries, {:.0} MB", entries.len(), megabytes(bytes));
        if wanted("appends") {
            appends(folder.path(), &entries);
            // Beside it, what is left where no disk is in the way.
            if let Ok(memory) = tempfile::tempdir_in("/dev/shm") {
                println!("on a file system in memory:");
                appends(memory.path(), &entries);
            }
        }
        if wanted("reading") {
            reading(folder.path(), &entries);
        }
    }
    if wanted("kills") {
        let seed = kill::seed();
        println!("killing 8 processes {KILL_ROUNDS} times, seed {seed}");
        let start = Instant::now();
        let stored = kill::rounds(&folder.path().join("kills"), seed, KILL_ROUNDS);
        let seconds = start.elapsed().as_secs_f64();
        println!("  {stored} entries acknowledged, all there, once, in {seconds:.0} s");
    }
}

/// The entries of the generator that stands beside this file.
fn transcript(folder: &Path) -> Vec<Entry> {
    let (file, script) = (folder.join("transcript.jsonl"), "benches/make_transcript.py");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(script);
    let status = Command::new("python3")
        .arg(script)
        .args(["--entries", &ENTRIES.to_string(), "--out"])
        .arg(&file)
        .status();
    assert!(status.is_ok_and(|status| status.success()), "python3 cannot make the transcript");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    text.lines().map(|line| Entry::parse(line).unwrap()).collect()
}

fn appends(folder: &Path, entries: &[Entry]) {
    println!("fsync of 4 KB: {:.0} per second", syncs(folder));
    for durability in [Durability::Results, Durability::Appends] {
        for size in [1, BATCH] {
            let name = match durability {
                Durability::Results => "synchronous NORMAL, FULL at each result",
                Durability::Appends => "synchronous FULL",
            };
            // Whatever else the machine does can only make it slower, so the best of three is told.
            let rates = (0..3).map(|_| rate(folder, entries, durability, size));
            let best = rates.fold(0.0, f64::max);
            println!("append of {size:2}, {name}: {best:.0} entries per second");
        }
    }
}

/// Entries per second into a new database.
fn rate(folder: &Path, entries: &[Entry], durability: Durability, size: usize) -> f64 {
    let path = folder.join("append.db");
    let options = StoreOptions { durability, ..StoreOptions::default() };
    let store = SqliteStore::open_with(&path, options).unwrap();
    let start = Instant::now();
    let mut done = 0;
    runtime().block_on(async {
        for batch in entries.chunks(size) {
            store.append(&key(), batch).await.unwrap();
            done += batch.len();
            if start.elapsed() > LONGEST {
                break;
            }
        }
        store.settle().await.unwrap();
    });
    let seconds = start.elapsed().as_secs_f64();
    drop(store);
    std::fs::remove_file(&path).unwrap();
    done as f64 / seconds
}

/// How often a second the disk can be waited for.
fn syncs(folder: &Path) -> f64 {
    let path = folder.join("sync");
    let mut file = File::create(&path).unwrap();
    let (start, mut count) = (Instant::now(), 0);
    while start.elapsed() < Duration::from_secs(2) {
        file.write_all(&[7; 4096]).unwrap();
        file.sync_data().unwrap();
        count += 1;
    }
    let seconds = start.elapsed().as_secs_f64();
    std::fs::remove_file(&path).unwrap();
    f64::from(count) / seconds
}

fn reading(folder: &Path, entries: &[Entry]) {
    for count in [ENTRIES / 100, ENTRIES / 10, ENTRIES] {
        let path = folder.join(format!("{count}.db"));
        runtime().block_on(async {
            let store = SqliteStore::open(&path).unwrap();
            for batch in entries[..count].chunks(BATCH) {
                store.append(&key(), batch).await.unwrap();
            }
            let mut times: Vec<Duration> = Vec::new();
            for _ in 0..201 {
                let start = Instant::now();
                assert!(store.last_context("-p", "s").await.unwrap() > 0);
                times.push(start.elapsed());
            }
            times.sort();
            let micros = times[times.len() / 2].as_secs_f64() * 1e6;
            println!("last_context of {count} entries: {micros:.0} µs (median of {})", times.len());
        });
        // In a process of its own, since memory is told of whole processes.
        let program = std::env::current_exe().unwrap();
        let status = Command::new(program).arg("read").arg(&path).status();
        assert!(status.is_ok_and(|status| status.success()));
    }
}

/// Reads a transcript at once and one by one, and tells time and memory.
fn read(path: &Path) {
    let store = SqliteStore::open(path).unwrap();
    let before = peak();
    let start = Instant::now();
    let mut bytes = 0;
    runtime().block_on(async {
        let each = &mut |entry: Entry| {
            bytes += entry.raw().len();
            std::ops::ControlFlow::Continue(())
        };
        store.load_each(&key(), each).await.unwrap();
    });
    let (seconds, used) = (start.elapsed().as_secs_f64(), peak() - before);
    let megabytes = megabytes(bytes);
    println!("  read one by one: {megabytes:.0} MB in {seconds:.2} s with {used:.0} MB of memory");
    let start = Instant::now();
    let entries = runtime().block_on(store.load(&key())).unwrap().unwrap();
    let (seconds, used) = (start.elapsed().as_secs_f64(), peak() - before);
    println!(
        "  read at once: {} entries in {seconds:.2} s with {used:.0} MB of memory",
        entries.len()
    );
}

/// The most memory that this process had so far, in MB; 0 where the system does not tell.
fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes.unwrap_or(0.0) / 1024.0
}

fn key() -> SessionKey {
    SessionKey::main("-p", "s")
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

fn megabytes(bytes: usize) -> f64 {
    bytes as f64 / (1024.0 * 1024.0)
}
