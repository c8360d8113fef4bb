//! How the commands put lines on a terminal or into a pipe.

use std::io::IsTerminal;

use super::super::args::Global;
use super::super::terminal::{Style, clean, one_line, width, wrap};
use crate::language::Language;

/// Width, colours and language of what is printed.
pub(super) struct Look {
    pub(super) language: Language,
    pub(super) width: usize,
    pub(super) verbose: bool,
    colored: bool,
}

impl Look {
    pub(super) fn new(language: Language, global: &Global) -> Self {
        let colored = super::super::output::colored(global, std::io::stdout().is_terminal());
        Self { language, width: width(), verbose: global.verbose, colored }
    }

    pub(super) fn paint(&self, text: &str, style: Style) -> String {
        if self.colored { style.paint(text) } else { text.to_owned() }
    }

    /// Text in lines that fit; `first` stands before the first, blanks of its width before the others.
    pub(super) fn lines(&self, text: &str, first: &str, style: Style) -> String {
        let rest = " ".repeat(first.chars().count());
        let lines = wrap(&clean(text), self.width, first, &rest);
        lines.iter().map(|line| format!("{}\n", self.paint(line, style))).collect()
    }

    /// One line, cut where it is too long.
    pub(super) fn line(&self, text: &str, first: &str, style: Style) -> String {
        let room = self.width.saturating_sub(first.chars().count());
        let line = format!("{first}{}", one_line(&clean(text), room));
        format!("{}\n", self.paint(line.trim_end(), style))
    }
}

/// How long ago a time is, in the largest unit that fits.
pub(super) fn ago(milliseconds: i64, language: Language) -> String {
    let seconds = (jiff::Timestamp::now().as_millisecond() - milliseconds).max(0) / 1000;
    let (unit, count) = match seconds {
        0..60 => return language.text("sessions.ago_now", &[]),
        60..3600 => ("minutes", seconds / 60),
        3600..86_400 => ("hours", seconds / 3600),
        _ => ("days", seconds / 86_400),
    };
    language.text(&format!("sessions.ago_{unit}"), &[("count", &count.to_string())])
}

/// A stored time as people here read it.
pub(super) fn local(milliseconds: i64) -> String {
    let Ok(time) = jiff::Timestamp::from_millisecond(milliseconds) else { return String::new() };
    let here = time.to_zoned_datetime(jiff::tz::TimeZone::system());
    here.strftime("%Y-%m-%d %H:%M").to_string()
}
