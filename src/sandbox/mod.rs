//! Fence: how a child process is started, watched, bounded and ended.
//!
//! Every child leads its own session and process group, so that what it started ends with it. Tools run
//! inside a [`Fence`]: a Landlock domain sticks to a thread and to all that the thread starts, so every call
//! gets a thread of its own, and flower itself stays free.

mod capture;
mod detach;
mod domain;
mod fence;
mod ground;
mod group;
mod job;
mod limits;
mod privilege;
mod scratch;
mod toolchain;

pub use domain::Kernel;
pub use fence::{Fence, FenceError};
pub use ground::{Ground, Reach};
pub use job::{Job, JobError, Outcome, Status, run};
pub use limits::{Bound, Hit, Limited, Limits, Watch};
pub use privilege::shield;
pub use scratch::Scratch;
