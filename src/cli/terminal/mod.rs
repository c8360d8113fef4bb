//! Draws events as lines of text.

mod line;
mod renderer;
mod text;

pub(super) use line::{ask, ask_hidden, is_there};
pub(super) use renderer::{Renderer, Style};
pub(super) use text::{clean, one_line, wrap};

/// Columns of the terminal, between 40 and 110; 80 where there is none. Whoever pipes into a pager still
/// has the terminal on stderr.
pub(super) fn width() -> usize {
    let columns =
        |size: rustix::termios::Winsize| Some(usize::from(size.ws_col)).filter(|n| *n > 0);
    let stdout = rustix::termios::tcgetwinsize(std::io::stdout()).ok().and_then(columns);
    let stderr = || rustix::termios::tcgetwinsize(std::io::stderr()).ok().and_then(columns);
    stdout.or_else(stderr).unwrap_or(80).clamp(40, 110)
}
