//! The words of a cassette: what stands in the YAML file, field by field.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::pattern::Pattern;

/// A script for a gate: rules in the order in which they are tried.
#[derive(Debug, Clone)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(deny_unknown_fields))]
pub struct Cassette {
    /// Always `flower-cassette/1`.
    pub format: String,
    /// What it shows, for people.
    pub about: Option<String>,
    /// What a rule that does not say otherwise answers with.
    #[cfg_attr(test, schemars(default))]
    pub defaults: Defaults,
    /// At least one; the first that holds and has not served its times wins.
    pub rules: Vec<Rule>,
}

/// What a rule that does not say otherwise answers with.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Defaults {
    /// The model named in replies; missing: the one that the request named.
    pub model: Option<String>,
    /// Token counts; a missing one is zero.
    #[serde(default)]
    pub usage: Tokens,
}

/// Token counts of a reply. A count that a rule leaves out comes from the defaults, else it is zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Tokens {
    /// Input that came neither from nor into the cache.
    pub input_tokens: Option<u64>,
    /// What the model wrote.
    pub output_tokens: Option<u64>,
    /// Input written into the cache.
    pub cache_creation_input_tokens: Option<u64>,
    /// Input read from the cache.
    pub cache_read_input_tokens: Option<u64>,
}

/// What a request must look like, and what is answered.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Named in the log and in complaints; missing: `line N`.
    #[serde(default)]
    pub name: String,
    /// Every given matcher must hold; a missing one holds for anything.
    #[serde(default, rename = "match")]
    pub when: Match,
    /// The model's answer. Exactly one of `reply`, `error` and `count_tokens` is given; `reset:
    /// before` and `sse_error` may stand alone.
    pub reply: Option<Reply>,
    /// An HTTP error instead of an answer.
    pub error: Option<Refusal>,
    /// Serves any number of times.
    #[serde(default)]
    pub repeat: bool,
    /// Serves this many times; missing: once.
    pub times: Option<NonZeroU32>,
    /// Milliseconds before the answer begins.
    pub delay_ms: Option<u64>,
    /// Milliseconds of silence in the middle of the answer.
    pub stall_ms: Option<u64>,
    /// Breaks the connection with a TCP reset.
    pub reset: Option<Reset>,
    /// An `error` event in the middle of the stream, which then ends. A request that wants no stream
    /// gets it as an HTTP error.
    pub sse_error: Option<SseError>,
    /// Fills every wait inside a stream with a `ping` event each so many milliseconds.
    pub ping_every_ms: Option<NonZeroU64>,
    /// Answers a token count instead of a message: such a rule only meets requests that count.
    pub count_tokens: Option<u64>,
    /// The line of the file on which the rule begins; 0 where there is none.
    #[serde(skip)]
    pub line: u64,
}

/// The matchers of a rule.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Match {
    /// The header `X-Flower-Step` without `#` and what follows.
    pub step: Option<String>,
    /// The header `X-Flower-Role`.
    pub role: Option<String>,
    /// The number after `#` in `X-Flower-Step`; 1 where the step has none.
    pub round: Option<u64>,
    /// `main`: no agent id header; `sub`: one; else the subagent's type, by the header
    /// `X-Flower-Agent-Type` or as a word in the first line of its task brief.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub agent: Option<Agent>,
    /// The number of assistant messages in the request.
    pub turn: Option<u64>,
    /// Text or `/regex/` in the last user message.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub last_user_contains: Option<Pattern>,
    /// Text or `/regex/` in the system prompt.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub system_contains: Option<Pattern>,
    /// The last result of a call of a tool in the request.
    pub tool_result: Option<ResultMatch>,
    /// The model that the request names.
    pub model: Option<String>,
    /// Whether the request wants a stream.
    pub stream: Option<bool>,
}

/// Whose request it is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Agent {
    /// The conversation itself.
    Main,
    /// Any subagent.
    Sub,
    /// A subagent of this type.
    Type(String),
}

impl TryFrom<String> for Agent {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        match text.as_str() {
            "" => Err("agent is main, sub or the type of a subagent, not empty"),
            "main" => Ok(Self::Main),
            "sub" => Ok(Self::Sub),
            _ => Ok(Self::Type(text)),
        }
    }
}

/// What the last result of a tool must look like.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ResultMatch {
    /// The tool that was called.
    pub name: String,
    /// Text or `/regex/` in the result.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub contains: Option<Pattern>,
    /// Whether the call failed; a result that does not say so did not.
    pub is_error: Option<bool>,
}

/// The model's answer: words, calls, or raw bytes.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Reply {
    /// What the model says; empty: a message without a text block.
    pub text: Option<String>,
    /// The same from a file beside the cassette.
    pub text_file: Option<String>,
    /// A thinking block before the text.
    pub thinking: Option<String>,
    /// Calls after the text, several at once.
    #[serde(default)]
    pub tools: Vec<ToolUse>,
    /// Missing: `tool_use` with calls, else `end_turn`.
    pub stop_reason: Option<String>,
    /// Token counts of this reply.
    #[serde(default)]
    pub usage: Tokens,
    /// Raw bytes of the answer's body, in their pieces; stands alone.
    #[serde(default)]
    pub chunks: Vec<Chunk>,
}

/// A call that the model makes.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ToolUse {
    /// The tool.
    pub name: String,
    /// Its input. Texts may use `${tool_result.NAME}` and `${last_user}`.
    #[serde(default)]
    pub input: Map<String, Value>,
    /// Missing: made from the rule's place and how often it has served.
    pub id: Option<String>,
}

/// A piece of an answer's body: exactly one of `bytes` and `base64`.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Chunk {
    /// Milliseconds after the piece before it.
    #[serde(default)]
    pub after_ms: u64,
    /// Bytes that are text.
    pub bytes: Option<String>,
    /// Bytes that are not.
    pub base64: Option<String>,
}

/// An HTTP error with a body of the Messages API.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    /// 400 to 599.
    pub status: u16,
    /// Missing: what the Messages API says with this status.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// What the body says.
    pub message: String,
    /// More headers, such as `retry-after`.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
}

/// An error inside a stream that began well.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SseError {
    /// Such as `overloaded_error`.
    #[serde(rename = "type")]
    pub kind: String,
    /// What it says.
    pub message: String,
}

/// When a connection breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Reset {
    /// Instead of an answer.
    Before,
    /// After the answer's headers.
    Headers,
    /// In the middle of the answer's body.
    Mid,
}

#[cfg(test)]
mod tests {
    /// `FLOWER_UPDATE_SCHEMA=1 cargo test --lib gate::cassette` writes the file anew.
    #[test]
    fn the_schema_beside_this_file_is_the_schema_of_the_types() {
        let schema = schemars::schema_for!(super::Cassette);
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/gate/cassette.schema.json");
        if std::env::var_os("FLOWER_UPDATE_SCHEMA").is_some() {
            std::fs::write(path, &text).unwrap();
        }
        assert_eq!(std::fs::read_to_string(path).unwrap(), text);
    }
}
