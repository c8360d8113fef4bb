//! From failures of the wire to faults of an engine.

use super::{EngineError, Fault};
use crate::engine::HostError;
use crate::wire::{Failure, WireError};

impl From<WireError> for EngineError {
    fn from(error: WireError) -> Self {
        let fault = match error.failure {
            Failure::Setup | Failure::BadRequest => Fault::BadRequest,
            Failure::Credentials => Fault::Credentials,
            Failure::Refused => Fault::Refused,
            Failure::NotFound => Fault::NotFound,
            Failure::Overflow => Fault::Overflow,
            Failure::Thinking => Fault::Thinking,
            Failure::NoCredit => Fault::NoCredit,
            Failure::RateLimited => Fault::RateLimited { retry_after: error.retry_after },
            Failure::Overloaded => Fault::Overloaded { retry_after: error.retry_after },
            Failure::Server => Fault::Server { retry_after: error.retry_after },
            Failure::Network => Fault::Network,
            Failure::Timeout => Fault::Timeout,
            Failure::Protocol => Fault::Protocol,
        };
        EngineError::new(fault, error.message)
    }
}

impl From<HostError> for EngineError {
    fn from(error: HostError) -> Self {
        EngineError::new(Fault::Store, error.0)
    }
}
