//! What can go wrong before a gate answers its first request.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why a cassette was refused or a gate did not start.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// The cassette's file is missing, unreadable, too large or not UTF-8.
    #[error("the cassette {path} cannot be read: {source}", path = path.display())]
    Unreadable {
        /// The file as it was named.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The cassette breaks the format; the message has line and column where they are known.
    #[error("the cassette {name} is not valid: {message}")]
    Invalid {
        /// The file as it was named, or `text` where there is no file.
        name: String,
        /// One sentence.
        message: String,
    },
    /// Somebody else listens there.
    #[error(
        "the address {0} is in use by another program; choose another port, or 0 for any free one"
    )]
    InUse(SocketAddr),
    /// The address cannot be listened on for another reason.
    #[error("the gate cannot listen on {address}: {source}")]
    Listen {
        /// The address that was asked for.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The log file cannot be opened.
    #[error("the log {path} cannot be written: {source}", path = path.display())]
    Log {
        /// The file as it was named.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}
