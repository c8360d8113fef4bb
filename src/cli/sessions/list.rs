//! `flower sessions list`: what is stored, newest first.

use std::collections::HashMap;
use std::io::Write;

use anyhow::Result;
use serde_json::json;
use unicode_width::UnicodeWidthStr;

use super::super::terminal::{Style, clean};
use super::look::{ago, local};
use super::shelf::{Shelf, short_ids};
use crate::report::{Digest, size};
use crate::store::SessionStore;

/// `flower sessions list`
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without --all: the project of the workspace; where the store has none of it and -w was not given, \
                  all projects.\n--json: one object a line with project, session, title, step, created, changed, \
                  entries, bytes, subagents, folder, branch.\n\nExample: flower sessions list -r flower-demo/runs"
)]
pub(in crate::cli) struct ListArgs {
    /// Every project in the store
    #[arg(long)]
    all: bool,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

/// What stands below the first line of a session.
const INDENT: &str = "  ";

/// One session of the list.
struct Row {
    digest: Digest,
    step: Option<String>,
    /// Milliseconds since 1970.
    changed: i64,
    entries: u64,
    bytes: u64,
    agents: usize,
}

pub(super) async fn run(shelf: &Shelf<'_>, args: &ListArgs) -> Result<bool> {
    let mut projects = Vec::new();
    for project in shelf.projects(args.all).await? {
        let rows = rows(shelf, &project).await?;
        if !rows.is_empty() {
            projects.push((project, rows));
        }
    }
    projects.sort_by_key(|(_, rows)| std::cmp::Reverse(rows[0].changed));
    let mut out = std::io::stdout().lock();
    if args.json {
        for (project, rows) in &projects {
            rows.iter().try_for_each(|row| writeln!(out, "{}", row.json(project)))?;
        }
        return Ok(true);
    }
    if projects.is_empty() {
        writeln!(out, "{}", shelf.say("sessions.none", &[]))?;
        return Ok(true);
    }
    let ids: Vec<&str> =
        projects.iter().flat_map(|(_, rows)| rows).map(|row| row.digest.session.as_str()).collect();
    let short = short_ids(&ids);
    for (at, (project, rows)) in projects.iter().enumerate() {
        if projects.len() > 1 {
            let gap = if at > 0 { "\n" } else { "" };
            write!(out, "{gap}{}", shelf.look.line(project, "== ", Style::Cyan))?;
        }
        for row in rows {
            out.write_all(row.text(shelf, &short).as_bytes())?;
        }
    }
    Ok(true)
}

/// The sessions of a project, newest first.
async fn rows(shelf: &Shelf<'_>, project: &str) -> Result<Vec<Row>> {
    let digests = shelf.store.list_session_summaries(project).await?;
    let mut digests: HashMap<String, Digest> = digests
        .iter()
        .filter_map(|row| Digest::read(row))
        .map(|digest| (digest.session.clone(), digest))
        .collect();
    let held = shelf.store.sizes(project).await?;
    let mut rows = Vec::new();
    for info in shelf.store.list_sessions(project).await? {
        let below = format!("{}/", info.session_id);
        let own = |name: &str| name == info.session_id;
        let mut digest = digests.remove(&info.session_id).unwrap_or_default();
        digest.title = shelf.tidy.text(&digest.title);
        digest.folder = digest.folder.map(|folder| shelf.tidy.text(&folder));
        digest.branch = digest.branch.map(|branch| shelf.tidy.text(&branch));
        digest.session.clone_from(&info.session_id);
        rows.push(Row {
            step: shelf.step(&info.session_id),
            changed: info.mtime,
            entries: held.iter().filter(|h| own(&h.transcript)).map(|h| h.entries).sum(),
            bytes: held
                .iter()
                .filter(|h| own(&h.transcript) || h.transcript.starts_with(&below))
                .map(|h| h.bytes)
                .sum(),
            agents: held.iter().filter(|h| h.transcript.starts_with(&below)).count(),
            digest,
        });
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.changed));
    Ok(rows)
}

impl Row {
    fn json(&self, project: &str) -> serde_json::Value {
        let iso =
            |time: i64| jiff::Timestamp::from_millisecond(time).ok().map(|t| format!("{t:.3}"));
        json!({
            "project": project,
            "session": self.digest.session,
            "title": self.digest.title,
            "step": self.step,
            "created": self.digest.created.and_then(iso),
            "changed": iso(self.changed),
            "entries": self.entries,
            "bytes": self.bytes,
            "subagents": self.agents,
            "folder": self.digest.folder,
            "branch": self.digest.branch,
        })
    }

    /// Id, step and time on one line, where they fit; below it what was said.
    fn text(&self, shelf: &Shelf<'_>, short: &HashMap<String, String>) -> String {
        let look = &shelf.look;
        let id = clean(short.get(&self.digest.session).map_or("", String::as_str));
        let step = self.step.as_deref().map(|step| format!("{step}  ")).unwrap_or_default();
        let when = format!("{} ({})", local(self.changed), ago(self.changed, look.language));
        let mut held = shelf.say(
            "sessions.held",
            &[("entries", &self.entries.to_string()), ("size", &size(self.bytes))],
        );
        if self.agents > 0 {
            let count = self.agents.to_string();
            held = format!("{held}, {}", shelf.say("sessions.with_agents", &[("count", &count)]));
        }
        let title = match self.digest.title.as_str() {
            "" => shelf.say("sessions.untitled", &[]),
            title => title.to_owned(),
        };
        let fits = (id.width() + 2 + step.width() + when.width()) <= look.width;
        let head = look.paint(&id, Style::Yellow) + "  " + &look.paint(&step, Style::Cyan);
        let (beside, below) = match fits {
            true => (look.paint(&when, Style::Dim), String::new()),
            false => (String::new(), look.line(&when, INDENT, Style::Dim)),
        };
        format!("{}\n", (head + &beside).trim_end())
            + &below
            + &look.line(&title, INDENT, Style::Plain)
            + &look.line(&held, INDENT, Style::Dim)
    }
}
