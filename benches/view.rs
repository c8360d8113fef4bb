//! How long the view of a long record takes, and how much memory, beside a yardstick: Python merely
//! reading all rows of the same database with `json.loads` on each.
//!
//! `cargo bench --bench view` makes records of 10,000 and 100,000 entries, measures every run in a fresh
//! process, prints the figures, and fails where a goal is missed beyond doubt. It needs `python3`.

#![allow(clippy::print_stdout)] // Printing is what a bench is for.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Instant;

use flower::context::Policy;
use flower::store::SessionStore;
use flower::transcript::{Entry, SessionKey};
use flower::{PruningSessionStore, SqliteSessionStore};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The view with its files written and with its files there, as parts of the yardstick's time.
const COLD: f64 = 0.6;
const WARM: f64 = 0.4;
/// Peak memory as a part of the record's size.
const MEMORY: f64 = 2.5;
/// 100,000 entries as a part of the time of 10,000.
const GROWTH: f64 = 12.0;
/// How far a goal may be missed on a busy machine before it counts.
const DOUBT: f64 = 1.15;

const RUNS: usize = 5;

const YARDSTICK: &str = "
import json, sqlite3, sys, time
db = sqlite3.connect(sys.argv[1])
start = time.perf_counter()
for (payload,) in db.execute('SELECT payload FROM entries ORDER BY store_key, seq'):
    json.loads(payload)
print(time.perf_counter() - start)
";

fn main() -> Outcome<ExitCode> {
    let words: Vec<String> = std::env::args().collect();
    if let [_, mode, database, folder] = words.as_slice()
        && mode == "one-view"
    {
        println!("{}", one_view(Path::new(database), Path::new(folder))?);
        return Ok(ExitCode::SUCCESS);
    }
    if Command::new("python3").arg("--version").stdout(Stdio::null()).status().is_err() {
        println!("skipped: the view: python3 is not installed");
        return Ok(ExitCode::SUCCESS);
    }
    let scratch = tempfile::tempdir()?;
    let small = Record::make(scratch.path(), 10_000)?;
    let large = Record::make(scratch.path(), 100_000)?;

    let (mut yardstick, mut cold, mut warm, mut less) = (vec![], vec![], vec![], vec![]);
    let mut memory: f64 = 0.0;
    for run in 0..RUNS {
        // One after the other, so that a busy moment of the machine meets all of them.
        yardstick.push(large.yardstick()?);
        let fresh = scratch.path().join(format!("cold-{run}"));
        std::fs::create_dir(&fresh)?;
        let first = large.measure(&fresh)?;
        let second = large.measure(&fresh)?;
        cold.push(first.seconds);
        warm.push(second.seconds);
        memory = memory.max(first.peak).max(second.peak);
        less.push(small.measure(scratch.path())?.seconds);
    }
    let (yardstick, best) = (Times(yardstick), |times: Vec<f64>| Times(times));
    let (cold, warm, less) = (best(cold), best(warm), best(less));
    println!("100,000 entries, {:.0} MB, median of {RUNS} (fastest):", large.bytes / 1e6);
    println!("  yardstick  {yardstick}");
    println!("  view cold  {cold}");
    println!("  view warm  {warm}");
    println!("  10,000 entries, warm  {less}");
    println!("  peak memory  {:.0} MB", memory / 1e6);
    let goals = [
        (
            "cold / yardstick",
            cold.median() / yardstick.median(),
            cold.least() / yardstick.most(),
            COLD,
        ),
        (
            "warm / yardstick",
            warm.median() / yardstick.median(),
            warm.least() / yardstick.most(),
            WARM,
        ),
        ("memory / record", memory / large.bytes, memory / large.bytes, MEMORY),
        ("100k / 10k", warm.median() / less.median(), warm.least() / less.most(), GROWTH),
    ];
    let mut missed = false;
    for (name, ratio, at_best, goal) in goals {
        let verdict = if ratio <= goal {
            "ok"
        } else if at_best > goal * DOUBT {
            missed = true;
            "MISSED"
        } else {
            "in doubt"
        };
        println!("  {name}  {ratio:.2}, goal {goal}: {verdict}");
    }
    Ok(if missed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// A stored conversation.
struct Record {
    database: PathBuf,
    /// Of its entries.
    bytes: f64,
}

/// One run.
struct Measured {
    seconds: f64,
    /// Most memory in bytes.
    peak: f64,
}

impl Record {
    fn make(folder: &Path, entries: usize) -> Outcome<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/make_transcript.py");
        let lines = folder.join(format!("{entries}.jsonl"));
        let made = Command::new("python3")
            .arg(script)
            .args(["--entries", &entries.to_string(), "--out"])
            .arg(&lines)
            .status()?;
        if !made.success() {
            return Err("the script that makes records failed".into());
        }
        let database = folder.join(format!("{entries}.db"));
        let text = std::fs::read_to_string(&lines)?;
        std::fs::remove_file(&lines)?;
        tokio()?.block_on(async {
            let store = SqliteSessionStore::open(&database)?;
            let mut rows = text.lines().map(Entry::parse);
            loop {
                let batch = rows.by_ref().take(5000).collect::<Result<Vec<_>, _>>()?;
                if batch.is_empty() {
                    break;
                }
                store.append(&key(), &batch).await?;
            }
            store.close().await?;
            Outcome::Ok(())
        })?;
        let bytes = (text.len() - text.lines().count()) as f64;
        Ok(Self { database, bytes })
    }

    fn yardstick(&self) -> Outcome<f64> {
        let output =
            Command::new("python3").args(["-c", YARDSTICK]).arg(&self.database).output()?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().parse()?)
    }

    fn measure(&self, workspace: &Path) -> Outcome<Measured> {
        let mut command = Command::new(std::env::current_exe()?);
        let output = command.arg("one-view").arg(&self.database).arg(workspace).output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        let mut numbers = said.split_whitespace().map(str::parse::<f64>);
        match (numbers.next(), numbers.next()) {
            (Some(seconds), Some(peak)) => Ok(Measured { seconds: seconds?, peak: peak? }),
            _ => Err(String::from_utf8_lossy(&output.stderr).into_owned().into()),
        }
    }
}

