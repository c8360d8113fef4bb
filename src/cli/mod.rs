//! Door: the only layer with clap, anyhow and printing; one file per command.

mod config;

use std::process::ExitCode;

/// Runs the program.
pub fn main(_arguments: Vec<std::ffi::OsString>) -> ExitCode {
    ExitCode::SUCCESS
}
