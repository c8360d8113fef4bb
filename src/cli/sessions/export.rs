//! `flower sessions export`: a conversation as a file that others can read.

use std::io::Write;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};

use super::super::exit::Refusal;
use super::super::output::warn;
use super::progress::Progress;
use super::shelf::Shelf;
use crate::disk::{Care, create, replace};
use crate::report::{html, markdown};
use crate::transcript::{Entry, SessionKey, remove_field};

/// `flower sessions export`
#[derive(Debug, clap::Args)]
#[command(
    after_help = "JSONL holds the entries byte for byte as they are stored, but for values of credentials, which \
                  stand as ***.\nInto a folder, JSONL is written as Claude Code lays it out: ID.jsonl, \
                  ID/subagents/agent-*.jsonl and .meta.json.\n\nExample: flower sessions export 5a55b771 -o \
                  work.html"
)]
pub(in crate::cli) struct ExportArgs {
    /// The session, or the beginning of its id
    id: String,
    /// The form; without it the end of FILE's name says it: .md, .html, otherwise JSONL
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Where to; without it, standard output. A folder (or a name that ends in /) gets a file for each
    /// transcript
    #[arg(short = 'o', long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Replace what is there
    #[arg(long)]
    force: bool,
}

/// Forms of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// The stored entries, one a line
    Jsonl,
    /// To read as it is, or for a page that others render
    Markdown,
    /// One page that needs nothing but a browser
    Html,
}

impl Format {
    fn of(path: &Path) -> Self {
        let end = path.extension().map(|end| end.to_string_lossy().to_ascii_lowercase());
        match end.as_deref() {
            Some("md" | "markdown") => Self::Markdown,
            Some("html" | "htm") => Self::Html,
            _ => Self::Jsonl,
        }
    }
}

pub(super) async fn run(shelf: &Shelf<'_>, args: &ExportArgs) -> Result<bool> {
    let key = shelf.find(&args.id).await?;
    let output = args.file.as_deref();
    let folder = output.filter(|path| is_folder(path));
    let format = args.format.or_else(|| output.map(Format::of)).unwrap_or(Format::Jsonl);
    let target = Target { shelf, force: args.force };
    if let (Format::Jsonl, Some(folder)) = (format, folder) {
        return target.folder(&key, folder).await;
    }
    let (content, end) = match format {
        Format::Jsonl => (target.main_lines(&key).await?, "jsonl"),
        Format::Markdown => {
            (markdown(&shelf.conversation(&key).await?, shelf.house.language).into_bytes(), "md")
        }
        Format::Html => {
            (html(&shelf.conversation(&key).await?, shelf.house.language).into_bytes(), "html")
        }
    };
    match (folder, output) {
        (Some(folder), _) => {
            let name = target.name(&key.session)?.with_added_extension(end);
            target.write(&folder.join(name), &content)?;
        }
        (None, Some(file)) => target.write(file, &content)?,
        (None, None) => {
            let mut out = std::io::stdout().lock();
            out.write_all(&content).and_then(|()| out.flush())?;
        }
    }
    Ok(true)
}

fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.as_os_str().to_string_lossy().ends_with('/')
}

/// Writes files, and never over others unless that was asked for.
struct Target<'a> {
    shelf: &'a Shelf<'a>,
    force: bool,
}

impl Target<'_> {
    /// The main transcript alone, which is said where there is more.
    async fn main_lines(&self, key: &SessionKey) -> Result<Vec<u8>> {
        let agents = self.shelf.agents(key).await?.len();
        if agents > 0 {
            let count = agents.to_string();
            warn(&self.shelf.say("sessions.agents_left_out", &[("count", &count)]));
        }
        let loaded = self.shelf.load(key).await?;
        self.shelf.tell_unreadable(key, loaded.unreadable);
        self.lines(&loaded.entries)
    }

    /// Entries as lines, without secrets.
    fn lines(&self, entries: &[Entry]) -> Result<Vec<u8>> {
        let mut lines = Vec::with_capacity(entries.iter().map(|e| e.raw().len() + 1).sum());
        for entry in entries {
            let raw = self.shelf.tidy.json(entry.raw());
            // A row that was stored with line ends in it is one line all the same: between the parts of
            // JSON, and only there can they be, they mean nothing.
            lines.extend(
                raw.bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte }),
            );
            lines.push(b'\n');
        }
        Ok(lines)
    }

    /// Everything of a session, as Claude Code lays it out.
    async fn folder(&self, key: &SessionKey, folder: &Path) -> Result<bool> {
        let session = self.name(&key.session)?;
        let mut files = vec![(key.clone(), folder.join(&session))];
        for agent in self.shelf.agents(key).await? {
            let subpath = agent.subpath.clone().unwrap_or_default();
            files.push((agent, folder.join(&session).join(self.name(&subpath)?)));
        }
        // All or none: what is in the way is found before anything is written.
        for (_, path) in &files {
            for end in ["jsonl", "meta.json"] {
                self.refuse_taken(&path.with_added_extension(end))?;
            }
        }
        let mut progress = Progress::new();
        let all = files.len();
        for (at, (key, path)) in files.into_iter().enumerate() {
            progress.tell(|| self.shelf.reading(&key, at, all));
            let loaded = self.shelf.load(&key).await?;
            self.shelf.tell_unreadable(&key, loaded.unreadable);
            let is_meta = |entry: &&Entry| key.subpath.is_some() && entry.kind == "agent_metadata";
            // Of several the last one counts, as in Claude Code.
            if let Some(meta) = loaded.entries.iter().rfind(is_meta) {
                let text = remove_field(&self.shelf.tidy.json(meta.raw()), "type")?;
                self.write(&path.with_added_extension("meta.json"), text.as_bytes())?;
            }
            let rows: Vec<Entry> =
                loaded.entries.iter().filter(|entry| !is_meta(entry)).cloned().collect();
            self.write(&path.with_added_extension("jsonl"), &self.lines(&rows)?)?;
        }
        Ok(true)
    }

    /// A stored name as a path below a folder. Stored names may come from anywhere, so one that would
    /// lead out of it is refused.
    fn name(&self, name: &str) -> Result<PathBuf> {
        let path = Path::new(name);
        let harmless = path.components().all(|part| matches!(part, Component::Normal(_)));
        if !harmless || name.is_empty() || name.contains(['\0', '\\']) {
            let sentence = self.shelf.say("sessions.unsafe_name", &[("name", name)]);
            return Err(Refusal::new("unsafe_name", sentence).into());
        }
        Ok(path.to_owned())
    }

    fn refuse_taken(&self, path: &Path) -> Result<()> {
        if self.force || path.symlink_metadata().is_err() {
            return Ok(());
        }
        let path = path.display().to_string();
        let sentence = self.shelf.say("sessions.taken", &[("path", &path)]);
        Err(Refusal::new("target", sentence).into())
    }

    fn write(&self, path: &Path, content: &[u8]) -> Result<()> {
        let failed = || {
            let path = path.display().to_string();
            self.shelf.say("sessions.cannot_write", &[("path", &path)])
        };
        if let Some(folder) = path.parent().filter(|folder| is_folder_missing(folder)) {
            std::fs::create_dir_all(folder).with_context(failed)?;
        }
        if self.force {
            return replace(path, content, Care::Record).with_context(failed);
        }
        match create(path, content, Care::Record).with_context(failed)? {
            true => Ok(()),
            false => self.refuse_taken(path),
        }
    }
}

fn is_folder_missing(folder: &Path) -> bool {
    !folder.as_os_str().is_empty() && !folder.exists()
}
