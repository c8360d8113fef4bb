//! Door: the only layer with clap, anyhow and printing; one file per command.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use self::args::{Arguments, Command};

mod args;
mod assemble;
mod config;
mod demo;
mod exit;
mod gate;
mod go;
mod init;
mod once;
mod output;
mod person;
mod rewrite;
mod signal;
mod terminal;
mod trust;

/// Runs the program: words in, exit code out.
pub fn main(words: Vec<OsString>) -> ExitCode {
    if init::is_first() {
        return init::run(&words).unwrap_or_else(|error| {
            output::complain(&format!("{error:#}"));
            ExitCode::from(exit::FAILED)
        });
    }
    let arguments = match Arguments::try_parse_from(rewrite::fill_in_command(words)) {
        Ok(arguments) => arguments,
        Err(error) => {
            // clap prints help and version to stdout with code 0, mistakes to stderr with code 2.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(exit::USAGE));
        }
    };
    match run(&arguments) {
        Ok(code) => code,
        Err(error) => {
            output::complain(&format!("{error:#}"));
            ExitCode::from(exit::FAILED)
        }
    }
}

fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let global = &arguments.global;
    if let Some(complaint) = arguments.misplaced() {
        output::complain(&complaint);
        return Ok(ExitCode::from(exit::USAGE));
    }
    match &arguments.command {
        Command::Go(go) => go::run(global, go),
        Command::Once(once) => once::run(global, once),
        Command::Demo(demo) => demo::run(global, demo),
        Command::Config(config) => {
            let house = assemble::House::look(global)?;
            config::run(&house, config, &mut std::io::stdout().lock())
        }
        Command::Gate(gate) => {
            let house = assemble::House::look(global)?;
            gate::run(gate, house.language)
        }
        Command::Run(_)
        | Command::Setup(_)
        | Command::Doctor(_)
        | Command::Sessions(_)
        | Command::Report(_)
        | Command::Completions(_) => {
            let house = assemble::House::look(global)?;
            output::complain(&house.language.text("cli.not_yet", &[]));
            Ok(ExitCode::from(exit::USAGE))
        }
    }
}
