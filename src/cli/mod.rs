//! Door: the only layer with clap, anyhow and printing; one file per command.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use self::args::{Arguments, Command};
use crate::language::Language;

mod args;
mod assemble;
mod completions;
mod config;
mod credentials;
mod demo;
mod doctor;
mod exit;
mod fence;
mod gate;
mod go;
mod init;
mod isolate;
mod limits;
mod once;
mod output;
mod person;
mod rewrite;
mod sessions;
mod setup;
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
    crate::sandbox::shield();
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
        // Whoever reads has read enough: `flower config | head -1`.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let mut ending = exit::Ending::of_error(&error);
            if let Some(hit) = limits::behind(&error) {
                let language = language(&arguments.global);
                ending = limits::ending(hit, &ending.sentence, language);
            }
            output::complain(&ending.sentence);
            output::end_without_run(&arguments.global, &ending);
            ExitCode::from(ending.code)
        }
    }
}

/// Of what is said where nothing else is known.
fn language(global: &args::Global) -> Language {
    assemble::House::look(global).map(|house| house.language).unwrap_or_default()
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<std::io::Error>()
        .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let global = &arguments.global;
    if let Some(complaint) = arguments.misplaced() {
        return Err(exit::Refusal::usage(complaint).into());
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
        Command::Setup => setup::run(global),
        Command::Sessions { command } => sessions::run(global, command),
        Command::Completions(args) => completions::run(args),
        Command::Doctor(args) => doctor::run(global, args),
        Command::Run(_) | Command::Report(_) => {
            let house = assemble::House::look(global)?;
            Err(exit::Refusal::usage(house.language.text("cli.not_yet", &[])).into())
        }
    }
}
