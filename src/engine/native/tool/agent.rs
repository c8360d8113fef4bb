//! Agent: what the model is told about starting subagents. The engine's loop runs the call.

use serde_json::json;

use super::{ToolDefinition, object_schema};

/// The definition for these kinds of subagents, each a name and when to use it.
pub fn agent_definition(kinds: &[(&str, &str)]) -> ToolDefinition {
    let list: String = kinds.iter().map(|(name, when)| format!("\n- {name}: {when}")).collect();
    let names: Vec<_> = kinds.iter().map(|(name, _)| name).collect();
    let description = format!(
        "Gives a task to a subagent, waits for it and returns its report. The subagent knows nothing of this \
         conversation: `prompt` must say all it needs, what to do and what to report. Its report is not shown to the \
         person. Calls in one message run at the same time. Kinds:{list}"
    );
    let schema = object_schema(
        json!({
            "description": {"type": "string", "description": "The task in three to five words."},
            "prompt": {"type": "string", "description": "The whole task."},
            "subagent_type": {"type": "string", "enum": names, "description": "The kind of subagent."},
            "model": {
                "type": "string", "enum": ["opus", "sonnet", "haiku"],
                "description": "Another model than the kind's own.",
            },
            "isolation": {
                "type": "string", "enum": ["worktree"],
                "description": "Work in a git worktree of its own.",
            },
        }),
        &["description", "prompt", "subagent_type"],
    );
    ToolDefinition { name: "Agent".to_owned(), description, schema }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kinds_are_named_in_text_and_schema() {
        let tool = agent_definition(&[("worker", "does it"), ("scout", "looks")]);
        assert!(tool.description.ends_with("Kinds:\n- worker: does it\n- scout: looks"));
        let names = &tool.schema["properties"]["subagent_type"]["enum"];
        assert_eq!(*names, json!(["worker", "scout"]));
    }
}
