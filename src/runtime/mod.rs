//! Life: keeps one step going, and keeps the books about it.
//!
//! A step is one conversation with one role, from its prompt to its result. The runtime opens it through
//! the engine, stands between the engine and the world as its host, tries again where that helps, and
//! writes down what happened: `manifest.json` for what was done, `lineage.json` for what to go on with.

mod attempt;
mod handoff;
mod host;
mod lease;
mod limit;
mod lineage;
mod manifest;
mod outlast;
mod patience;
mod place;
mod record;
mod session;
mod shelf;
mod step;
mod stuck;
mod takeover;
mod viewing;

pub use attempt::{Assignment, Parts, Runtime, Session};
pub use handoff::{Calibration, HandoffPolicy};
pub use lease::Leases;
pub use limit::Limits;
pub use lineage::{Lineage, LineageState, fingerprint};
pub use manifest::Manifest;
pub use patience::Resilience;
pub use record::{RecordError, RunFolder};
pub use shelf::ViewOptions;
pub use step::StepResult;
pub use viewing::{PruningSessionStore, TrimmingSessionStore, ViewStore};
