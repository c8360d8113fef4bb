//! A host that keeps the record in memory and writes down what it is asked.

use std::sync::Mutex;
use std::time::Instant;

use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::Notify;

use crate::engine::{
    AgentPlace, EngineError, Ground, Host, HostError, Permit, Remedy, ToolCall, ToolResult,
};
use crate::event::Event;
use crate::transcript::{Entry, SessionKey};

#[derive(Default)]
pub(super) struct Notes {
    record: Mutex<Vec<(String, Entry)>>,
    events: Mutex<Vec<Event>>,
    asked: Mutex<Vec<String>>,
    broken: Mutex<bool>,
    places: Mutex<Vec<AgentPlace>>,
    /// Told when a tool runs that never answers.
    pub(super) waiting: Notify,
}

impl Notes {
    /// The rows of one transcript.
    pub(super) fn rows(&self, key: &str) -> Vec<Value> {
        let record = self.record.lock().unwrap();
        let rows = record.iter().filter(|(place, _)| place == key);
        rows.map(|(_, entry)| serde_json::from_str(entry.raw()).unwrap_or(Value::Null)).collect()
    }

    /// One transcript as it is stored, a line for each entry.
    pub(super) fn raw(&self, key: &str) -> String {
        let record = self.record.lock().unwrap();
        let rows = record.iter().filter(|(place, _)| place == key);
        rows.map(|(_, entry)| format!("{}\n", entry.raw())).collect()
    }

    pub(super) fn events(&self) -> Vec<Event> {
        self.events.lock().unwrap().clone()
    }

    /// The tools that permission was asked for.
    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// The subagents that a place was asked for.
    pub(super) fn places(&self) -> Vec<AgentPlace> {
        self.places.lock().unwrap().clone()
    }

    pub(super) fn break_record(&self) {
        *self.broken.lock().unwrap() = true;
    }

    /// Another host with the same record.
    pub(super) fn copy(&self) -> Self {
        let record = self.record.lock().unwrap().clone();
        Self { record: Mutex::new(record), ..Self::default() }
    }
}

#[async_trait]
impl Host for Notes {
    async fn before_tool(&self, call: &ToolCall) -> Permit {
        self.asked.lock().unwrap().push(call.name.clone());
        match call.name.as_str() {
            "Denied" => Permit::Deny("not for you".to_owned()),
            _ => Permit::Allow,
        }
    }

    async fn after_tool(&self, call: &ToolCall, result: ToolResult) -> ToolResult {
        if call.input["question"] == "b?" {
            return result;
        }
        let text = result.output.as_str().unwrap_or_default();
        ToolResult { output: Value::String(format!("{text} (seen)")), ..result }
    }

    async fn place_for(&self, agent: &AgentPlace) -> Result<Option<Ground>, HostError> {
        self.places.lock().unwrap().push(agent.clone());
        match agent.isolation.as_deref() {
            None => Ok(None),
            Some("worktree") => Ok(Some(Ground {
                folder: "/field".into(),
                environment: vec![("PLACE".into(), "field".into())],
                note: "It is a field.".to_owned(),
            })),
            Some(other) => Err(HostError(format!("no isolation {other}"))),
        }
    }

    async fn leave(&self, agent_id: &str) -> Option<String> {
        let places = self.places.lock().unwrap();
        let place = places.iter().find(|place| place.id == agent_id)?;
        place.isolation.as_ref().map(|_| "(The field is kept.)".to_owned())
    }

    async fn outlast(&self, error: &EngineError, failures: u32, _since: Instant) -> bool {
        let passes = matches!(error.fault.remedy(), Remedy::Retry { .. });
        passes && failures < 3
    }

    async fn call_tool(&self, call: &ToolCall) -> ToolResult {
        let question = call.input["question"].as_str().unwrap_or_default();
        if question == "wait for ever" {
            self.waiting.notify_one();
            std::future::pending::<()>().await;
        }
        ToolResult::text(format!("answer to {question}"))
    }

    async fn record(&self, key: &SessionKey, entries: &[Entry]) -> Result<(), HostError> {
        if *self.broken.lock().unwrap() {
            return Err(HostError("the record is broken".to_owned()));
        }
        let mut record = self.record.lock().unwrap();
        record.extend(entries.iter().map(|entry| (key.joined(), entry.clone())));
        Ok(())
    }

    async fn history(&self, key: &SessionKey) -> Result<Vec<Entry>, HostError> {
        let record = self.record.lock().unwrap();
        let rows = record.iter().filter(|(place, _)| *place == key.joined());
        Ok(rows.map(|(_, entry)| entry.clone()).collect())
    }

    fn tell(&self, event: Event) {
        self.events.lock().unwrap().push(event);
    }
}
