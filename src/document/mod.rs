//! Papers: brief, goal, verdict, handoff and the hand-over for the next tool, read from what a model wrote and written for people and models.

mod bequest;
mod brief;
mod fence;
mod goal;
mod handoff;
mod heading;
mod list;
mod remark;
mod section;
mod state;
mod verdict;

pub use bequest::{Bequest, weave};
pub use brief::{Amendment, Brief, Occasion, amend, amendments_title};
pub use goal::Goal;
pub use handoff::Handoff;
pub use state::VerdictState;
pub use verdict::Verdict;
