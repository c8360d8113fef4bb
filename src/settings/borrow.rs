//! The nine keys that flower borrows from the settings files of Claude Code, and nothing else of them.

use std::path::Path;

use serde_json::Value;

use super::known::CREDENTIAL_KEYS;
use super::source::LONGEST;
use crate::disk;

/// The known keys with a value that counts, and those whose value cannot be used.
///
/// A file that is missing, broken or of another shape is no file: it is another program's, and may be
/// half written at any moment.
pub(super) fn read(path: &Path) -> (Vec<(&'static str, String)>, Vec<&'static str>) {
    match disk::read(path, LONGEST) {
        Ok(bytes) => pick(&bytes),
        Err(_) => (Vec::new(), Vec::new()),
    }
}

fn pick(bytes: &[u8]) -> (Vec<(&'static str, String)>, Vec<&'static str>) {
    let (mut pairs, mut unusable) = (Vec::new(), Vec::new());
    // Half of a surrogate pair makes the whole text unreadable for this parser, so such an escape is
    // turned into a NUL, which no variable may hold either.
    let value: Result<Value, _> = serde_json::from_slice(bytes).or_else(|error| {
        std::str::from_utf8(bytes)
            .map_or(Err(error), |text| serde_json::from_str(&without_lone_surrogates(text)))
    });
    let Ok(value) = value else {
        return (pairs, unusable);
    };
    let Some(env) = value.get("env").and_then(Value::as_object) else {
        return (pairs, unusable);
    };
    for key in CREDENTIAL_KEYS {
        match env.get(key).and_then(text_of) {
            Some(text) if text.contains('\0') => unusable.push(key),
            Some(text) => pairs.push((key, text)),
            None => {}
        }
    }
    (pairs, unusable)
}

/// The text of a value that counts as true for the reference program; lists and objects are no text.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        Value::Bool(true) => Some("True".to_owned()),
        Value::Number(number) if number.as_f64() != Some(0.0) => Some(number.to_string()),
        _ => None,
    }
}

/// Replaces `\uD800` to `\uDFFF` without a partner by `\u0000`.
fn without_lone_surrogates(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = match (unit(rest), rest.get(6..).and_then(unit)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                out.push_str("\\u0000");
                rest = &rest[6..];
                continue;
            }
            // The letter behind a backslash may be of any length; only the two are taken together.
            _ => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        };
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    out + rest
}

fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_known_keys_are_taken_as_text() {
        let (pairs, unusable) = pick(
            br#"{"env":{"ANTHROPIC_API_KEY":"k","PATH":"/evil","ANTHROPIC_MODEL":1.0,
               "ANTHROPIC_AUTH_TOKEN":"a\u0000b","ANTHROPIC_BASE_URL":false}}"#,
        );
        assert_eq!(
            pairs,
            [("ANTHROPIC_API_KEY", "k".to_owned()), ("ANTHROPIC_MODEL", "1.0".to_owned())]
        );
        assert_eq!(unusable, ["ANTHROPIC_AUTH_TOKEN"]);
    }

    #[test]
    fn half_a_surrogate_pair_spoils_its_key_only() {
        let text =
            br#"{"env":{"ANTHROPIC_API_KEY":"a\ud800b","ANTHROPIC_MODEL":"\ud83d\ude42\\"}}"#;
        let (pairs, unusable) = pick(text);
        assert_eq!(pairs, [("ANTHROPIC_MODEL", "🙂\\".to_owned())]);
        assert_eq!(unusable, ["ANTHROPIC_API_KEY"]);
    }

    #[test]
    fn other_shapes_are_no_settings() {
        for text in ["", "null", "[]", "{\"env\":[]}", "// c\n{}", "{\"env\":{\"A\":\"\\ud800\\"] {
            assert_eq!(pick(text.as_bytes()), (Vec::new(), Vec::new()));
        }
    }
}
