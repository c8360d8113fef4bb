//! `flower sessions`: the stored conversations of a run folder.

use std::process::ExitCode;

use super::args::{Global, SessionsCommand};
use super::assemble::House;
use super::exit;

mod check;
mod export;
mod import;
mod list;
mod look;
mod progress;
mod serve;
mod shelf;
mod show;
mod source;

pub(super) use check::CheckArgs;
pub(super) use export::ExportArgs;
pub(super) use import::ImportArgs;
pub(super) use list::ListArgs;
pub(super) use show::ShowArgs;

use shelf::Shelf;

/// Runs one of the commands.
pub(super) fn run(global: &Global, command: &SessionsCommand) -> anyhow::Result<ExitCode> {
    let house = House::look(global)?;
    let tokio = tokio::runtime::Builder::new_current_thread().build()?;
    let fine = tokio.block_on(async {
        match command {
            SessionsCommand::List(args) => list::run(&Shelf::open(&house, global)?, args).await,
            SessionsCommand::Show(args) => show::run(&Shelf::open(&house, global)?, args).await,
            SessionsCommand::Export(args) => export::run(&Shelf::open(&house, global)?, args).await,
            SessionsCommand::Import(args) => import::run(&house, global, args).await,
            SessionsCommand::Check(args) => check::run(&Shelf::open(&house, global)?, args).await,
            SessionsCommand::Serve => serve::run(&house, global).await,
        }
    })?;
    Ok(if fine { ExitCode::SUCCESS } else { ExitCode::from(exit::FAILED) })
}
