//! What another tool would read in a line of a `.env` file, to tell the person where they differ.
//!
//! The other tool is `dotenvy`. It fills `$NAME` from the process environment, which must not leak into a
//! comparison (nor make it depend on the machine). It starts to do so only at a `$`, so it is given a copy
//! in which every `$` is another, harmless letter that the text does not contain; then it has no name to
//! look up. Substitution itself is found here, without it.

use super::grammar::{Difference, Piece, trim};

/// Compares one line; `spans` says that the value goes on in the next lines.
pub(super) fn compare(piece: &Piece<'_>, key: &str, value: &str, spans: bool) -> Vec<Difference> {
    let mut differences = Vec::new();
    let exported =
        key.strip_prefix("export").is_some_and(|rest| rest.starts_with(char::is_whitespace));
    if exported {
        differences.push(Difference::Export);
    }
    if piece.odd_end {
        differences.push(Difference::Separator);
    }
    let raw = piece.text.split_once('=').map_or("", |(_, raw)| trim(raw));
    let scan = Scan::of(raw);
    if scan.dollar {
        differences.push(Difference::Substitution);
    }
    if spans {
        differences.push(Difference::Lines);
        return differences;
    }
    if value.is_empty() && !scan.comment {
        differences.push(Difference::Empty);
        return differences;
    }
    let other = read(piece.text);
    if other.as_ref().is_some_and(|(_, theirs)| theirs == value)
        && (exported || other.as_ref().is_some_and(|(theirs, _)| theirs == key))
    {
        return differences;
    }
    let before = differences.len();
    if scan.comment {
        differences.push(Difference::Comment);
    } else if scan.backslash {
        differences.push(Difference::Backslash);
    } else if scan.quote {
        differences.push(Difference::Quotes);
    }
    if differences.len() == before && !exported {
        differences.push(Difference::Other);
    }
    differences
}

/// For each piece: is it the inside, or the end, of a quoted value that began further up?
///
/// Only a value that *begins* with a quote counts, and only if another tool does read it as one value.
pub(super) fn insides(pieces: &[Piece<'_>]) -> Vec<bool> {
    let mut inside = vec![false; pieces.len()];
    // A quote that is found nowhere further down is looked for only once, else a long file of lone
    // quotes would take forever.
    let mut hopeless: Vec<char> = Vec::new();
    let mut index = 0;
    while index < pieces.len() {
        let first = index;
        index += 1;
        let Some(quote) = open_quote(pieces[first].text) else {
            continue;
        };
        if hopeless.contains(&quote) {
            continue;
        }
        let Some(length) = pieces[index..].iter().position(|piece| piece.text.contains(quote))
        else {
            hopeless.push(quote);
            continue;
        };
        let last = index + length;
        let texts: Vec<&str> = pieces[first..=last].iter().map(|piece| piece.text).collect();
        if read(&texts.join("\n")).is_some_and(|(_, value)| value.contains('\n')) {
            inside[index..=last].fill(true);
            index = last + 1;
        }
    }
    inside
}

/// The quote that a value begins with and that does not close on the same line.
fn open_quote(line: &str) -> Option<char> {
    let line = trim(line);
    if line.starts_with('#') {
        return None;
    }
    let value = trim(line.split_once('=')?.1);
    let quote = value.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let mut escaped = false;
    for c in value.chars().skip(1) {
        if c == quote && !escaped {
            return None;
        }
        escaped = c == '\\' && !escaped;
    }
    Some(quote)
}

/// The other reading of one assignment; nothing where the other tool refuses it.
fn read(text: &str) -> Option<(String, String)> {
    let stand_in = ('\u{e000}'..='\u{f8ff}').find(|c| !text.contains(*c))?;
    let copy = text.replace('$', stand_in.encode_utf8(&mut [0; 4])) + "\n";
    debug_assert!(!copy.contains('$'));
    let mut readings = dotenvy::from_read_iter(copy.as_bytes());
    let (key, value) = readings.next()?.ok()?;
    let back = |text: String| text.replace(stand_in, "$");
    Some((back(key), back(value)))
}

/// What stands in a value that others give a meaning.
#[derive(Default)]
struct Scan {
    dollar: bool,
    comment: bool,
    backslash: bool,
    quote: bool,
}

impl Scan {
    fn of(raw: &str) -> Self {
        let mut scan = Scan::default();
        let mut open = None;
        let mut before = ' ';
        let mut escaped = false;
        for c in raw.chars() {
            if escaped {
                escaped = false;
                before = c;
                continue;
            }
            match c {
                '\\' if open != Some('\'') => {
                    scan.backslash = true;
                    escaped = true;
                }
                '\'' | '"' => {
                    scan.quote = true;
                    match open {
                        Some(quote) if quote == c => open = None,
                        Some(_) => {}
                        None => open = Some(c),
                    }
                }
                '$' if open != Some('\'') => scan.dollar = true,
                '#' if open.is_none() && before.is_whitespace() => {
                    scan.comment = true;
                    break;
                }
                _ => {}
            }
            before = c;
        }
        scan
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_reading_never_sees_the_environment() {
        // PATH is set wherever tests run.
        assert_eq!(read("A=$PATH"), Some(("A".to_owned(), "$PATH".to_owned())));
        assert_eq!(read("A=\"${PATH}\""), Some(("A".to_owned(), "${PATH}".to_owned())));
    }

    #[test]
    fn a_long_file_of_lone_quotes_is_read_in_time() {
        let text = "A=\"x\n".to_owned() + &"B='\n".repeat(20_001);
        let parsed = super::super::grammar::parse(text.as_bytes()).unwrap();
        assert_eq!(parsed.lines.len(), 20_002);
    }
}
