//! The numbers that the README quotes: how fast flower starts, and how much memory a small task needs.
//!
//! `cargo bench --bench footprint` prints medians. Memory is what GNU time calls the maximum resident set.

#![allow(clippy::print_stdout)] // Printing is what a bench is for.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use flower::gate::{Cassette, Gate, GateOptions};

const FLOWER: &str = env!("CARGO_BIN_EXE_flower");
const CASSETTE: &str =
    "format: flower-cassette/1\nrules:\n  - repeat: true\n    reply: {text: done}\n";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let start = median((0..50).map(|_| time(Command::new(FLOWER).arg("--version"))).collect());
    println!("flower --version: {:.1} ms (median of 50)", start.as_secs_f64() * 1000.0);

    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let gate = runtime.block_on(Gate::start(GateOptions {
        listen: ([127, 0, 0, 1], 0).into(),
        cassette: Cassette::parse(CASSETTE)?,
        log: None,
    }))?;
    let folder = tempfile::tempdir()?;
    let once = |program: &str, before: &[&str]| {
        let mut command = Command::new(program);
        command
            .args(before)
            .args(["once", "say done"])
            .current_dir(folder.path())
            .env("FLOWER_GATE", gate.url())
            .env("HOME", folder.path());
        command
    };
    let turn = median((0..20).map(|_| time(&mut once(FLOWER, &[]))).collect());
    println!("flower once, one turn: {:.1} ms (median of 20)", turn.as_secs_f64() * 1000.0);
    match once("/usr/bin/time", &["-f", "%M", FLOWER]).stdin(Stdio::null()).output() {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stderr);
            let kilobytes: f64 = text.lines().last().unwrap_or_default().trim().parse()?;
            println!("flower once, one turn: {:.1} MB at most", kilobytes / 1024.0);
        }
        Err(_) => println!("skipped: memory: GNU time is not installed"),
    }
    runtime.block_on(gate.stop());
    Ok(())
}

fn time(command: &mut Command) -> Duration {
    let start = Instant::now();
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(status.is_ok_and(|status| status.success()), "{command:?} failed");
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
