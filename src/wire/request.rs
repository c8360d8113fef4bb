//! Requests: a body is spliced from the blocks as they are stored, with cache marks where they pay.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Value, value::RawValue};

use super::error::{Failure, WireError};
use crate::transcript::{Block, Body, RawObject};

const MARK: &str = r#""cache_control":{"type":"ephemeral"}"#;

/// Who speaks in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person, and results of tools.
    User,
    /// The model.
    Assistant,
}

/// A message of the conversation.
#[derive(Debug, Clone)]
pub struct WireMessage<'a> {
    /// Who speaks.
    pub role: Role,
    /// In order.
    pub blocks: Vec<&'a Block>,
}

/// A tool as the model is told about it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// JSON Schema of the input.
    pub schema: Value,
}

/// Everything in a request. Equal requests give equal bytes.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// The model's id.
    pub model: &'a str,
    /// Most tokens of the reply.
    pub max_tokens: u32,
    /// Texts of the system prompt; empty ones are left out.
    pub system: &'a [String],
    /// Tools, in order.
    pub tools: &'a [ToolSpec],
    /// The conversation.
    pub messages: Vec<WireMessage<'a>>,
    /// How hard the model is to think (`low` to `max`); nothing leaves it to the server.
    pub effort: Option<&'a str>,
}

#[derive(Serialize)]
struct BodyRow<'a> {
    model: &'a str,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Box<RawValue>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ToolRow<'a>>,
    messages: Vec<MessageRow>,
}

#[derive(Serialize)]
struct ToolRow<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Value>,
}

#[derive(Serialize)]
struct MessageRow {
    role: Role,
    content: Vec<Box<RawValue>>,
}

impl Request<'_> {
    /// The request's body. Marked for the cache: the last part of the system prompt, the last tool and
    /// the last two user messages, which are the four marks that the API allows.
    ///
    /// # Errors
    /// Where a block is not JSON, which would be a defect of the caller.
    pub fn body(&self) -> Result<String, WireError> {
        let write = || -> Result<String, serde_json::Error> {
            serde_json::to_string(&BodyRow {
                model: self.model,
                max_tokens: self.max_tokens,
                stream: true,
                output_config: self.effort.map(|effort| serde_json::json!({"effort": effort})),
                system: self.system_rows()?,
                tools: self.tool_rows(),
                messages: self.message_rows()?,
            })
        };
        write().map_err(|error| {
            WireError::new(Failure::BadRequest, format!("a request cannot be written: {error}"))
        })
    }

    fn system_rows(&self) -> Result<Vec<Box<RawValue>>, serde_json::Error> {
        let texts: Vec<&String> = self.system.iter().filter(|text| !text.is_empty()).collect();
        let last = texts.len().saturating_sub(1);
        let rows = texts.iter().enumerate().map(|(place, text)| {
            let block = Block::text(text);
            raw(if place == last { mark(block.raw()) } else { block.raw().to_owned() })
        });
        rows.collect()
    }

    fn tool_rows(&self) -> Vec<ToolRow<'_>> {
        let last = self.tools.len().saturating_sub(1);
        let rows = self.tools.iter().enumerate().map(|(place, tool)| ToolRow {
            name: &tool.name,
            description: &tool.description,
            input_schema: &tool.schema,
            cache_control: (place == last).then(|| serde_json::json!({"type": "ephemeral"})),
        });
        rows.collect()
    }

    fn message_rows(&self) -> Result<Vec<MessageRow>, serde_json::Error> {
        let users = self.messages.iter().enumerate().rev();
        let users = users.filter(|(_, message)| message.role == Role::User);
        let marked: Vec<usize> = users.take(2).map(|(place, _)| place).collect();
        let rows = self.messages.iter().enumerate().map(|(place, message)| {
            let chosen = match marked.contains(&place) {
                true => message.blocks.iter().rposition(|block| can_be_marked(block)),
                false => None,
            };
            let content = message.blocks.iter().enumerate().map(|(number, block)| {
                let text = match block.body() {
                    // Its signature holds for these very bytes.
                    Body::Thinking => Cow::Borrowed(block.raw()),
                    _ => whole_characters(block.raw()),
                };
                let text = text.as_ref();
                raw(if Some(number) == chosen { mark(text) } else { text.to_owned() })
            });
            Ok(MessageRow { role: message.role, content: content.collect::<Result<_, _>>()? })
        });
        rows.collect()
    }
}

/// The API refuses marks on thinking and on empty texts; a block that brought its own mark keeps it.
fn can_be_marked(block: &Block) -> bool {
    let fit = match block.body() {
        Body::Thinking => false,
        Body::Text(text) => !text.is_empty(),
        Body::ToolUse { .. } | Body::ToolResult { .. } | Body::Other(_) => true,
    };
    fit && RawObject::parse(block.raw()).is_ok_and(|fields| fields.get("cache_control").is_none())
}

