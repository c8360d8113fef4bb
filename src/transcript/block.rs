//! Content blocks of a message, each kept as the text it came in.

use serde_json::value::RawValue;

use super::raw::{RawObject, decode_string, splice_field};

/// One content block: raw text plus what flower reads from it.
#[derive(Debug, Clone)]
pub struct Block {
    raw: Box<str>,
    body: Body,
}

/// What a block is, as far as flower needs to know. Kinds it does not know are kept and passed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Prose.
    Text(String),
    /// Thinking, also in its redacted form; must reach the model again byte for byte.
    Thinking,
    /// A call of a tool. `input` is the raw text of an object.
    ToolUse {
        /// Unique in the conversation.
        id: String,
        /// The tool's name.
        name: String,
        /// The raw JSON text of the input.
        input: String,
    },
    /// The answer to a call.
    ToolResult {
        /// The id of the call.
        tool_use_id: String,
        /// The call failed or was refused.
        is_error: bool,
        /// Its text: the string itself, or its text blocks joined; nothing where there is an image or
        /// document or no text at all (core.md T-3).
        text: Option<String>,
    },
    /// Anything else, by its `type`.
    Other(String),
}

impl Block {
    /// Reads one block; an object without a string `type` becomes [`Body::Other`] with an empty name.
    pub fn parse(raw: &str) -> Result<Self, serde_json::Error> {
        let fields = RawObject::parse(raw)?;
        let text = |key: &str| fields.string(key).unwrap_or_default();
        let body = match text("type").as_str() {
            "text" => Body::Text(text("text")),
            "thinking" | "redacted_thinking" => Body::Thinking,
            "tool_use" => Body::ToolUse {
                id: text("id"),
                name: text("name"),
                input: fields.get("input").unwrap_or("{}").to_owned(),
            },
            "tool_result" => Body::ToolResult {
                tool_use_id: text("tool_use_id"),
                is_error: fields.flag("is_error"),
                text: fields.get("content").and_then(result_text),
            },
            other => Body::Other(other.to_owned()),
        };
        Ok(Self { raw: raw.into(), body })
    }

    /// Reads a message's `content`: a string is one text block, an array its blocks.
    pub fn parse_content(content: &str) -> Result<Vec<Self>, serde_json::Error> {
        if let Some(text) = decode_string(content) {
            return Ok(vec![Self::text(&text)]);
        }
        let blocks: Vec<&RawValue> = serde_json::from_str(content)?;
        blocks.into_iter().map(|block| Self::parse(block.get())).collect()
    }

    /// A text block.
    pub fn text(text: &str) -> Self {
        let raw = serde_json::json!({"type": "text", "text": text}).to_string();
        Self { raw: raw.into(), body: Body::Text(text.to_owned()) }
    }

    /// A result block whose content is one string.
    pub fn tool_result(tool_use_id: &str, text: &str, is_error: bool) -> Self {
        let raw = serde_json::json!({
            "type": "tool_result", "tool_use_id": tool_use_id, "content": text, "is_error": is_error,
        });
        let body = Body::ToolResult {
            tool_use_id: tool_use_id.to_owned(),
            is_error,
            text: Some(text.to_owned()),
        };
        Self { raw: raw.to_string().into(), body }
    }

    /// The block with one of its fields exchanged, every other byte as it was.
    ///
    /// # Errors
    /// Where `value` is not JSON.
    pub fn with_field(&self, name: &str, value: &str) -> Result<Self, serde_json::Error> {
        Self::parse(&splice_field(&self.raw, name, value)?)
    }

    /// The block's JSON text.
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// What it is.
    pub fn body(&self) -> &Body {
        &self.body
    }
}

/// The text of a result's content, by the rule at [`Body::ToolResult`].
fn result_text(content: &str) -> Option<String> {
    if let Some(text) = decode_string(content) {
        return Some(text);
    }
    let blocks: Vec<&RawValue> = serde_json::from_str(content).ok()?;
    let mut texts = Vec::new();
    for block in blocks {
        let fields = RawObject::parse(block.get()).ok()?;
        match fields.string("type").as_deref() {
            Some("image" | "document") => return None,
            Some("text") => texts.push(fields.string("text").unwrap_or_default()),
            _ => {}
        }
    }
    (!texts.is_empty()).then(|| texts.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_blocks_keep_their_text() {
        let raw = r#"{"type":"server_tool_use","n":12345678901234567890123}"#;
        let block = Block::parse(raw).unwrap();
        assert_eq!(block.raw(), raw);
        assert_eq!(block.body(), &Body::Other("server_tool_use".into()));
    }

    #[test]
    fn a_result_with_an_image_has_no_text() {
        let block = Block::parse(
            r#"{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"a"},{"type":"image"}]}"#,
        )
        .unwrap();
        assert_eq!(
            block.body(),
            &Body::ToolResult { tool_use_id: "t".into(), is_error: false, text: None }
        );
    }
}
