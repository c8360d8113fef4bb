//! One transcript row: its raw text and the few fields that flower reads.

use std::sync::Arc;

use super::block::Block;
use super::raw::RawObject;
use super::usage::Usage;

/// Why a text is no entry.
#[derive(Debug, thiserror::Error)]
pub enum EntryError {
    /// Not JSON, or not an object.
    #[error("a transcript entry must be a JSON object: {0}")]
    NotAnObject(#[from] serde_json::Error),
}

/// A transcript row. Cloning is cheap: the text is shared.
#[derive(Debug, Clone)]
pub struct Entry {
    raw: Arc<str>,
    /// `type`: user, assistant, system, summary, …; empty where missing.
    pub kind: String,
    /// `uuid`; some kinds of entry have none.
    pub uuid: Option<String>,
    /// `parentUuid`.
    pub parent: Option<String>,
    /// `isSidechain`: written by a subagent.
    pub sidechain: bool,
    /// `isMeta` or `isCompactSummary`: never trimmed, expired or pruned.
    pub protected: bool,
    /// `isApiErrorMessage`, or a message of the model `<synthetic>`.
    pub api_error: bool,
    /// `timestamp`, ISO 8601.
    pub timestamp: Option<String>,
}

/// The message of a user or assistant entry.
#[derive(Debug, Clone)]
pub struct Message {
    /// `user` or `assistant`.
    pub role: String,
    /// The API's id of an assistant message; its blocks may lie in several entries.
    pub id: Option<String>,
    /// The model that wrote it.
    pub model: Option<String>,
    /// In order.
    pub blocks: Vec<Block>,
    /// As reported with the message.
    pub usage: Option<Usage>,
}

impl Entry {
    /// Takes a row's text as it is.
    pub fn parse(raw: impl Into<Arc<str>>) -> Result<Self, EntryError> {
        let raw = raw.into();
        let fields = RawObject::parse(&raw)?;
        let synthetic = fields
            .get("message")
            .and_then(|message| RawObject::parse(message).ok())
            .and_then(|message| message.string("model"))
            .is_some_and(|model| model == "<synthetic>");
        Ok(Self {
            kind: fields.string("type").unwrap_or_default(),
            uuid: fields.string("uuid").filter(|uuid| !uuid.is_empty()),
            parent: fields.string("parentUuid"),
            sidechain: fields.flag("isSidechain"),
            protected: fields.flag("isMeta") || fields.flag("isCompactSummary"),
            api_error: fields.flag("isApiErrorMessage") || synthetic,
            timestamp: fields.string("timestamp"),
            raw: Arc::clone(&raw),
        })
    }

    /// The row's text, byte for byte.
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// The raw text of a top-level field.
    pub fn field(&self, name: &str) -> Option<&str> {
        RawObject::parse(&self.raw).ok()?.get(name)
    }

    /// A top-level field that is a string.
    pub fn string(&self, name: &str) -> Option<String> {
        RawObject::parse(&self.raw).ok()?.string(name)
    }

    /// The message, where the entry has one that can be read.
    pub fn message(&self) -> Option<Message> {
        let fields = RawObject::parse(self.field("message")?).ok()?;
        Some(Message {
            role: fields.string("role").unwrap_or_else(|| self.kind.clone()),
            id: fields.string("id"),
            model: fields.string("model"),
            blocks: Block::parse_content(fields.get("content")?).ok()?,
            usage: fields.get("usage").and_then(|usage| serde_json::from_str(usage).ok()),
        })
    }
}
