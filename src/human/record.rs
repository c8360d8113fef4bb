//! The two files that the person's words go to: the log of answers and the brief.

use std::fs::{OpenOptions, create_dir_all};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::ask::{Ask, AskState};
use crate::document::{self, Occasion};
use crate::language::Language;

/// Appends to the files. Both stay readable for people and are never rewritten.
pub(super) struct Record {
    pub(super) log_path: Option<PathBuf>,
    pub(super) amend_path: Option<PathBuf>,
    pub(super) language: Language,
    /// Two writers must not both find a file empty and head it twice.
    pub(super) one_writer: Mutex<()>,
}

impl Record {
    /// Writes down a question that has ended.
    pub(super) fn log_ask(&self, ask: &Ask) -> io::Result<()> {
        let mut text = format!("- **Q**({}) {}\n", ask.id, indented(&ask.question));
        if !ask.options.is_empty() {
            let options = indented(&ask.options.join(" / "));
            text.push_str(&format!("  - {}:{}{options}\n", self.word("log_options"), self.gap()));
        }
        let answer = format!("  - **A**[{}] {}", ask.state.name(), indented(&ask.answer));
        text.push_str(answer.trim_end());
        text.push('\n');
        self.log(&text)
    }

    /// Writes down words of the person, when the model gets them.
    pub(super) fn log_mail(&self, id: &str, words: &str) -> io::Result<()> {
        self.log(&format!("\n- **{}**({id}) {}\n", self.word("log_said"), indented(words)))
    }

    /// Adds words to the brief; nothing where there is none to add to.
    pub(super) fn amend(&self, words: &str, when: Occasion) -> io::Result<Option<&Path>> {
        let Some(path) = self.amend_path.as_deref() else { return Ok(None) };
        let time = jiff::ZonedDateTime::now().strftime("%H:%M:%S").to_string();
        let text = document::amend(words, when, &time, self.language);
        self.append(path, &document::amendments_title(self.language), &text)?;
        Ok(Some(path))
    }

    /// Makes the log with its head where there is none yet.
    pub(super) fn keep_log(&self) -> io::Result<()> {
        match self.log_path.as_deref() {
            Some(path) if !path.exists() => self.log(""),
            _ => Ok(()),
        }
    }

    fn log(&self, text: &str) -> io::Result<()> {
        let Some(path) = self.log_path.as_deref() else { return Ok(()) };
        let head = format!("# {}\n\n> {}\n\n", self.word("log_title"), self.word("log_note"));
        self.append(path, &head, text)
    }

    /// One write, so that what two processes append does not mix.
    fn append(&self, path: &Path, head: &str, text: &str) -> io::Result<()> {
        let _one = self.one_writer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(folder) = path.parent() {
            create_dir_all(folder)?;
        }
        let mut file = OpenOptions::new().append(true).create(true).open(path)?;
        let is_new = file.metadata()?.len() == 0;
        let whole = if is_new { format!("{head}{text}") } else { text.to_owned() };
        file.write_all(whole.as_bytes())
    }

    fn word(&self, key: &str) -> String {
        self.language.text(&format!("human.{key}"), &[])
    }

    /// Chinese puts nothing behind the colon.
    fn gap(&self) -> &'static str {
        if self.language == Language::Chinese { "" } else { " " }
    }
}

/// The lines of a transcript for people: `- Q: …` and `  A: [state] …`.
pub(super) fn transcript(asks: &[Ask]) -> String {
    let mut lines = Vec::new();
    for ask in asks.iter().filter(|ask| ask.state != AskState::Asked) {
        lines.push(format!("- Q: {}", ask.question));
        lines.push(format!("  A: [{}] {}", ask.state.name(), ask.answer).trim_end().to_owned());
    }
    lines.join("\n")
}

/// Further lines of a text stay part of their list item.
fn indented(text: &str) -> String {
    text.replace('\n', "\n    ")
}
