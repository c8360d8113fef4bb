//! Reading transcript files that a crash, a full disk or two writers left damaged: what is good is kept.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::entry::Entry;
use super::raw::RawObject;

/// How often a damaged line may be read over, in lengths of it, before its rest is given up. Real damage
/// takes a handful; only a line made to be slow takes more.
const EFFORT: usize = 64;

/// What was wrong with a line. Bytes are counted as they stood in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Damage {
    /// So many bytes belong to no entry: half a line, or no JSON at all.
    Unreadable(usize),
    /// JSON, but no object.
    NotAnEntry,
    /// So many NUL bytes, which a crash leaves where data was never written.
    Nul(usize),
    /// More than one thing stood on one line.
    Fused,
    /// Bytes that are not UTF-8; each stands as U+FFFD in what was read.
    Encoding,
}

impl Damage {
    /// One word for machines.
    pub fn name(self) -> &'static str {
        match self {
            Damage::Unreadable(_) => "unreadable",
            Damage::NotAnEntry => "not_an_entry",
            Damage::Nul(_) => "nul",
            Damage::Fused => "fused",
            Damage::Encoding => "encoding",
        }
    }

    /// True where something of the file could not be kept.
    pub fn is_loss(self) -> bool {
        matches!(self, Damage::Unreadable(_) | Damage::NotAnEntry | Damage::Encoding)
    }
}

/// What one line of a transcript file gave.
#[derive(Debug, Clone, Default)]
pub struct Salvage {
    /// The entries on it, in order; one on a good line, none on an empty one.
    pub entries: Vec<Entry>,
    /// What was wrong with it; nothing on a good line.
    pub damage: Vec<Damage>,
}

/// Reads one line, with or without its end. A byte order mark and white space around it are no damage.
///
/// Where it is no entry as a whole, reading goes on at every next `{"` in it, so that an entry is found
/// behind the half line that it was fused with. Parts of a torn entry are not taken for entries: what is
/// found that way must say which session or entry it is and must not go on like a part.
pub fn salvage(line: &[u8]) -> Salvage {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let text = String::from_utf8_lossy(line);
    // A text borrowed from the bytes is the bytes; one that had to be made is not.
    let replaced = matches!(text, Cow::Owned(_));
    let whole = text.trim();
    if whole.is_empty() {
        return Salvage::default();
    }
    if let Ok(entry) = Entry::parse(whole) {
        let damage = if replaced { vec![Damage::Encoding] } else { Vec::new() };
        return Salvage { entries: vec![entry], damage };
    }
    dig(whole, replaced)
}

/// Reads a whole file that is in memory; damage comes with the number of its line, counted from 1.
pub fn salvage_all(bytes: &[u8]) -> (Vec<Entry>, Vec<(usize, Damage)>) {
    let (mut entries, mut damage) = (Vec::new(), Vec::new());
    for (number, line) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        let found = salvage(line);
        entries.extend(found.entries);
        damage.extend(found.damage.into_iter().map(|damage| (number, damage)));
    }
    (entries, damage)
}

/// Looks for entries in a line that is none.
fn dig(whole: &str, replaced: bool) -> Salvage {
    let mut found = Salvage::default();
    let mut effort = whole.len().saturating_mul(EFFORT);
    let (mut kept, mut at, mut end) = (0, 0, 0);
    while let Some(start) = next_object(whole, at) {
        // Nothing but what may stand before an entry, since the line or the last entry on it.
        let first = whole[end..start].trim_matches(is_blank).is_empty();
        match object_at(&whole[start..], &mut effort) {
            Some((raw, entry)) if is_whole(&entry, first, &whole[start + raw..]) => {
                found.entries.push(entry);
                kept += raw;
                end = start + raw;
                at = end;
            }
            _ if effort == 0 => break,
            _ => at = start + 1,
        }
    }
    let nuls = whole.bytes().filter(|byte| *byte == 0).count();
    let blank = whole.chars().filter(|c| is_blank(*c)).map(char::len_utf8).sum::<usize>();
    let inside: usize = found.entries.iter().map(|entry| blanks(entry.raw())).sum();
    let lost = whole.len() - kept - (blank - inside).min(whole.len() - kept);
    if nuls > 0 {
        found.damage.push(Damage::Nul(nuls));
    }
    if found.entries.is_empty() && serde_json::from_str::<&RawValue>(whole).is_ok() {
        found.damage.push(Damage::NotAnEntry);
    } else if lost > 0 {
        found.damage.push(Damage::Unreadable(lost));
    }
    if found.entries.len() > 1 || (found.entries.len() == 1 && lost > 0) {
        found.damage.push(Damage::Fused);
    }
    // What was replaced may have been lost all the same.
    let shows = |entry: &Entry| entry.raw().contains(char::REPLACEMENT_CHARACTER);
    if replaced && found.entries.iter().any(shows) {
        found.damage.push(Damage::Encoding);
    }
    found
}

