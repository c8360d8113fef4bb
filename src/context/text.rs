//! Texts in a record, without decoding what need not be decoded.

use std::borrow::Cow;

use crate::transcript::{Entry, Kind, MessageOutline, Span, decode_string};

/// A string value; nothing where there is none. Borrowed where it was written without escapes.
pub(super) fn string(entry: &Entry, span: Span) -> Option<Cow<'_, str>> {
    plain(entry.at(span))
}

/// The same of a literal.
pub(super) fn plain(literal: &str) -> Option<Cow<'_, str>> {
    let plain = literal.strip_prefix('"')?.strip_suffix('"')?;
    if plain.contains('\\') {
        decode_string(literal).map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(plain))
    }
}

/// True where a value is not a string or has nothing in it that one could see.
pub(super) fn is_blank(entry: &Entry, span: Span) -> bool {
    // Nearly every text begins with a letter.
    if entry.at(span).as_bytes().get(1).is_some_and(u8::is_ascii_alphanumeric)
        && entry.at(span).starts_with('"')
    {
        return false;
    }
    let blank = |c: char| c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c);
    string(entry, span).is_none_or(|text| text.chars().all(blank))
}

/// The text of a result (core.md T-3): the string itself, or its text blocks joined; nothing where there
/// is an image or document or no text at all.
pub(super) fn of_result<'a>(
    entry: &'a Entry,
    message: &MessageOutline,
    block: usize,
) -> Option<Cow<'a, str>> {
    let body = message.blocks.get(block)?.body;
    if entry.at(body).starts_with('"') {
        return string(entry, body);
    }
    let inside = message.inside(block);
    if inside.iter().any(|block| matches!(block.kind, Kind::Image | Kind::Document)) {
        return None;
    }
    let mut texts = inside.iter().filter(|block| block.kind == Kind::Text).peekable();
    texts.peek()?;
    let mut texts: Vec<_> =
        texts.map(|block| string(entry, block.text).unwrap_or_default()).collect();
    match texts.len() {
        1 => texts.pop(),
        _ => Some(Cow::Owned(texts.concat())),
    }
}

/// True where a result's text has at least so many characters; most need not be counted.
pub(super) fn has_chars(
    entry: &Entry,
    message: &MessageOutline,
    block: usize,
    least: usize,
) -> Option<bool> {
    let body = message.blocks.get(block)?.body;
    // What is written takes at least as many bytes as it has characters.
    let most = if entry.at(body).starts_with('"') {
        body.len()
    } else {
        let inside = message.inside(block);
        if inside.iter().any(|block| matches!(block.kind, Kind::Image | Kind::Document)) {
            return None;
        }
        let texts = inside.iter().filter(|block| block.kind == Kind::Text);
        let sizes: Vec<usize> = texts.map(|block| block.text.len()).collect();
        if sizes.is_empty() {
            return None;
        }
        sizes.into_iter().sum()
    };
    if most < least {
        return Some(false);
    }
    let text = of_result(entry, message, block)?;
    Some(text.len() >= least && text.chars().count() >= least)
}

/// A JSON string.
pub(super) fn literal(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// JSON text with U+FFFD for every half of a surrogate pair; all other bytes stay.
pub(super) fn without_halves(json: &str) -> String {
    let unit = |at: usize| {
        let digits = json.get(at..at + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(digits, 16).ok()
    };
    let mut out = String::with_capacity(json.len());
    let mut from = 0;
    let mut at = 0;
    while let Some(found) = json[at..].find('\\') {
        at += found;
        let step = match (unit(at), unit(at + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                out.push_str(&json[from..at]);
                out.push_str("\\ufffd");
                from = at + 6;
                6
            }
            // Behind any other escape stands an ASCII character.
            _ => 2,
        };
        at = (at + step).min(json.len());
    }
    out.push_str(&json[from..]);
    out
}

/// A part of `text` with places in it exchanged.
pub(super) fn splice(text: &str, part: Span, places: &[(Span, String)]) -> String {
    let mut sorted: Vec<&(Span, String)> = places.iter().collect();
    sorted.sort_by_key(|(place, _)| place.start());
    let mut out = String::with_capacity(part.len());
    let mut at = part.start();
    for (place, with) in sorted {
        // Two changes of one place cannot both be carried out; the first one counts.
        if place.start() < at {
            continue;
        }
        out.push_str(&text[at..place.start()]);
        out.push_str(with);
        at = place.end();
    }
    out.push_str(&text[at..part.end()]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_halves_are_replaced() {
        let json = r#"{"\ud83d":"a\ud83d\ude00 \\ud83d \ude00\ud83d\n\u00e9"}"#;
        assert_eq!(
            without_halves(json),
            r#"{"\ufffd":"a\ud83d\ude00 \\ud83d \ufffd\ufffd\n\u00e9"}"#
        );
    }

    #[test]
    fn blank_is_what_nobody_sees() {
        let entry = |text: &str| Entry::parse(format!(r#"{{"uuid":{text}}}"#)).unwrap();
        for (text, blank) in [
            (r#""""#, true),
            (r#"" \n\t""#, true),
            (r#""\u3000""#, true),
            ("null", true),
            (r#""a""#, false),
            (r#"" 界""#, false),
            (r#""\ud83d""#, false),
        ] {
            let entry = entry(text);
            assert_eq!(is_blank(&entry, entry.outline().uuid), blank, "{text}");
        }
    }
}
