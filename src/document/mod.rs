//! Papers: brief, goal, verdict and handoff, read from what a model wrote and written for people and models.

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

pub use brief::{Amendment, Brief, Occasion, amend, amendments_title};
pub use goal::Goal;
pub use handoff::Handoff;
pub use state::VerdictState;
pub use verdict::Verdict;
