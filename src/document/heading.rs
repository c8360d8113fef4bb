//! Recognises the line that opens a section.

/// The sections of one paper: which labels open them and how freely they are read.
pub(super) trait Kind: Copy + PartialEq + 'static {
    /// Every label of every section, in all languages, in lower case.
    const LABELS: &'static [(Self, &'static str)];
    /// A strict paper takes no longer headings and cuts at an open fence, because a wrong reading
    /// of it would be worse than none.
    const STRICT: bool;

    /// A person's own words: only a `#` heading of such a section ends it, code in it stays.
    fn verbatim(self) -> bool {
        false
    }
}

/// What makes a line a heading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// This many `#`.
    Hash(usize),
    /// Bold, number or corner brackets.
    Dressed,
    /// Nothing but a colon, or the label alone on its line.
    Plain,
}

/// A heading with a known label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Heading<K> {
    pub(super) kind: K,
    pub(super) label: &'static str,
    pub(super) mark: Mark,
    /// The line without its `#` signs.
    pub(super) title: String,
    /// Body text on the heading's own line.
    pub(super) text: String,
    /// What follows the label without a colon: body only if there is no other.
    pub(super) extra: String,
}

/// The level of a Markdown heading, known or not; `#!/bin/sh` and `#12` are none.
pub(super) fn level(line: &str) -> Option<usize> {
    let line = line.trim();
    let hashes = line.len() - line.trim_start_matches('#').len();
    let rest = &line[hashes..];
    ((1..=6).contains(&hashes) && rest.starts_with(char::is_whitespace)).then_some(hashes)
}

/// Reads a line as a heading of the paper.
pub(super) fn read<K: Kind>(line: &str) -> Option<Heading<K>> {
    let line = line.trim();
    let bare = line.trim_start_matches('#');
    let hashes = line.len() - bare.len();
    if hashes > 6 {
        return None;
    }
    let title = bare.trim().trim_end_matches('#').trim_end().to_owned();
    let mut rest = bare.trim_start();
    let mut bullet = false;
    if K::STRICT && hashes == 0 {
        // `- Conclusion: achieved` is how some models write it.
        if let Some(after) = rest.strip_prefix("- ").or_else(|| rest.strip_prefix("* ")) {
            (rest, bullet) = (after.trim_start(), true);
        }
    }
    let mut bold = strip_bold(&mut rest);
    let number = strip_number(&mut rest);
    if bold.is_none() {
        bold = strip_bold(&mut rest);
    }
    let bracket = strip(&mut rest, "【");
    let (kind, label, after) = find_label::<K>(rest)?;
    rest = after;

    if bracket && !strip(&mut rest, "】") {
        return None;
    }
    let mut closed = bold.is_some_and(|marker| strip(&mut rest, marker));
    let spaced = rest.starts_with(char::is_whitespace);
    rest = rest.trim_start();
    let colon = strip(&mut rest, ":") || strip(&mut rest, "：");
    if colon && !closed {
        closed = bold.is_some_and(|marker| strip(&mut rest, marker));
    }
    rest = rest.trim();
    if let (Some(marker), false) = (bold, closed) {
        if !colon {
            return None;
        }
        rest = rest.strip_suffix(marker).unwrap_or(rest).trim_end();
    }
    if hashes > 0 {
        rest = rest.trim_end_matches('#').trim_end();
    }

    let mark = if hashes > 0 {
        Mark::Hash(hashes)
    } else if bold.is_some() || bracket || number {
        Mark::Dressed
    } else {
        Mark::Plain
    };
    if kind.verbatim() && hashes == 0 || bullet && !colon {
        return None;
    }
    let (mut text, mut extra) = (String::new(), String::new());
    if colon || rest.is_empty() {
        text = rest.to_owned();
    } else if hashes > 0 {
        let aside = rest.starts_with(['(', '（', '/', '／', '[', '|']);
        let chinese = !label.ends_with(is_word);
        // What is in brackets, or grown onto a Chinese label, only explains the heading.
        if spaced && !aside && !kind.verbatim() {
            let first = if K::STRICT || chinese { &mut text } else { &mut extra };
            *first = rest.to_owned();
        } else if K::STRICT && !aside {
            return None;
        }
    } else if bracket || closed && spaced {
        text = rest.to_owned();
    } else {
        return None;
    }
    Some(Heading { kind, label, mark, title, text, extra })
}

