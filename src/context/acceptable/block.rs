//! What the API demands of each row's message and of each block in it, whatever stands around.

use serde_json::Value;

use super::read::Row;
use super::{Demand, Findings, picture};

const LONGEST_TOOL_NAME: usize = 200;

/// Blocks of the model that report what a server's tool did; clients pass them on as they are.
const SERVER_BLOCKS: [&str; 10] = [
    "server_tool_use",
    "web_search_tool_result",
    "web_fetch_tool_result",
    "code_execution_tool_result",
    "bash_code_execution_tool_result",
    "text_editor_code_execution_tool_result",
    "tool_search_tool_result",
    "mcp_tool_use",
    "mcp_tool_result",
    "container_upload",
];

pub(super) fn check_row(row: &Row, findings: &mut Findings) {
    let at = row.at;
    findings.demand(!row.halved, Demand::WholeText, at, "half of a surrogate pair");
    if let Some(role) = row.message.get("role") {
        let want = if row.assistant { "assistant" } else { "user" };
        findings.demand(role == want, Demand::Role, at, &role.to_string());
    }
    match &row.message["content"] {
        Value::String(text) if text.is_empty() => findings.add(Demand::NotEmpty, at, "\"\""),
        Value::String(text) => check_text(text, at, findings),
        Value::Array(blocks) if blocks.is_empty() => findings.add(Demand::NotEmpty, at, "[]"),
        Value::Array(blocks) => {
            blocks.iter().for_each(|block| check_block(row, block, findings));
        }
        other => findings.add(Demand::Content, at, other.to_string()),
    }
}

fn check_text(text: &str, at: usize, findings: &mut Findings) {
    findings.demand(!text.trim().is_empty(), Demand::TextNotBlank, at, "a blank text");
}

fn check_block(row: &Row, block: &Value, findings: &mut Findings) {
    let at = row.at;
    let kind = block["type"].as_str().unwrap_or_default();
    match (kind, row.assistant) {
        ("text", _) => match block["text"].as_str() {
            Some(text) => check_text(text, at, findings),
            None => findings.add(Demand::KnownBlock, at, "a text without text"),
        },
        ("thinking", true) => {
            findings.demand(block["thinking"].is_string(), Demand::Signature, at, "no thinking");
            findings.demand(filled(&block["signature"]), Demand::Signature, at, "no signature");
        }
        ("redacted_thinking", true) => {
            findings.demand(filled(&block["data"]), Demand::Signature, at, "no data");
        }
        ("tool_use", true) => check_call(block, at, findings),
        ("tool_result", false) => check_result(block, at, findings),
        ("image", false) => picture::check(&block["source"], at, findings),
        ("document", false) => check_document(&block["source"], at, findings),
        ("search_result" | "container_upload", false) => {}
        (kind, true) if SERVER_BLOCKS.contains(&kind) => {}
        _ => findings.add(Demand::KnownBlock, at, format!("{:.80}", block.to_string())),
    }
}

fn filled(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.trim().is_empty())
}

fn check_id(id: &Value, at: usize, findings: &mut Findings) {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let holds = id.as_str().is_some_and(|id| !id.is_empty() && id.bytes().all(good));
    findings.demand(holds, Demand::IdForm, at, &id.to_string());
}

fn check_call(block: &Value, at: usize, findings: &mut Findings) {
    check_id(&block["id"], at, findings);
    let named = block["name"].as_str().map(|name| name.chars().count());
    let holds = named.is_some_and(|length| (1..=LONGEST_TOOL_NAME).contains(&length));
    findings.demand(holds, Demand::ToolName, at, &block["name"].to_string());
    findings.demand(block["input"].is_object(), Demand::InputObject, at, "the input of a call");
}

fn check_result(block: &Value, at: usize, findings: &mut Findings) {
    check_id(&block["tool_use_id"], at, findings);
    let error = match block.get("is_error") {
        None => false,
        Some(Value::Bool(error)) => *error,
        Some(other) => {
            findings.add(Demand::KnownBlock, at, format!("is_error is {other}"));
            false
        }
    };
    let empty = match block.get("content") {
        None => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Array(inner)) => {
            inner.iter().for_each(|block| check_inner(block, at, findings));
            inner.is_empty()
        }
        Some(other) => {
            findings.add(Demand::KnownBlock, at, format!("the content of a result is {other:.80}"));
            false
        }
    };
    findings.demand(!(error && empty), Demand::ErrorSaysWhat, at, "an error without a word");
}

/// A block in a result. An empty text is taken there, but not with a cache mark.
fn check_inner(block: &Value, at: usize, findings: &mut Findings) {
    match block["type"].as_str().unwrap_or_default() {
        "text" => {
            let text = block["text"].as_str();
            findings.demand(text.is_some(), Demand::KnownBlock, at, "a text without text");
            let marked = !block["cache_control"].is_null();
            let good = !(marked && text.is_some_and(str::is_empty));
            findings.demand(good, Demand::CacheControl, at, "a mark on an empty text");
        }
        "image" => picture::check(&block["source"], at, findings),
        "document" => check_document(&block["source"], at, findings),
        "search_result" | "tool_reference" => {}
        _ => {
            findings.add(Demand::KnownBlock, at, format!("in a result: {:.80}", block.to_string()))
        }
    }
}

fn check_document(source: &Value, at: usize, findings: &mut Findings) {
    let holds = match source["type"].as_str().unwrap_or_default() {
        "base64" => {
            source["media_type"] == "application/pdf"
                && source["data"]
                    .as_str()
                    .and_then(picture::decode)
                    .is_some_and(|bytes| bytes.starts_with(b"%PDF"))
        }
        "text" => source["media_type"] == "text/plain" && filled(&source["data"]),
        "content" => source["content"].is_string() || source["content"].is_array(),
        "url" => filled(&source["url"]),
        "file" => filled(&source["file_id"]),
        _ => false,
    };
    findings.demand(holds, Demand::KnownBlock, at, "a document that cannot be read");
}
