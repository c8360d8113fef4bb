//! `flower completions SHELL`: what a shell needs to complete flower's words, and the manual page.

use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, ValueEnum};
use clap_complete::{Shell, generate};
use clap_mangen::Man;

use super::args::Arguments;

/// `flower completions`
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  flower completions bash > ~/.local/share/bash-completion/completions/flower\n  flower completions zsh > ~/.zfunc/_flower\n  flower completions fish > ~/.config/fish/completions/flower.fish\n  flower completions man > ~/.local/share/man/man1/flower.1"
)]
pub(super) struct CompletionsArgs {
    /// The shell, or `man` for the manual page
    #[arg(value_enum, value_name = "SHELL")]
    wanted: Wanted,
}

/// What can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Wanted {
    Bash,
    Zsh,
    Fish,
    Man,
}

/// The command.
pub(super) fn run(args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    let shell = match args.wanted {
        Wanted::Bash => Some(Shell::Bash),
        Wanted::Zsh => Some(Shell::Zsh),
        Wanted::Fish => Some(Shell::Fish),
        Wanted::Man => None,
    };
    let mut page = Vec::new();
    match shell {
        Some(shell) => generate(shell, &mut Arguments::command(), "flower", &mut page),
        None => manual(&mut page)?,
    }
    // Written here, since the generators panic where nobody reads on.
    std::io::stdout().lock().write_all(&page)?;
    Ok(ExitCode::SUCCESS)
}

/// flower's page, then one for each command, in one file.
fn manual(page: &mut Vec<u8>) -> std::io::Result<()> {
    let mut command = Arguments::command();
    command.build();
    Man::new(command.clone()).render(page)?;
    pages(&command, page)
}

fn pages(command: &clap::Command, page: &mut Vec<u8>) -> std::io::Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        if below.get_name() == "help" {
            continue;
        }
        Man::new(below.clone().version(env!("CARGO_PKG_VERSION"))).render(page)?;
        pages(below, page)?;
    }
    Ok(())
}
