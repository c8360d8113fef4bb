//! What a rule can see of a request: its headers and its conversation.

use std::collections::HashMap;

use hyper::HeaderMap;
use serde_json::Value;

/// One request, read once.
#[derive(Debug, Clone, Default)]
pub(super) struct Asked {
    /// Without `#N`; nothing for a client that is not flower.
    pub(super) step: Option<String>,
    pub(super) role: Option<String>,
    pub(super) round: Option<u64>,
    pub(super) is_subagent: bool,
    pub(super) agent_type: Option<String>,
    /// The first line of each text of the first user message.
    pub(super) brief_lines: Vec<String>,
    pub(super) conversation: Conversation,
}

/// The body's part of it.
#[derive(Debug, Clone, Default)]
pub(super) struct Conversation {
    pub(super) model: String,
    pub(super) stream: bool,
    pub(super) system: String,
    /// Number of assistant messages.
    pub(super) turn: u64,
    /// Texts of the last user message, without tool results.
    pub(super) last_user: String,
    /// In the order of the request.
    pub(super) results: Vec<ToolResult>,
}

/// A result in the request, with the name of the tool that was called.
#[derive(Debug, Clone)]
pub(super) struct ToolResult {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) is_error: bool,
}

impl Asked {
    /// Reads what is there; what is missing or of another shape counts as empty.
    pub(super) fn read(headers: &HeaderMap, body: &Value) -> Self {
        let header = |name: &str| {
            let value = headers.get(name)?;
            Some(String::from_utf8_lossy(value.as_bytes()).trim().to_owned())
        };
        let label = header("x-flower-step");
        let messages = messages(body);
        let first = messages.iter().find(|message| message["role"] == "user");
        let brief = first.map(|message| texts(&message["content"])).unwrap_or_default();
        let first_line = |text: &&str| text.trim_start().lines().next().map(str::to_owned);
        Self {
            round: label.as_deref().map(round),
            step: label.map(|label| label.split('#').next().unwrap_or_default().to_owned()),
            role: header("x-flower-role"),
            is_subagent: ["x-claude-code-agent-id", "x-flower-agent-id"]
                .iter()
                .any(|name| headers.contains_key(*name)),
            agent_type: header("x-flower-agent-type"),
            brief_lines: brief.iter().filter_map(first_line).collect(),
            conversation: Conversation::read(body),
        }
    }

    /// The last result of a call of this tool.
    pub(super) fn result(&self, name: &str) -> Option<&ToolResult> {
        self.conversation.results.iter().rev().find(|result| result.name == name)
    }

    /// Whether this is a subagent of that type: the header says so, or, without it, its brief does.
    pub(super) fn is_agent_type(&self, kind: &str) -> bool {
        let named = match &self.agent_type {
            Some(named) => named == kind,
            None => self.brief_lines.iter().any(|line| has_word(line, kind)),
        };
        self.is_subagent && named
    }
}

impl Conversation {
    fn read(body: &Value) -> Self {
        let messages = messages(body);
        let last = messages.iter().rev().find(|message| message["role"] == "user");
        let assistant = messages.iter().filter(|message| message["role"] == "assistant");
        Self {
            model: body["model"].as_str().unwrap_or_default().to_owned(),
            stream: body["stream"].as_bool().unwrap_or(false),
            system: texts(&body["system"]).join("\n"),
            turn: assistant.count() as u64,
            last_user: last.map(|last| texts(&last["content"]).join("\n")).unwrap_or_default(),
            results: results(messages),
        }
    }
}

