//! What can go wrong with a model, as a type; judged once, in one place.

use std::time::Duration;

/// A failed turn.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct EngineError {
    /// What kind of failure.
    pub fault: Fault,
    /// One sentence for the person.
    pub message: String,
}

impl EngineError {
    /// A failure of the given kind.
    pub fn new(fault: Fault, message: impl Into<String>) -> Self {
        Self { fault, message: message.into() }
    }
}

/// Kinds of failure.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// The key is missing, wrong or revoked (401).
    Credentials,
    /// The endpoint refuses this request (403).
    Refused,
    /// No such model or path (404).
    NotFound,
    /// The request is malformed (400 and other 4xx), or could not even be made: address, header, proxy.
    BadRequest,
    /// The conversation is longer than the model's window.
    Overflow,
    /// The conversation has reached the size at which its host wants it to end ([`full_at`]), at a
    /// message boundary and with everything recorded.
    ///
    /// [`full_at`]: super::Opening::full_at
    Full,
    /// The endpoint does not take thinking blocks of the conversation.
    Thinking,
    /// No credit, or a spending limit was reached; waiting does not help.
    NoCredit,
    /// Too many requests (429).
    RateLimited {
        /// When the server says to come back.
        retry_after: Option<Duration>,
    },
    /// The service is overloaded (529, or an `overloaded_error` in mid-stream).
    Overloaded {
        /// When the server says to come back.
        retry_after: Option<Duration>,
    },
    /// The service failed (5xx).
    Server {
        /// When the server says to come back.
        retry_after: Option<Duration>,
    },
    /// No connection, or a connection lost before, in or after the headers.
    Network,
    /// Nothing came for too long.
    Timeout,
    /// The answer cannot be understood.
    Protocol,
    /// A limit that the user set.
    Limit(Limit),
    /// The person stopped it.
    Stopped,
    /// The record could not be written or read.
    Store,
}

/// Limits that the user sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Replies of the model.
    Turns,
    /// US dollars.
    Budget,
    /// Time since the run began.
    Time,
}

/// What helps against a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy {
    /// Trying again, not before the given time.
    Retry {
        /// At least this long from now.
        after: Option<Duration>,
    },
    /// The same conversation without its thinking.
    DropThinking,
    /// A fresh conversation.
    HandOff,
    /// Nothing that flower can do.
    Stop,
}

impl Fault {
    /// What helps.
    pub fn remedy(&self) -> Remedy {
        match self {
            Fault::RateLimited { retry_after }
            | Fault::Overloaded { retry_after }
            | Fault::Server { retry_after } => Remedy::Retry { after: *retry_after },
            Fault::Network | Fault::Timeout | Fault::Protocol => Remedy::Retry { after: None },
            Fault::Thinking => Remedy::DropThinking,
            Fault::Overflow | Fault::Full => Remedy::HandOff,
            Fault::Credentials
            | Fault::Refused
            | Fault::NotFound
            | Fault::BadRequest
            | Fault::NoCredit
            | Fault::Limit(_)
            | Fault::Stopped
            | Fault::Store => Remedy::Stop,
        }
    }
}
