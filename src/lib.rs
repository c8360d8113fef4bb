//! flower runs a coding agent for hours or days on one task and brings it home.
//!
//! Folders are layers; read from top to bottom they tell how the program works. Arrows point down:
//! `tests/tidy.rs` holds the table of who may import whom.
//!
//! | layer | room | what it holds |
//! |---|---|---|
//! | [`transcript`] | words | entries in the transcript shape, blocks, usage, ids, project keys |
//! | [`disk`] | shelf | files that are written whole or not at all |
//! | [`language`] | tongue | what flower says to people, by key, in three languages |
//! | [`event`] | news | what happened, as plain data and as JSON lines |
//! | [`settings`] | choices | flags, environment, `.env` files and defaults, resolved once |
//! | [`document`] | papers | brief, goal, verdict; one section parser for all |
//! | [`guard`] | rules | may this call happen, must its result be replaced |
//! | [`context`] | view | from the record to what the model sees |
//! | [`store`] | record | the session store; the only place that knows SQL |
//! | [`workbench`] | desk | `.flower/`: scripts, artifacts, notes, spill, index |
//! | [`sandbox`] | fence | how a child process is started and ended, and what tools may reach |
//! | [`worktree`] | fields | throw-away copies of the workspace |
//! | [`human`] | person | questions, inbox, quota, timeout, log of answers |
//! | [`wire`] | post | the Messages API: types, event-stream framing, HTTP client |
//! | [`gate`] | door to the model | the model endpoint that is built in |
//! | [`engine`] | engines | what talks to a model and runs its tool calls |
//! | [`role`] | who | coordinator, worker, clarifier, judge: prompt, tools, limits |
//! | [`runtime`] | life | keeps one step going; manifest, lineage |
//! | [`workflow`] | plan | steps, gates, rounds; the starter flow |
//! | [`report`] | hindsight | stored conversations as people read them, and what is wrong with them |
//! | [`cli`] | door | the only layer with clap, anyhow and printing |
//!
//! Where to start reading: [`workflow`] for what a run does, [`engine`] for the seam between a model
//! and everything else, [`runtime`] for how the two meet.

pub mod cli;
pub mod context;
pub mod disk;
pub mod document;
pub mod engine;
pub mod event;
pub mod gate;
pub mod guard;
pub mod human;
pub mod language;
pub mod report;
pub mod role;
pub mod runtime;
pub mod sandbox;
pub mod settings;
pub mod store;
pub mod transcript;
pub mod wire;
pub mod workbench;
pub mod workflow;
pub mod worktree;

// Names that users of the library know.
pub use context::relink;
pub use guard::is_ephemeral;
pub use runtime::{PruningSessionStore, TrimmingSessionStore};
pub use store::SqliteStore as SqliteSessionStore;
