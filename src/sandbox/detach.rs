//! A session of its own for a child: no terminal to ask at, and one group with all that it starts.
//!
//! The one file with `unsafe`: what runs between fork and exec is beyond what the compiler can check, and
//! the standard library has no stable call for a new session.

use tokio::process::Command;

/// Lets the child lead a new session. Programs that would ask for a password at the terminal of the person
/// who started flower find none and fail at once, instead of being stopped until the time is over.
#[expect(unsafe_code, reason = "there is no safe way to start a session")]
pub(super) fn detach(command: &mut Command) {
    let lead = || rustix::process::setsid().map(drop).map_err(Into::into);
    // SAFETY: between fork and exec only calls that are safe in a signal handler are allowed. This is one
    // system call; it takes no lock and allocates nothing, and neither does turning its error into another.
    unsafe { command.pre_exec(lead) };
}
