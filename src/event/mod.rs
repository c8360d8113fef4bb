//! News: what happened, as plain data. Consumers ignore kinds they do not know.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

/// Who said or did it: the main thread, or one of its subagents.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Speaker {
    /// A subagent's id; nothing on the main thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The kind of subagent, as the coordinator named it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
}

impl Speaker {
    /// True for the session itself.
    pub fn is_main(&self) -> bool {
        self.agent_id.is_none()
    }
}

/// One piece of news. As JSON: `{"kind": "tool_call", …}`, one object a line.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
#[allow(missing_docs)] // the fields are what their names say
pub enum Event {
    /// Prose of the model. `context` is the size of the conversation in tokens, where known.
    Text {
        text: String,
        context: Option<u64>,
        model: Option<String>,
        #[serde(flatten)]
        speaker: Speaker,
    },
    /// Thinking of the model, where it is shown at all.
    Thinking {
        text: String,
        #[serde(flatten)]
        speaker: Speaker,
    },
    /// A prompt or task brief given to a conversation.
    Prompt {
        text: String,
        #[serde(flatten)]
        speaker: Speaker,
    },
    /// A tool is called. `summary` is its path, command or pattern, at most 200 characters.
    ToolCall {
        id: String,
        tool: String,
        summary: String,
        input: Value,
        #[serde(flatten)]
        speaker: Speaker,
    },
    /// Its result; `text` holds at most 500 characters.
    ToolResult {
        tool_use_id: String,
        is_error: bool,
        text: String,
        #[serde(flatten)]
        speaker: Speaker,
    },
    /// A conversation answered its prompt. `cost_usd` is nothing where the price is unknown.
    Result {
        subtype: String,
        session_id: String,
        cost_usd: Option<f64>,
        num_turns: u32,
        is_error: bool,
    },
    /// Something failed; `text` says what.
    Error { text: String },
    /// A notice of the engine.
    System { subtype: String, data: Value },
    /// A notice of flower itself.
    Task { text: String, data: Value },
    /// A question to the person: asked, answered, timeout, declined, over_budget, invalid.
    Ask {
        id: String,
        state: String,
        question: String,
        options: Vec<String>,
        answer: String,
        /// Questions left; -1 means no limit.
        remaining: i64,
    },
    /// Words of the person: queued or delivered. `amended` is the brief that now holds them, or empty.
    Mail { id: String, state: String, text: String, amended: String },
    /// The step is tried again.
    Retry { step: String, attempt: u32, text: String },
    /// The endpoint cannot be reached (offline), or can again (online). `address` is `host:port`.
    Network { state: String, address: String, text: String },
    /// A conversation becomes full: near, writing, done. Sizes in tokens; `at` is where it is handed over.
    /// With `done`, `path` is the paper's file or empty, and `sections` holds its parts; `degraded` means
    /// that nobody could write it.
    Handoff {
        phase: String,
        step: String,
        context: u64,
        window: u64,
        at: u64,
        degraded: bool,
        path: String,
        sections: Value,
    },
    /// A step begins; `index` counts from 1.
    Step { name: String, index: usize, total: usize, resumed: bool, woke: u64 },
    /// A judge has spoken: achieved, not_yet, unreachable, or unclear.
    Verdict { round: u32, state: String, reason: String, failed: Vec<String> },
}

/// Where events go. A consumer that fails must not fail the run, so it has no way to report failure.
#[derive(Clone)]
pub struct Sink(Arc<dyn Fn(Event) + Send + Sync>);

impl Sink {
    /// Calls `consumer` for each event, on the thread where it happens.
    pub fn new(consumer: impl Fn(Event) + Send + Sync + 'static) -> Self {
        Self(Arc::new(consumer))
    }

    /// Nobody listens.
    pub fn nobody() -> Self {
        Self::new(drop)
    }

    /// Passes one event on.
    pub fn tell(&self, event: Event) {
        (self.0)(event);
    }
}

impl std::fmt::Debug for Sink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sink")
    }
}
