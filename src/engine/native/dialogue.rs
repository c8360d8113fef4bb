//! From entries to the messages of a request: one code path for what is resumed and what was just said.

use crate::transcript::{Block, Body, Entry};
use crate::wire::{Role, WireMessage};

/// The golden form of "this call got no answer"; the view writes the same.
const UNANSWERED: &str = "[这一步被打断了,没有结果。需要的话重做。]";

/// A conversation as the API wants it: speakers alternate, results stand right behind their calls.
#[derive(Debug, Default)]
pub(super) struct Dialogue {
    nodes: Vec<Node>,
}

#[derive(Debug)]
enum Node {
    User(Vec<Block>),
    /// One message of the model, whose blocks came in several entries, and the results of its calls.
    Assistant {
        id: Option<String>,
        blocks: Vec<Block>,
        results: Vec<(String, Block)>,
    },
}

impl Dialogue {
    /// Takes an entry; what is no part of the conversation is passed over.
    pub(super) fn push(&mut self, entry: &Entry) {
        if entry.api_error || !matches!(entry.kind.as_str(), "user" | "assistant") {
            return;
        }
        let Some(message) = entry.message() else {
            return;
        };
        // The API refuses empty texts.
        let blocks = message.blocks.into_iter().filter(|block| match block.body() {
            Body::Text(text) => !text.trim().is_empty(),
            _ => true,
        });
        if entry.kind == "assistant" {
            self.push_reply(message.id, blocks.collect());
        } else {
            blocks.for_each(|block| self.push_word(block));
        }
    }

    fn push_reply(&mut self, id: Option<String>, more: Vec<Block>) {
        match self.nodes.last_mut() {
            Some(Node::Assistant { id: last, blocks, .. }) if id.is_some() && *last == id => {
                blocks.extend(more);
            }
            _ => self.nodes.push(Node::Assistant { id, blocks: more, results: Vec::new() }),
        }
    }

    fn push_word(&mut self, block: Block) {
        if let Body::ToolResult { tool_use_id, .. } = block.body() {
            let call = tool_use_id.clone();
            let open = self.nodes.iter_mut().rev().find_map(|node| match node {
                Node::Assistant { blocks, results, .. } if is_open(&call, blocks, results) => {
                    Some(results)
                }
                _ => None,
            });
            // A result without its call, or a second one, is refused by the API.
            if let Some(results) = open {
                results.push((call, block));
            }
            return;
        }
        match self.nodes.last_mut() {
            Some(Node::User(blocks)) => blocks.push(block),
            _ => self.nodes.push(Node::User(vec![block])),
        }
    }

    /// Answers the calls that nobody answered, so that the next request is accepted.
    pub(super) fn close(&mut self) {
        for node in &mut self.nodes {
            if let Node::Assistant { blocks, results, .. } = node {
                for call in calls(blocks) {
                    if is_open(call, blocks, results) {
                        let block = Block::tool_result(call, UNANSWERED, false);
                        results.push((call.to_owned(), block));
                    }
                }
            }
        }
    }

    /// True where a message of the model has this id.
    pub(super) fn has_message(&self, id: &str) -> bool {
        self.nodes.iter().any(|node| match node {
            Node::Assistant { id: known, .. } => known.as_deref() == Some(id),
            Node::User(_) => false,
        })
    }

    /// True where a call with this id was made.
    pub(super) fn has_call(&self, id: &str) -> bool {
        self.nodes.iter().any(|node| match node {
            Node::Assistant { blocks, .. } => calls(blocks).any(|call| call == id),
            Node::User(_) => false,
        })
    }

    /// True before anything was said.
    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The messages.
    pub(super) fn messages(&self) -> Vec<WireMessage<'_>> {
        let mut messages = Vec::new();
        for node in &self.nodes {
            match node {
                Node::User(blocks) => add(&mut messages, Role::User, blocks.iter().collect()),
                Node::Assistant { blocks, results, .. } => {
                    add(&mut messages, Role::Assistant, blocks.iter().collect());
                    let answers = calls(blocks).filter_map(|call| {
                        results.iter().find(|(id, _)| id == call).map(|(_, block)| block)
                    });
                    add(&mut messages, Role::User, answers.collect());
                }
            }
        }
        messages
    }
}

/// Appends to the last message where the same one speaks.
fn add<'a>(messages: &mut Vec<WireMessage<'a>>, role: Role, blocks: Vec<&'a Block>) {
    match messages.last_mut() {
        _ if blocks.is_empty() => {}
        Some(last) if last.role == role => last.blocks.extend(blocks),
        _ => messages.push(WireMessage { role, blocks }),
    }
}

