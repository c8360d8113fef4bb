//! Cuts a paper into its sections; the one parser for all papers.

use super::fence::{self, Place};
use super::heading::{self, Heading, Kind, Mark};

/// A line of a section's body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) place: Place,
}

/// A section with a known label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Section<K> {
    pub(super) kind: K,
    pub(super) label: &'static str,
    pub(super) title: String,
    pub(super) lines: Vec<Line>,
    extra: String,
}

impl<K: Kind> Section<K> {
    #[cfg(test)]
    pub(super) fn text(kind: K, text: &str) -> Self {
        let line = |text: &str| Line { text: text.to_owned(), place: Place::Text };
        let lines = text.lines().map(line).collect();
        Section { kind, label: "", title: String::new(), lines, extra: String::new() }
    }

    /// The body without fenced code.
    pub(super) fn body(&self) -> String {
        let text = clean(self.lines.iter().map(|line| match line.place {
            Place::Text => line.text.as_str(),
            Place::Code | Place::Fence => "",
        }));
        if text.is_empty() { self.extra.clone() } else { text }
    }

    /// The body as it was written, code and all.
    pub(super) fn verbatim(&self) -> String {
        clean(self.lines.iter().map(|line| line.text.as_str()))
    }

    /// The lines with what is in fences as text.
    pub(super) fn unfenced(&self) -> Vec<Line> {
        let bare = |line: &Line| Line { text: line.text.clone(), place: Place::Text };
        self.lines.iter().filter(|line| line.place == Place::Code).map(bare).collect()
    }

    /// Drops closing words such as "that is all, shall I start?" that follow the last rule line.
    pub(super) fn drop_epilogue(&mut self) {
        let Some(rule) = self.lines.iter().rposition(|line| is_rule(&line.text)) else {
            return;
        };
        let tail: Vec<&str> = self.lines[rule + 1..]
            .iter()
            .map(|line| line.text.as_str())
            .filter(|text| !text.trim().is_empty())
            .collect();
        let talk = tail.iter().all(|text| !text.starts_with(['-', '*', '+', '#', '|', ' ', '\t']));
        // Longer text, or a list, is more likely to be content.
        if talk && tail.len() <= 2 && self.lines[..rule].iter().any(|line| !line.text.is_empty()) {
            self.lines.truncate(rule);
        }
    }
}

/// Reads a paper. Text before the first known heading, and under unknown ones, is left out.
pub(super) fn parse<K: Kind>(text: &str) -> Vec<Section<K>> {
    let text = normalize(text);
    let sections = cut::<K>(&text);
    let quoted = |line: &str| line.trim_start().starts_with('>');
    let mut written = text.lines().filter(|line| !line.trim().is_empty());
    // In a strict paper a quotation may be somebody else's words, unless all of it is one.
    let look_inside = if K::STRICT { written.all(quoted) } else { written.any(quoted) };
    if sections.is_empty() && look_inside {
        return cut::<K>(&unquote(&text));
    }
    sections
}

/// One kind of line end, no byte order mark.
pub(super) fn normalize(text: &str) -> String {
    text.trim_start_matches('\u{feff}').replace("\r\n", "\n").replace('\r', "\n")
}

fn unquote(text: &str) -> String {
    let strip = |line: &'_ str| {
        let bare = line.trim_start();
        match bare.strip_prefix('>') {
            Some(rest) => rest.strip_prefix(' ').unwrap_or(rest).to_owned(),
            None => line.to_owned(),
        }
    };
    text.lines().map(strip).collect::<Vec<_>>().join("\n")
}

fn cut<K: Kind>(text: &str) -> Vec<Section<K>> {
    let lines: Vec<&str> = text.lines().collect();
    let hash_heading = |line: &str| {
        heading::read::<K>(line).is_some_and(|found| matches!(found.mark, Mark::Hash(_)))
    };
    let places = fence::place(&lines, K::STRICT, hash_heading);
    let mut sections: Vec<Section<K>> = Vec::new();
    let mut open: Option<Open<K>> = None;
    let mut underline = false;
    for (line, place) in lines.into_iter().zip(places) {
        if std::mem::take(&mut underline) && is_underline(line) {
            continue;
        }
        if place == Place::Text {
            if let Some(found) = heading::read::<K>(line)
                && open.is_none_or(|open| open.ends_at(&found))
            {
                underline = found.mark == Mark::Plain && found.text.is_empty();
                open = Some(Open::new(&found));
                sections.push(start(found));
                continue;
            }
            if open.is_some_and(|open| open.ends_at_unknown(line)) {
                open = None;
            }
        }
        if let (Some(_), Some(section)) = (open, sections.last_mut()) {
            section.lines.push(Line { text: line.to_owned(), place });
        }
    }
    sections
}

