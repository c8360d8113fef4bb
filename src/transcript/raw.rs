//! Reading JSON without losing it: object fields as raw text, strings decoded tolerantly.

use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::scan::Scanner;

/// The fields of one JSON object, in order, each value as the text it was written in.
///
/// A key that stands twice is kept twice; [`RawObject::get`] gives the last, as JSON parsers do.
#[derive(Debug, Clone, Default)]
pub struct RawObject<'a> {
    fields: Vec<Field<'a>>,
}

#[derive(Debug, Clone)]
struct Field<'a> {
    /// The key, decoded.
    name: String,
    /// The key as it was written, with its quotes.
    key: &'a RawValue,
    value: &'a RawValue,
}

impl<'a> RawObject<'a> {
    /// Reads an object; fails on anything that is not one.
    pub fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The value's text, or nothing where the key is missing.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        self.fields.iter().rev().find(|field| field.name == key).map(|field| field.value.get())
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
        self.fields.iter().map(|field| (field.name.as_str(), field.value.get()))
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
                // Keys are taken raw as well: half of a surrogate pair in a key must not make the
                // whole entry unreadable.
                while let Some((key, value)) = map.next_entry::<&'de RawValue, &'de RawValue>()? {
                    let name = decode_string(key.get())
                        .ok_or_else(|| serde::de::Error::custom("a key that is not a string"))?;
                    fields.push(Field { name, key, value });
                }
                Ok(RawObject { fields })
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

/// The text of one field of an object, found without reading the others into anything; nothing where it is
/// missing or the text is no object.
pub fn field<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    let mut found = None;
    let mut scanner = Scanner::new(object);
    let read = scanner.object(|scanner, key| {
        let key = &object[key.range()];
        let value = scanner.value()?;
        let same = key.len() == name.len() + 2 && &key[1..=name.len()] == name;
        if same || key.contains('\\') && decode_string(key).as_deref() == Some(name) {
            found = Some(&object[value.range()]);
        }
        Ok(())
    });
    read.and_then(|_| scanner.end()).ok()?;
    found
}

/// The object's text with the value of one key exchanged; every other byte stays. Of a key that stands
/// twice the last one is exchanged; a missing key is added at the end.
///
/// # Errors
/// Where `object` is not an object or `value` is not JSON.
pub fn splice_field(object: &str, key: &str, value: &str) -> Result<String, serde_json::Error> {
    serde_json::from_str::<&RawValue>(value)?;
    let fields = RawObject::parse(object)?;
    if let Some(old) = fields.get(key) {
        return Ok(replace(object, span(object, old), value));
    }
    let name = serde_json::to_string(key)?;
    let end = object.trim_end().len().saturating_sub(1);
    let comma = if fields.fields.is_empty() { "" } else { "," };
    Ok(format!("{}{comma}{name}:{value}{}", &object[..end], &object[end..]))
}

/// The object's text without one key, wherever it stands. The other fields keep their bytes; only the
/// spacing between fields is written anew.
///
/// # Errors
/// Where `object` is not an object.
pub fn remove_field(object: &str, key: &str) -> Result<String, serde_json::Error> {
    let fields = RawObject::parse(object)?;
    if fields.get(key).is_none() {
        return Ok(object.to_owned());
    }
    let kept: Vec<String> = fields
        .fields
        .iter()
        .filter(|field| field.name != key)
        .map(|field| format!("{}:{}", field.key.get(), field.value.get()))
        .collect();
    Ok(format!("{{{}}}", kept.join(",")))
}

/// Where a part that was borrowed from `whole` lies in it.
pub(super) fn span(whole: &str, part: &str) -> Range<usize> {
    let start = (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize);
    start..start + part.len()
}

/// `text` with `range` exchanged.
pub(super) fn replace(text: &str, range: Range<usize>, with: &str) -> String {
    let mut out = String::with_capacity(text.len() + with.len());
    out.push_str(&text[..range.start]);
    out.push_str(with);
    out.push_str(&text[range.end..]);
    out
}

