//! Door: the only layer with clap, anyhow and printing; one file per command.

use std::process::ExitCode;

#[allow(dead_code)]
mod demo;

/// Runs the program.
pub fn main(_arguments: Vec<std::ffi::OsString>) -> ExitCode {
    ExitCode::SUCCESS
}
