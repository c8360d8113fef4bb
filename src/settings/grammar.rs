//! The `.env` grammar: lines of `KEY=VALUE`, no quoting rules worth the name, no comments behind a value.
//!
//! It is the reference program's (core.md 1.2), so that a file means here what it has always meant there.
//! What another tool would make of the same line is the business of `second_reading`.

use super::second_reading;

/// One assignment. `line` counts as an editor does, from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Where it stands.
    pub line: usize,
    /// What stands before the first `=`, trimmed.
    pub key: String,
    /// What stands behind it, trimmed and without quotes at its ends.
    pub value: String,
    /// True where another tool sees the inside of a quoted value that began further up. The "key" may
    /// then be a piece of a secret and must not be shown.
    pub inside: bool,
}

/// How a line is different from what a reader, or another tool, may expect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Difference {
    /// The file began with a byte order mark; dropped.
    ByteOrderMark,
    /// `export K=V`: here the key is `export K`.
    Export,
    /// `K=V # text`: here the text belongs to the value.
    Comment,
    /// `K=$OTHER`: here it stays as it is.
    Substitution,
    /// A quoted value over several lines: here only the first one counts.
    Lines,
    /// `K=`: here the empty value claims the key.
    Empty,
    /// Quotes inside the value or without a partner: here all at the ends are stripped.
    Quotes,
    /// A backslash: here it stays as it is.
    Backslash,
    /// A vertical tab, a line separator and the like: here the line ends there.
    Separator,
    /// Anything else that another tool refuses or reads in another way.
    Other,
    /// `=V`: skipped.
    NoKey,
    /// A NUL in key or value: skipped.
    Nul,
    /// Text without `=`: skipped.
    NoEquals,
}

impl Difference {
    /// The key of its text in the catalogue.
    pub fn text_key(self) -> &'static str {
        match self {
            Difference::ByteOrderMark => "settings.bom",
            Difference::Export => "settings.export",
            Difference::Comment => "settings.comment",
            Difference::Substitution => "settings.substitution",
            Difference::Lines => "settings.lines",
            Difference::Empty => "settings.empty",
            Difference::Quotes => "settings.quotes",
            Difference::Backslash => "settings.backslash",
            Difference::Separator => "settings.separator",
            Difference::Other => "settings.other",
            Difference::NoKey => "settings.no_key",
            Difference::Nul => "settings.nul",
            Difference::NoEquals => "settings.no_equals",
        }
    }
}

/// A surprise: where, at which key (empty where there is none to show), of which kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The line, from 1.
    pub line: usize,
    /// The key, never a value.
    pub key: String,
    /// The kind.
    pub difference: Difference,
}

/// What a file says, and what is surprising about it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parsed {
    /// The assignments in order, the same key perhaps more than once.
    pub lines: Vec<Line>,
    /// The surprises in order.
    pub findings: Vec<Finding>,
}

/// The bytes are not UTF-8, so nothing of the file is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not UTF-8")]
pub struct Undecodable;

/// A piece of the file between two separators, with the line of the editor that it stands in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece<'a> {
    pub(super) line: usize,
    /// Where it begins, in bytes.
    pub(super) start: usize,
    pub(super) text: &'a str,
    /// True where something else than `\n`, `\r` or `\r\n` ended it.
    pub(super) odd_end: bool,
}

/// Reads the content of a `.env` file.
pub fn parse(bytes: &[u8]) -> Result<Parsed, Undecodable> {
    let text = std::str::from_utf8(bytes).map_err(|_| Undecodable)?;
    let mut parsed = Parsed::default();
    let text = match text.strip_prefix('\u{feff}') {
        Some(rest) => {
            parsed.findings.push(finding(1, "", Difference::ByteOrderMark));
            rest
        }
        None => text,
    };
    let pieces = split(text);
    let inside = second_reading::insides(&pieces);
    for (index, piece) in pieces.iter().enumerate() {
        if read_piece(piece, inside[index], &mut parsed)
            && !inside[index]
            && let Some(last) = parsed.lines.last()
        {
            let spans = inside.get(index + 1).copied().unwrap_or(false);
            let found = second_reading::compare(piece, &last.key, &last.value, spans);
            let key = last.key.clone();
            parsed.findings.extend(found.into_iter().map(|kind| finding(piece.line, &key, kind)));
        }
    }
    Ok(parsed)
}