/// Half a surrogate pair, as a text has that was cut in the middle of an emoji, makes the API refuse the
/// whole conversation from then on. It is sent as the sign for a character that is missing.
fn whole_characters(json: &str) -> Cow<'_, str> {
    let unit = |at: usize| {
        let digits = json.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let is_low = |unit: Option<u16>| matches!(unit, Some(0xDC00..=0xDFFF));
    let (mut text, mut copied, mut at) = (String::new(), 0, 0);
    while let Some(found) = json.get(at..).and_then(|rest| rest.find('\\')) {
        at += found;
        let lone = match unit(at) {
            Some(0xD800..=0xDBFF) if is_low(unit(at + 6)) => {
                at += 12;
                continue;
            }
            Some(0xD800..=0xDFFF) => true,
            _ => false,
        };
        if lone {
            text.push_str(&json[copied..at]);
            text.push_str("\\ufffd");
            copied = at + 6;
            at = copied;
        } else {
            // The escape and what it escapes, which may be another backslash.
            at += 2;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    text.push_str(&json[copied..]);
    Cow::Owned(text)
}

/// Splices the mark behind the last field.
fn mark(block: &str) -> String {
    let Some(open) = block.trim_end().strip_suffix('}') else {
        return block.to_owned();
    };
    let comma = if open.trim_end().ends_with('{') { "" } else { "," };
    format!("{open}{comma}{MARK}}}")
}

fn raw(text: String) -> Result<Box<RawValue>, serde_json::Error> {
    RawValue::from_string(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(raw: &str) -> Block {
        Block::parse(raw).unwrap()
    }

    #[test]
    fn a_whole_request_is_written() {
        let prompt = Block::text("first");
        let thinking = block(r#"{"type":"thinking", "thinking":"h\u006dm","signature":"A\/b="}"#);
        let call = block(r#"{"type":"tool_use","id":"t1","name":"Bash","input":{"n":1.50}}"#);
        let result = Block::tool_result("t1", "ok", false);
        let (answer, last) = (Block::text("done"), Block::text("and now"));
        let empty = Block::text("");
        let request = Request {
            model: "demo-1",
            max_tokens: 100,
            system: &["engine".into(), String::new(), "role".into()],
            tools: &[
                ToolSpec {
                    name: "Bash".into(),
                    description: "runs".into(),
                    schema: serde_json::json!({"type": "object"}),
                },
                ToolSpec {
                    name: "Read".into(),
                    description: "reads".into(),
                    schema: serde_json::json!({"type": "object"}),
                },
            ],
            messages: vec![
                WireMessage { role: Role::User, blocks: vec![&prompt] },
                WireMessage { role: Role::Assistant, blocks: vec![&thinking, &call] },
                WireMessage { role: Role::User, blocks: vec![&result] },
                WireMessage { role: Role::Assistant, blocks: vec![&answer] },
                WireMessage { role: Role::User, blocks: vec![&last, &thinking, &empty] },
            ],
            effort: Some("high"),
        };
        insta::assert_snapshot!(request.body().unwrap().replace("},{", "},\n{"), @r#"
        {"model":"demo-1","max_tokens":100,"stream":true,"output_config":{"effort":"high"},"system":[{"type":"text","text":"engine"},
        {"type":"text","text":"role","cache_control":{"type":"ephemeral"}}],"tools":[{"name":"Bash","description":"runs","input_schema":{"type":"object"}},
        {"name":"Read","description":"reads","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"first"}]},
        {"role":"assistant","content":[{"type":"thinking", "thinking":"h\u006dm","signature":"A\/b="},
        {"type":"tool_use","id":"t1","name":"Bash","input":{"n":1.50}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok","is_error":false,"cache_control":{"type":"ephemeral"}}]},
        {"role":"assistant","content":[{"type":"text","text":"done"}]},
        {"role":"user","content":[{"type":"text","text":"and now","cache_control":{"type":"ephemeral"}},
        {"type":"thinking", "thinking":"h\u006dm","signature":"A\/b="},
        {"type":"text","text":""}]}]}
        "#);
    }

    #[test]
    fn what_is_empty_is_left_out() {
        let prompt = Block::text("hi");
        let request = Request {
            model: "m",
            max_tokens: 1,
            system: &[],
            tools: &[],
            messages: vec![WireMessage { role: Role::User, blocks: vec![&prompt] }],
            effort: None,
        };
        assert_eq!(
            request.body().unwrap(),
            r#"{"model":"m","max_tokens":1,"stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}]}"#
        );
    }

    #[test]
    fn half_a_pair_is_replaced_and_nothing_else() {
        for (json, want) in [
            (r#"{"a":"x\ud83d"}"#, r#"{"a":"x\ufffd"}"#),
            (r#"{"a":"\uDE00\ud83d\ude00\ud83d\n"}"#, r#"{"a":"\ufffd\ud83d\ude00\ufffd\n"}"#),
            (r#"{"a":"\ud83d\ud83d\ude00"}"#, r#"{"a":"\ufffd\ud83d\ude00"}"#),
            // A backslash, then letters.
            (r#"{"a":"\\ud83d\u00fc ü\\"}"#, r#"{"a":"\\ud83d\u00fc ü\\"}"#),
        ] {
            assert_eq!(whole_characters(json), want);
        }
    }

    #[test]
    fn a_mark_fits_into_every_object() {
        assert_eq!(mark("{}"), format!("{{{MARK}}}"));
        assert_eq!(mark("{ \"a\":1 }\n"), format!("{{ \"a\":1 ,{MARK}}}"));
    }
}
