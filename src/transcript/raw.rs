//! Reading JSON without losing it: object fields as raw text, strings decoded tolerantly.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The fields of one JSON object, in order, each value as the text it was written in.
///
/// A key that stands twice is kept twice; [`RawObject::get`] gives the last, as JSON parsers do.
#[derive(Debug, Clone, Default)]
pub struct RawObject<'a> {
    fields: Vec<(String, &'a RawValue)>,
}

impl<'a> RawObject<'a> {
    /// Reads an object; fails on anything that is not one.
    pub fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The value's text, or nothing where the key is missing.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        self.fields.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value.get())
    }

    /// The value as a string, decoded by [`decode_string`]; nothing where it is not a string.
    pub fn string(&self, key: &str) -> Option<String> {
        self.get(key).and_then(decode_string)
    }

    /// True only where the value is the literal `true`.
    pub fn flag(&self, key: &str) -> bool {
        self.get(key) == Some("true")
    }

    /// Names and raw values in the order they were written.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.fields.iter().map(|(name, value)| (name.as_str(), value.get()))
    }
}

impl<'de> Deserialize<'de> for RawObject<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = RawObject<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(entry) = map.next_entry::<String, &'de RawValue>()? {
                    fields.push(entry);
                }
                Ok(RawObject { fields })
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

/// Decodes a JSON string literal (with its quotes); half of a surrogate pair becomes U+FFFD.
///
/// serde_json refuses lone surrogates, but real transcripts hold them: a cut in the middle of an emoji
/// leaves one behind, and such an entry must stay readable.
pub fn decode_string(literal: &str) -> Option<String> {
    let inner = literal.trim().strip_prefix('"')?.strip_suffix('"')?;
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    let mut high: Option<u32> = None;
    while let Some(c) = chars.next() {
        if c != '\\' {
            flush(&mut high, &mut out);
            out.push(c);
            continue;
        }
        let escape = chars.next()?;
        if escape != 'u' {
            flush(&mut high, &mut out);
            out.push(match escape {
                '"' | '\\' | '/' => escape,
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                _ => return None,
            });
            continue;
        }
        let mut unit = 0;
        for _ in 0..4 {
            unit = unit * 16 + chars.next()?.to_digit(16)?;
        }
        match (high.take(), unit) {
            (Some(first), 0xDC00..=0xDFFF) => {
                let point = 0x10000 + ((first - 0xD800) << 10) + (unit - 0xDC00);
                out.push(char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            (first, _) => {
                if first.is_some() {
                    out.push(char::REPLACEMENT_CHARACTER);
                }
                if (0xD800..=0xDBFF).contains(&unit) {
                    high = Some(unit);
                } else {
                    out.push(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
            }
        }
    }
    flush(&mut high, &mut out);
    Some(out)
}

/// A high surrogate that found no partner.
fn flush(high: &mut Option<u32>, out: &mut String) {
    if high.take().is_some() {
        out.push(char::REPLACEMENT_CHARACTER);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_pairs_and_halves_are_decoded() {
        assert_eq!(decode_string(r#""a\ud83d\ude00b""#).as_deref(), Some("a😀b"));
        assert_eq!(decode_string(r#""a\ud83db""#).as_deref(), Some("a\u{fffd}b"));
        assert_eq!(decode_string(r#""\ude00\ud83d""#).as_deref(), Some("\u{fffd}\u{fffd}"));
        assert_eq!(decode_string(r#""\ud83d\ud83d\ude00""#).as_deref(), Some("\u{fffd}😀"));
    }

    #[test]
    fn what_is_not_a_string_is_nothing() {
        assert_eq!(decode_string("12"), None);
        assert_eq!(decode_string("null"), None);
        assert_eq!(decode_string(r#""\q""#), None);
    }

    proptest::proptest! {
        #[test]
        fn every_string_that_serde_writes_reads_back(text in ".*") {
            let literal = serde_json::to_string(&text).unwrap();
            proptest::prop_assert_eq!(decode_string(&literal), Some(text));
        }

        #[test]
        fn no_input_panics(text in ".*") {
            let _ = decode_string(&text);
            let _ = RawObject::parse(&text);
        }
    }
}