fn finding(line: usize, key: &str, difference: Difference) -> Finding {
    Finding { line, key: key.to_owned(), difference }
}

/// Reads one piece; true if it was an assignment.
fn read_piece(piece: &Piece<'_>, inside: bool, parsed: &mut Parsed) -> bool {
    let line = piece.line;
    let Some((key, value)) = assignment(piece.text) else {
        let text = trim(piece.text);
        // The text itself is not named: it may be half of a secret.
        if !inside && !text.is_empty() && !text.starts_with('#') {
            parsed.findings.push(finding(line, "", Difference::NoEquals));
        }
        return false;
    };
    if key.is_empty() {
        parsed.findings.push(finding(line, "", Difference::NoKey));
        return false;
    }
    if key.contains('\0') || value.contains('\0') {
        let shown = if inside { "" } else { key };
        parsed.findings.push(finding(line, shown, Difference::Nul));
        return false;
    }
    let (key, value) = (key.to_owned(), value.to_owned());
    parsed.lines.push(Line { line, key, value, inside });
    true
}

/// Key and value of a line; nothing for a comment, an empty line, or one without `=`.
pub(super) fn assignment(line: &str) -> Option<(&str, &str)> {
    let line = trim(line);
    if line.starts_with('#') {
        return None;
    }
    let (key, value) = line.split_once('=')?;
    Some((trim(key), trim(value).trim_matches(['\'', '"'])))
}

/// Trims what Python calls white space: Unicode's, and the four information separators.
pub(super) fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c))
}

/// Splits where Python's `str.splitlines` does. Only `\n`, `\r` and `\r\n` count as lines of the editor.
pub(super) fn split(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut start, mut line) = (0, 1);
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let plain = matches!(c, '\n' | '\r');
        if !plain && !is_odd_separator(c) {
            continue;
        }
        pieces.push(Piece { line, start, text: &text[start..at], odd_end: !plain });
        start = at + c.len_utf8();
        if c == '\r' && characters.peek().is_some_and(|(_, next)| *next == '\n') {
            characters.next();
            start += 1;
        }
        line += usize::from(plain);
    }
    if start < text.len() {
        pieces.push(Piece { line, start, text: &text[start..], odd_end: false });
    }
    pieces
}

