//! Answering the calls of a reply: permission, run, result, record.

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::iter;
use serde_json::{Value, json};

use super::session::Session;
use super::thread::Thread;
use super::{EngineError, agent, entry, tool};
use crate::engine::{Permit, ToolCall, ToolResult};
use crate::event::Event;
use crate::transcript::{Block, Body, Entry};

/// A call in a reply.
pub(super) struct Call {
    id: String,
    name: String,
    /// The input, or why there is none.
    input: Result<Value, &'static str>,
    /// The uuid of the entry that holds it.
    entry: String,
}

/// What a call led to.
pub(super) struct Outcome {
    /// What the model is told.
    result: ToolResult,
    /// The tool's own output object, for the transcript.
    detail: Value,
    denied: bool,
}

impl Call {
    /// The call in a block, if it is one. `whole` is false where its input was cut or is no object.
    pub(super) fn read(block: &Block, whole: bool, cut: bool, entry: String) -> Option<Self> {
        let Body::ToolUse { id, name, input } = block.body() else {
            return None;
        };
        let input = match serde_json::from_str::<Value>(input) {
            Ok(input) if whole && input.is_object() => Ok(input),
            _ if cut => Err(
                "The call was cut off, because the reply reached its longest size. Nothing was run. \
                 Repeat it in smaller pieces.",
            ),
            _ => Err("The input of this call is not a valid JSON object. Nothing was run."),
        };
        Some(Self { id: id.clone(), name: name.clone(), input, entry })
    }

    /// True where the call can run beside others.
    fn is_parallel(&self) -> bool {
        self.name == agent::NAME || tool::is_read_only(&self.name)
    }
}

impl Outcome {
    /// A text for the model and nothing more.
    pub(super) fn plain(result: ToolResult) -> Self {
        Self::new(result.clone(), result.output)
    }

    /// A result, with more about it for the transcript.
    pub(super) fn new(result: ToolResult, detail: Value) -> Self {
        Self { result, detail, denied: false }
    }

    fn denied(reason: &str) -> Self {
        Self { denied: true, ..Self::plain(ToolResult::error(reason)) }
    }
}

impl Thread {
    /// Answers all calls of a reply; entries come back in the order of the calls. Neighbours that only
    /// read, and subagents, run together as far as there are places for them; what may write runs alone, in
    /// its turn.
    pub(super) async fn answer_all(&self, calls: &[Call]) -> Result<Vec<Entry>, EngineError> {
        let mut entries = Vec::with_capacity(calls.len());
        let mut rest = calls;
        while !rest.is_empty() {
            let together = rest.iter().take_while(|call| call.is_parallel()).count().max(1);
            let (now, later) = rest.split_at(together);
            let answers: Vec<BoxFuture<'_, Result<Entry, EngineError>>> =
                now.iter().map(|call| self.answer(call)).collect();
            let mut answers = iter(answers).buffered(together);
            while let Some(entry) = answers.next().await {
                entries.push(entry?);
            }
            rest = later;
        }
        Ok(entries)
    }

    /// Answers one call and records the result at once: a neighbour may need hours. Boxed, since a
    /// subagent's thread answers calls too.
    fn answer<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<Entry, EngineError>> {
        Box::pin(async move {
            let host = &self.session.host;
            host.tell(Event::ToolCall {
                id: call.id.clone(),
                tool: call.name.clone(),
                summary: call.input.as_ref().map(summary).unwrap_or_default(),
                input: call.input.clone().unwrap_or_default(),
                speaker: self.speaker(),
            });
            let outcome = match &call.input {
                Ok(input) => self.perform(call, input).await?,
                Err(reason) => Outcome::plain(ToolResult::error(*reason)),
            };
            host.tell(Event::ToolResult {
                tool_use_id: call.id.clone(),
                is_error: outcome.result.is_error,
                text: shorten(&text_of(&outcome.result.output), 500),
                speaker: self.speaker(),
            });
            let block = result_block(&call.id, &outcome.result)?;
            let entry =
                entry::result(&self.origin, &call.entry, block, &outcome.detail, outcome.denied)?;
            host.record(&self.key, std::slice::from_ref(&entry)).await?;
            Ok(entry)
        })
    }

