//! Blocks of a kind that the API does not know: one would end the conversation for ever.

use super::sheet::Speaker;
use super::text;
use crate::transcript::{BlockOutline, Entry, Kind, RawObject};

/// What a server's tool did, in the model's message.
const SERVED: [&str; 10] = [
    "server_tool_use",
    "mcp_tool_use",
    "mcp_tool_result",
    "web_search_tool_result",
    "web_fetch_tool_result",
    "code_execution_tool_result",
    "bash_code_execution_tool_result",
    "text_editor_code_execution_tool_result",
    "tool_search_tool_result",
    "container_upload",
];

/// Where a block of a kind without an outline of its own may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Site {
    /// In a message.
    Said(Speaker),
    /// In a result.
    Result,
}

/// What becomes of a block that the API does not know at this place: the text in its place where it has
/// one, else it goes. Nothing where the API knows it.
pub(super) fn judge(entry: &Entry, block: &BlockOutline, site: Site) -> Option<Option<String>> {
    if !matches!(block.kind, Kind::Other | Kind::ServerUse | Kind::ServerResult) {
        return None;
    }
    let Ok(fields) = RawObject::parse(entry.at(block.span)) else { return Some(None) };
    let kind = fields.string("type").unwrap_or_default();
    let known = match site {
        Site::Said(Speaker::Assistant) => SERVED.contains(&kind.as_str()),
        Site::Said(Speaker::User) => ["search_result", "container_upload"].contains(&kind.as_str()),
        Site::Result => ["search_result", "tool_reference"].contains(&kind.as_str()),
    };
    if known {
        return None;
    }
    let said = ["text", "content"].iter().find_map(|name| {
        let literal = fields.get(name).filter(|value| value.starts_with('"'))?;
        let literal = if block.half { text::without_halves(literal) } else { literal.to_owned() };
        text::plain(&literal).map(|said| said.into_owned()).filter(|said| !said.trim().is_empty())
    });
    Some(said.map(|said| {
        let said = text::literal(&format!("[{kind}] {said}"));
        format!(r#"{{"type":"text","text":{said}}}"#)
    }))
}
