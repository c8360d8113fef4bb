//! Rows as JSON trees, and how they become entries, so that even what a tree cannot hold can be written.

use flower::transcript::Entry;
use serde_json::{Value, json};

/// Stands for half of a surrogate pair, which no Rust string can hold.
pub const HIGH: char = '\u{e000}';
/// The other half.
pub const LOW: char = '\u{e001}';
/// Behind a key: the key is written without it, so that it stands there twice.
pub const AGAIN: char = '\u{e002}';
/// Stands for an escape where a plain letter would do: whoever writes a block anew changes its bytes.
pub const ESCAPE: char = '\u{e003}';

/// A row's text.
pub fn write(row: &Value) -> String {
    let text = row.to_string();
    if !text.contains([HIGH, LOW, AGAIN, ESCAPE]) {
        return text;
    }
    text.replace(HIGH, "\\ud83d")
        .replace(LOW, "\\ude00")
        .replace(AGAIN, "")
        .replace(ESCAPE, "\\u00e9")
}

/// A row's tree, with those that stand for halves in their places.
pub fn read(text: &str) -> Option<Value> {
    let text = text.replace("\\ud83d", "\u{e000}").replace("\\ude00", "\u{e001}");
    serde_json::from_str(&text).ok()
}

pub fn entries(rows: &[Value]) -> Vec<Entry> {
    rows.iter().map(|row| Entry::parse(write(row)).unwrap()).collect()
}

pub fn uuid(number: usize) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}

/// A row of a main thread; the message comes last.
pub fn row(kind: &str, uuid: &str, parent: Option<&str>, message: Value) -> Value {
    json!({
        "parentUuid": parent,
        "isSidechain": false,
        "cwd": "/w",
        "sessionId": "5e550000-0000-4000-8000-00000000000a",
        "type": kind,
        "uuid": uuid,
        "timestamp": "2026-03-01T10:00:00.000Z",
        "message": message,
    })
}

pub fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

pub fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "make"}})
}

pub fn result(id: &str, content: impl Into<Value>) -> Value {
    let content: Value = content.into();
    json!({"type": "tool_result", "tool_use_id": id, "content": content})
}

pub fn thinking(words: &str) -> Value {
    json!({"type": "thinking", "thinking": format!("{words} {ESCAPE}"), "signature": "c2lnbmF0dXJl"})
}

pub fn image(media_type: &str, data: &str) -> Value {
    json!({"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}})
}

/// The head of a PNG of this size in base64, which is all that tells it.
pub fn png(width: u32, height: u32) -> String {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    base64(&bytes)
}

/// Base64 with padding.
pub fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

/// The blocks of a row's message, where it has a list of them.
pub fn blocks(row: &mut Value) -> Option<&mut Vec<Value>> {
    row.get_mut("message")?.get_mut("content")?.as_array_mut()
}

pub fn is(block: &Value, kind: &str) -> bool {
    block["type"] == kind
}

/// The texts of the person and the model in a row that can be carried as they are.
pub fn texts(row: &Value) -> Vec<&str> {
    let speaks = row["type"] == "user" || row["type"] == "assistant";
    let failed = row["isApiErrorMessage"] == true || row["message"]["model"] == "<synthetic>";
    let unclear = row.as_object().is_some_and(|row| row.keys().any(|key| key.ends_with(AGAIN)));
    if !speaks || failed || unclear || row["isSidechain"] == true {
        return Vec::new();
    }
    let texts: Vec<&str> = match &row["message"]["content"] {
        Value::String(text) => vec![text],
        Value::Array(blocks) => blocks
            .iter()
            .filter(|block| is(block, "text"))
            .filter_map(|block| block["text"].as_str())
            .collect(),
        _ => Vec::new(),
    };
    texts
        .into_iter()
        .filter(|text| !text.trim().is_empty() && !text.contains([HIGH, LOW]))
        .collect()
}

/// What comes before the last compaction need not be shown.
pub fn is_compaction(row: &Value) -> bool {
    row["subtype"] == "compact_boundary" || row["isCompactSummary"] == true
}
