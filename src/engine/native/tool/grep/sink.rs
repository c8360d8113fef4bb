//! Collects what one file contributes to a search.

use std::io;

use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};

/// Characters of a line that are shown.
const LINE_CHARS: usize = 1000;

/// What a search returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Files,
    Content { numbers: bool },
    Count,
}

/// The lines of the result that come from one file.
pub(super) struct FileSink {
    name: String,
    mode: Mode,
    room: usize,
    lines: Vec<String>,
    matches: u64,
    binary: bool,
}

impl FileSink {
    /// `room` is how many lines are still of use.
    pub(super) fn new(name: String, mode: Mode, room: usize) -> Self {
        Self { name, mode, room, lines: Vec::new(), matches: 0, binary: false }
    }

    /// A file that turned out to be binary contributes nothing.
    pub(super) fn finish(self) -> Vec<String> {
        if self.binary || self.matches == 0 {
            return Vec::new();
        }
        match self.mode {
            Mode::Content { .. } => self.lines,
            Mode::Files => vec![self.name],
            Mode::Count => vec![format!("{}:{}", self.name, self.matches)],
        }
    }

    fn push(&mut self, bytes: &[u8], first: Option<u64>, mark: char) {
        let Mode::Content { numbers } = self.mode else { return };
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let text = String::from_utf8_lossy(line);
            let text = match text.char_indices().nth(LINE_CHARS) {
                None => text.into_owned(),
                Some((at, _)) => format!("{} [cut]", &text[..at]),
            };
            let number = first.filter(|_| numbers).map(|first| first + index as u64);
            let number = number.map_or(String::new(), |number| format!("{number}{mark}"));
            self.lines.push(format!("{}{mark}{number}{text}", self.name));
        }
    }
}

impl Sink for FileSink {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.matches += 1;
        self.push(found.bytes(), found.line_number(), ':');
        // Files mode goes on to the end, too: only then is it known that the file is not binary.
        Ok(self.lines.len() < self.room)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        self.push(context.bytes(), context.line_number(), '-');
        Ok(self.lines.len() < self.room)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        if matches!(self.mode, Mode::Content { .. }) {
            self.lines.push("--".to_owned());
        }
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.binary = true;
        Ok(false)
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> io::Result<()> {
        self.binary |= end.binary_byte_offset().is_some();
        Ok(())
    }
}