/// In a process of its own: opens the store and loads the view. Gives seconds and bytes.
fn one_view(database: &Path, workspace: &Path) -> Outcome<String> {
    tokio()?.block_on(async {
        let start = Instant::now();
        let store = Arc::new(SqliteSessionStore::open(database)?);
        let view = PruningSessionStore::over(store, workspace, Policy::default());
        let entries = view.load(&key()).await?.ok_or("nothing is stored")?;
        let seconds = start.elapsed().as_secs_f64();
        if entries.len() < 1000 || view.report().cleared == 0 {
            return Err("the view is not what it should be".into());
        }
        let status = std::fs::read_to_string("/proc/self/status")?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes: f64 =
            peak.ok_or("no VmHWM")?.trim().trim_end_matches(" kB").trim().parse()?;
        Ok(format!("{seconds} {}", kilobytes * 1024.0))
    })
}

fn tokio() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

fn key() -> SessionKey {
    SessionKey::main("-bench", "5e550000-0000-4000-8000-000000000001")
}

/// Times of several runs, in seconds.
struct Times(Vec<f64>);

impl Times {
    fn sorted(&self) -> Vec<f64> {
        let mut times = self.0.clone();
        times.sort_by(f64::total_cmp);
        times
    }

    fn median(&self) -> f64 {
        self.sorted()[self.0.len() / 2]
    }

    fn least(&self) -> f64 {
        self.sorted()[0]
    }

    fn most(&self) -> f64 {
        self.sorted()[self.0.len() - 1]
    }
}

impl std::fmt::Display for Times {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.3} s ({:.3} s)", self.median(), self.least())
    }
}
