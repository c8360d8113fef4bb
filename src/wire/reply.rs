//! Assembling a reply from its events, losing nothing: raw text is spliced, not parsed and written anew.

use std::collections::BTreeMap;

use serde_json::{Map, Value, value::RawValue};

use super::error::{Failure, Partial, WireError};
use super::frame::{Frame, lost};
use crate::transcript::{Block, RawObject, Usage, decode_string};

/// A whole message of the model.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The API's id of the message.
    pub id: String,
    /// The model that answered.
    pub model: String,
    /// In order.
    pub blocks: Vec<ReplyBlock>,
    /// `end_turn`, `tool_use`, `max_tokens`, `pause_turn`, `refusal`, …; empty where the server gave none.
    pub stop_reason: String,
    /// Tokens.
    pub usage: Usage,
    /// The same, with all that the server said about it, as JSON text.
    pub usage_raw: String,
    /// The API's id of the request.
    pub request_id: Option<String>,
}

/// One block of a reply.
#[derive(Debug, Clone)]
pub struct ReplyBlock {
    /// The block.
    pub block: Block,
    /// False for a tool call whose input is no JSON object, because it was cut or malformed. Its block then
    /// has the input `{}`, so that the message can be sent again.
    pub whole: bool,
}

/// A reply in the making.
#[derive(Debug, Default)]
pub struct Assembly {
    id: Option<String>,
    model: String,
    blocks: BTreeMap<u64, Draft>,
    stop_reason: String,
    usage: Map<String, Value>,
    done: bool,
}

/// A block in the making: its fields in order, each as raw JSON text.
#[derive(Debug, Default)]
struct Draft {
    fields: Vec<(String, String)>,
    /// The inner text of the string literals of `partial_json`.
    input: String,
}

impl Assembly {
    /// Takes one event. Kinds that are not known are passed over.
    ///
    /// # Errors
    /// Where the server reports a failure, or an event cannot be read.
    pub fn take(&mut self, frame: &Frame) -> Result<(), WireError> {
        let Ok(data) = RawObject::parse(&frame.data) else {
            return match frame.event.as_str() {
                "error" => Err(WireError::from_event(&frame.data)),
                "message_start"
                | "content_block_start"
                | "content_block_delta"
                | "message_delta" => Err(unreadable(&frame.event)),
                _ => Ok(()),
            };
        };
        let kind = data.string("type").unwrap_or_else(|| frame.event.clone());
        match kind.as_str() {
            "message_start" => self.start(data.get("message").ok_or_else(|| unreadable(&kind))?),
            "content_block_start" => {
                let block = data.get("content_block").and_then(|raw| RawObject::parse(raw).ok());
                let fields = block.ok_or_else(|| unreadable(&kind))?;
                let fields = fields.iter().map(|(name, raw)| (name.to_owned(), raw.to_owned()));
                let draft = Draft { fields: fields.collect(), input: String::new() };
                self.blocks.insert(index(&data), draft);
                Ok(())
            }
            "content_block_delta" => {
                let delta = data.get("delta").and_then(|raw| RawObject::parse(raw).ok());
                let delta = delta.ok_or_else(|| unreadable(&kind))?;
                self.blocks.entry(index(&data)).or_default().extend(&delta);
                Ok(())
            }
            "message_delta" => {
                let delta = data.get("delta").and_then(|raw| RawObject::parse(raw).ok());
                if let Some(reason) = delta.and_then(|delta| delta.string("stop_reason")) {
                    self.stop_reason = reason;
                }
                self.count(data.get("usage"));
                Ok(())
            }
            "message_stop" => {
                self.done = true;
                Ok(())
            }
            "error" => Err(WireError::from_event(&frame.data)),
            _ => Ok(()),
        }
    }

    /// True after `message_stop`.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Tokens that were reported so far; nothing before the message began.
    pub fn partial(&self) -> Option<Partial> {
        self.id.as_ref()?;
        Some(Partial { model: self.model.clone(), usage: numbers(&self.usage) })
    }

    /// The reply.
    ///
    /// # Errors
    /// Where the stream ended before the message did.
    pub fn finish(self) -> Result<Reply, WireError> {
        let Some(id) = self.id.filter(|_| self.done) else {
            return Err(lost("the stream ended before the message did"));
        };
        let blocks = self.blocks.into_values().map(Draft::finish).collect::<Result<_, _>>()?;
        Ok(Reply {
            id,
            model: self.model,
            blocks,
            stop_reason: self.stop_reason,
            usage: numbers(&self.usage),
            usage_raw: Value::Object(self.usage).to_string(),
            request_id: None,
        })
    }

