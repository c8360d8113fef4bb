//! One story per promise to the user: the real binary, a HOME of its own, a gate on loopback.
#![allow(clippy::unwrap_used)] // Also in what the stories share, which the lint takes for more than a test.

#[path = "support/group.rs"]
mod group;
#[path = "story/house.rs"]
mod house;
#[path = "support/mod.rs"]
mod support;
#[path = "support/terminal.rs"]
mod terminal;

#[path = "story/again.rs"]
mod again;
#[path = "story/bad_input.rs"]
mod bad_input;
#[path = "story/chain.rs"]
mod chain;
#[path = "story/completions.rs"]
mod completions;
#[path = "story/cost.rs"]
mod cost;
#[path = "story/demo.rs"]
mod demo;
#[path = "story/doctor.rs"]
mod doctor;
#[path = "story/ending.rs"]
mod ending;
#[path = "story/environment.rs"]
mod environment;
#[path = "story/goes_on.rs"]
mod goes_on;
#[path = "story/handoff.rs"]
mod handoff;
#[path = "story/handover.rs"]
mod handover;
#[path = "story/human.rs"]
mod human;
#[path = "story/isolate.rs"]
mod isolate;
#[path = "story/leftover.rs"]
mod leftover;
#[path = "story/limits.rs"]
mod limits;
#[path = "story/network.rs"]
mod network;
#[path = "story/once.rs"]
mod once;
#[path = "story/prompt.rs"]
mod prompt;
#[path = "story/roles.rs"]
mod roles;
#[path = "story/sandbox.rs"]
mod sandbox;
#[path = "story/sessions.rs"]
mod sessions;
#[path = "story/setup.rs"]
mod setup;
#[path = "story/stuck.rs"]
mod stuck;
