//! Engines: what talks to a model and runs its tool calls. An engine decides nothing.
//!
//! Everything that an engine wants from the world goes through its [`Host`], and there are no default
//! answers: where a rule, a person or the store is missing, the answer is no.

mod error;
pub mod native;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use serde_json::Value;

pub use error::{EngineError, Fault, Limit, Remedy};

use crate::event::Event;
use crate::sandbox::Fence;
use crate::transcript::{Entry, SessionKey, Usage};

/// Something that can carry a conversation with a model.
#[async_trait]
pub trait Engine: Send + Sync {
    /// Opens a conversation: new, or resumed from a stored one.
    async fn open(
        &self,
        opening: Opening,
        host: Arc<dyn Host>,
    ) -> Result<Box<dyn Conversation>, EngineError>;
}

/// An open conversation. Dropping it, or the future of a turn, ends its tools and loses nothing stored.
#[async_trait]
pub trait Conversation: Send {
    /// The session's id, known from the start.
    fn session_id(&self) -> &str;

    /// One prompt and all that follows from it, until the model has nothing more to call.
    async fn turn(&mut self, prompt: &str) -> Result<TurnEnd, EngineError>;

    /// What this conversation has used since it was opened, subagents included; also right after an error.
    fn spent(&self) -> Spent;
}

/// How a conversation begins and what it may use.
#[derive(Debug, Clone)]
pub struct Opening {
    /// The main transcript. A new session's id is chosen by the caller.
    pub key: SessionKey,
    /// True where the record of `key` is to be continued; its view comes from [`Host::history`].
    pub resume: bool,
    /// Where tools run.
    pub workspace: PathBuf,
    /// Instructions of the role; the engine puts them behind its own prompt.
    pub instructions: String,
    /// Who is asking, for the gate's rules.
    pub asker: Asker,
    /// Names of the tools that the model is shown on the main thread, host tools included.
    pub tools: Vec<String>,
    /// Subagents that the `Agent` tool may start.
    pub agents: Vec<AgentDefinition>,
    /// Tools that the host runs itself.
    pub host_tools: Vec<HostTool>,
    /// The model's id; nothing means the settings' choice.
    pub model: Option<String>,
    /// Most model replies on the main thread in one turn; nothing means no limit.
    pub max_turns: Option<u32>,
    /// Most money in US dollars, subagents included; nothing means no limit.
    pub budget_usd: Option<f64>,
    /// From how many tokens on the main thread makes no further request of a turn; nothing means no limit.
    /// A turn that has come to its end is not touched by it.
    pub full_at: Option<u64>,
    /// Environment of every tool, complete: nothing else is inherited.
    pub tool_environment: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    /// What tools may reach.
    pub fences: Fences,
}

/// What the tools of a conversation may reach; nothing means all that flower may.
#[derive(Debug, Clone, Default)]
pub struct Fences {
    /// On the main thread.
    pub main: Option<Arc<Fence>>,
    /// In subagents.
    pub agents: Option<Arc<Fence>>,
}

/// Who is asking; sent as `X-Flower-Step` and `X-Flower-Role`, only to a gate.
#[derive(Debug, Clone, Default)]
pub struct Asker {
    /// The step with its number, `work#round2`, `work.judge#2`; always ASCII.
    pub step: String,
    /// coordinator, clarifier, judge, …
    pub role: String,
}

/// A kind of subagent.
#[derive(Debug, Clone)]
pub struct AgentDefinition {
    /// What the coordinator calls it (`subagent_type`).
    pub name: String,
    /// When to use it; shown to the coordinator.
    pub description: String,
    /// Its instructions.
    pub prompt: String,
    /// The tools it is shown.
    pub tools: Vec<String>,
    /// `inherit`, opus, sonnet, haiku or a model's id.
    pub model: String,
}

/// A tool that the host runs, such as a question to the person.
#[derive(Debug, Clone)]
pub struct HostTool {
    /// Its full name, `mcp__human__ask`.
    pub name: String,
    /// What the model is told about it.
    pub description: String,
    /// JSON Schema of the input.
    pub schema: Value,
}

