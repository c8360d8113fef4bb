//! What a file says about itself in its first lines (core.md W-2).

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

/// How many lines are looked at.
const LINES: usize = 8;
/// How much is read for that, in bytes: an artifact may be gigabytes in one line.
const BYTES: u64 = 4096;
/// The longest description that was not meant as one, in characters.
const LONGEST: usize = 100;

/// The longest one that was: forty of them stand in every conversation.
const LONGEST_MARKED: usize = 300;

/// `# desc: what it does`, also with the full-width colon.
static MARKED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^\s*(?:#|//|--)\s*desc\s*[:\u{FF1A}]\s*(.+)$")
        .expect("the pattern is constant")
});

/// The description of a file; empty where it has none or cannot be read.
pub(super) fn describe(path: &Path) -> String {
    let mut start = Vec::new();
    let read = open(path).and_then(|file| file.take(BYTES).read_to_end(&mut start));
    if read.is_err() {
        return String::new();
    }
    let text = String::from_utf8_lossy(&start);
    let lines: Vec<&str> = text.lines().take(LINES).collect();
    let marked = lines.iter().find_map(|line| MARKED.captures(line)?.get(1));
    match marked {
        Some(words) => visible(words.as_str()).chars().take(LONGEST_MARKED).collect(),
        None => lines.iter().find_map(|line| comment(line)).unwrap_or_default(),
    }
}

/// Opens without following a link and without waiting for the other end of a pipe: an agent made the
/// file, and may have exchanged it since it was listed.
fn open(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.custom_flags(flags.bits().cast_signed());
    }
    options.open(path)
}

fn comment(line: &str) -> Option<String> {
    let line = line.trim();
    // Which program runs a script is not what it does.
    if line.starts_with("#!") {
        return None;
    }
    let words = if line.starts_with("\"\"\"") || line.starts_with("'''") {
        line.trim_matches(['"', '\'', ' '])
    } else if ["#", "//", "--"].iter().any(|mark| line.starts_with(mark))
        && line.chars().count() > 3
    {
        line.trim_matches(['#', '/', '-', ' '])
    } else {
        return None;
    };
    let words: String = visible(words).chars().take(LONGEST).collect();
    (!words.is_empty()).then_some(words)
}

/// The text without what a terminal or a reader of Markdown would not show, or would take for the end
/// of a line or for another direction.
pub(super) fn visible(text: &str) -> String {
    let hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    text.trim().chars().filter(|c| !hidden(*c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(content: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, content).unwrap();
        describe(&path)
    }

    #[test]
    fn a_marked_description_wins() {
        assert_eq!(of("#!/bin/sh\n# a script\n#  DESC : builds it \n"), "builds it");
        assert_eq!(of("// desc\u{ff1a}全量构建"), "全量构建");
        assert_eq!(of("-- desc: a query"), "a query");
    }

    #[test]
    fn otherwise_the_first_comment_speaks() {
        assert_eq!(
            of("#!/usr/bin/env python3\n\n\"\"\"Counts words.\"\"\"\n# later\n"),
            "Counts words."
        );
        assert_eq!(of("# Why we use SQLite\n\ntext"), "Why we use SQLite");
        assert_eq!(of("#a\n##########\n// real words"), "real words");
        assert_eq!(of(&format!("# {}", "x".repeat(300))).len(), 100);
    }

    #[test]
    fn nothing_is_made_up() {
        assert_eq!(of("plain text"), "");
        assert_eq!(of(""), "");
        assert_eq!(of(&format!("{}# desc: too late", "\n".repeat(8))), "");
        assert_eq!(of(&"x".repeat(100_000)), "");
        assert_eq!(describe(Path::new("/no/such/file")), "");
    }

    #[test]
    fn control_characters_do_not_reach_a_terminal() {
        assert_eq!(of("# desc: a\u{1b}[31mred"), "a[31mred");
    }
}
