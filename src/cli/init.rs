//! As the first process of a container flower runs itself as a child: signals are passed on, orphans collected.
//!
//! The kernel treats process 1 differently: a signal without a handler does not reach it, so it could not
//! die by TERM as it promises, and every process that loses its parent becomes its child. If flower waited
//! for those while it also waits for its own children, one wait could take the other's result. So the work
//! is done in a child, and nothing but this is done here.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use anyhow::Context as _;
use clap::Parser as _;
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, kill_process, kill_process_group, wait,
};
use rustix::termios::tcsetpgrp;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;

use super::args::Arguments;
use crate::sandbox::{Hit, Watch};

/// What is passed on. A terminal sends its own signals, such as a change of size, to the child directly.
const PASSED_ON: [i32; 6] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2];

/// True in the first process of a container.
pub(super) fn is_first() -> bool {
    std::process::id() == 1
}

/// Runs the same command line in a child; its code, or 128 and the signal that ended it.
pub(super) fn run(words: &[OsString]) -> anyhow::Result<ExitCode> {
    // Before there is a child, so that neither its end nor a signal is missed.
    let mut signals = Signals::new(PASSED_ON.into_iter().chain([SIGCHLD]))?;
    let watch = Watch::begin();
    let program = std::env::current_exe().context("the running program is not to be found")?;
    let mut command = Command::new(&program);
    // A group of its own, so that what a terminal sends arrives once, not once more through here.
    command.args(words.iter().skip(1)).process_group(0);
    let child = command.spawn().with_context(|| program.display().to_string())?;
    let child = Pid::from_child(&child);
    give_terminal(child);
    for signal in signals.forever() {
        if signal == SIGCHLD {
            if let Some(code) = collect(child) {
                let killed = i32::from(code) == 128 + Signal::KILL.as_raw();
                return Ok(ExitCode::from(match killed.then(|| watch.out_of_memory()).flatten() {
                    Some(hit) => say(words, hit),
                    None => code,
                }));
            }
        } else if let Some(signal) = Signal::from_named_raw(signal) {
            // A child that has just ended needs no signal any more.
            let _ = kill_process(child, signal);
        }
    }
    Ok(ExitCode::from(super::exit::FAILED))
}

/// The child could not say itself what ended it.
fn say(words: &[OsString], hit: Hit) -> u8 {
    let arguments = Arguments::try_parse_from(super::rewrite::fill_in_command(words.to_vec())).ok();
    let language = arguments.as_ref().map(|arguments| super::language(&arguments.global));
    let ending = super::limits::ending(hit, "", language.unwrap_or_default());
    super::output::complain(&ending.sentence);
    if let Some(arguments) = arguments {
        super::output::end_without_run(&arguments.global, &ending);
    }
    ending.code
}

/// Makes the child's group the one that the terminal talks to, where there is a terminal.
fn give_terminal(child: Pid) {
    if tcsetpgrp(std::io::stdin(), child).is_ok() {
        // It may have asked for the terminal before it was given it, and have been stopped for that.
        let _ = kill_process_group(child, Signal::CONT);
    }
}

/// Collects everything that has ended; the exit code once the child is among it.
fn collect(child: Pid) -> Option<u8> {
    let mut code = None;
    while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG | WaitOptions::UNTRACED) {
        if pid != child {
            continue;
        }
        if status.stopping_signal() == Some(SIGTSTP) {
            // Nobody is there who could let it go on again.
            let _ = kill_process_group(child, Signal::CONT);
        }
        code = code.or_else(|| code_of(status));
    }
    code
}

/// As a shell tells it; nothing for a child that has only been stopped.
fn code_of(status: WaitStatus) -> Option<u8> {
    let signal = status.terminating_signal().map(|signal| 128 + signal);
    status.exit_status().or(signal).and_then(|code| u8::try_from(code).ok())
}