fn messages(body: &Value) -> &[Value] {
    body["messages"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The texts of a content that is one text or a list of blocks.
fn texts(content: &Value) -> Vec<&str> {
    match content {
        Value::String(text) => vec![text],
        Value::Array(blocks) => {
            let texts = blocks.iter().filter(|block| block["type"] == "text");
            texts.filter_map(|block| block["text"].as_str()).collect()
        }
        _ => Vec::new(),
    }
}

fn results(messages: &[Value]) -> Vec<ToolResult> {
    let blocks = messages.iter().filter_map(|message| message["content"].as_array()).flatten();
    let mut names = HashMap::new();
    let mut results = Vec::new();
    for block in blocks {
        if block["type"] == "tool_use" {
            names.insert(block["id"].as_str(), block["name"].as_str().unwrap_or_default());
        } else if block["type"] == "tool_result" {
            let Some(name) = names.get(&block["tool_use_id"].as_str()) else { continue };
            results.push(ToolResult {
                name: (*name).to_owned(),
                text: texts(&block["content"]).join("\n"),
                is_error: block["is_error"].as_bool().unwrap_or(false),
            });
        }
    }
    results
}

/// `work` and `work#` are round 1, `work#round2` and `work.judge#2` are round 2.
fn round(label: &str) -> u64 {
    let number = label.split_once('#').map(|(_, number)| number).unwrap_or_default();
    let digits = number.trim_start_matches(|character: char| !character.is_ascii_digit());
    digits.parse().unwrap_or(1)
}

fn has_word(line: &str, word: &str) -> bool {
    let inside = |character: char| character.is_alphanumeric() || "_-".contains(character);
    line.match_indices(word).any(|(start, found)| {
        let before = line[..start].chars().next_back();
        let after = line[start + found.len()..].chars().next();
        !before.is_some_and(inside) && !after.is_some_and(inside)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_step_is_read_without_its_number_and_the_round_with_it() {
        for (label, step, number) in [
            ("work", "work", 1),
            ("work#round2", "work", 2),
            ("work.judge#3", "work.judge", 3),
            ("work#", "work", 1),
            ("work#99999999999999999999999", "work", 1),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert("x-flower-step", label.parse().unwrap());
            let asked = Asked::read(&headers, &json!({}));
            assert_eq!((asked.step.as_deref(), asked.round), (Some(step), Some(number)));
        }
        assert_eq!(Asked::read(&HeaderMap::new(), &json!({})).round, None);
    }

    #[test]
    fn results_know_the_tool_that_was_called() {
        let body = json!({"messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "1", "name": "Bash", "input": {}},
                {"type": "tool_use", "id": "2", "name": "Read", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "2", "content": "words"},
                {"type": "tool_result", "tool_use_id": "1", "is_error": true,
                 "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
                {"type": "tool_result", "tool_use_id": "9", "content": "stray"},
                {"type": "text", "text": "and now"}]}]});
        let asked = Asked::read(&HeaderMap::new(), &body);
        let bash = asked.result("Bash").unwrap();
        assert_eq!((bash.text.as_str(), bash.is_error), ("a\nb", true));
        assert_eq!(asked.result("Read").unwrap().text, "words");
        assert!(asked.result("Edit").is_none());
        assert_eq!(asked.conversation.results.len(), 2);
        assert_eq!(asked.conversation.last_user, "and now");
        assert_eq!(asked.conversation.turn, 1);
    }

    #[test]
    fn a_type_is_a_whole_word_of_the_briefs_first_line() {
        assert!(has_word("You are the worker.", "worker"));
        assert!(has_word("test-worker: worker", "worker"));
        assert!(!has_word("test-worker and workers", "worker"));
    }

    proptest::proptest! {
        #[test]
        fn no_body_panics(text in "[\\[\\]{}\",:a-z0-9 ]{0,80}", label in "[#a-z0-9]{0,8}") {
            let mut headers = HeaderMap::new();
            headers.insert("x-flower-step", label.parse().unwrap());
            let content: Value = serde_json::from_str(&text).unwrap_or(Value::String(text));
            let _ = Asked::read(&headers, &content);
            let body = json!({"system": content, "messages": [
                {"role": "user", "content": content}, {"role": content, "content": [content]}, content]});
            let _ = Asked::read(&headers, &body);
        }
    }
}
