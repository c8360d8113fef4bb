//! Door to the model: the model endpoint that is built in.
//!
//! One HTTP server that speaks the Messages API, streaming and not. It plays a [`Cassette`]: a list
//! of rules, each with what a request must look like and what is answered. It keeps no memory of a
//! conversation, only how often each rule has served, so that a resumed run finds its place.
//!
//! A request goes `server` (bytes to values) → `route` (which path) → `script` (which rule) →
//! `reply` (which words) → `play` (when each byte leaves). Another mode than replay takes the place
//! of `script` and `reply` and hands an `Answer` to the same `play`.

mod base64;
mod cassette;
mod error;
mod journal;
mod load;
mod matching;
mod pattern;
mod play;
mod reply;
mod request;
mod route;
mod script;
mod server;
mod template;
mod validate;

pub use cassette::{
    Agent, Cassette, Chunk, Defaults, Match, Refusal, Reply, Reset, ResultMatch, Rule, SseError,
    Tokens, ToolUse,
};
pub use error::GateError;
pub use pattern::Pattern;
pub use server::{Gate, GateOptions, Running};
