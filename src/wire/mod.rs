//! Post: the Messages API. Types, event-stream framing and the HTTP client; nothing here knows who asks.
//!
//! A reply is kept as the text that the server sent: blocks are assembled by splicing, never by way of a
//! JSON tree, since a thinking block must reach the model again byte for byte.

mod classify;
mod client;
mod clock;
mod door;
mod error;
mod frame;
mod probe;
mod reply;
mod request;
mod reset;
mod resolve;
mod retry;
mod route;

pub use classify::{Class, classify};
pub use client::{Caller, Client, ClientOptions};
pub use clock::clock;
pub use door::Door;
pub use error::{Failure, Partial, WireError};
pub use frame::{Frame, frames};
pub use probe::{Probe, probe};
pub use reply::{Assembly, Reply, ReplyBlock};
pub use request::{Request, Role, ToolSpec, WireMessage};
pub use resolve::Resolver;
pub use retry::retry_after;
pub use route::Proxies;