fn calls(blocks: &[Block]) -> impl Iterator<Item = &str> {
    blocks.iter().filter_map(|block| match block.body() {
        Body::ToolUse { id, .. } => Some(id.as_str()),
        _ => None,
    })
}

fn is_open(call: &str, blocks: &[Block], results: &[(String, Block)]) -> bool {
    calls(blocks).any(|id| id == call) && !results.iter().any(|(id, _)| id == call)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assistant(id: &str, block: &str) -> Entry {
        let text = format!(
            r#"{{"type":"assistant","uuid":"u","message":{{"role":"assistant","id":"{id}","content":[{block}]}}}}"#
        );
        Entry::parse(text).unwrap()
    }

    fn user(content: &str) -> Entry {
        let text = format!(
            r#"{{"type":"user","uuid":"u","message":{{"role":"user","content":{content}}}}}"#
        );
        Entry::parse(text).unwrap()
    }

    fn call(id: &str) -> String {
        format!(r#"{{"type":"tool_use","id":"{id}","name":"Read","input":{{}}}}"#)
    }

    fn result(id: &str) -> Entry {
        user(&format!(r#"[{{"type":"tool_result","tool_use_id":"{id}","content":"of {id}"}}]"#))
    }

    /// Each message as `role: kinds`.
    fn shape(entries: &[Entry]) -> Vec<String> {
        let mut dialogue = Dialogue::default();
        entries.iter().for_each(|entry| dialogue.push(entry));
        dialogue.close();
        let lines = dialogue.messages().into_iter().map(|message| {
            let blocks = message.blocks.iter().map(|block| match block.body() {
                Body::Text(text) => text.clone(),
                Body::Thinking => "thinking".to_owned(),
                Body::ToolUse { id, .. } => format!("call {id}"),
                Body::ToolResult { tool_use_id, text, .. } => {
                    let done = text.as_deref() != Some(UNANSWERED);
                    format!("{} {tool_use_id}", if done { "result" } else { "no result" })
                }
                Body::Other(kind) => kind.clone(),
            });
            format!("{:?}: {}", message.role, blocks.collect::<Vec<_>>().join(", "))
        });
        lines.collect()
    }

    #[test]
    fn entries_of_one_message_are_merged_though_results_lie_between() {
        let entries = [
            user(r#""go""#),
            assistant("m1", r#"{"type":"thinking","thinking":"","signature":"s"}"#),
            assistant("m1", &call("a")),
            result("a"),
            assistant("m1", &call("b")),
            result("b"),
            assistant("m2", r#"{"type":"text","text":"done"}"#),
        ];
        assert_eq!(
            shape(&entries),
            [
                "User: go",
                "Assistant: thinking, call a, call b",
                "User: result a, result b",
                "Assistant: done"
            ]
        );
    }

    #[test]
    fn results_stand_behind_their_calls_in_the_order_of_the_calls() {
        let entries = [
            user(r#""go""#),
            assistant("m1", &call("a")),
            assistant("m1", &call("b")),
            result("b"),
            user(r#""a remark""#),
            result("a"),
            result("a"),
            result("stranger"),
        ];
        assert_eq!(
            shape(&entries),
            ["User: go", "Assistant: call a, call b", "User: result a, result b, a remark"]
        );
    }

    #[test]
    fn unanswered_calls_are_closed_and_empty_texts_left_out() {
        let entries = [
            user(r#""go""#),
            user(r#""and go""#),
            assistant("m1", &call("a")),
            assistant("m2", r#"{"type":"text","text":" "}"#),
            assistant("m3", r#"{"type":"text","text":"x"}"#),
            user(r#"[{"type":"text","text":""}]"#),
        ];
        assert_eq!(
            shape(&entries),
            ["User: go, and go", "Assistant: call a", "User: no result a", "Assistant: x"]
        );
    }

    #[test]
    fn what_is_no_conversation_is_passed_over() {
        let entries = [
            Entry::parse(r#"{"type":"system","uuid":"u"}"#).unwrap(),
            Entry::parse(r#"{"type":"user"}"#).unwrap(),
            Entry::parse(
                r#"{"type":"assistant","isApiErrorMessage":true,"message":{"content":"no"}}"#,
            )
            .unwrap(),
        ];
        assert_eq!(shape(&entries), Vec::<String>::new());
    }
}
