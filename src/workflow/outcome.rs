//! What a flow is asked for, and how it ends.

use std::io;
use std::path::PathBuf;

use crate::runtime::{RecordError, StepResult};

/// What the person wants of the flow.
#[derive(Debug, Clone)]
pub struct FlowOptions {
    /// The request; empty means "continue".
    pub ask: String,
    /// Rounds of work and judgement; 0 counts as 1.
    pub rounds: u32,
    /// Set a goal and judge by it.
    pub judged: bool,
    /// The judge may run commands, in a copy.
    pub judge_can_run: bool,
    /// Stop after the brief.
    pub clarify_only: bool,
    /// Begin anew; what was there is archived.
    pub new: bool,
    /// Workers have git worktrees of their own; the runtime must have a yard for them.
    pub isolate: bool,
    /// Leave a hand-over for other tools in the workspace when the work is done.
    pub handover: bool,
    /// Where throw-away copies may be made; outside the workspace.
    pub scratch: PathBuf,
}

/// How a flow ended.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// The judge, or the person, says that it is done.
    Achieved {
        /// In which round.
        round: u32,
    },
    /// It was done before; no model was asked.
    AlreadyAchieved,
    /// Only the brief was wanted.
    Clarified,
    /// Only the brief was wanted, and it was there before.
    AlreadyClarified,
    /// Worked without a judge.
    Worked,
    /// The rounds are used up.
    NotAchieved {
        /// Rounds of work.
        rounds: u32,
        /// What the last verdict said.
        reason: String,
    },
    /// Judged unreachable, and nobody decided otherwise.
    Unreachable {
        /// What the verdict said.
        reason: String,
    },
    /// A step failed. The result says how.
    Failed(Box<StepResult>),
    /// A step ended without what it had to deliver.
    Incomplete {
        /// The step.
        step: String,
        /// What is missing, named as headings.
        missing: Vec<String>,
    },
    /// The judge could not give a verdict that counts, asked as often as allowed.
    Unjudged {
        /// Why.
        reason: String,
    },
}

/// Why a flow cannot go on at all.
#[derive(Debug, thiserror::Error)]
pub enum FlowError {
    /// Nothing was asked, and there is nothing to continue.
    #[error("nothing was asked")]
    NothingAsked,
    /// The record failed.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A file of the workbench failed.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}