/// Decodes a JSON string literal (with its quotes); half of a surrogate pair becomes U+FFFD.
///
/// serde_json refuses lone surrogates, but real transcripts hold them: a cut in the middle of an emoji
/// leaves one behind, and such an entry must stay readable.
pub fn decode_string(literal: &str) -> Option<String> {
    let inner = literal.trim().strip_prefix('"')?.strip_suffix('"')?;
    let Some(first) = inner.find('\\') else { return Some(inner.to_owned()) };
    let mut out = String::with_capacity(inner.len());
    out.push_str(&inner[..first]);
    let mut rest = &inner[first..];
    let mut high: Option<u32> = None;
    loop {
        // Escapes are rare, so what lies between two of them is taken over in one piece.
        let plain = rest.find('\\').unwrap_or(rest.len());
        if plain > 0 {
            flush(&mut high, &mut out);
            out.push_str(&rest[..plain]);
            rest = &rest[plain..];
        }
        let Some(escape) = rest.get(1..) else { break };
        let kind = escape.chars().next()?;
        if kind != 'u' {
            flush(&mut high, &mut out);
            out.push(match kind {
                '"' | '\\' | '/' => kind,
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                _ => return None,
            });
            rest = &escape[1..];
            continue;
        }
        let digits = escape.get(1..5)?;
        let unit = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let unit = unit.then(|| u32::from_str_radix(digits, 16).ok()).flatten()?;
        rest = &escape[5..];
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

    #[test]
    fn a_key_with_half_a_surrogate_pair_is_readable() {
        let object = RawObject::parse(r#"{"\ud83d":1,"a":2}"#).unwrap();
        assert_eq!(object.get("a"), Some("2"));
        assert_eq!(object.get("\u{fffd}"), Some("1"));
    }

    #[test]
    fn a_field_is_exchanged_and_nothing_else_is_touched() {
        let object =
            r#" { "a" : 1 , "b":"\ud83d", "n": 12345678901234567890123 , "a" : {"x": 1.0} } "#;
        assert_eq!(
            splice_field(object, "a", "null").unwrap(),
            r#" { "a" : 1 , "b":"\ud83d", "n": 12345678901234567890123 , "a" : null } "#
        );
        assert_eq!(splice_field("{}", "a", "1").unwrap(), r#"{"a":1}"#);
        assert_eq!(splice_field("{\"b\": 2 }", "a", "1").unwrap(), r#"{"b": 2 ,"a":1}"#);
        assert!(splice_field("{}", "a", "nonsense").is_err());
        assert!(splice_field("[]", "a", "1").is_err());
    }

    #[test]
    fn a_field_is_removed_wherever_it_stands() {
        assert_eq!(
            remove_field(r#"{"a": 1, "b": "\ud83d", "a": 2}"#, "a").unwrap(),
            r#"{"b":"\ud83d"}"#
        );
        assert_eq!(remove_field(r#"{"a": 1 }"#, "c").unwrap(), r#"{"a": 1 }"#);
        assert_eq!(remove_field(r#"{"a":1}"#, "a").unwrap(), "{}");
    }

    #[test]
    fn one_field_is_found_like_all_of_them() {
        for object in [
            r#" {"a":1,"\u0061":"x","b":{"a":2}} "#,
            r#"{"a":[1],"a":{}}"#,
            "{}",
            "[]",
            r#"{"a":1"#,
            r#"{"é":1,"aé":2}"#,
        ] {
            for name in ["a", "b", "é", "é\u{301}", ""] {
                let all = RawObject::parse(object).ok();
                assert_eq!(
                    field(object, name),
                    all.and_then(|all| all.get(name)),
                    "{object} {name}"
                );
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn a_spliced_value_is_read_back(key in ".{0,6}", other in ".{0,6}", value in ".*") {
            let literal = serde_json::to_string(&value).unwrap();
            let object = serde_json::json!({ other.clone(): 1.5, "k": [1] }).to_string();
            let spliced = splice_field(&object, &key, &literal).unwrap();
            let read = RawObject::parse(&spliced).unwrap();
            proptest::prop_assert_eq!(read.string(&key), Some(value));
            if other != key && other != "k" {
                proptest::prop_assert_eq!(read.get(&other), Some("1.5"));
            }
        }

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
