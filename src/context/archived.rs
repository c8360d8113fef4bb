//! A large result that the view points to instead of holding it.

use std::borrow::Cow;

use sha2::{Digest, Sha256};

use super::text;
use crate::transcript::{Entry, MessageOutline};

/// A result that goes to a file. The caller writes it before the view is used, where it is absent.
#[derive(Debug, Clone)]
pub struct Archived {
    entry: Entry,
    block: usize,
    name: String,
}

impl Archived {
    /// Of a result in an entry, with the length of its text in characters.
    pub(super) fn of(entry: &Entry, block: usize) -> Option<(Self, usize)> {
        let text = text_of(entry, block)?;
        let digest = Sha256::digest(text.as_bytes());
        let mut name: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        name.push_str(".txt");
        let count = text.chars().count();
        Some((Self { entry: entry.clone(), block, name }, count))
    }

    /// The file's name: the same text always has the same.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text, decoded now, so that it is not held twice.
    pub fn text(&self) -> Cow<'_, str> {
        text_of(&self.entry, self.block).unwrap_or_default()
    }
}

fn text_of(entry: &Entry, block: usize) -> Option<Cow<'_, str>> {
    let message: &MessageOutline = entry.outline().message.as_ref()?;
    text::of_result(entry, message, block)
}
