//! What came of one step: a row of the manifest.

use serde::Serialize;

use crate::engine::{Fault, Remedy};
use crate::transcript::Usage;

/// The result of one step or one round of it (core.md U-10). Costs are US dollars, times seconds since 1970.
#[derive(Debug, Clone, Default, Serialize)]
pub struct StepResult {
    /// `work`, `work#round2`, `work.judge#1`, …
    pub step: String,
    /// The session that a later run would continue.
    pub session_id: Option<String>,
    /// The conversation came to its end without an error.
    pub ok: bool,
    /// Known cost, subagents included.
    pub cost_usd: f64,
    /// Replies of the model on the main thread.
    pub num_turns: u32,
    /// Prose of the main thread.
    pub text: String,
    /// The last error, where it failed.
    pub error: Option<String>,
    /// When it began.
    pub started_at: f64,
    /// When it ended; 0 while it runs.
    pub ended_at: f64,
    /// Attempts, the first included.
    pub attempts: u32,
    /// Every error on the way, also those that were overcome.
    pub errors: Vec<String>,
    /// An earlier session was continued.
    pub resumed: bool,
    /// Sessions that were replaced on the way.
    pub retired: Vec<String>,
    /// Size of the conversation at the end, in tokens.
    pub context: u64,
    /// `ended_at - started_at`, two decimals.
    pub duration_s: f64,
    /// The run it belongs to.
    pub run: String,
    /// Tokens, subagents included. Not part of the manifest, whose fields are fixed.
    #[serde(skip)]
    pub usage: Usage,
    /// False where a price was unknown.
    #[serde(skip)]
    pub cost_known: bool,
    /// The kind of the last error.
    #[serde(skip)]
    pub fault: Option<Fault>,
}

impl StepResult {
    /// A step that begins now.
    pub(super) fn begin(step: &str, run: &str) -> Self {
        Self {
            step: step.to_owned(),
            run: run.to_owned(),
            started_at: now(),
            cost_known: true,
            ..Self::default()
        }
    }

    /// It failed because its conversation had become too long.
    pub fn wants_fresh_session(&self) -> bool {
        !self.ok && self.fault.as_ref().is_some_and(|fault| fault.remedy() == Remedy::HandOff)
    }

    /// The step ends now.
    pub(super) fn end(&mut self) {
        self.ended_at = now();
        self.duration_s = ((self.ended_at - self.started_at) * 100.0).round() / 100.0;
    }
}

/// Seconds since 1970 with milliseconds.
pub(super) fn now() -> f64 {
    let elapsed =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    (elapsed.as_secs_f64() * 1000.0).round() / 1000.0
}