/// A call that the model wants to make.
#[derive(Debug, Clone)]
pub struct ToolCall {
    /// The call's id.
    pub id: String,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// The input as the model wrote it.
    pub input: Value,
    /// Where: the main thread or a subagent.
    pub place: Place,
}

/// The thread of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The session itself.
    Main,
    /// A subagent.
    Subagent {
        /// Its id.
        id: String,
        /// Its kind, see [`AgentDefinition::name`].
        kind: String,
    },
}

/// The host's answer to "may this call happen".
#[derive(Debug, Clone, PartialEq)]
pub enum Permit {
    /// Yes, as it is.
    Allow,
    /// Yes, with this input instead. The transcript keeps the model's own.
    AllowWith(Value),
    /// No; the model is told why.
    Deny(String),
}

/// A subagent that is about to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentPlace {
    /// Its id.
    pub id: String,
    /// Its kind, see [`AgentDefinition::name`].
    pub kind: String,
    /// The `isolation` of the call that starts it, after [`Host::before_tool`]; nothing where it is left out,
    /// null or empty. What is no text stands here as JSON.
    pub isolation: Option<String>,
}

/// A folder of its own for a subagent, in place of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ground {
    /// Where its tools run and its relative paths begin.
    pub folder: PathBuf,
    /// Environment of its tools, complete.
    pub environment: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    /// What it must know about the folder, one line; the same for the life of the subagent.
    pub note: String,
}

/// What a tool gave.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// A string, an array of content blocks, or the tool's own output object.
    pub output: Value,
    /// The call failed.
    pub is_error: bool,
}

impl ToolResult {
    /// A plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { output: Value::String(text.into()), is_error: false }
    }

    /// A failure that the model is told in words.
    pub fn error(text: impl Into<String>) -> Self {
        Self { output: Value::String(text.into()), is_error: true }
    }
}

/// How a turn ended.
#[derive(Debug, Clone)]
pub struct TurnEnd {
    /// Prose of the main thread since the prompt, replies joined by newlines.
    pub text: String,
    /// The last `stop_reason`.
    pub stop_reason: String,
    /// Size of the conversation after the last reply, in tokens.
    pub context: u64,
}

/// Consumption of a conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spent {
    /// Tokens, subagents included.
    pub usage: Usage,
    /// Replies of the model on the main thread.
    pub turns: u32,
    /// US dollars for all whose price is known.
    pub cost_usd: f64,
    /// False where a model's price is unknown, so that `cost_usd` is too low.
    pub cost_known: bool,
}

/// Why the host could not do it; a message for the person.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct HostError(pub String);

/// What an engine may ask of the world around it.
#[async_trait]
pub trait Host: Send + Sync {
    /// Asked before every call, whatever its name.
    async fn before_tool(&self, call: &ToolCall) -> Permit;
    /// Sees the result of every call that was allowed, before the model does, and may replace it. `call` has
    /// the input that was used.
    async fn after_tool(&self, call: &ToolCall, result: ToolResult) -> ToolResult;
    /// Where a subagent works; nothing means the workspace. An error is told to the model in place of a
    /// report, and nothing is started.
    async fn place_for(&self, agent: &AgentPlace) -> Result<Option<Ground>, HostError>;
    /// The subagent has ended, well or not; called once for each that [`Host::place_for`] was asked about
    /// and did not refuse. Gives one line about what became of its place, for the end of its report. Not
    /// called where the turn is dropped: then the host must look after its places by itself.
    async fn leave(&self, agent_id: &str) -> Option<String>;
    /// Asked when a request of a subagent failed, before the subagent does: true, after a wait, where the
    /// request should be made again. `failures` counts those in a row, from 1; `since` is the first of them.
    /// (What befalls the main thread is an error of the turn, and the host's in any case.)
    async fn outlast(&self, error: &EngineError, failures: u32, since: Instant) -> bool;
    /// Runs a host tool.
    async fn call_tool(&self, call: &ToolCall) -> ToolResult;
    /// Commits entries before the turn goes on.
    async fn record(&self, key: &SessionKey, entries: &[Entry]) -> Result<(), HostError>;
    /// The view of a stored conversation: what the model is to see of it.
    async fn history(&self, key: &SessionKey) -> Result<Vec<Entry>, HostError>;
    /// Something happened.
    fn tell(&self, event: Event);
}
