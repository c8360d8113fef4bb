//! Fence: how a child process is started, watched, bounded and ended.
//!
//! Every child leads its own session and process group, so that what it started ends with it.

mod capture;
mod detach;
mod group;
mod job;

pub use job::{Job, JobError, Outcome, Status, run};