fn is_blank(c: char) -> bool {
    c == '\0' || c == '\u{feff}' || c.is_whitespace()
}

fn blanks(text: &str) -> usize {
    text.chars().filter(|c| is_blank(*c)).map(char::len_utf8).sum()
}

/// The next place where an object with a key begins.
fn next_object(text: &str, from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(brace) = text[at..].find('{') {
        let start = at + brace;
        if text[start + 1..].trim_start_matches([' ', '\t', '\r']).starts_with('"') {
            return Some(start);
        }
        at = start + 1;
    }
    None
}

/// The object at the beginning of this text: how long it is, and the entry that it makes.
fn object_at(text: &str, effort: &mut usize) -> Option<(usize, Entry)> {
    let mut stream = serde_json::Deserializer::from_str(text);
    let read = <&RawValue>::deserialize(&mut stream);
    let spent = match &read {
        Ok(raw) => raw.get().len(),
        // Where it went wrong; there are no line ends in a line.
        Err(error) => error.column(),
    };
    *effort = effort.saturating_sub(spent.max(1));
    let raw = read.ok()?.get();
    Some((raw.len(), Entry::parse(raw).ok()?))
}

/// True for an object that is an entry and no part of one. One in the middle of a line must name what it
/// belongs to and not go on like a part; at the beginning of a line, or right behind
/// an entry, one of both is enough.
fn is_whole(entry: &Entry, first: bool, behind: &str) -> bool {
    const NAMES: [&str; 7] =
        ["uuid", "parentUuid", "sessionId", "leafUuid", "messageId", "timestamp", "agentType"];
    let ends = !behind.trim_start_matches(is_blank).starts_with([',', ']', '}', ':']);
    let Ok(fields) = RawObject::parse(entry.raw()) else { return false };
    let named = !entry.kind.is_empty() && NAMES.iter().any(|name| fields.get(name).is_some());
    if first { named || ends } else { named && ends }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ONE: &str = r#"{"type":"user","uuid":"1","message":{"role":"user","content":[{"type":"text","text":"a{"}]}}"#;
    const TWO: &str = r#"{"parentUuid":"1","type":"assistant","uuid":"2","message":{"content":[{"type":"text","text":"\ud83d {\"type\":\"user\",\"uuid\":\"9\"}"}]}}"#;

    fn read(bytes: &[u8]) -> (Vec<String>, Vec<Damage>) {
        let found = salvage(bytes);
        (found.entries.iter().map(|entry| entry.raw().to_owned()).collect(), found.damage)
    }

    fn texts(rows: &[&str]) -> Vec<String> {
        rows.iter().map(|row| (*row).to_owned()).collect()
    }

    #[test]
    fn a_good_line_is_its_own_bytes() {
        for line in [ONE.to_owned(), format!("\u{feff}{ONE}\r"), format!("  {ONE}\r\n")] {
            assert_eq!(read(line.as_bytes()), (texts(&[ONE]), vec![]), "{line:?}");
        }
        assert_eq!(read(b" \r\n"), (vec![], vec![]));
        // An attachment that is none is an entry all the same.
        let odd = r#"{"type":"attachment","attachment":[null]}"#;
        assert_eq!(read(odd.as_bytes()), (texts(&[odd]), vec![]));
    }

    /// anthropics/claude-code#52387 and #50347: half a line, then the next record without a line end.
    #[test]
    fn an_entry_behind_half_a_line_is_found_wherever_the_half_ends() {
        for cut in 1..ONE.len() {
            let line = format!("{}{TWO}", &ONE[..cut]);
            let (entries, damage) = read(line.as_bytes());
            assert_eq!(entries, texts(&[TWO]), "cut at {cut}");
            assert_eq!(damage, [Damage::Unreadable(cut - blanks(&ONE[..cut])), Damage::Fused]);
        }
        let line = format!("{ONE}{TWO}");
        assert_eq!(read(line.as_bytes()), (texts(&[ONE, TWO]), vec![Damage::Fused]));
    }

    #[test]
    fn what_a_torn_line_held_is_not_taken_for_entries() {
        for cut in 1..ONE.len() {
            assert_eq!(read(&ONE.as_bytes()[..cut]).0, texts(&[]), "{}", &ONE[..cut]);
            assert_eq!(read(&ONE.as_bytes()[cut..]).0, texts(&[]), "{}", &ONE[cut..]);
        }
    }

    #[test]
    fn an_entry_right_behind_another_is_one_though_rubbish_follows() {
        let (entries, damage) = read(format!("{ONE}{TWO},").as_bytes());
        assert_eq!(entries, texts(&[ONE, TWO]));
        assert_eq!(damage, [Damage::Unreadable(1), Damage::Fused]);
    }

    #[test]
    fn the_end_of_a_lost_line_behind_an_entry_takes_nothing_from_it() {
        let line = format!("{ONE}ge\":1}}]}}");
        let (entries, damage) = read(line.as_bytes());
        assert_eq!(entries, texts(&[ONE]));
        assert_eq!(damage, [Damage::Unreadable(8), Damage::Fused]);
    }

    /// github/copilot-cli#4098: a run of NUL bytes in the middle of a file.
    #[test]
    fn nul_bytes_around_entries_are_dropped_and_counted() {
        let line = [&[0; 300], ONE.as_bytes(), &[0; 200], TWO.as_bytes(), &[0; 7]].concat();
        assert_eq!(read(&line), (texts(&[ONE, TWO]), vec![Damage::Nul(507), Damage::Fused]));
        assert_eq!(read(&[0; 400]), (vec![], vec![Damage::Nul(400)]));
    }

    #[test]
    fn what_is_no_entry_is_counted() {
        for line in ["[]", "null", "3", "\"x\""] {
            assert_eq!(read(line.as_bytes()), (vec![], vec![Damage::NotAnEntry]), "{line}");
        }
        assert_eq!(read(b"garbage"), (vec![], vec![Damage::Unreadable(7)]));
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced_and_told() {
        let line = [br#"{"type":"user","uuid":"1","x":""#, &b"\xff"[..], br#""}"#].concat();
        let (entries, damage) = read(&line);
        assert_eq!(entries, [r#"{"type":"user","uuid":"1","x":"�"}"#]);
        assert_eq!(damage, [Damage::Encoding]);
    }

    #[test]
    fn a_line_made_to_be_slow_ends() {
        let line = r#"{"a":"#.repeat(20_000);
        let start = std::time::Instant::now();
        assert_eq!(read(line.as_bytes()).0.len(), 0);
        assert!(start.elapsed().as_secs() < 60);
    }

    /// An entry with any text in it.
    fn row() -> impl Strategy<Value = String> {
        (any::<u64>(), ".{0,40}", any::<bool>()).prop_map(|(id, text, nested)| {
            let inner = serde_json::json!([{"type": "text", "text": text}, {"type": "tool_use", "input": {"a": [{"b": text}]}}]);
            let content = if nested { inner } else { text.into() };
            serde_json::json!({"type": "user", "uuid": id.to_string(), "message": {"content": content}}).to_string()
        })
    }

    #[derive(Debug, Clone)]
    enum Harm {
        None,
        Half(String, usize),
        Nul(usize),
        Before(Vec<u8>),
        Mark,
        Return,
        Fuse,
    }

    fn harm() -> impl Strategy<Value = Harm> {
        prop_oneof![
            2 => Just(Harm::None),
            3 => (row(), any::<prop::sample::Index>()).prop_map(|(row, at)| {
                let cut = at.index(row.len() - 1) + 1;
                Harm::Half(row, cut)
            }),
            1 => (1usize..700).prop_map(Harm::Nul),
            // A line of its own that is anything at all.
            2 => prop::collection::vec(any::<u8>(), 0..60).prop_map(Harm::Before),
            1 => Just(Harm::Mark),
            1 => Just(Harm::Return),
            1 => Just(Harm::Fuse),
        ]
    }

    proptest! {
        #[test]
        fn no_good_line_is_lost_whatever_lies_around_it(
            rows in prop::collection::vec((row(), harm()), 0..8),
            last_line_ends: bool,
        ) {
            let mut file = Vec::new();
            for (row, harm) in &rows {
                match harm {
                    Harm::None => {}
                    // Bytes, so that the cut may fall into the middle of a character.
                    Harm::Half(other, at) => file.extend(&other.as_bytes()[..*at]),
                    Harm::Nul(count) => file.extend(std::iter::repeat_n(0, *count)),
                    Harm::Before(bytes) => file.extend(bytes.iter().chain(b"\n")),
                    Harm::Mark => file.extend(b"\xef\xbb\xbf"),
                    Harm::Return | Harm::Fuse => {}
                }
                file.extend(row.as_bytes());
                match harm {
                    Harm::Fuse => {}
                    Harm::Return => file.extend(b"\r\n"),
                    _ => file.push(b'\n'),
                }
            }
            if !last_line_ends && file.ends_with(b"\n") {
                file.pop();
            }
            let (entries, _) = salvage_all(&file);
            let mut read = entries.iter().map(Entry::raw);
            for (row, _) in &rows {
                prop_assert!(read.any(|raw| raw == row), "{row} is lost");
            }
        }

        #[test]
        fn nothing_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = salvage_all(&bytes);
        }
    }
}
