//! One line on a terminal that says how far long work is; short work says nothing.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Work that ends before this long is no work to tell about.
const PATIENCE: Duration = Duration::from_secs(2);

/// Between two lines, so that telling costs nothing.
const PAUSE: Duration = Duration::from_millis(200);

/// The line; it goes away with this.
pub(super) struct Progress {
    next: Instant,
    on: bool,
    shown: bool,
}

impl Progress {
    pub(super) fn new() -> Self {
        let on = std::io::stderr().is_terminal();
        Self { next: Instant::now() + PATIENCE, on, shown: false }
    }

    /// Says where the work is, if it is time to.
    pub(super) fn tell(&mut self, text: impl FnOnce() -> String) {
        let now = Instant::now();
        if !self.on || now < self.next {
            return;
        }
        self.next = now + PAUSE;
        self.shown = true;
        let width = super::super::terminal::width();
        let text = super::super::terminal::clean(&text());
        let line = super::super::terminal::one_line(&text, width.saturating_sub(1));
        let mut stderr = std::io::stderr().lock();
        let _ = write!(stderr, "\r\u{1b}[K{line}").and_then(|()| stderr.flush());
    }

    /// Makes room for something that stays, until there is more to tell.
    pub(super) fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let mut stderr = std::io::stderr().lock();
            let _ = write!(stderr, "\r\u{1b}[K").and_then(|()| stderr.flush());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}
