//! What a folder already holds when a run begins.

use crate::document::{Brief, Goal};
use crate::runtime::{Lineage, LineageState, RecordError};
use crate::workbench::Workbench;

/// A read-only look at brief, goal and lineage.
#[derive(Debug, Clone)]
pub struct WakeState {
    /// The brief on disk, complete or not.
    pub brief: Option<Brief>,
    /// The goal on disk, where it is complete.
    pub goal: Option<Goal>,
    /// Sessions, requests, how often it woke.
    pub lineage: LineageState,
}

impl WakeState {
    /// Looks. Papers that cannot be read count as missing; a damaged lineage is an error.
    pub fn read(workbench: &Workbench, lineage: &Lineage) -> Result<Self, RecordError> {
        let text = |path: std::path::PathBuf| std::fs::read_to_string(path).ok();
        Ok(Self {
            brief: text(workbench.brief_path()).map(|text| Brief::from_markdown(&text)),
            goal: text(workbench.goal_path())
                .map(|text| Goal::from_markdown(&text))
                .filter(Goal::complete),
            lineage: lineage.state()?,
        })
    }

    /// The request was clarified before: there is a brief with all four sections.
    pub fn waking(&self) -> bool {
        self.brief.as_ref().is_some_and(Brief::complete)
    }

    /// The same request again means "continue"; so does none.
    pub fn asks_to_continue(&self, ask: &str) -> bool {
        let ask = ask.trim();
        ask.is_empty() || self.lineage.asks.iter().any(|before| before.trim() == ask)
    }
}
