//! What is fixed when a session begins: its instructions, with the workbench as it stood then.
//!
//! They are stored in the transcript, so that every later run sends the same bytes and the model's cache
//! of a long conversation stays good. What changed since is told in the newest prompt.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::transcript::{Entry, EntryError, SessionKey};

/// The `type` of the entry that holds them. It has no uuid and stands outside the chain.
const KIND: &str = "flower-instructions";

/// The `type` of the entry that begins a session which takes over from another.
const INHERITANCE: &str = "flower-handoff";

/// What a session got from the one before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Inheritance {
    /// The file, which a person may have changed meanwhile.
    pub(super) path: Option<PathBuf>,
    /// The paper as it was written.
    pub(super) text: String,
}

/// The entry that keeps the inheritance; stored before anything is said, so that a kill in between does
/// not lose it.
pub(super) fn bequeath(
    heir: &SessionKey,
    from: &str,
    path: Option<&Path>,
    text: &str,
) -> Result<Entry, EntryError> {
    let row = json!({
        "type": INHERITANCE, "sessionId": heir.session, "from": from, "path": path, "text": text,
    });
    Entry::parse(row.to_string())
}

/// What the session inherited, if it took over from another.
pub(super) fn inheritance(record: &[Entry]) -> Option<Inheritance> {
    let entry = record.iter().find(|entry| entry.kind == INHERITANCE)?;
    Some(Inheritance { path: entry.string("path").map(PathBuf::from), text: entry.string("text")? })
}

/// The role's instructions and the workbench's index.
pub(super) fn compose(role: &str, index: Option<&str>) -> String {
    match index {
        Some(index) => format!("{role}\n\n{index}"),
        None => role.to_owned(),
    }
}

/// The entry that keeps the instructions.
pub(super) fn entry(key: &SessionKey, instructions: &str) -> Result<Entry, EntryError> {
    let row = json!({"type": KIND, "sessionId": key.session, "instructions": instructions});
    Entry::parse(row.to_string())
}

/// The instructions that the session began with; nothing for a session of another tool.
pub(super) fn instructions(record: &[Entry]) -> Option<String> {
    record.iter().find(|entry| entry.kind == KIND).and_then(|entry| entry.string("instructions"))
}

/// The prompt, with what changed on the workbench since the session began: lines of the index that are
/// new, and the paths of those files that are gone.
///
/// The index lists only so many files, so one that it no longer names is gone only if `is_there` says so.
pub(super) fn with_news(
    prompt: &str,
    fixed: &str,
    index: &str,
    is_there: &dyn Fn(&str) -> bool,
) -> String {
    let title = index.lines().next().unwrap_or_default();
    let then = fixed.rfind(title).map_or("", |at| &fixed[at..]);
    let known: HashSet<&str> = then.lines().collect();
    let news = index.lines().filter(|line| line.starts_with("- ") && !known.contains(line));
    let gone = then.lines().filter_map(path).filter(|path| !is_there(path));
    let mut told = String::new();
    for (tag, lines) in [
        ("workbench-news", news.map(str::to_owned).collect::<Vec<_>>()),
        ("workbench-gone", gone.map(|path| format!("- `{path}`")).collect()),
    ] {
        if !lines.is_empty() {
            told.push_str(&format!("\n\n<{tag}>\n{}\n</{tag}>", lines.join("\n")));
        }
    }
    format!("{prompt}{told}")
}

/// The file that a line of the index is about.
fn path(line: &str) -> Option<&str> {
    line.strip_prefix("- `")?.split_once('`').map(|(path, _)| path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_fixed_is_found_again() {
        let key = SessionKey::main("p", "s");
        let text = compose("be kind", Some("# Workbench\n- `a`"));
        let record = [entry(&key, &text).unwrap()];
        assert_eq!(instructions(&record).as_deref(), Some(text.as_str()));
        assert!(record[0].uuid.is_none());
    }

    #[test]
    fn an_inheritance_is_found_again() {
        let key = SessionKey::main("p", "s");
        let record = [bequeath(&key, "old", Some(Path::new("/n/h.md")), "text").unwrap()];
        let path = Some(PathBuf::from("/n/h.md"));
        assert_eq!(inheritance(&record), Some(Inheritance { path, text: "text".into() }));
        let record = [bequeath(&key, "old", None, "text").unwrap()];
        assert_eq!(inheritance(&record).unwrap().path, None);
        assert_eq!(inheritance(&[]), None);
    }

    #[test]
    fn new_lines_of_the_index_and_lost_files_are_told() {
        let fixed = "role\n- `no/file` of the bench\n\n# Workbench\n- `a`\n- `b`";
        let all = |_: &str| true;
        assert_eq!(with_news("go on", fixed, "# Workbench\n- `a`\n- `b`", &all), "go on");
        let told = with_news("go on", fixed, "# Workbench\n- `a`\n- `b`\n- `c`", &all);
        assert_eq!(told, "go on\n\n<workbench-news>\n- `c`\n</workbench-news>");
        let told = with_news("go on", fixed, "# Workbench\n- `a`", &|path| path == "a");
        assert_eq!(told, "go on\n\n<workbench-gone>\n- `b`\n</workbench-gone>");
    }
}