    fn start(&mut self, message: &str) -> Result<(), WireError> {
        let fields = RawObject::parse(message).map_err(|_| unreadable("message_start"))?;
        self.id = Some(fields.string("id").unwrap_or_default());
        self.model = fields.string("model").unwrap_or_default();
        self.stop_reason = fields.string("stop_reason").unwrap_or_default();
        self.count(fields.get("usage"));
        Ok(())
    }

    /// Later counts are totals and win, but a gateway that repeats a count as zero does not erase it.
    fn count(&mut self, usage: Option<&str>) {
        let Some(Ok(Value::Object(usage))) = usage.map(serde_json::from_str) else {
            return;
        };
        for (name, value) in usage {
            let known = self.usage.get(&name).and_then(Value::as_u64);
            if value.is_null() || known.is_some() && known > value.as_u64() {
                continue;
            }
            self.usage.insert(name, value);
        }
    }
}

impl Reply {
    /// Reads a message that came in one piece, as JSON.
    ///
    /// # Errors
    /// Where it is an error, or no message.
    pub fn parse(body: &str) -> Result<Self, WireError> {
        let fields = RawObject::parse(body).map_err(|_| unreadable("reply"))?;
        if fields.string("type").as_deref() == Some("error") {
            return Err(WireError::from_event(body));
        }
        let content = fields.get("content").ok_or_else(|| unreadable("reply"))?;
        let raw: Vec<&RawValue> = serde_json::from_str(content).map_err(|_| unreadable("reply"))?;
        let mut assembly = Assembly { done: true, ..Assembly::default() };
        assembly.start(body)?;
        for (place, block) in (0..).zip(raw) {
            let block = RawObject::parse(block.get()).map_err(|_| unreadable("reply"))?;
            let fields = block.iter().map(|(name, raw)| (name.to_owned(), raw.to_owned()));
            let draft = Draft { fields: fields.collect(), input: String::new() };
            assembly.blocks.insert(place, draft);
        }
        assembly.finish()
    }

