//! A session of its own for a child: no terminal to ask at, and one group with all that it starts. And no
//! core file when it crashes.
//!
//! The one file with `unsafe`: what runs between fork and exec is beyond what the compiler can check, and
//! the standard library has no stable call for a new session.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit, setsid};
use tokio::process::Command;

/// Lets the child lead a new session. Programs that would ask for a password at the terminal of the person
/// who started flower find none and fail at once, instead of being stopped until the time is over.
///
/// A core file would put the memory of a crashed program into the project; a command that wants one can ask
/// for it with `ulimit -c`.
#[expect(unsafe_code, reason = "there is no safe way to start a session")]
pub(super) fn detach(command: &mut Command) {
    let no_core = Rlimit { current: Some(0), ..getrlimit(Resource::Core) };
    let lead = move || {
        setsid()?;
        setrlimit(Resource::Core, no_core)?;
        Ok(())
    };
    // SAFETY: between fork and exec only calls that are safe in a signal handler are allowed. These are two
    // system calls; they take no lock and allocate nothing, and neither does turning their errors into others.
    unsafe { command.pre_exec(lead) };
}
