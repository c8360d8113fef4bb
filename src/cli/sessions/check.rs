//! `flower sessions check`: is what is stored whole, and would a session go on from it.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::{Map, json};

use super::super::exit::Refusal;
use super::super::terminal::Style;
use super::progress::Progress;
use super::shelf::Shelf;
use crate::disk::{Care, create, replace};
use crate::report::{Finding, examine, size};
use crate::store::SessionStore;
use crate::transcript::SessionKey;

/// `flower sessions check`
#[derive(Debug, clap::Args)]
#[command(
    after_help = "What is found does not keep a session from going on: the model is shown a mended view, and what is \
                  stored stays as it is.\nThe exit code is 1 where anything was found.\n--json: one object about the \
                  database, then one a transcript with session, subpath, entries, bytes, context, findings.\n\n\
                  Example: flower sessions check 5a55b771 --write mended.jsonl"
)]
pub(in crate::cli) struct CheckArgs {
    /// Sessions, or the beginnings of their ids; without any, all of the project
    ids: Vec<String>,
    /// Every project in the store
    #[arg(long)]
    all: bool,
    /// Write what the model would be shown of the one session as JSONL
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Replace FILE where it is there
    #[arg(long, requires = "write")]
    force: bool,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

/// What was found in one transcript.
struct Checked {
    key: SessionKey,
    entries: usize,
    bytes: u64,
    context: u64,
    findings: Vec<Finding>,
}

pub(super) async fn run(shelf: &Shelf<'_>, args: &CheckArgs) -> Result<bool> {
    let keys = shelf.chosen(&args.ids, args.all).await?;
    if let Some(file) = &args.write {
        let [key] = keys.as_slice() else {
            return Err(Refusal::usage(shelf.say("sessions.write_one", &[])).into());
        };
        write_mended(shelf, key, file, args.force).await?;
    }
    let mut progress = Progress::new();
    progress.tell(|| shelf.say("sessions.checking_database", &[]));
    let problems = shelf.store.integrity().await?;
    progress.clear();
    let mut fine = problems.is_empty();
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", json!({"database": problems}))?;
    } else if problems.is_empty() {
        let text = shelf.say("sessions.database_whole", &[]);
        out.write_all(shelf.look.lines(&text, "+ ", Style::Green).as_bytes())?;
    } else {
        for problem in &problems {
            let text = shelf.say("sessions.database_damaged", &[("problem", problem)]);
            out.write_all(shelf.look.lines(&text, "x ", Style::Red).as_bytes())?;
        }
    }
    let all = keys.len();
    for (at, key) in keys.iter().enumerate() {
        let mut transcripts = vec![key.clone()];
        transcripts.extend(shelf.agents(key).await?);
        for key in transcripts {
            progress.tell(|| {
                let done = format!("{at} / {all}");
                shelf.say("sessions.checking", &[("id", &key.session), ("done", &done)])
            });
            let checked = look(shelf, key).await?;
            progress.clear();
            fine &= checked.findings.is_empty();
            let text = match args.json {
                true => format!("{}\n", checked.json()),
                false => checked.text(shelf),
            };
            out.write_all(text.as_bytes())?;
        }
    }
    Ok(fine)
}

async fn look(shelf: &Shelf<'_>, key: SessionKey) -> Result<Checked> {
    let loaded = shelf.load(&key).await?;
    let (entries, bytes) =
        (loaded.entries.len(), loaded.entries.iter().map(|entry| entry.raw().len() as u64).sum());
    let mut findings = examine(loaded.entries).findings;
    if loaded.unreadable > 0 {
        findings.insert(0, Finding::unreadable_rows(loaded.unreadable));
    }
    let context = match key.subpath {
        None => shelf.store.last_context(&key.project, &key.session).await?,
        Some(_) => 0,
    };
    Ok(Checked { entries, bytes, context, findings, key })
}

/// What a model would be shown, as lines that other tools read.
async fn write_mended(
    shelf: &Shelf<'_>,
    key: &SessionKey,
    file: &std::path::Path,
    force: bool,
) -> Result<()> {
    let entries = examine(shelf.load(key).await?.entries).mended;
    let mut lines = Vec::new();
    for entry in &entries {
        lines.extend(shelf.tidy.json(entry.raw()).bytes());
        lines.push(b'\n');
    }
    let path = file.display().to_string();
    let failed = || shelf.say("sessions.cannot_write", &[("path", &path)]);
    if force {
        return replace(file, &lines, Care::Record).with_context(failed);
    }
    if !create(file, &lines, Care::Record).with_context(failed)? {
        let sentence = shelf.say("sessions.taken", &[("path", &path)]);
        return Err(Refusal::new("target", sentence).into());
    }
    Ok(())
}

impl Checked {
    fn json(&self) -> serde_json::Value {
        let findings: Map<String, serde_json::Value> = self
            .findings
            .iter()
            .map(|finding| (finding.name.to_owned(), json!(finding.count)))
            .collect();
        json!({
            "project": self.key.project,
            "session": self.key.session,
            "subpath": self.key.subpath,
            "entries": self.entries,
            "bytes": self.bytes,
            "context": self.context,
            "findings": findings,
        })
    }

    fn text(&self, shelf: &Shelf<'_>) -> String {
        let id: String = self.key.session.chars().take(8).collect();
        let name = match self.key.subpath.as_deref() {
            None => id,
            Some(path) => format!("{id} {}", path.rsplit('/').next().unwrap_or(path)),
        };
        let mut held = shelf.say(
            "sessions.held",
            &[("entries", &self.entries.to_string()), ("size", &size(self.bytes))],
        );
        if self.context > 0 {
            let context = self.context.to_string();
            held = format!("{held}, {}", shelf.say("sessions.context", &[("count", &context)]));
        }
        let fine = self.findings.is_empty();
        let (mark, style) = if fine { ("+ ", Style::Green) } else { ("x ", Style::Red) };
        let mut out = shelf.look.line(&format!("{name}  {held}"), mark, style);
        for finding in &self.findings {
            let text = format!("{}: {}", shelf.say(finding.key, &[]), finding.count);
            out.push_str(&shelf.look.lines(&text, "    - ", Style::Plain));
        }
        out
    }
}
