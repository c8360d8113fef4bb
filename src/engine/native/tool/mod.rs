//! The tools that the engine runs itself, under the names and fields that agents know.
//!
//! A tool decides nothing about permission: whoever runs it has asked before. A call that cannot be
//! done comes back as one sentence for the model, never as a failure of the program.

mod agent;
mod bash;
mod edit;
mod freshness;
mod glob;
mod grep;
mod image;
mod input;
mod place;
mod read;
mod todo;
mod toolbox;
mod walk;
mod write;

use serde_json::{Value, json};

pub use agent::agent_definition;
pub use toolbox::Toolbox;

use input::Input;

/// What a model is told about a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDefinition {
    /// What the model calls it.
    pub name: String,
    /// What it does and where its limits are.
    pub description: String,
    /// JSON Schema of the input.
    pub schema: Value,
}

/// What a call gave.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    /// For the model: a string, or an array of content blocks.
    pub output: Value,
    /// The call failed.
    pub is_error: bool,
    /// For the record (`toolUseResult`): an object with the call's figures.
    pub detail: Value,
}

impl ToolOutput {
    fn text(text: impl Into<String>, detail: Value) -> Self {
        Self { output: Value::String(text.into()), is_error: false, detail }
    }
}

/// Why a call cannot be done: one sentence for the model.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
struct Complaint(String);

impl Complaint {
    fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

type Answer = Result<ToolOutput, Complaint>;

/// The definitions of these tools, in this order. A name that is not of a tool here is left out.
pub fn definitions(names: &[String]) -> Vec<ToolDefinition> {
    names.iter().filter_map(|name| definition(name)).collect()
}

fn definition(name: &str) -> Option<ToolDefinition> {
    let (description, schema) = match name {
        "Bash" => (bash::DESCRIPTION, bash::schema()),
        "Read" => (read::DESCRIPTION, read::schema()),
        "Write" => (write::DESCRIPTION, write::schema()),
        "Edit" => (edit::DESCRIPTION, edit::schema()),
        "Glob" => (glob::DESCRIPTION, glob::schema()),
        "Grep" => (grep::DESCRIPTION, grep::schema()),
        "TodoWrite" => (todo::DESCRIPTION, todo::schema()),
        _ => return None,
    };
    Some(ToolDefinition { name: name.to_owned(), description: description.to_owned(), schema })
}

/// True for a tool that changes nothing, so that several calls of it may run at the same time.
/// False for every name that is not known.
pub fn is_read_only(name: &str) -> bool {
    matches!(name, "Read" | "Glob" | "Grep")
}

/// Runs a call; nothing where there is no such tool. Dropping the future ends what it started.
pub async fn run(toolbox: &Toolbox, name: &str, input: &Value) -> Option<ToolOutput> {
    definition(name)?;
    let answer = match Input::of(name, input) {
        Err(complaint) => Err(complaint),
        Ok(input) => match name {
            "Bash" => bash::run(toolbox, &input).await,
            "Read" => read::run(toolbox, &input).await,
            "Write" => write::run(toolbox, &input).await,
            "Edit" => edit::run(toolbox, &input).await,
            "Glob" => glob::run(toolbox, &input).await,
            "Grep" => grep::run(toolbox, &input).await,
            "TodoWrite" => todo::run(toolbox, &input),
            _ => return None,
        },
    };
    Some(answer.unwrap_or_else(|complaint| ToolOutput {
        detail: json!({ "error": complaint.0 }),
        output: Value::String(complaint.0),
        is_error: true,
    }))
}

/// A schema that allows these properties and nothing else.
fn object_schema(properties: Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [&str; 7] = ["Bash", "Read", "Write", "Edit", "Glob", "Grep", "TodoWrite"];

    #[test]
    fn definitions_come_in_the_order_asked_and_unknown_names_are_left_out() {
        let names = ["Read", "mcp__human__ask", "Bash"].map(String::from);
        let found: Vec<_> = definitions(&names).into_iter().map(|tool| tool.name).collect();
        assert_eq!(found, ["Read", "Bash"]);
    }

    #[test]
    fn every_schema_is_closed_and_its_required_fields_exist() {
        for tool in definitions(&ALL.map(String::from)) {
            assert_eq!(tool.schema["additionalProperties"], json!(false), "{}", tool.name);
            for name in tool.schema["required"].as_array().unwrap() {
                assert!(tool.schema["properties"].get(name.as_str().unwrap()).is_some());
            }
            assert!(tool.description.len() > 80, "{}", tool.name);
        }
    }

    #[tokio::test]
    async fn a_name_that_is_no_tool_gives_nothing() {
        let toolbox = Toolbox::new("/".into(), Vec::new());
        assert_eq!(run(&toolbox, "Agent", &json!({})).await, None);
    }

    #[tokio::test]
    async fn bad_input_of_any_shape_is_one_sentence_for_every_tool() {
        let folder = tempfile::tempdir().unwrap();
        let toolbox = Toolbox::new(folder.path().to_owned(), Vec::new());
        for name in ALL {
            let schema = definition(name).unwrap().schema;
            let mut inputs = vec![json!(null), json!([]), json!("text"), json!({}), json!(7)];
            for (field, _) in schema["properties"].as_object().unwrap() {
                for wrong in [json!(null), json!({}), json!([1]), json!(-1.5)] {
                    inputs.push(json!({ field: wrong }));
                }
            }
            for input in inputs {
                let output = run(&toolbox, name, &input).await.unwrap();
                assert!(output.is_error, "{name} {input}");
                let text = output.output.as_str().unwrap();
                assert!(!text.is_empty() && !text.contains('\n'), "{name} {input}: {text}");
            }
        }
    }

    #[test]
    fn only_looking_is_read_only() {
        assert!(is_read_only("Read") && is_read_only("Glob") && is_read_only("Grep"));
        assert!(!is_read_only("Bash") && !is_read_only("TodoWrite") && !is_read_only("other"));
    }
}
