//! The two tools that a model reaches the person with.

use serde_json::{Value, json};

use super::channel::Channel;

/// Asks the person.
pub const ASK: &str = "mcp__human__ask";

/// Reads what the person has said.
pub const INBOX: &str = "mcp__human__inbox";

/// How a tool is presented to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDescription {
    /// Its full name.
    pub name: &'static str,
    /// What the model is told about it.
    pub description: &'static str,
    /// JSON Schema of the input.
    pub schema: Value,
}

/// Both tools.
pub fn tools() -> [ToolDescription; 2] {
    [
        ToolDescription {
            name: ASK,
            description: "Puts one question to the person and waits for the answer. Ask one thing at a time, \
                only what changes what you do and cannot be found out otherwise, and offer options where \
                you can. The person may be away: then the result is a note that says so, and you decide \
                yourself and write the assumption down.",
            schema: json!({
                "type": "object",
                "properties": {
                    "question": {"type": "string", "description": "The question, on its own understandable"},
                    "options": {
                        "type": "array",
                        "items": {"type": "string"},
                        "description": "Proposed answers; the person may also answer freely",
                    },
                },
                "required": ["question"],
            }),
        },
        ToolDescription {
            name: INBOX,
            description: "Gives what the person has said on their own since you last looked. Returns at once, \
                also when there is nothing. Look after each stage and after each subagent that returns; \
                what stands there overrides earlier instructions.",
            schema: json!({"type": "object", "properties": {}}),
        },
    ]
}

impl Channel {
    /// Runs one of the two tools. Only a name that is neither is an error; a question that cannot be
    /// read counts as empty, and the result says so.
    pub async fn call(&self, tool: &str, input: &Value) -> Result<String, String> {
        match tool {
            ASK => {
                let question = input.get("question").map(as_text).unwrap_or_default();
                let options = input.get("options").map(as_list).unwrap_or_default();
                Ok(self.ask(&question, &options).await.text)
            }
            INBOX => Ok(self.inbox()),
            other => Err(format!("There is no tool `{other}`; there are `{ASK}` and `{INBOX}`.")),
        }
    }
}

/// Models send numbers where a text is wanted, and options as objects with a label.
fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        Value::Object(fields) => fields.get("label").map(as_text).unwrap_or_default(),
        Value::Array(_) | Value::Null => String::new(),
    }
}

fn as_list(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().map(as_text).collect(),
        other => vec![as_text(other)],
    }
}