/// The section that is being read.
#[derive(Clone, Copy)]
struct Open<K> {
    kind: K,
    level: usize,
}

impl<K: Kind> Open<K> {
    fn new(heading: &Heading<K>) -> Self {
        let level = match heading.mark {
            Mark::Hash(level) => level,
            Mark::Dressed | Mark::Plain => 2,
        };
        Open { kind: heading.kind, level }
    }

    fn ends_at(self, heading: &Heading<K>) -> bool {
        if self.kind.verbatim() {
            return heading.kind.verbatim();
        }
        // "Assumption: …" as a line of the assumptions is one of them.
        heading.mark != Mark::Plain || heading.kind != self.kind
    }

    /// A heading that nobody knows ends a section, unless it is a part of it.
    fn ends_at_unknown(self, line: &str) -> bool {
        !self.kind.verbatim() && heading::level(line).is_some_and(|level| level <= self.level)
    }
}

fn start<K: Kind>(heading: Heading<K>) -> Section<K> {
    let Heading { kind, label, title, text, extra, .. } = heading;
    let mut lines = Vec::new();
    if !text.is_empty() {
        lines.push(Line { text, place: Place::Text });
    }
    Section { kind, label, title, lines, extra }
}

/// The text of one kind: the first section that has any, and sections with another label of the
/// same kind ("Unknowns", then "Assumptions"). The same label again is a repetition.
pub(super) fn gather<K: Kind>(sections: &[Section<K>], kind: K) -> String {
    let mut labels: Vec<&str> = Vec::new();
    let mut bodies: Vec<String> = Vec::new();
    for section in sections.iter().filter(|section| section.kind == kind) {
        let body = section.body();
        if !body.is_empty() && !labels.contains(&section.label) {
            labels.push(section.label);
            bodies.push(body);
        }
    }
    bodies.join("\n")
}

/// Trims, drops rule lines, and leaves at most one blank line in a row.
fn clean<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let mut out = String::new();
    let mut blanks = 0;
    for line in lines.filter(|line| !is_rule(line)) {
        if line.trim().is_empty() {
            blanks += 1;
            continue;
        }
        if !out.is_empty() {
            out.push_str(if blanks > 0 { "\n\n" } else { "\n" });
        }
        blanks = 0;
        out.push_str(line.trim_end());
    }
    out.trim().to_owned()
}

pub(super) fn is_rule(line: &str) -> bool {
    let line = line.trim();
    line.len() >= 3 && ['-', '*', '_'].into_iter().any(|mark| line.chars().all(|c| c == mark))
}

fn is_underline(line: &str) -> bool {
    let line = line.trim();
    line.len() >= 2 && (line.chars().all(|c| c == '=') || line.chars().all(|c| c == '-'))
}

/// Whether the line would be read as structure.
fn is_risky<K: Kind>(line: &str) -> bool {
    heading::read::<K>(line).is_some()
        || heading::level(line).is_some()
        || fence::opening(line).is_some()
}

/// Puts a backslash before lines that would be read as structure.
pub(super) fn escape<K: Kind>(text: &str) -> String {
    change_lines(text, |bare| {
        is_risky::<K>(bare.trim_start_matches('\\')).then(|| format!("\\{bare}"))
    })
}

/// Like [`escape`], but leaves tilde fences: an open one is text, and looks as it was written.
pub(super) fn escape_body<K: Kind>(text: &str) -> String {
    change_lines(text, |bare| {
        let risky = is_risky::<K>(bare.trim_start_matches('\\')) && !bare.starts_with('~');
        risky.then(|| format!("\\{bare}"))
    })
}

/// Takes the backslashes away that [`escape`] put.
pub(super) fn unescape<K: Kind>(text: &str) -> String {
    change_lines(text, |bare| {
        let rest = bare.strip_prefix('\\')?;
        is_risky::<K>(rest.trim_start_matches('\\')).then(|| rest.to_owned())
    })
}

/// Changes lines where `change` has an answer; it sees them without their indentation.
fn change_lines(text: &str, change: impl Fn(&str) -> Option<String>) -> String {
    let line = |line: &str| {
        let bare = line.trim_start();
        match change(bare) {
            Some(new) => format!("{}{new}", &line[..line.len() - bare.len()]),
            None => line.to_owned(),
        }
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}
