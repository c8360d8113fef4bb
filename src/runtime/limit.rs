//! The limits that a user sets for a whole run: money, replies, time.

use std::time::Duration;

use super::attempt::Runtime;
use crate::engine::{EngineError, Fault, Limit};

/// Limits of the whole run: subagents, judge and retries count.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits {
    /// US dollars.
    pub budget_usd: Option<f64>,
    /// Replies of the model on main threads.
    pub max_turns: Option<u32>,
    /// From the start of the run.
    pub max_time: Option<Duration>,
}

impl Runtime {
    /// What the user's limits leave; an error where nothing is left. Asked before a prompt is recorded.
    pub(super) fn within_limits(&self) -> Result<(), EngineError> {
        let (spent, turns) = self.manifest.spent();
        if self.limits.max_turns.is_some_and(|most| turns >= most) {
            return Err(self.limit(Limit::Turns));
        }
        if self.limits.budget_usd.is_some_and(|budget| spent >= budget) {
            return Err(self.limit(Limit::Budget));
        }
        Ok(())
    }

    /// What the user is told where the limits leave nothing for one more request.
    pub fn used_up(&self) -> Option<String> {
        let late = self.limits.max_time.is_some_and(|limit| self.started.elapsed() >= limit);
        match self.within_limits() {
            Err(error) => Some(error.message),
            Ok(()) => late.then(|| self.limit(Limit::Time).message),
        }
    }

    /// The engine knows what was left for one conversation; the user is told the limit of the run.
    pub(super) fn in_words_of_the_run(&self, error: EngineError) -> EngineError {
        let (_, turns) = self.manifest.spent();
        match error.fault {
            Fault::Limit(Limit::Turns)
                if self.limits.max_turns.is_some_and(|most| turns >= most) =>
            {
                self.limit(Limit::Turns)
            }
            Fault::Limit(Limit::Budget) if self.limits.budget_usd.is_some() => {
                self.limit(Limit::Budget)
            }
            _ => error,
        }
    }

    fn limit(&self, limit: Limit) -> EngineError {
        let language = self.parts.language;
        let text = match limit {
            Limit::Time => language.text("runtime.out_of_time", &[]),
            Limit::Turns => {
                let most = self.limits.max_turns.unwrap_or_default().to_string();
                language.text("runtime.out_of_turns", &[("turns", &most)])
            }
            Limit::Budget => {
                let budget = format!("${:.2}", self.limits.budget_usd.unwrap_or_default());
                language.text("runtime.out_of_budget", &[("budget", &budget)])
            }
        };
        EngineError::new(Fault::Limit(limit), text)
    }

    /// Waits for something, but no longer than the run may last.
    pub(super) async fn in_time<T>(&self, work: impl Future<Output = T>) -> Result<T, EngineError> {
        let Some(limit) = self.limits.max_time else { return Ok(work.await) };
        tokio::time::timeout_at(self.started + limit, work)
            .await
            .map_err(|_| self.limit(Limit::Time))
    }
}

/// The smaller of two limits, where there are any.
pub(super) fn least(one: Option<u32>, other: Option<u32>) -> Option<u32> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
