//! What stands between an engine and the world: rules, spill, the person, the record.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::handoff::HandoffPolicy;
use super::outlast::{Streak, Waiting};
use super::place::Places;
use super::shelf::Shelf;
use super::stuck::{Halt, Repetition};
use crate::engine::{
    AgentPlace, EngineError, Ground, Host, HostError, Permit, Place, ToolCall, ToolResult,
};
use crate::event::{Event, Sink};
use crate::guard::{self, Call, Decision, Rules, SpillRule, Thread};
use crate::human::Channel;
use crate::language::Language;
use crate::store::SessionStore;
use crate::transcript::{Entry, SessionKey};
use crate::workbench::Workbench;

/// The host of one step.
pub(super) struct StepHost {
    pub(super) rules: Rules,
    pub(super) store: Arc<dyn SessionStore>,
    pub(super) workbench: Option<Arc<Workbench>>,
    pub(super) channel: Option<Channel>,
    pub(super) spill: Option<SpillRule>,
    pub(super) sink: Sink,
    /// Where relative paths of tool inputs begin.
    pub(super) workspace: PathBuf,
    pub(super) places: Places,
    /// The row that waits belong to.
    pub(super) step: String,
    pub(super) waiting: Arc<Waiting>,
    pub(super) nearly_full: NearlyFull,
    pub(super) shelf: Arc<Shelf>,
    pub(super) language: Language,
    pub(super) repetition: Mutex<Repetition>,
    pub(super) halt: Halt,
}

/// Announces once that a conversation will soon be handed over.
pub(super) struct NearlyFull {
    from: u64,
    event: Mutex<Option<Event>>,
}

impl NearlyFull {
    /// For one conversation of a step.
    pub(super) fn new(policy: &HandoffPolicy, step: &str) -> Self {
        let event = policy.enabled.then(|| Event::Handoff {
            phase: "near".to_owned(),
            step: step.to_owned(),
            context: 0,
            window: policy.window,
            at: policy.at(),
            degraded: false,
            path: String::new(),
            sections: Value::Object(Map::new()),
        });
        Self { from: policy.warn_at(), event: Mutex::new(event) }
    }

    /// The announcement, the first time that the main thread is so large.
    fn notice(&self, news: &Event) -> Option<Event> {
        let Event::Text { context: Some(now), speaker, .. } = news else { return None };
        if *now < self.from || !speaker.is_main() {
            return None;
        }
        let mut event = self.event.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        if let Event::Handoff { context, .. } = &mut event {
            *context = *now;
        }
        Some(event)
    }
}

impl StepHost {
    fn call<'a>(call: &'a ToolCall) -> Call<'a> {
        let thread = match &call.place {
            Place::Main => Thread::Main,
            Place::Subagent { kind, .. } => Thread::Subagent { kind },
        };
        Call { tool: &call.name, input: &call.input, thread }
    }

    fn repetition(&self) -> MutexGuard<'_, Repetition> {
        self.repetition.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where relative paths of this thread begin.
    fn folder_of(&self, place: &Place) -> PathBuf {
        let own = match place {
            Place::Main => None,
            Place::Subagent { id, .. } => self.places.folder(id),
        };
        own.unwrap_or_else(|| self.workspace.clone())
    }

    /// Large results go to a file and leave a pointer. A spill that cannot be written leaves the result
    /// as it is: too long is better than lost.
    fn spilled(&self, call: &ToolCall, result: ToolResult) -> ToolResult {
        let (Some(rule), Some(workbench)) = (&self.spill, &self.workbench) else { return result };
        let Some(spilled) = guard::spill(&call.name, &call.input, &result.output, rule) else {
            return result;
        };
        for (name, text) in &spilled.files {
            if let Err(e) = workbench.write_spill(name, text) {
                self.sink.tell(Event::Error { text: e.to_string() });
                return result;
            }
        }
        ToolResult { output: spilled.output, is_error: result.is_error }
    }
}

#[async_trait]
impl Host for StepHost {
    async fn before_tool(&self, call: &ToolCall) -> Permit {
        match self.rules.decide(&Self::call(call)) {
            Decision::Allow => Permit::Allow,
            Decision::AllowWith(input) => Permit::AllowWith(input),
            Decision::Deny(denial) => Permit::Deny(denial.text),
        }
    }

    async fn after_tool(&self, call: &ToolCall, result: ToolResult) -> ToolResult {
        if let Some(workbench) = &self.workbench
            && matches!(call.name.as_str(), "Write" | "Edit")
            && let Some(path) = call.input.get("file_path").and_then(|path| path.as_str())
            && guard::touches(workbench.root(), &self.folder_of(&call.place).join(path))
            && let Err(e) = workbench.refresh_index()
        {
            self.sink.tell(Event::Error { text: e.to_string() });
        }
        let times = self.repetition().count(call, &result);
        let result = self.spilled(call, result);
        self.unstick(call, result, times).await
    }

    async fn place_for(&self, agent: &AgentPlace) -> Result<Option<Ground>, HostError> {
        self.places.give(agent, self.rules.isolated.contains(&agent.kind)).await
    }

    async fn leave(&self, agent_id: &str) -> Option<String> {
        self.repetition().forget(agent_id);
        self.places.take_back(agent_id).await
    }

    async fn outlast(&self, error: &EngineError, failures: u32, since: Instant) -> bool {
        let mut streak = Streak::of(failures.saturating_sub(1), since.into());
        self.waiting.outlast(&self.step, error, &mut streak).await.is_ok()
    }

    async fn call_tool(&self, call: &ToolCall) -> ToolResult {
        let Some(channel) = &self.channel else {
            return ToolResult::error("Nobody can be asked in this run.");
        };
        match channel.call(&call.name, &call.input).await {
            Ok(text) => ToolResult::text(text),
            Err(text) => ToolResult::error(text),
        }
    }

    async fn record(&self, key: &SessionKey, entries: &[Entry]) -> Result<(), HostError> {
        self.store.append(key, entries).await.map_err(|e| HostError(e.to_string()))
    }

    async fn history(&self, key: &SessionKey) -> Result<Vec<Entry>, HostError> {
        let load = || async {
            let record = self.store.load(key).await.map_err(|e| HostError(e.to_string()))?;
            Ok(record.unwrap_or_default())
        };
        let (shelf, workspace, record) =
            (Arc::clone(&self.shelf), self.workspace.clone(), load().await?);
        let shown = tokio::task::spawn_blocking(move || shelf.show(record, &workspace)).await;
        match shown.map_err(|e| HostError(e.to_string()))? {
            Some(conversation) => Ok(conversation),
            // Read again instead of kept twice for a case that hardly ever happens.
            None => Ok(self.shelf.show_whole(load().await?)),
        }
    }

    fn tell(&self, event: Event) {
        let notice = self.nearly_full.notice(&event);
        self.sink.tell(event);
        if let Some(notice) = notice {
            self.sink.tell(notice);
        }
    }
}
