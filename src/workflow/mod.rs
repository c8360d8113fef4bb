//! Plan: what a run does, step by step.
//!
//! The starter flow is clarify → goal → work, the last in rounds of work and judgement. What each step
//! leaves behind lies on disk before the next begins: the brief, the goal, the record of the work. So a
//! run that ends anywhere goes on from there.

mod clarify;
mod goal;
mod handover;
mod judge;
mod name;
mod outcome;
mod paper;
mod starter;
mod wake;
mod work;

pub use handover::HANDOVER;
pub use name::StepNames;
pub use outcome::{FlowError, FlowOptions, Outcome};
pub use starter::Flow;
pub use wake::WakeState;
