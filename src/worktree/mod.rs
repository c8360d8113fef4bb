//! Fields: throw-away copies of a workspace, and proof that the workspace itself stayed as it was.

mod aside;
mod copy;
mod duplicate;
mod exclusion;
mod index;
mod repository;
mod snapshot;

pub use copy::Copy;
pub use snapshot::{Difference, Snapshot, What};
