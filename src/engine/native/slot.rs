//! How much runs at the same time: subagents, and calls of built-in tools, each counted for the whole engine.
//!
//! Tools of the host are not counted: a question may wait for a person for hours. A subagent holds its
//! place while its calls take theirs from the other count, so nobody waits for a place that waits for him.

use std::num::NonZero;

use serde_json::json;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::{Host, agent};
use crate::engine::ToolCall;
use crate::event::Event;

/// The places.
pub(super) struct Slots {
    most: usize,
    agents: Semaphore,
    tools: Semaphore,
}

impl Slots {
    /// So many of each.
    pub(super) fn new(most: NonZero<usize>) -> Self {
        let most = most.get().min(Semaphore::MAX_PERMITS);
        Self { most, agents: Semaphore::new(most), tools: Semaphore::new(most) }
    }

    /// A place for the call, in the order in which they came. That one has to wait is told as an event.
    pub(super) async fn take(&self, call: &ToolCall, host: &dyn Host) -> SemaphorePermit<'_> {
        let places = if call.name == agent::NAME { &self.agents } else { &self.tools };
        if let Ok(place) = places.try_acquire() {
            return place;
        }
        host.tell(Event::System {
            subtype: "queued".to_owned(),
            data: json!({"id": call.id, "tool": call.name, "parallel": self.most}),
        });
        places.acquire().await.expect("these places are never closed")
    }
}
