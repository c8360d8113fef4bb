//! Turns a rule's reply into a message of the Messages API: as one JSON text or as events.

use bytes::Bytes;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::cassette::{Reply, Tokens};
use super::request::Asked;
use super::script::Serving;
use super::template;

/// A whole message, ready to be sent either way.
#[derive(Debug)]
pub(super) struct Message {
    id: String,
    model: String,
    content: Vec<Value>,
    stop_reason: String,
    usage: [(&'static str, u64); 4],
}

/// One event of a stream, framed.
pub(super) fn event(name: &str, data: &Value) -> Bytes {
    Bytes::from(format!("event: {name}\ndata: {data}\n\n"))
}

/// What keeps a stream alive.
pub(super) fn ping() -> Bytes {
    event("ping", &json!({"type": "ping"}))
}

impl Message {
    /// The message of this serving. Ids come from the rule's place, how often it has served and the
    /// turn: repeated requests differ, two runs of the same cassette do not.
    pub(super) fn of(
        serving: &Serving,
        reply: &Reply,
        asked: &Asked,
        defaults: (&Option<String>, Tokens),
    ) -> Self {
        let seed = format!("{}:{}:{}", serving.index, serving.count, asked.conversation.turn);
        let mut content = Vec::new();
        if let Some(thinking) = &reply.thinking {
            let signature = digest(&format!("{seed}:thinking"), 64);
            content.push(json!({"type": "thinking", "thinking": thinking, "signature": signature}));
        }
        if let Some(text) = reply.text.as_deref().filter(|text| !text.is_empty()) {
            content.push(json!({"type": "text", "text": text}));
        }
        for (place, tool) in reply.tools.iter().enumerate() {
            let made = || format!("toolu_{}", digest(&format!("{seed}:{place}"), 24));
            let id = tool.id.clone().unwrap_or_else(made);
            let input = template::fill(&tool.input, asked);
            content.push(json!({"type": "tool_use", "id": id, "name": tool.name, "input": input}));
        }
        let usual = if reply.tools.is_empty() { "end_turn" } else { "tool_use" };
        Self {
            id: format!("msg_{}", digest(&seed, 24)),
            model: defaults.0.clone().unwrap_or_else(|| asked.conversation.model.clone()),
            content,
            stop_reason: reply.stop_reason.clone().unwrap_or_else(|| usual.to_owned()),
            usage: usage(reply.usage, defaults.1),
        }
    }

    /// The answer to a request that wants no stream.
    pub(super) fn to_json(&self) -> Bytes {
        let usage: Value =
            self.usage.iter().map(|(name, count)| ((*name).to_owned(), json!(count))).collect();
        let message = self.envelope(&self.content, json!(self.stop_reason), usage);
        Bytes::from(message.to_string())
    }

    /// The answer to one that does, one piece for each event.
    pub(super) fn to_events(&self) -> Vec<Bytes> {
        let usage = |is_start: bool| -> Value {
            // At its start a stream knows the input and has written next to nothing.
            let count = |name: &str, count: u64| match name {
                "output_tokens" if is_start => count.min(1),
                _ => count,
            };
            self.usage
                .iter()
                .map(|(name, n)| ((*name).to_owned(), json!(count(name, *n))))
                .collect()
        };
        let start = self.envelope(&[], Value::Null, usage(true));
        let mut events = vec![
            event("message_start", &json!({"type": "message_start", "message": start})),
            ping(),
        ];
        for (index, block) in self.content.iter().enumerate() {
            push_block(&mut events, index, block);
        }
        let delta = json!({"stop_reason": self.stop_reason, "stop_sequence": null});
        events.push(event(
            "message_delta",
            &json!({"type": "message_delta", "delta": delta, "usage": usage(false)}),
        ));
        events.push(event("message_stop", &json!({"type": "message_stop"})));
        events
    }

    fn envelope(&self, content: &[Value], stop_reason: Value, usage: Value) -> Value {
        json!({
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": stop_reason,
            "stop_sequence": null,
            "usage": usage,
        })
    }
}

fn push_block(events: &mut Vec<Bytes>, index: usize, block: &Value) {
    let text = |field: &str| block[field].as_str().unwrap_or_default();
    let (empty, deltas) = match text("type") {
        "thinking" => {
            let pieces = split(text("thinking"));
            let mut deltas: Vec<Value> =
                pieces.map(|piece| json!({"type": "thinking_delta", "thinking": piece})).collect();
            deltas.push(json!({"type": "signature_delta", "signature": block["signature"]}));
            (json!({"type": "thinking", "thinking": "", "signature": ""}), deltas)
        }
        "tool_use" => {
            let input = block["input"].to_string();
            let delta = |piece: &str| json!({"type": "input_json_delta", "partial_json": piece});
            // Real streams begin with an empty piece, and readers must bear it.
            let deltas = std::iter::once("").chain(split(&input)).map(delta).collect();
            (
                json!({"type": "tool_use", "id": block["id"], "name": block["name"], "input": {}}),
                deltas,
            )
        }
        _ => {
            let pieces = split(text("text"));
            let deltas = pieces.map(|piece| json!({"type": "text_delta", "text": piece})).collect();
            (json!({"type": "text", "text": ""}), deltas)
        }
    };
    let start = json!({"type": "content_block_start", "index": index, "content_block": empty});
    events.push(event("content_block_start", &start));
    for delta in deltas {
        let data = json!({"type": "content_block_delta", "index": index, "delta": delta});
        events.push(event("content_block_delta", &data));
    }
    events
        .push(event("content_block_stop", &json!({"type": "content_block_stop", "index": index})));
}

/// Cuts at character boundaries: pieces of at least 12 characters, about 32 of them at most.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let length = text.chars().count().div_ceil(32).max(12);
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.char_indices().nth(length).map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at(end);
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

fn usage(own: Tokens, defaults: Tokens) -> [(&'static str, u64); 4] {
    let pick = |own: Option<u64>, default: Option<u64>| own.or(default).unwrap_or(0);
    [
        ("input_tokens", pick(own.input_tokens, defaults.input_tokens)),
        (
            "cache_creation_input_tokens",
            pick(own.cache_creation_input_tokens, defaults.cache_creation_input_tokens),
        ),
        (
            "cache_read_input_tokens",
            pick(own.cache_read_input_tokens, defaults.cache_read_input_tokens),
        ),
        ("output_tokens", pick(own.output_tokens, defaults.output_tokens)),
    ]
}

/// Hexadecimal digits that depend on nothing but the seed.
pub(super) fn digest(seed: &str, digits: usize) -> String {
    let hash = Sha256::digest(seed.as_bytes());
    let text: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    text.chars().take(digits).collect()
}

#[cfg(test)]
mod tests {
    use super::super::cassette::Cassette;
    use super::*;

    fn message(reply: &str, count: u64) -> Message {
        let text = format!("format: flower-cassette/1\nrules: [{{name: r, reply: {reply}}}]");
        let cassette = Cassette::parse(&text).unwrap();
        let rule = &cassette.rules[0];
        let serving = Serving { rule, index: 0, count };
        let defaults =
            Tokens { input_tokens: Some(9), output_tokens: Some(4), ..Tokens::default() };
        let model = Some("demo-1".to_owned());
        Message::of(&serving, rule.reply.as_ref().unwrap(), &Asked::default(), (&model, defaults))
    }

    #[test]
    fn pieces_are_cut_at_characters_and_come_back_whole() {
        let text = "花".repeat(1000);
        let pieces: Vec<&str> = split(&text).collect();
        assert!(pieces.len() > 20 && pieces.len() <= 32, "{}", pieces.len());
        assert_eq!(pieces.concat(), text);
        assert_eq!(split("").count(), 0);
    }

    #[test]
    fn ids_differ_by_serving_and_not_by_run() {
        let id = |count| message("{tools: [{name: A}, {name: B}]}", count).to_json();
        let parse = |bytes: Bytes| serde_json::from_slice::<Value>(&bytes).unwrap();
        let (first, again, second) = (parse(id(0)), parse(id(0)), parse(id(1)));
        assert_eq!(first, again);
        assert_ne!(first["id"], second["id"]);
        assert_ne!(first["content"][0]["id"], first["content"][1]["id"]);
        assert_ne!(first["content"][0]["id"], second["content"][0]["id"]);
    }

    #[test]
    fn counts_fall_back_one_by_one() {
        let bytes = message("{text: x, usage: {output_tokens: 70}}", 0).to_json();
        let usage = serde_json::from_slice::<Value>(&bytes).unwrap()["usage"].clone();
        let want = json!({"input_tokens": 9, "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0, "output_tokens": 70});
        assert_eq!(usage, want);
    }

    #[test]
    fn an_empty_text_is_a_message_without_blocks() {
        let bytes = message("{text: \"\"}", 0).to_json();
        let message = serde_json::from_slice::<Value>(&bytes).unwrap();
        assert_eq!(message["content"], json!([]));
        assert_eq!(message["stop_reason"], "end_turn");
    }
}
