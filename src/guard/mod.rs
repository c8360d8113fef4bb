//! Rules: may this call happen, must its result be replaced. Functions over data; no people, no files.

#[cfg(test)]
mod action_cases;
mod awk;
mod expression;
mod find;
mod git;
#[cfg(test)]
mod glance_cases;
mod lexer;
mod option;
mod rules;
mod sed;
mod shell;
mod spill;
mod verb;

pub use rules::{AGENT, Call, DELEGATE_MARKER, Decision, Denial, DenialKind, Rules, Thread};
pub use shell::is_ephemeral;
pub use spill::{SpillRule, Spilled, spill, touches};
