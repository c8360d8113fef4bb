//! Which transcript a file is, told by where it lies and by what it says.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::transcript::{Entry, SessionKey};

/// A file to take in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) path: PathBuf,
    /// It tells about a subagent instead of being its transcript.
    pub(super) meta: bool,
    /// The folder of the project that it lies in.
    pub(super) project: String,
    session: String,
    subpath: Option<String>,
}

/// The transcripts below a folder, or the one file. What a subagent is comes before what it said.
pub(super) fn sources(path: &Path) -> Result<Vec<Source>> {
    let whole = path.canonicalize().with_context(|| path.display().to_string())?;
    let mut files = Vec::new();
    if whole.is_dir() {
        walk(&whole, &mut files).with_context(|| path.display().to_string())?;
    } else {
        files.push(whole);
    }
    let mut sources: Vec<Source> = files.into_iter().map(Source::of).collect();
    sources.sort_by(|a, b| (!a.meta, &a.path).cmp(&(!b.meta, &b.path)));
    Ok(sources)
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        // Links are not followed: they lead in circles, or out of what was named.
        let kind = entry.file_type()?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if kind.is_dir() {
            walk(&entry.path(), files)?;
        } else if kind.is_file() && (name.ends_with(".jsonl") || name.ends_with(".meta.json")) {
            files.push(entry.path());
        }
    }
    Ok(())
}

impl Source {
    /// Told by the place: `P/S.jsonl`, or `P/S/subagents/agent-x.jsonl`.
    fn of(path: PathBuf) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let meta = name.ends_with(".meta.json");
        let stem = name.strip_suffix(".meta.json").or_else(|| name.strip_suffix(".jsonl"));
        let stem = stem.unwrap_or(&name).to_owned();
        let text = |path: &Path| {
            path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
        };
        // The folder of a session is named like the transcript beside it, or like a session and has a folder
        // for subagents.
        let mut folders = path.ancestors().skip(1);
        let session = folders.find(|folder| {
            let below = path.strip_prefix(folder).unwrap_or(&path);
            is_id(&text(folder)) && below.starts_with("subagents")
                || folder.with_added_extension("jsonl").is_file()
        });
        match session {
            Some(folder) => {
                let below = path.parent().and_then(|parent| parent.strip_prefix(folder).ok());
                let mut parts: Vec<String> = below
                    .into_iter()
                    .flat_map(Path::components)
                    .map(|part| part.as_os_str().to_string_lossy().into_owned())
                    .collect();
                parts.push(stem);
                let project = folder.parent().map(text).unwrap_or_default();
                let subpath = Some(parts.join("/"));
                Self { session: text(folder), subpath, project, meta, path }
            }
            None => {
                let project = path.parent().map(text).unwrap_or_default();
                Self { session: stem, subpath: None, project, meta, path }
            }
        }
    }

    /// The transcript's name in the store. What its first entries say counts where the place says nothing:
    /// a file that was renamed, or a subagent's beside the session, as older versions laid it.
    pub(super) fn key(&self, project: &str, first: &[Entry]) -> SessionKey {
        let key = SessionKey {
            project: project.to_owned(),
            session: self.session.clone(),
            subpath: self.subpath.clone(),
        };
        let told = first.iter().find_map(|entry| entry.string("sessionId"));
        let told = told.filter(|id| !id.is_empty() && !id.contains('/'));
        match told {
            Some(session) if key.subpath.is_none() && self.session.starts_with("agent-") => {
                SessionKey { session, subpath: Some(format!("subagents/{}", key.session)), ..key }
            }
            Some(session) if key.subpath.is_none() && !is_id(&key.session) => {
                SessionKey { session, ..key }
            }
            _ => key,
        }
    }
}

/// True for the form of an id: five groups of hexadecimal digits.
fn is_id(name: &str) -> bool {
    name.len() == 36
        && name.split('-').map(str::len).eq([8, 4, 4, 4, 12])
        && name.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0cc96919-9496-414b-b3b1-9bb937090d00";

    fn key(path: &str, row: &str) -> String {
        let source = Source::of(PathBuf::from(path));
        source.key(&source.project, &[Entry::parse(row).unwrap()]).joined()
    }

    #[test]
    fn the_place_says_which_transcript_it_is() {
        let row = r#"{"sessionId":"other"}"#;
        assert_eq!(key(&format!("/c/-p/{ID}.jsonl"), row), format!("-p/{ID}"));
        assert_eq!(
            key(&format!("/c/-p/{ID}/subagents/agent-x.jsonl"), row),
            format!("-p/{ID}/subagents/agent-x")
        );
        assert_eq!(
            key(&format!("/c/-p/{ID}/subagents/deep/agent-x.meta.json"), row),
            format!("-p/{ID}/subagents/deep/agent-x")
        );
    }

    #[test]
    fn where_the_place_says_nothing_the_entries_do() {
        assert_eq!(key("/c/-p/copy.jsonl", r#"{"sessionId":"s"}"#), "-p/s");
        assert_eq!(key("/c/-p/copy.jsonl", "{}"), "-p/copy");
        assert_eq!(key("/c/-p/copy.jsonl", r#"{"sessionId":"a/b"}"#), "-p/copy");
        assert_eq!(key("/c/-p/agent-x.jsonl", r#"{"sessionId":"s"}"#), "-p/s/subagents/agent-x");
    }
}
