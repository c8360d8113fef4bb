//! Where news goes: text to read, one JSON object at the end, or one per event.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;

use super::args::{Color, Global, OutputFormat};
use super::exit::{Ending, LastLine};
use super::terminal::Renderer;
use crate::event::{Event, Sink};
use crate::language::Language;

/// One sentence to stderr. Nobody to hear it is no reason to fail.
pub(super) fn complain(text: &str) {
    let mut stderr = std::io::stderr().lock();
    for line in text.lines() {
        let _ = writeln!(stderr, "flower: {}", super::terminal::clean(line));
    }
}

/// Something that the person should know; to stderr, whatever stdout is for.
pub(super) fn warn(text: &str) {
    let mut stderr = std::io::stderr().lock();
    for line in text.lines() {
        let _ = writeln!(stderr, "! {}", super::terminal::clean(line));
    }
}

/// Whether colours are wanted on a stream that is a terminal or not.
pub(super) fn colored(global: &Global, terminal: bool) -> bool {
    match global.color.unwrap_or(Color::Auto) {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
    }
}

/// Which stream gets what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Audience {
    /// Somebody follows the run: everything readable goes to stdout.
    Follower,
    /// Somebody wants the answer: it alone goes to stdout when that is a pipe.
    Reader,
}

/// The way out.
pub(super) struct Output {
    format: OutputFormat,
    /// Readable news go to stderr, so that stdout holds nothing but the answer.
    aside: bool,
    renderer: Mutex<Renderer>,
}

impl Output {
    pub(super) fn new(global: &Global, language: Language, audience: Audience) -> Self {
        let format = global.output.unwrap_or(OutputFormat::Text);
        let terminal = std::io::stdout().is_terminal();
        let aside = audience == Audience::Reader && !terminal;
        let shown_on_terminal = if aside { std::io::stderr().is_terminal() } else { terminal };
        let colored = colored(global, shown_on_terminal);
        let width = super::terminal::width();
        let renderer = Mutex::new(Renderer::new(language, width, colored, global.verbose));
        Self { format, aside, renderer }
    }

    /// The sink of a run.
    pub(super) fn sink(self: &std::sync::Arc<Self>) -> Sink {
        let output = std::sync::Arc::clone(self);
        Sink::new(move |event| output.show(&event))
    }

    fn show(&self, event: &Event) {
        match self.format {
            OutputFormat::Json => {}
            OutputFormat::StreamJson => {
                if let Ok(line) = serde_json::to_string(event) {
                    print_line(&line);
                }
            }
            OutputFormat::Text => {
                let mut renderer =
                    self.renderer.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                self.print(&renderer.render(event));
            }
        }
    }

    /// Readable lines; nothing where stdout is for machines.
    pub(super) fn say(&self, text: &str) {
        if self.format == OutputFormat::Text {
            self.print(&format!("{text}\n"));
        }
    }

    /// The answer of a single task, where nobody follows it on the screen.
    pub(super) fn answer(&self, text: &str) {
        if self.format == OutputFormat::Text && self.aside {
            print_line(text);
        }
    }

    /// The machine-readable end, under both JSON formats.
    pub(super) fn end(&self, last: &LastLine) {
        if self.format != OutputFormat::Text {
            print_last(last);
        }
    }

    fn print(&self, text: &str) {
        if text.is_empty() {
            return;
        }
        if self.aside {
            let mut stderr = std::io::stderr().lock();
            let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
        } else {
            let mut stdout = std::io::stdout().lock();
            let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
        }
    }
}

/// The machine-readable end of a run that did not begin, where one was asked for.
pub(super) fn end_without_run(global: &Global, ending: &Ending) {
    if matches!(global.output, Some(OutputFormat::Json | OutputFormat::StreamJson)) {
        print_last(&ending.line_without_run());
    }
}

fn print_last(last: &LastLine) {
    if let Ok(line) = serde_json::to_string(last) {
        print_line(&line);
    }
}

fn print_line(line: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
}