fn is_odd_separator(c: char) -> bool {
    matches!(
        c,
        '\u{b}' | '\u{c}' | '\u{1c}' | '\u{1d}' | '\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        let parsed = parse(text.as_bytes()).unwrap();
        parsed.lines.into_iter().map(|line| (line.key, line.value)).collect()
    }

    fn kinds(text: &str) -> Vec<Difference> {
        let parsed = parse(text.as_bytes()).unwrap();
        parsed.findings.into_iter().map(|finding| finding.difference).collect()
    }

    #[track_caller]
    fn one(text: &str, key: &str, value: &str) {
        assert_eq!(pairs(text), [(key.to_owned(), value.to_owned())], "{text:?}");
    }

    #[test]
    fn the_table_of_the_grammar_holds() {
        one("K=v", "K", "v");
        one("K = v", "K", "v");
        one("  K=v  ", "K", "v");
        one("K=\"v\"", "K", "v");
        one("K='v'", "K", "v");
        one("K=\"'v'\"", "K", "v");
        one("K=\"v", "K", "v");
        one("K=v'", "K", "v");
        one("K=\" v \"", "K", " v ");
        one("K=a=b", "K", "a=b");
        one("K=", "K", "");
        one("K=\"\"", "K", "");
        one("export K=v", "export K", "v");
        one("K=v # note", "K", "v # note");
        one("K=${OTHER}", "K", "${OTHER}");
        one("K=a\\nb", "K", "a\\nb");
        one("K=v\r\n", "K", "v");
        one("\u{feff}K=v", "K", "v");
        for nothing in ["", "# K=v", "   # c", "K", "=v", "=", "K=a\0b", "A\0B=1"] {
            assert_eq!(pairs(nothing), [], "{nothing:?}");
        }
    }

    #[test]
    fn a_plain_file_surprises_nobody() {
        let plain =
            "# c\n\nA=1\nB = 2\nC=\"x y\"\nD='z'\nE=http://h/#frag\r\nF=abc#def\nG=sk-ant-1=\n";
        assert_eq!(kinds(plain), []);
    }

    #[test]
    fn every_surprise_has_its_kind() {
        use Difference::*;
        assert_eq!(kinds("\u{feff}A=1"), [ByteOrderMark]);
        assert_eq!(kinds("export A=1"), [Export]);
        assert_eq!(kinds("A=1 # one"), [Comment]);
        assert_eq!(kinds("A=#two"), [Comment]);
        assert_eq!(kinds("A=\"x\" # y"), [Comment]);
        assert_eq!(kinds("A=$HOME/x"), [Substitution]);
        assert_eq!(kinds("A='$HOME'"), []);
        assert_eq!(kinds("A="), [Empty]);
        assert_eq!(kinds("A=\"\""), [Empty]);
        assert_eq!(kinds("A=O'Brien"), [Quotes]);
        assert_eq!(kinds("A=\"'v'\""), [Quotes]);
        assert_eq!(kinds("A=\"a\\nb\""), [Backslash]);
        assert_eq!(kinds("A=x\u{2028}y=z"), [Separator]);
        assert_eq!(kinds("A=two words"), [Other]);
        assert_eq!(kinds("=v"), [NoKey]);
        assert_eq!(kinds("A=\0"), [Nul]);
        assert_eq!(kinds("A"), [NoEquals]);
        assert_eq!(kinds("export A=1 # one\n"), [Export, Comment]);
    }

    #[test]
    fn the_inside_of_a_quoted_value_is_told_once_and_marked() {
        let parsed = parse(b"KEY=\"-----BEGIN\nabc==\nEND\"\nB=1\n").unwrap();
        assert_eq!(parsed.findings, [finding(1, "KEY", Difference::Lines)]);
        let inside: Vec<bool> = parsed.lines.iter().map(|line| line.inside).collect();
        assert_eq!(inside, [false, true, false]);
        assert_eq!(parsed.lines[2].line, 4);
    }

    #[test]
    fn a_quote_that_never_closes_is_no_inside() {
        assert_eq!(kinds("A=\"x\nB=1\nC=2\n"), [Difference::Quotes]);
    }

    #[test]
    fn bytes_that_are_not_text_are_refused() {
        assert_eq!(parse(b"\xff\xfeA\0=\x001\0"), Err(Undecodable));
    }

    proptest! {
        #[test]
        fn any_bytes_give_only_what_they_hold(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            check(&bytes)?;
        }

        #[test]
        fn any_text_of_the_grammars_letters_gives_only_what_it_holds(
            text in "[AB=#'\"$ \\\\{}\\n\\rexport\u{85}\u{2028}\u{feff}\u{0}ü]{0,80}"
        ) {
            check(text.as_bytes())?;
        }
    }

    fn check(bytes: &[u8]) -> Result<(), TestCaseError> {
        let Ok(parsed) = parse(bytes) else {
            return Ok(());
        };
        let text = std::str::from_utf8(bytes).unwrap();
        for line in &parsed.lines {
            prop_assert!(text.contains(&line.key) && text.contains(&line.value));
            prop_assert!(!line.key.is_empty() && !line.key.contains('='));
        }
        for finding in &parsed.findings {
            prop_assert!(text.contains(&finding.key));
        }
        Ok(())
    }
}
