//! `flower gate`: plays a cassette to any client of the Messages API, or checks a gate that runs.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::signal::unix::{SignalKind, signal};

use crate::gate::{Cassette, Gate, GateOptions, Running};
use crate::language::Language;

/// How long a check waits for its answer.
const CHECK_LIMIT: Duration = Duration::from_secs(5);

/// The model endpoint that is built in.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct GateArgs {
    /// Play this cassette
    #[arg(long, value_name = "CASSETTE", conflicts_with = "record")]
    replay: Option<PathBuf>,
    /// Record what the real endpoint answers into this cassette
    #[arg(long, value_name = "CASSETTE")]
    record: Option<PathBuf>,
    /// Where to listen; port 0 picks a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8484")]
    listen: SocketAddr,
    /// Append every request, without secrets, to this file as JSON lines
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Ask the gate at this URL whether it is well: exit code 0 or 1
    #[arg(long, value_name = "URL", conflicts_with_all = ["replay", "record"])]
    check: Option<String>,
}

/// Runs the command until SIGINT or SIGTERM.
pub(super) fn run(args: &GateArgs, language: Language) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    if let Some(url) = &args.check {
        return Ok(runtime.block_on(check(url, language)));
    }
    let Some(path) = &args.replay else {
        complain(&language.text("gate.not_yet", &[]));
        return Ok(ExitCode::from(2));
    };
    let cassette = Cassette::load(path)?;
    let options = GateOptions { listen: args.listen, cassette, log: args.log.clone() };
    runtime.block_on(play(options, language))
}

async fn play(options: GateOptions, language: Language) -> anyhow::Result<ExitCode> {
    // Before the line that scripts wait for, so that a signal right after it is not lost.
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut gate = Gate::start(options).await?;
    announce(&gate)?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        () = gate.wait() => bail!("{}", language.text("gate.ended", &[])),
    }
    let failures = gate.failures();
    gate.stop().await;
    let Some(first) = failures.first() else { return Ok(ExitCode::SUCCESS) };
    let count = failures.len().to_string();
    complain(&language.text("gate.failures", &[("count", &count), ("first", first)]));
    Ok(ExitCode::FAILURE)
}

/// The same in every language, because scripts wait for it.
fn announce(gate: &Running) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "listening on {}", gate.url())?;
    out.flush()
}

/// A person who closed the error stream does not want to know.
fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

async fn check(url: &str, language: Language) -> ExitCode {
    let answer = tokio::time::timeout(CHECK_LIMIT, ask(url)).await;
    let why = match answer {
        Ok(Ok(())) => return ExitCode::SUCCESS,
        Ok(Err(error)) => format!("{error:#}"),
        Err(_) => language.text("gate.no_answer", &[("seconds", "5")]),
    };
    complain(&language.text("gate.unwell", &[("url", url), ("why", &why)]));
    ExitCode::FAILURE
}

/// Asks for `/healthz`. Written by hand because a status line is all that is wanted, and a gate
/// speaks plain HTTP.
async fn ask(url: &str) -> anyhow::Result<()> {
    let parsed = reqwest::Url::parse(url)?;
    if parsed.scheme() != "http" {
        bail!("http://…");
    }
    let (host, port) = (parsed.host_str().context("no host")?, parsed.port().unwrap_or(80));
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let mut stream = TcpStream::connect((bare, port)).await?;
    let base = parsed.path().trim_end_matches('/');
    let request =
        format!("GET {base}/healthz HTTP/1.1\r\nhost: {host}:{port}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).await?;
    match line.split_whitespace().nth(1) {
        Some("200") => Ok(()),
        _ => bail!("{}", line.trim()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        gate: GateArgs,
    }

    fn args(words: &[&str]) -> GateArgs {
        let line = std::iter::once("gate").chain(words.iter().copied());
        <Line as clap::Parser>::parse_from(line).gate
    }

    #[test]
    fn modes_that_are_not_there_say_so() {
        let code = run(&args(&[]), Language::English).unwrap();
        assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::from(2)));
    }

    #[test]
    fn a_check_tells_a_gate_that_runs_from_one_that_does_not() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let text = "format: flower-cassette/1\nrules: [{name: a, reset: before}]";
            let options = GateOptions {
                listen: SocketAddr::from(([127, 0, 0, 1], 0)),
                cassette: Cassette::parse(text).unwrap(),
                log: None,
            };
            let gate = Gate::start(options).await.unwrap();
            let url = gate.url();
            ask(&url).await.unwrap();
            ask(&format!("{url}/")).await.unwrap();
            gate.stop().await;
            ask(&url).await.unwrap_err();
            ask("https://localhost").await.unwrap_err();
            ask("nonsense").await.unwrap_err();
        });
    }

    #[test]
    fn a_missing_cassette_is_one_sentence() {
        let error =
            run(&args(&["--replay", "/nowhere/at/all.yaml"]), Language::English).unwrap_err();
        assert!(error.to_string().contains("/nowhere/at/all.yaml"), "{error}");
    }
}