    /// Asks, runs, and shows the result to the host.
    async fn perform(&self, call: &Call, input: &Value) -> Result<Outcome, EngineError> {
        let host = &self.session.host;
        let mut wanted = ToolCall {
            id: call.id.clone(),
            name: call.name.clone(),
            input: input.clone(),
            place: self.place.clone(),
        };
        match host.before_tool(&wanted).await {
            Permit::Allow => {}
            Permit::AllowWith(other) => wanted.input = other,
            Permit::Deny(reason) => return Ok(Outcome::denied(&reason)),
        }
        let outcome = self.run(&wanted).await?;
        let result = host.after_tool(&wanted, outcome.result.clone()).await;
        // A result that was replaced is replaced in the transcript too, or it would be kept there in full.
        let detail = match result.output == outcome.result.output {
            true => outcome.detail,
            false => result.output.clone(),
        };
        Ok(Outcome { result, detail, denied: false })
    }

    async fn run(&self, call: &ToolCall) -> Result<Outcome, EngineError> {
        let Session { opening, host, slots, .. } = &*self.session;
        if opening.host_tools.iter().any(|tool| tool.name == call.name) {
            return Ok(Outcome::plain(host.call_tool(call).await));
        }
        let _place = slots.take(call, host.as_ref()).await;
        if call.name == agent::NAME {
            return agent::run(self, call).await;
        }
        Ok(match tool::run(&self.toolbox, &call.name, &call.input).await {
            Some(output) => {
                if let Some(limit) = output.detail.get("limit").filter(|limit| limit.is_object()) {
                    let (subtype, data) = ("limit".to_owned(), limit.clone());
                    host.tell(Event::System { subtype, data });
                }
                Outcome {
                    result: ToolResult { output: output.output, is_error: output.is_error },
                    detail: output.detail,
                    denied: false,
                }
            }
            None => {
                Outcome::plain(ToolResult::error(format!("There is no tool named {}.", call.name)))
            }
        })
    }
}

/// The block of a result. The API refuses an error without a text.
fn result_block(id: &str, result: &ToolResult) -> Result<Block, EngineError> {
    if let Value::Array(blocks) = &result.output
        && !blocks.is_empty()
        && blocks.iter().all(|block| block.get("type").is_some_and(Value::is_string))
    {
        let raw = json!({
            "type": "tool_result", "tool_use_id": id, "content": blocks, "is_error": result.is_error,
        });
        return Block::parse(&raw.to_string()).map_err(|error| {
            EngineError::new(
                crate::engine::Fault::Store,
                format!("a result cannot be kept: {error}"),
            )
        });
    }
    let text = text_of(&result.output);
    let text = if text.trim().is_empty() { "(no output)" } else { &text };
    Ok(Block::tool_result(id, text, result.is_error))
}

/// A result as text: the string, the text blocks, or the JSON.
fn text_of(output: &Value) -> String {
    match output {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Array(blocks) if blocks.iter().all(|block| block.get("type").is_some()) => {
            let texts = blocks.iter().filter_map(|block| block.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        other => other.to_string(),
    }
}

/// What a call is about, for people.
fn summary(input: &Value) -> String {
    let names = ["file_path", "command", "pattern", "description", "question"];
    let found = names.iter().find_map(|name| input.get(name)?.as_str());
    shorten(found.unwrap_or_default(), 200)
}

fn shorten(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_become_blocks() {
        let raw = |output: Value, is_error: bool| {
            result_block("t", &ToolResult { output, is_error }).unwrap().raw().to_owned()
        };
        assert_eq!(
            raw(json!("ok"), false),
            r#"{"type":"tool_result","tool_use_id":"t","content":"ok","is_error":false}"#
        );
        assert_eq!(
            raw(json!([{"type": "image", "source": {}}]), false),
            r#"{"type":"tool_result","tool_use_id":"t","content":[{"type":"image","source":{}}],"is_error":false}"#
        );
        assert!(raw(json!(""), true).contains("(no output)"));
        assert!(raw(json!([]), true).contains("(no output)"));
        assert!(raw(json!({"a": 1}), false).contains(r#"{\"a\":1}"#));
    }

    #[test]
    fn a_summary_is_short_and_whole_characters() {
        assert_eq!(summary(&json!({"command": "ls", "description": "x"})), "ls");
        assert_eq!(summary(&json!({"pattern": "ü".repeat(300)})).chars().count(), 200);
        assert_eq!(summary(&json!({})), "");
    }
}
