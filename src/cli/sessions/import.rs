//! `flower sessions import`: Claude Code's own transcripts into the store, however damaged they are.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::json;

use super::super::args::Global;
use super::super::assemble::House;
use super::super::exit::Refusal;
use super::super::output::complain;
use super::super::terminal::Style;
use super::progress::Progress;
use super::shelf::Shelf;
use super::source::{Source, sources};
use crate::report::size;
use crate::runtime::RunFolder;
use crate::store::SessionStore;
use crate::transcript::{Damage, Entry, RawObject, SessionKey, salvage};

/// As much is put into the store at once.
const BATCH_ENTRIES: usize = 1000;
const BATCH_BYTES: usize = 8_000_000;

/// More about a subagent than this is something else.
const LONGEST_META: u64 = 1_000_000;

/// Damaged lines of a file that are named one by one, without -v.
const NAMED: usize = 10;

/// `flower sessions import`
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Folders are searched for NAME.jsonl, NAME/subagents/*.jsonl and .meta.json. What is damaged is named \
                  with file and line, everything else comes in, and what is stored already stays as it is.\n\
                  --json: one object a file with file, project, session, subpath, new, known, damage.\n\n\
                  Example: flower sessions import ~/.claude/projects/-home-me-shop"
)]
pub(in crate::cli) struct ImportArgs {
    /// Files and folders
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Keep the project that each file's folder is named after; without it they become the workspace's own
    #[arg(long)]
    keep_project: bool,
    /// One JSON object a file
    #[arg(long)]
    json: bool,
}

/// What came of one file.
struct Taken {
    key: Option<SessionKey>,
    new: usize,
    known: usize,
    damage: Vec<(u64, Damage)>,
}

pub(super) async fn run(house: &House, global: &Global, args: &ImportArgs) -> Result<bool> {
    let mut files: Vec<Source> = Vec::new();
    for path in &args.paths {
        let found =
            sources(path).with_context(|| house.language.text("sessions.cannot_read", &[]))?;
        if found.is_empty() {
            let path = path.display().to_string();
            let sentence = house.language.text("sessions.no_files", &[("path", &path)]);
            return Err(Refusal::new("no_files", sentence).into());
        }
        files.extend(found);
    }
    // Before anything is made: nothing is made for nothing.
    let (files, refused) = only_transcripts(files, house)?;
    let (_, run_dir) = house.folders(global);
    let folder = RunFolder::open(&run_dir)?;
    let shelf = Shelf::with(house, global, &folder.file("sessions.db"))?;
    let mut import = Import { shelf: &shelf, keep: args.keep_project, progress: Progress::new() };
    let mut sum = [0; 3];
    for source in &files {
        let taken = import.take(source).await?;
        import.progress.clear();
        sum[0] += taken.new;
        sum[1] += taken.known;
        sum[2] += taken.damage.len();
        let mut out = std::io::stdout().lock();
        if args.json {
            writeln!(out, "{}", taken.json(source))?;
        } else if !source.meta {
            out.write_all(taken.text(&shelf, source).as_bytes())?;
        }
    }
    if !args.json && files.len() > 1 {
        let [new, known, damaged] = sum.map(|count| count.to_string());
        let values = [("new", &*new), ("known", &known), ("damaged", &damaged)];
        let text = shelf.say("sessions.imported_all", &values);
        let line = shelf.look.lines(&text, "", Style::Bold);
        std::io::stdout().lock().write_all(line.as_bytes())?;
    }
    Ok(!refused)
}

/// Takes out what is no transcript, which is said, and true where that was anything. Where nothing else is
/// left, the first of them is the error.
fn only_transcripts(files: Vec<Source>, house: &House) -> Result<(Vec<Source>, bool)> {
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for source in files {
        let path = source.path.display().to_string();
        let said = |key: &str| house.language.text(key, &[("path", &path)]);
        let refuse = |key: &str| Err(Refusal::new("not_a_transcript", said(key)).into());
        let looked = match std::fs::metadata(&source.path) {
            // A pipe would be waited for, and some devices never end.
            Ok(about) if !about.is_file() => refuse("sessions.not_a_file"),
            Ok(_) => match is_transcript(&source) {
                Ok(true) => Ok(()),
                Ok(false) => refuse("sessions.not_a_transcript"),
                Err(error) => Err(error),
            },
            Err(error) => Err(error.into()),
        };
        match looked {
            Ok(()) => good.push(source),
            Err(error) if error.is::<Refusal>() => bad.push(error),
            Err(error) => {
                bad.push(
                    error.context(path).context(house.language.text("sessions.cannot_read", &[])),
                );
            }
        }
    }
    let refused = !bad.is_empty();
    if good.is_empty() && refused {
        return Err(bad.swap_remove(0));
    }
    bad.iter().for_each(|error| complain(&format!("{error:#}")));
    Ok((good, refused))
}

/// True for an empty file, and for one with an entry of a session in it. Any other program's JSON lines
/// would come in as entries, since an entry may be nearly anything.
fn is_transcript(source: &Source) -> Result<bool> {
    if source.meta {
        return Ok(true);
    }
    let mut reader = BufReader::new(File::open(&source.path)?);
    let (mut line, mut empty) = (Vec::new(), true);
    while reader.read_until(b'\n', &mut line)? > 0 {
        if salvage(&line).entries.iter().any(is_of_a_transcript) {
            return Ok(true);
        }
        empty &= line.iter().all(u8::is_ascii_whitespace);
        line.clear();
    }
    Ok(empty)
}

fn is_of_a_transcript(entry: &Entry) -> bool {
    const NAMES: [&str; 5] = ["uuid", "sessionId", "leafUuid", "messageId", "agentId"];
    !entry.kind.is_empty() && NAMES.iter().any(|name| entry.field(name).is_some())
}

struct Import<'a> {
    shelf: &'a Shelf<'a>,
    keep: bool,
    progress: Progress,
}

/// What a transcript in the store holds, as far as telling new from known needs it.
#[derive(Default)]
struct Known {
    names: HashSet<String>,
    /// Texts of entries without a name, and how many of each have not been met in the file.
    nameless: HashMap<String, usize>,
}

impl Known {
    fn add(&mut self, entry: &Entry) {
        match &entry.uuid {
            Some(uuid) => {
                self.names.insert(uuid.clone());
            }
            None => *self.nameless.entry(entry.raw().to_owned()).or_default() += 1,
        }
    }

    /// True for an entry that is to be stored.
    fn lacks(&mut self, entry: &Entry) -> bool {
        match &entry.uuid {
            Some(uuid) => self.names.insert(uuid.clone()),
            None => match self.nameless.get_mut(entry.raw()) {
                Some(count) if *count > 0 => {
                    *count -= 1;
                    false
                }
                _ => true,
            },
        }
    }
}

impl Import<'_> {
    fn refuse(&self, key: &str, path: &Path) -> anyhow::Error {
        let path = path.display().to_string();
        Refusal::new("not_a_transcript", self.shelf.say(key, &[("path", &path)])).into()
    }

    fn project<'s>(&'s self, source: &'s Source) -> Result<&'s str> {
        match self.keep {
            false => Ok(&self.shelf.project),
            true if source.project.is_empty() => {
                Err(self.refuse("sessions.no_project", &source.path))
            }
            true => Ok(&source.project),
        }
    }

    async fn known(&self, key: &SessionKey) -> Result<Known> {
        let mut known = Known::default();
        self.shelf.load(key).await?.entries.iter().for_each(|entry| known.add(entry));
        Ok(known)
    }

    async fn take(&mut self, source: &Source) -> Result<Taken> {
        if source.meta {
            return self.take_meta(source).await;
        }
        let unreadable = || self.shelf.say("sessions.cannot_read", &[]);
        let named = || source.path.display().to_string();
        let about = std::fs::metadata(&source.path).with_context(named).with_context(unreadable)?;
        let file = File::open(&source.path).with_context(named).with_context(unreadable)?;
        let mut reader = BufReader::with_capacity(1 << 20, file);
        let mut taken = Taken { key: None, new: 0, known: 0, damage: Vec::new() };
        let (mut line, mut number, mut read) = (Vec::new(), 0, 0);
        let (mut batch, mut bytes) = (Vec::new(), 0);
        let mut place: Option<(SessionKey, Known)> = None;
        loop {
            line.clear();
            let length = reader.read_until(b'\n', &mut line).with_context(named)?;
            number += 1;
            read += length as u64;
            let found = salvage(&line);
            bytes += found.entries.iter().map(|entry| entry.raw().len()).sum::<usize>();
            batch.extend(found.entries);
            taken.damage.extend(found.damage.into_iter().map(|damage| (number, damage)));
            let full = batch.len() >= BATCH_ENTRIES || bytes >= BATCH_BYTES;
            if (full || length == 0) && !batch.is_empty() {
                let (key, known) = match &mut place {
                    Some(place) => place,
                    None => {
                        let key = source.key(self.project(source)?, &batch);
                        let known = self.known(&key).await?;
                        place.insert((key, known))
                    }
                };
                let all = batch.len();
                batch.retain(|entry| known.lacks(entry));
                self.shelf.store.append(key, &batch).await?;
                taken.new += batch.len();
                taken.known += all - batch.len();
                batch.clear();
                bytes = 0;
            }
            if length == 0 {
                break;
            }
            let shelf = self.shelf;
            self.progress.tell(|| {
                let done = format!("{} / {}", size(read), size(about.len()));
                let path = source.path.display().to_string();
                shelf.say("sessions.reading", &[("path", &path), ("done", &done)])
            });
        }
        taken.key = place.map(|(key, _)| key);
        Ok(taken)
    }

    /// What Claude Code keeps beside a subagent's transcript is an entry in it here.
    async fn take_meta(&self, source: &Source) -> Result<Taken> {
        let named = || source.path.display().to_string();
        let content = crate::disk::read(&source.path, LONGEST_META).with_context(named)?;
        let text = String::from_utf8_lossy(&content);
        let text = text.trim_start_matches('\u{feff}').trim();
        let mut taken = Taken { key: None, new: 0, known: 0, damage: Vec::new() };
        if text.is_empty() {
            return Ok(taken);
        }
        let Ok(fields) = RawObject::parse(text) else {
            return Err(self.refuse("sessions.not_a_transcript", &source.path));
        };
        let mut raw = String::from(r#"{"type":"agent_metadata""#);
        for (name, value) in fields.iter().filter(|(name, _)| *name != "type") {
            raw.push_str(&format!(",{}:{value}", json!(name)));
        }
        let entry = Entry::parse(raw + "}")?;
        let key = source.key(self.project(source)?, &[]);
        match self.known(&key).await?.lacks(&entry) {
            true => {
                self.shelf.store.append(&key, &[entry]).await?;
                taken.new = 1;
            }
            false => taken.known = 1,
        }
        taken.key = Some(key);
        Ok(taken)
    }
}

impl Taken {
    fn json(&self, source: &Source) -> serde_json::Value {
        let damage: Vec<serde_json::Value> = self
            .damage
            .iter()
            .map(|(line, damage)| {
                let bytes = match damage {
                    Damage::Unreadable(bytes) | Damage::Nul(bytes) => Some(bytes),
                    Damage::NotAnEntry | Damage::Fused | Damage::Encoding => None,
                };
                json!({"line": line, "kind": damage.name(), "bytes": bytes, "lost": damage.is_loss()})
            })
            .collect();
        json!({
            "file": source.path.display().to_string(),
            "project": self.key.as_ref().map(|key| &key.project),
            "session": self.key.as_ref().map(|key| &key.session),
            "subpath": self.key.as_ref().and_then(|key| key.subpath.as_ref()),
            "new": self.new,
            "known": self.known,
            "damage": damage,
        })
    }

    fn text(&self, shelf: &Shelf<'_>, source: &Source) -> String {
        let name = source.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(key) = &self.key else {
            let text = shelf.say("sessions.empty_file", &[("name", &name)]);
            return shelf.look.line(&text, ". ", Style::Dim);
        };
        let id: String = key.session.chars().take(8).collect();
        let (new, known) = (self.new.to_string(), self.known.to_string());
        let mut values = vec![("id", id.as_str()), ("new", &new), ("known", &known)];
        let agent = key.subpath.as_deref().map(|path| path.rsplit('/').next().unwrap_or(path));
        let text = match agent {
            None => shelf.say("sessions.imported", &values),
            Some(agent) => {
                values.push(("agent", agent));
                shelf.say("sessions.imported_agent", &values)
            }
        };
        let style = if self.new > 0 { Style::Green } else { Style::Dim };
        let mut out = shelf.look.lines(&text, "+ ", style);
        let most = if shelf.look.verbose { usize::MAX } else { NAMED };
        for (line, damage) in self.damage.iter().take(most) {
            let bytes = match damage {
                Damage::Unreadable(bytes) | Damage::Nul(bytes) => bytes.to_string(),
                Damage::NotAnEntry | Damage::Fused | Damage::Encoding => String::new(),
            };
            let what =
                shelf.say(&format!("sessions.damage_{}", damage.name()), &[("bytes", &bytes)]);
            let text = format!("{name}:{line}: {what}");
            let style = if damage.is_loss() { Style::Yellow } else { Style::Dim };
            out.push_str(&shelf.look.lines(&text, "  ! ", style));
        }
        if self.damage.len() > most {
            let count = (self.damage.len() - most).to_string();
            let text = shelf.say("sessions.more_damage", &[("count", &count)]);
            out.push_str(&shelf.look.lines(&text, "  ! ", Style::Dim));
        }
        out
    }
}