    /// The prose of the reply, its text blocks joined by newlines.
    pub fn text(&self) -> String {
        let texts = self.blocks.iter().filter_map(|part| match part.block.body() {
            crate::transcript::Body::Text(text) if !text.is_empty() => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

impl Draft {
    /// Applies a delta. Every delta of the API adds text to a field of the same name; the two exceptions
    /// are a call's input, which comes as pieces of JSON text, and citations, which are items of a list.
    fn extend(&mut self, delta: &RawObject<'_>) {
        for (name, raw) in delta.iter() {
            match name {
                "type" => {}
                "partial_json" => self.input.push_str(inner(raw).unwrap_or_default()),
                "citation" => self.push("citations", raw),
                _ => self.append(name, raw),
            }
        }
    }

    fn append(&mut self, name: &str, raw: &str) {
        let Some(more) = inner(raw) else {
            return;
        };
        let field = self.field(name);
        // Joining the literals, not the decoded texts, also joins a surrogate pair that was cut in two.
        *field = match inner(field) {
            Some(text) => format!("\"{text}{more}\""),
            None => format!("\"{more}\""),
        };
    }

    fn push(&mut self, name: &str, raw: &str) {
        let field = self.field(name);
        let items = field.trim().strip_prefix('[').and_then(|text| text.strip_suffix(']'));
        *field = match items.map(str::trim) {
            None | Some("") => format!("[{raw}]"),
            Some(items) => format!("[{items},{raw}]"),
        };
    }

    fn field(&mut self, name: &str) -> &mut String {
        let place = match self.fields.iter().rposition(|(known, _)| known == name) {
            Some(place) => place,
            None => {
                self.fields.push((name.to_owned(), "null".to_owned()));
                self.fields.len() - 1
            }
        };
        &mut self.fields[place].1
    }

    fn finish(mut self) -> Result<ReplyBlock, WireError> {
        let kind = self.fields.iter().find(|(name, _)| name == "type");
        let kind = kind.and_then(|(_, raw)| decode_string(raw)).unwrap_or_default();
        if !self.input.is_empty() {
            let text = decode_string(&format!("\"{}\"", self.input)).unwrap_or_default();
            *self.field("input") = text;
        }
        let mut whole = true;
        if kind.ends_with("tool_use") {
            let input = self.field("input");
            whole = serde_json::from_str::<Map<String, Value>>(input).is_ok();
            if !whole {
                *input = "{}".to_owned();
            }
        }
        let parts: Vec<String> = self
            .fields
            .iter()
            .map(|(name, raw)| format!("{}:{raw}", Value::String(name.clone())))
            .collect();
        let block = Block::parse(&format!("{{{}}}", parts.join(",")))
            .map_err(|_| unreadable("content block"))?;
        Ok(ReplyBlock { block, whole })
    }
}

/// The text between the quotes of a string literal, still escaped.
fn inner(raw: &str) -> Option<&str> {
    raw.trim().strip_prefix('"')?.strip_suffix('"')
}

fn index(data: &RawObject<'_>) -> u64 {
    data.get("index").and_then(|raw| raw.parse().ok()).unwrap_or(0)
}

fn numbers(usage: &Map<String, Value>) -> Usage {
    serde_json::from_value(Value::Object(usage.clone())).unwrap_or_default()
}

fn unreadable(what: &str) -> WireError {
    WireError::new(
        Failure::Protocol,
        format!("the model endpoint sent something that is not the Messages API ({what})"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::Body;

    fn assemble(events: &[&str]) -> Result<Reply, WireError> {
        let mut assembly = Assembly::default();
        let start = r#"{"type":"message_start","message":{"id":"m1","model":"demo","usage":{"input_tokens":9,"output_tokens":1,"service_tier":"standard"}}}"#;
        for data in [start].iter().chain(events) {
            assembly.take(&Frame { event: "x".into(), data: (*data).to_owned() })?;
        }
        assembly.finish()
    }

    fn one_block(start: &str, deltas: &[&str]) -> ReplyBlock {
        let mut events =
            vec![format!(r#"{{"type":"content_block_start","index":0,"content_block":{start}}}"#)];
        events.extend(
            deltas.iter().map(|delta| {
                format!(r#"{{"type":"content_block_delta","index":0,"delta":{delta}}}"#)
            }),
        );
        events.push(r#"{"type":"message_stop"}"#.to_owned());
        let events: Vec<&str> = events.iter().map(String::as_str).collect();
        assemble(&events).unwrap().blocks.remove(0)
    }

    #[test]
    fn text_keeps_its_escapes_and_joins_cut_surrogates() {
        let part = one_block(
            r#"{"type":"text","text":""}"#,
            &[
                r#"{"type":"text_delta","text":"a\u00fc\ud83d"}"#,
                r#"{"type":"text_delta","text":"\ude00"}"#,
            ],
        );
        assert_eq!(part.block.raw(), r#"{"type":"text","text":"a\u00fc\ud83d\ude00"}"#);
        assert_eq!(part.block.body(), &Body::Text("aü😀".into()));
    }

    #[test]
    fn thinking_keeps_its_signature() {
        let part = one_block(
            r#"{"type":"thinking","thinking":"","signature":""}"#,
            &[
                r#"{"type":"thinking_delta","thinking":"let\n"}"#,
                r#"{"type":"thinking_delta","thinking":" me\/see"}"#,
                r#"{"type":"signature_delta","signature":"Ab+\/=="}"#,
            ],
        );
        assert_eq!(
            part.block.raw(),
            r#"{"type":"thinking","thinking":"let\n me\/see","signature":"Ab+\/=="}"#
        );
    }

    #[test]
    fn redacted_and_unknown_blocks_are_kept() {
        let raw = r#"{"type":"redacted_thinking","data":"x\u002b"}"#;
        assert_eq!(one_block(raw, &[]).block.raw(), raw);
        let part = one_block(
            r#"{"type":"moonbeam","n":12345678901234567890123,"content":null}"#,
            &[r#"{"type":"moonbeam_delta","content":"a"}"#, r#"{"type":"x","content":"b","k":1}"#],
        );
        assert_eq!(
            part.block.raw(),
            r#"{"type":"moonbeam","n":12345678901234567890123,"content":"ab"}"#
        );
    }

    #[test]
    fn citations_are_collected() {
        let part = one_block(
            r#"{"type":"text","text":"","citations":[]}"#,
            &[
                r#"{"type":"citations_delta","citation":{"a":1}}"#,
                r#"{"type":"citations_delta","citation":{"a":2}}"#,
            ],
        );
        assert_eq!(part.block.raw(), r#"{"type":"text","text":"","citations":[{"a":1},{"a":2}]}"#);
    }

    #[test]
    fn a_calls_input_is_the_text_that_the_model_wrote() {
        let start = r#"{"type":"tool_use","id":"t","name":"Bash","input":{}}"#;
        let part = one_block(
            start,
            &[
                r#"{"type":"input_json_delta","partial_json":""}"#,
                r#"{"type":"input_json_delta","partial_json":"{\"command\": \"echo \\ud83d"}"#,
                r#"{"type":"input_json_delta","partial_json":"\\ude00\", \"n\":1.50}"}"#,
            ],
        );
        assert!(part.whole);
        assert_eq!(
            part.block.raw(),
            r#"{"type":"tool_use","id":"t","name":"Bash","input":{"command": "echo \ud83d\ude00", "n":1.50}}"#
        );
        assert_eq!(one_block(start, &[]).block.raw(), start);
    }

    #[test]
    fn an_input_that_is_no_object_is_marked_and_can_be_sent_again() {
        let start = r#"{"type":"tool_use","id":"t","name":"Bash","input":{}}"#;
        for text in [r#"{\"command\": \"ec"#, r"[1]", r"7", r"\q", r"{} x"] {
            let part = one_block(
                start,
                &[&format!(r#"{{"type":"input_json_delta","partial_json":"{text}"}}"#)],
            );
            // The literal of the fourth is itself broken JSON and never gets this far from a server.
            if text == r"\q" {
                continue;
            }
            assert!(!part.whole, "{text}");
            assert_eq!(part.block.raw(), start);
        }
    }

    #[test]
    fn counts_are_merged() {
        let reply = assemble(&[
            r#"{"type":"ping"}"#,
            r#"{"type":"aurora","x":[]}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":0,"output_tokens":40,"cache_read_input_tokens":null}}"#,
            r#"{"type":"message_stop"}"#,
        ])
        .unwrap();
        assert_eq!(reply.usage, Usage { input_tokens: 9, output_tokens: 40, ..Usage::default() });
        assert_eq!(
            reply.usage_raw,
            r#"{"input_tokens":9,"output_tokens":40,"service_tier":"standard"}"#
        );
        assert_eq!(reply.stop_reason, "end_turn");
    }

    #[test]
    fn a_stream_that_ends_early_is_a_lost_network() {
        assert_eq!(assemble(&[]).unwrap_err().failure, Failure::Network);
        let nothing = Assembly { done: true, ..Assembly::default() };
        assert_eq!(nothing.finish().unwrap_err().failure, Failure::Network);
    }

    #[test]
    fn a_reply_in_one_piece_is_read() {
        let reply = Reply::parse(
            r#"{"type":"message","id":"m","model":"d","role":"assistant","content":[{"type":"text","text":"a"},{"type":"tool_use","id":"t","name":"X","input":{"a": 1}}],"stop_reason":"tool_use","usage":{"output_tokens":3}}"#,
        )
        .unwrap();
        assert_eq!(reply.text(), "a");
        assert_eq!(
            reply.blocks[1].block.raw(),
            r#"{"type":"tool_use","id":"t","name":"X","input":{"a": 1}}"#
        );
        assert_eq!(reply.stop_reason, "tool_use");
        let error = Reply::parse(r#"{"type":"error","error":{"type":"overloaded_error"}}"#);
        assert_eq!(error.unwrap_err().failure, Failure::Overloaded);
        assert_eq!(Reply::parse("[]").unwrap_err().failure, Failure::Protocol);
    }

    fn any_event() -> impl proptest::strategy::Strategy<Value = String> {
        use proptest::prelude::*;
        let value = prop_oneof![
            Just("null".to_owned()),
            Just("7".to_owned()),
            Just("{}".to_owned()),
            Just("[".to_owned()),
            ".*".prop_map(|text| serde_json::to_string(&text).unwrap()),
        ];
        let kind = prop_oneof![
            Just("content_block_start"),
            Just("content_block_delta"),
            Just("message_delta"),
            Just("message_start"),
            Just("message_stop"),
        ];
        let name = prop_oneof![
            Just("text"),
            Just("partial_json"),
            Just("citation"),
            Just("input"),
            Just("type"),
            Just("usage")
        ];
        (kind, name, value, 0u8..3).prop_map(|(kind, name, value, index)| {
            format!(
                r#"{{"type":"{kind}","index":{index},"content_block":{{"{name}":{value}}},"delta":{{"{name}":{value}}},"message":{{"id":"m","{name}":{value}}},"usage":{value}}}"#
            )
        })
    }

    proptest::proptest! {
        #[test]
        fn no_event_panics(
            events in proptest::collection::vec(any_event(), 0..12),
            name in ".*",
            other in ".*",
        ) {
            let mut assembly = Assembly::default();
            let _ = assembly.take(&Frame { event: name, data: other });
            for data in events {
                let _ = assembly.take(&Frame { event: "x".into(), data });
            }
            let _ = assembly.finish();
        }
    }
}