fn strip(rest: &mut &str, prefix: &str) -> bool {
    match rest.strip_prefix(prefix) {
        Some(after) => {
            *rest = after;
            true
        }
        None => false,
    }
}

fn strip_bold(rest: &mut &str) -> Option<&'static str> {
    let marker = ["**", "__"].into_iter().find(|marker| rest.starts_with(marker))?;
    *rest = rest[marker.len()..].trim_start();
    Some(marker)
}

/// `1.`, `2、`, `3)`, `一、`, `(1)`, `（二）`.
fn strip_number(rest: &mut &str) -> bool {
    let open = rest.starts_with(['(', '（']);
    let inner = rest.strip_prefix(['(', '（']).unwrap_or(rest);
    let after = inner
        .trim_start_matches(|c: char| c.is_ascii_digit() || "一二三四五六七八九十".contains(c));
    if after.len() == inner.len() {
        return false;
    }
    let ends: &[char] = if open { &[')', '）'] } else { &['.', '．', '、', ')', '）'] };
    match after.strip_prefix(ends) {
        Some(after) => {
            *rest = after.trim_start();
            true
        }
        None => false,
    }
}

/// The longest label that the text starts with, and what follows it.
fn find_label<K: Kind>(text: &str) -> Option<(K, &'static str, &str)> {
    K::LABELS
        .iter()
        .filter_map(|(kind, label)| Some((*kind, *label, after_label(text, label)?)))
        .min_by_key(|(_, _, rest)| rest.len())
}

fn after_label<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    let mut chars = text.chars();
    for wanted in label.chars() {
        if fold(chars.next()?) != wanted {
            return None;
        }
    }
    let rest = chars.as_str();
    // "Goalkeeper" is no goal; Chinese has no such borders.
    let inside = label.ends_with(is_word)
        && rest.starts_with(|c: char| is_word(c) || c.is_ascii_digit() || c == '-' || c == '\'');
    (!inside).then_some(rest)
}

fn is_word(c: char) -> bool {
    c.is_alphabetic() && (c as u32) < 0x2E80
}

fn fold(c: char) -> char {
    match c.to_lowercase().next().unwrap_or(c) {
        'ё' => 'е',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Part {
        Goal,
        Bounds,
    }

    impl Kind for Part {
        const LABELS: &'static [(Self, &'static str)] = &[
            (Part::Goal, "目标"),
            (Part::Goal, "goal"),
            (Part::Bounds, "不做什么"),
            (Part::Bounds, "приемка"),
        ];
        const STRICT: bool = false;
    }

    fn text(line: &str) -> Option<(Part, String)> {
        read::<Part>(line).map(|heading| (heading.kind, heading.text))
    }

    #[test]
    fn every_usual_dress_is_known() {
        for line in [
            "## 目标",
            "##目标",
            "**目标**",
            "__目标__:",
            "1. 目标",
            "一、目标",
            "(1) 目标",
            "（2）目标",
            "【目标】",
            "目标",
            "目标：",
            "### **4. 目标**",
            "1. **目标**",
            "## 目标 ##",
            "## 目标 (Goal)",
            "# Goal",
            "GOAL:",
            "**Goal:**",
            "## 目标与范围",
        ] {
            assert_eq!(text(line), Some((Part::Goal, String::new())), "{line}");
        }
        assert_eq!(text("## Приёмка").map(|found| found.0), Some(Part::Bounds));
    }

    #[test]
    fn text_may_follow_on_the_same_line() {
        for line in [
            "目标: A",
            "**目标**：A",
            "**目标:** A",
            "**目标:A**",
            "【目标】A",
            "## 目标 A",
            "1. goal: A",
        ] {
            assert_eq!(text(line), Some((Part::Goal, "A".to_owned())), "{line}");
        }
    }

    #[test]
    fn a_sentence_that_starts_with_a_label_is_no_heading() {
        for line in [
            "目标平台是 Linux",
            "**目标平台** 是",
            "1. 目标平台",
            "Goal setting is hard",
            "goals",
            "####### 目标",
            "- 目标: x",
            "# goalkeeper",
            "【目标",
        ] {
            assert_eq!(text(line), None, "{line}");
        }
    }
}
