//! One line from the person at the terminal, shown while it is typed or not.

use std::io::{self, BufRead, IsTerminal, Write};

use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};
use signal_hook::consts::SIGINT;

use super::clean;

/// What Ctrl-C sends where it is no signal.
const CTRL_C: u8 = 3;

/// The longest line that a terminal gives in one piece.
const LONGEST: usize = 4096;

/// Somebody can be asked: both what is said and what is typed go by a terminal.
pub(crate) fn is_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks for a line; nothing at the end of the input.
pub(crate) fn ask(question: &str) -> io::Result<Option<String>> {
    prompt(question)?;
    let mut line = String::new();
    let count = io::stdin().lock().read_line(&mut line)?;
    Ok((count > 0).then(|| line.trim().to_owned()))
}

/// Asks for a line that does not appear on the screen.
///
/// While it is typed Ctrl-C is a character that ends the line, so that the screen is put right before the
/// process ends. A signal from elsewhere leaves that to the shell.
pub(crate) fn ask_hidden(question: &str) -> io::Result<Option<String>> {
    let mut line = [0; LONGEST];
    let count = {
        // Before the question, since whoever has the answer ready may be quicker than we are.
        let _hidden = Hidden::begin()?;
        prompt(question)?;
        loop {
            match rustix::io::read(io::stdin(), &mut line) {
                Err(rustix::io::Errno::INTR) => {}
                other => break other?,
            }
        }
    };
    writeln!(io::stderr())?;
    let typed = &line[..count];
    if typed.contains(&CTRL_C) {
        signal_hook::low_level::emulate_default_handler(SIGINT)?;
    }
    let text = String::from_utf8_lossy(typed).trim().to_owned();
    Ok((count > 0).then_some(text))
}

fn prompt(question: &str) -> io::Result<()> {
    let mut stderr = io::stderr().lock();
    write!(stderr, "{} ", clean(question))?;
    stderr.flush()
}

/// The terminal without echo, until it is dropped.
struct Hidden(Termios);

impl Hidden {
    fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO | LocalModes::ISIG);
        hidden.special_codes[SpecialCodeIndex::VEOL] = CTRL_C;
        tcsetattr(io::stdin(), OptionalActions::Now, &hidden)?;
        Ok(Self(before))
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}
