//! The `Agent` tool: a subagent with its own thread and transcript, whose last words are the result.

use std::time::Instant;

use serde_json::{Value, json};

use super::answer::Outcome;
use super::thread::{Begin, Said, Thread};
use super::{EngineError, Fault, Place, entry};
use crate::engine::{AgentDefinition, AgentPlace, ToolCall, ToolResult};
use crate::transcript::new_id;
use crate::wire::ToolSpec;

/// The tool's name.
pub(super) const NAME: &str = "Agent";

/// What the model is told about the tool.
pub(super) fn spec(agents: &[AgentDefinition]) -> ToolSpec {
    let mut description = String::from(
        "Gives a piece of work to a subagent, which works on its own with its own tools and reports once, at \
         the end. It sees nothing of this conversation: the prompt must hold everything it needs. Several \
         calls in one reply run at the same time. Kinds of subagent:",
    );
    for agent in agents {
        let tools = agent.tools.join(", ");
        description += &format!("\n- {}: {} (tools: {tools})", agent.name, agent.description);
    }
    let kinds: Vec<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
    let schema = json!({
        "type": "object",
        "properties": {
            "description": {"type": "string", "description": "The work in three to five words"},
            "prompt": {"type": "string", "description": "The whole task"},
            "subagent_type": {"type": "string", "enum": kinds, "description": "The kind of subagent"},
            "model": {
                "type": "string",
                "description": "opus, sonnet, haiku or a model's id; left out, the kind decides",
            },
        },
        "required": ["description", "prompt", "subagent_type"],
    });
    ToolSpec { name: NAME.to_owned(), description, schema }
}

/// Runs a subagent to its end. A failure of its model is a result: the conversation survives it.
///
/// # Errors
/// Where the record fails.
pub(super) async fn run(parent: &Thread, call: &ToolCall) -> Result<Outcome, EngineError> {
    let session = &parent.session;
    let refuse = |reason: String| Ok(Outcome::plain(ToolResult::error(reason)));
    if parent.place != Place::Main {
        return refuse("A subagent cannot start subagents.".to_owned());
    }
    let field = |name: &str| call.input.get(name).and_then(Value::as_str).unwrap_or_default();
    let (kind, prompt) = (field("subagent_type"), field("prompt"));
    let agents = &session.opening.agents;
    let Some(definition) = agents.iter().find(|agent| agent.name == kind) else {
        let known: Vec<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
        return refuse(format!(
            "There is no subagent of the kind {kind:?}. Known kinds: {}.",
            known.join(", ")
        ));
    };
    if prompt.trim().is_empty() {
        return refuse("The prompt of a subagent must not be empty.".to_owned());
    }
    let asked = Some(field("model")).filter(|model| !model.is_empty());
    let model = session.subagent_model(asked.unwrap_or(&definition.model));
    let id: String = new_id().chars().filter(char::is_ascii_hexdigit).take(16).collect();
    let place = AgentPlace {
        id: id.clone(),
        kind: kind.to_owned(),
        isolation: isolation(call.input.get("isolation")),
    };
    let ground = match session.host.place_for(&place).await {
        Ok(ground) => ground,
        Err(error) => return refuse(error.to_string()),
    };
    let mut thread = Thread::subagent(session, definition, Begin { id: &id, model, ground });
    let start = Instant::now();
    let said = begin_and_say(&mut thread, call, prompt).await;
    let left = session.host.leave(&id).await;
    let with_place = |text: String| match &left {
        Some(line) => format!("{text}\n\n{line}"),
        None => text,
    };
    let detail = |status: &str, text: &str| {
        json!({
            "status": status,
            "agentId": id,
            "agentType": kind,
            "prompt": prompt,
            "resolvedModel": thread.model(),
            "content": [{"type": "text", "text": text}],
            "totalDurationMs": u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX),
        })
    };
    match said {
        Ok(said) => {
            let text = with_place(last_words(&said));
            let detail = detail("completed", &text);
            Ok(Outcome::new(ToolResult::text(text), detail))
        }
        Err(error) if error.fault == Fault::Store => Err(error),
        Err(error) => {
            let text = with_place(format!("The subagent {id} failed: {error}"));
            let detail = detail("failed", &text);
            Ok(Outcome::new(ToolResult::error(text), detail))
        }
    }
}

/// Opens the subagent's transcript and gives it its task.
async fn begin_and_say(
    thread: &mut Thread,
    call: &ToolCall,
    prompt: &str,
) -> Result<Said, EngineError> {
    let field = |name: &str| call.input.get(name).and_then(Value::as_str).unwrap_or_default();
    let entry = entry::agent_metadata(field("subagent_type"), field("description"), &call.id)?;
    thread.session.host.record(&thread.key, &[entry]).await?;
    thread.say(prompt, None).await
}

/// The isolation that a call asks for; what is no text is no value that anybody knows.
fn isolation(given: Option<&Value>) -> Option<String> {
    match given {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.clone()).filter(|text| !text.is_empty()),
        Some(other) => Some(other.to_string()),
    }
}

/// The report. Where it is not whole, that is said with it.
fn last_words(said: &Said) -> String {
    let words = match said.texts.last() {
        Some(text) if said.ends_in_words => text.clone(),
        Some(text) => {
            format!("(The subagent ended without a report. The last that it had said:)\n{text}")
        }
        None => "(The subagent ended without a word.)".to_owned(),
    };
    match said.stop_reason.as_str() {
        "max_tokens" => {
            words
                + "\n[The report was cut off here, because it reached the longest size of a reply.]"
        }
        "refusal" => words + "\n[The model refused to go on.]",
        _ => words,
    }
}
