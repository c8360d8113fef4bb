//! Fields: git worktrees and throw-away copies of a workspace, and proof that the workspace itself stayed
//! as it was.

mod alive;
mod aside;
mod copy;
mod duplicate;
mod exclusion;
mod git;
mod index;
mod listing;
mod look;
mod refusal;
mod repository;
mod snapshot;
mod tree;
mod turn;
mod work;
mod yard;

pub use copy::Copy;
pub use git::GitError;
pub use look::Look;
pub use refusal::YardError;
pub use snapshot::{Difference, Snapshot, What};
pub use tree::{Ending, Kept, Worktree};
pub use work::Reason;
pub use yard::{Leftover, Yard};

#[cfg(test)]
mod tests;
