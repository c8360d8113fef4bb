//! Papers on disk: whole, or not there.

use std::path::Path;

use super::outcome::FlowError;
use super::starter::Flow;
use crate::disk::{self, Care};
use crate::document::Brief;
use crate::runtime::fingerprint;

/// Writes a paper in one step, so that it is whole or not there.
pub(super) fn freeze(path: &Path, text: &str) -> Result<(), FlowError> {
    disk::replace(path, text.as_bytes(), Care::Record)
        .map_err(|source| FlowError::File { path: path.to_owned(), source })
}

/// Reads a paper.
pub(super) fn read(path: &Path) -> Result<String, FlowError> {
    std::fs::read_to_string(path)
        .map_err(|source| FlowError::File { path: path.to_owned(), source })
}

impl Flow<'_> {
    /// What stands for the brief as it is on disk, people's changes included.
    pub(super) fn brief_print(&self) -> Result<String, FlowError> {
        let brief = Brief::from_markdown(&read(&self.workbench.brief_path())?);
        Ok(fingerprint(&brief.block(self.workbench.language())))
    }

    /// What people added to the brief since it was frozen, also while this run goes on; empty where
    /// nothing was added. It overrides the goal, which may not know it yet (flow.md 4.2).
    pub(super) fn additions(&self) -> Result<String, FlowError> {
        let Brief { amendments, .. } = Brief::from_markdown(&read(&self.workbench.brief_path())?);
        Ok(Brief { amendments, ..Brief::default() }.block(self.workbench.language()))
    }
}

/// Names of relations in the lineage: which brief and goal something was made from.
pub(super) mod relation {
    /// The goal was set, or judged achieved, for this brief.
    pub(in super::super) const GOAL_FOR_BRIEF: &str = "goal.brief";
    /// The conversation of the work knows this brief.
    pub(in super::super) const WORK_KNOWS_BRIEF: &str = "work.brief";
    /// The conversation of the work knows this goal.
    pub(in super::super) const WORK_KNOWS_GOAL: &str = "work.goal";
}
