//! Reads rows for the judge, with eyes of its own: half surrogate pairs are put aside before parsing.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use serde_json::Value;
use serde_json::value::RawValue;

/// A row as clients see it.
pub(super) struct Row {
    pub(super) at: usize,
    pub(super) assistant: bool,
    /// It is a subagent's.
    pub(super) side: bool,
    /// It is part of the conversation.
    pub(super) speaks: bool,
    /// A conversation that is resumed begins here.
    pub(super) boundary: bool,
    pub(super) uuid: Option<String>,
    pub(super) parent: Parent,
    pub(super) message: Value,
    /// Its message holds half of a surrogate pair.
    pub(super) halved: bool,
}

#[derive(PartialEq, Eq)]
pub(super) enum Parent {
    None,
    Uuid(String),
    /// Neither a string nor null.
    Nonsense,
}

impl Row {
    pub(super) fn read(at: usize, raw: &str) -> Self {
        let (text, halves) = set_halves_aside(raw);
        let fields: HashMap<String, &RawValue> = serde_json::from_str(&text).unwrap_or_default();
        // Field by field: what is not sent need not be read.
        let value = |name: &str| -> Value {
            let raw = fields.get(name).map(|raw| raw.get());
            raw.and_then(|raw| serde_json::from_str(raw).ok()).unwrap_or_default()
        };
        let kind = value("type").as_str().unwrap_or_default().to_owned();
        let message = value("message");
        let failed = value("isApiErrorMessage") == true || message["model"] == "<synthetic>";
        let sidechain = value("isSidechain") == true;
        let halved = !halves.is_empty()
            && fields.get("message").is_some_and(|message| {
                let range = range(&text, message.get());
                halves.iter().any(|half| range.contains(half))
            });
        Self {
            at,
            assistant: kind == "assistant",
            side: sidechain,
            speaks: matches!(kind.as_str(), "user" | "assistant") && !failed,
            boundary: kind == "system" && value("subtype") == "compact_boundary" && !sidechain,
            uuid: value("uuid").as_str().filter(|uuid| !uuid.is_empty()).map(str::to_owned),
            parent: match value("parentUuid") {
                Value::Null => Parent::None,
                Value::String(uuid) => Parent::Uuid(uuid),
                _ => Parent::Nonsense,
            },
            message,
            halved,
        }
    }

    /// The API's id of the model's message.
    pub(super) fn message_id(&self) -> Option<&str> {
        self.message["id"].as_str().filter(|_| self.assistant)
    }

    /// The blocks; a string counts as none, and so does what is no list.
    pub(super) fn blocks(&self) -> &[Value] {
        self.message["content"].as_array().map_or(&[], Vec::as_slice)
    }

    /// True for the answer to calls, and nothing else.
    pub(super) fn only_results(&self) -> bool {
        let blocks = self.blocks();
        !blocks.is_empty() && blocks.iter().all(|block| block["type"] == "tool_result")
    }
}

/// The raw thinking blocks of a row's message.
pub(super) fn thinking(raw: &str) -> Vec<String> {
    if !raw.contains("thinking") {
        return Vec::new();
    }
    let (text, _) = set_halves_aside(raw);
    let content = part(&text, "message").and_then(|message| part(message, "content"));
    let blocks: Vec<&RawValue> =
        content.and_then(|content| serde_json::from_str(content).ok()).unwrap_or_default();
    let is_thinking = |block: &str| {
        let kind = part(block, "type").and_then(|kind| serde_json::from_str::<String>(kind).ok());
        matches!(kind.as_deref(), Some("thinking" | "redacted_thinking"))
    };
    blocks
        .into_iter()
        .filter(|block| is_thinking(block.get()))
        .map(|block| raw[range(&text, block.get())].to_owned())
        .collect()
}

/// A field of an object, as text.
fn part<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    let mut fields: HashMap<String, &RawValue> = serde_json::from_str(object).ok()?;
    fields.remove(name).map(RawValue::get)
}

fn range(whole: &str, part: &str) -> Range<usize> {
    let start = (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize);
    start..start + part.len()
}

/// The text with each lone half exchanged for `\ufffd`, which is as long, and where they stood.
fn set_halves_aside(raw: &str) -> (Cow<'_, str>, Vec<usize>) {
    let unit = |at: usize| {
        let digits = raw.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let mut halves = Vec::new();
    let mut from = 0;
    while let Some(found) = raw[from..].find('\\') {
        let at = from + found;
        // An escape is two bytes long, or six; what follows the backslash is ASCII in valid JSON.
        from = at + 1 + raw[at + 1..].chars().next().map_or(0, char::len_utf8);
        match unit(at) {
            Some(0xd800..=0xdbff) if matches!(unit(at + 6), Some(0xdc00..=0xdfff)) => {
                from = at + 12
            }
            Some(0xd800..=0xdfff) => halves.push(at),
            _ => {}
        }
    }
    if halves.is_empty() {
        return (Cow::Borrowed(raw), halves);
    }
    let mut text = raw.to_owned();
    for at in &halves {
        text.replace_range(at..&(at + 6), "\\ufffd");
    }
    (Cow::Owned(text), halves)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_found_and_whole_pairs_and_escaped_backslashes_are_not() {
        let halves = |raw: &str| set_halves_aside(raw).1;
        assert_eq!(halves(r#""\ud83d\ude00 \u00e9 \n""#), [0usize; 0]);
        assert_eq!(halves(r#""\\ud83d""#), [0usize; 0]);
        assert_eq!(halves(r#""a\ud83d""#), [2]);
        assert_eq!(halves(r#""\ude00\ud83d\ud83d\uDE00""#), [1, 7]);
        assert_eq!(halves(r#""\ud83dé\udE00""#), [1, 9]);
    }

    #[test]
    fn a_half_matters_only_where_it_is_sent() {
        let read = |raw: &str| Row::read(0, raw).halved;
        assert!(read(r#"{"type":"user","message":{"content":"\ud83d"}}"#));
        assert!(read(r#"{"type":"user","message":{"content":[{"\ud83d":1}]}}"#));
        assert!(!read(r#"{"toolUseResult":"\ud83d","type":"user","message":{"content":"x"}}"#));
    }

    #[test]
    fn thinking_is_read_with_its_own_bytes() {
        let block = r#"{"type" : "thinking","thinking":"\ud83d \u00e9","signature":"s" }"#;
        let raw = format!(r#"{{"message":{{"content":[ {block} ,{{"type":"text"}}]}}}}"#);
        assert_eq!(thinking(&raw), [block]);
    }
}
