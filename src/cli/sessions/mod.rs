//! `flower sessions`: the stored conversations of a run folder.

use std::process::ExitCode;

use super::args::{Global, SessionsCommand};
use super::assemble::House;

mod serve;

/// Runs one of the commands.
pub(super) fn run(global: &Global, command: &SessionsCommand) -> anyhow::Result<ExitCode> {
    let house = House::look(global)?;
    match command {
        SessionsCommand::Serve => serve::run(&house, global),
    }
}
