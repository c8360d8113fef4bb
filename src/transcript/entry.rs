//! One transcript row: its raw text and the few fields that flower reads.

use std::sync::Arc;

use serde::de::Error as _;
use serde_json::value::RawValue;

use super::block::Block;
use super::outline::{self, Outline};
use super::raw::{RawObject, decode_string, field, remove_field, replace, span, splice_field};
use super::scan::Span;
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
    outline: Arc<Outline>,
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
    ///
    /// # Errors
    /// Where the text is not one JSON object, or has four gigabytes and more.
    pub fn parse(raw: impl Into<Arc<str>>) -> Result<Self, EntryError> {
        let raw = raw.into();
        if u32::try_from(raw.len()).is_err() {
            return Err(serde_json::Error::custom("too long").into());
        }
        let head = outline::read(&raw)
            .map_err(|bad| serde_json::Error::custom(format!("at byte {}", bad.at)))?;
        Ok(Self {
            kind: head.kind,
            uuid: head.uuid,
            parent: head.parent,
            sidechain: head.sidechain,
            protected: head.meta || head.outline.summary,
            api_error: head.api_error,
            timestamp: head.timestamp,
            outline: Arc::new(head.outline),
            raw,
        })
    }

    /// Where things stand in it.
    pub fn outline(&self) -> &Outline {
        &self.outline
    }

    /// The text at a place of its outline.
    pub fn at(&self, span: Span) -> &str {
        self.raw.get(span.range()).unwrap_or_default()
    }

    /// The row's text, byte for byte.
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// The raw text of a top-level field.
    pub fn field(&self, name: &str) -> Option<&str> {
        field(&self.raw, name)
    }

    /// A top-level field that is a string.
    pub fn string(&self, name: &str) -> Option<String> {
        self.field(name).and_then(decode_string)
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

    /// The entry with one top-level field exchanged (or added), every other byte as it was.
    ///
    /// # Errors
    /// Where `value` is not JSON.
    pub fn with_field(&self, name: &str, value: &str) -> Result<Self, EntryError> {
        Self::parse(splice_field(&self.raw, name, value)?)
    }

    /// The entry without one top-level field.
    ///
    /// # Errors
    /// Never for an entry that was parsed; the type says it because the text is read again.
    pub fn without_field(&self, name: &str) -> Result<Self, EntryError> {
        Self::parse(remove_field(&self.raw, name)?)
    }

    /// The entry with other blocks in its message where `edit` says so.
    ///
    /// Only the text of changed blocks is exchanged. Where a block goes, the array's spacing is written
    /// anew. A message whose content is a string, or that cannot be read, has no blocks to edit.
    ///
    /// # Errors
    /// Where a new block's text does not fit, which would be a defect of `Block`.
    pub fn edit_blocks(
        &self,
        mut edit: impl FnMut(&Block) -> BlockEdit,
    ) -> Result<Edited, EntryError> {
        let unchanged = Edited { entry: self.clone(), changed: false, left: usize::MAX };
        let content = self
            .field("message")
            .and_then(|message| RawObject::parse(message).ok())
            .and_then(|message| message.get("content"));
        let Some(content) = content else { return Ok(unchanged) };
        let Ok(raws) = serde_json::from_str::<Vec<&RawValue>>(content) else {
            return Ok(unchanged);
        };
        let mut pieces = Vec::with_capacity(raws.len());
        let (mut changed, mut removed) = (false, false);
        for raw in raws {
            let decision = Block::parse(raw.get()).map_or(BlockEdit::Keep, |block| edit(&block));
            match decision {
                BlockEdit::Keep => pieces.push((raw.get(), None)),
                BlockEdit::Replace(block) => {
                    changed = true;
                    pieces.push((raw.get(), Some(block)));
                }
                BlockEdit::Remove => removed = true,
            }
        }
        if !changed && !removed {
            return Ok(Edited { left: pieces.len(), ..unchanged });
        }
        let text = if removed {
            let kept: Vec<&str> =
                pieces.iter().map(|(raw, block)| block.as_ref().map_or(*raw, Block::raw)).collect();
            replace(&self.raw, span(&self.raw, content), &format!("[{}]", kept.join(",")))
        } else {
            let mut text = self.raw.to_string();
            // From the back, so that the places in front stay where they are.
            for (raw, block) in pieces.iter().rev() {
                if let Some(block) = block {
                    text = replace(&text, span(&self.raw, raw), block.raw());
                }
            }
            text
        };
        Ok(Edited { entry: Self::parse(text)?, changed: true, left: pieces.len() })
    }
}

/// What becomes of one block of a message.
#[derive(Debug, Clone)]
pub enum BlockEdit {
    /// It stays, byte for byte.
    Keep,
    /// It goes.
    Remove,
    /// Another one takes its place.
    Replace(Block),
}

/// What [`Entry::edit_blocks`] made.
#[derive(Debug, Clone)]
pub struct Edited {
    /// The entry afterwards.
    pub entry: Entry,
    /// False where it is the entry of before.
    pub changed: bool,
    /// How many blocks it has now; `usize::MAX` where its content is not an array.
    pub left: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = r#"{"uuid":"u", "parentUuid" : "p","message":{"role":"user","content":[ {"type":"tool_result","tool_use_id":"t","content":"\ud83d","is_error":true} , {"type":"text","text":"\u00e9"} ], "x": 1.50}, "toolUseResult": {"a":1}}"#;

    #[test]
    fn a_top_level_field_is_exchanged_in_place() {
        let entry = Entry::parse(ROW).unwrap().with_field("parentUuid", "null").unwrap();
        assert_eq!(entry.raw(), ROW.replace(r#""p""#, "null"));
        assert_eq!(entry.parent, None);
        assert_eq!(entry.uuid.as_deref(), Some("u"));
    }

    #[test]
    fn a_block_is_exchanged_and_its_neighbours_keep_their_bytes() {
        let edited = Entry::parse(ROW)
            .unwrap()
            .edit_blocks(|block| match block.body() {
                crate::transcript::Body::ToolResult { .. } => {
                    BlockEdit::Replace(block.with_field("content", r#""new""#).unwrap())
                }
                _ => BlockEdit::Keep,
            })
            .unwrap();
        assert!(edited.changed);
        assert_eq!(edited.left, 2);
        assert_eq!(edited.entry.raw(), ROW.replace(r#""\ud83d""#, r#""new""#));
    }

    #[test]
    fn a_block_is_taken_out() {
        let edited = Entry::parse(ROW)
            .unwrap()
            .edit_blocks(|block| match block.body() {
                crate::transcript::Body::ToolResult { .. } => BlockEdit::Remove,
                _ => BlockEdit::Keep,
            })
            .unwrap();
        assert_eq!(edited.left, 1);
        let message = edited.entry.field("message").unwrap();
        assert_eq!(
            message,
            r#"{"role":"user","content":[{"type":"text","text":"\u00e9"}], "x": 1.50}"#
        );
        let bare = edited.entry.without_field("toolUseResult").unwrap();
        assert_eq!(bare.field("toolUseResult"), None);
        assert_eq!(bare.field("message"), Some(message));
    }

    #[test]
    fn nothing_to_edit_gives_the_same_bytes() {
        for raw in [ROW, r#"{"message":{"content":"a"}}"#, r#"{"message":null}"#, "{}"] {
            let edited = Entry::parse(raw).unwrap().edit_blocks(|_| BlockEdit::Keep).unwrap();
            assert!(!edited.changed);
            assert_eq!(edited.entry.raw(), raw);
        }
    }
}
