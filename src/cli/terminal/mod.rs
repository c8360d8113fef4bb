//! Draws events as lines of text.

mod renderer;
mod text;

pub(super) use renderer::{Renderer, Style};
pub(super) use text::{clean, one_line, wrap};

/// Columns of the terminal, between 40 and 110; 80 where there is none.
pub(super) fn width() -> usize {
    let columns = rustix::termios::tcgetwinsize(std::io::stdout())
        .ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|columns| *columns > 0);
    columns.unwrap_or(80).clamp(40, 110)
}
