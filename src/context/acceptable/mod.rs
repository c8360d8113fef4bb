//! Judges a view: would the Messages API take the request that clients make of it?
//!
//! It shares nothing with the mending: rows are read anew from their text, and every [`Demand`] is
//! checked by a rule of its own, so that a mistake there cannot hide here. It only ever says no; it
//! mends nothing.
//!
//! How clients make a request of rows: those of type `user` and `assistant` on the main thread speak;
//! reports of API errors and rows of subagents are left out. Rows of one speaker that follow each other
//! are one message. A message of the model may lie in several rows with the same `message.id`; results
//! of its calls may stand between them. A new prompt follows the view, so that nothing here is the
//! end of a request: what the API allows in a final message of the model is not allowed.
//!
//! Which rows those are, a walk from the last one along its parents tells, up to the last compaction;
//! parallel calls and their results fork there and belong to it, as far as they stand behind that compaction. Branches that were given up do not.

mod block;
mod chain;
mod picture;
mod read;
mod request;

use std::collections::HashSet;
use std::fmt;

use crate::transcript::Entry;

/// What the API, or a client that resumes the view, insists on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Demand {
    /// A row's `uuid` is its own.
    UniqueUuid,
    /// A row that speaks has a `uuid`; a walk along parents passes over those without.
    HasUuid,
    /// `parentUuid` is null or the uuid of a row of the view.
    ParentExists,
    /// A parent stands before its children, so that order and chain tell the same.
    ParentFirst,
    /// Parents do not lead in a circle.
    NoCircle,
    /// Every row that speaks hangs at the root of the last one, if only in a branch that was given up;
    /// but for what was said before a compaction.
    Reachable,
    /// A row that speaks has a message, whose content is a string or a list.
    Content,
    /// `role` is what the row's type says.
    Role,
    /// The first message is the user's.
    UserFirst,
    /// "messages must have non-empty content".
    NotEmpty,
    /// Blocks are objects of a kind that the speaker may use, with fields of the right type.
    KnownBlock,
    /// "text content blocks must be non-empty", and "must contain non-whitespace text".
    TextNotBlank,
    /// "`tool_use` ids were found without `tool_result` blocks immediately after".
    Answered,
    /// "each `tool_use` must have a single result".
    AnsweredOnce,
    /// "unexpected `tool_use_id` found in `tool_result` blocks".
    ResultHasCall,
    /// Results stand before whatever else the user's message holds.
    ResultsFirst,
    /// "content cannot be empty if `is_error` is true".
    ErrorSaysWhat,
    /// "String should match pattern '^[a-zA-Z0-9_-]+$'".
    IdForm,
    /// "`tool_use` ids must be unique".
    UniqueId,
    /// A call's tool has a name of 1 to 200 characters.
    ToolName,
    /// "tool_use.input: Input should be an object".
    InputObject,
    /// "A maximum of 4 blocks with cache_control may be provided", none of them an empty text.
    CacheControl,
    /// "The request body is not valid JSON: no low surrogate in string".
    WholeText,
    /// A thinking block has its signature, a redacted one its data.
    Signature,
    /// "If an assistant message contains any thinking blocks, the first block must be thinking", and
    /// none comes behind a call.
    ThinkingFirst,
    /// "The final block in an assistant message cannot be `thinking`", said of the last one.
    ThinkingNotLast,
    /// "blocks in the latest assistant message cannot be modified": see [`keeps_thinking`].
    ThinkingKept,
    /// Pictures are base64 of a supported kind, or a link.
    ImageSource,
    /// "Could not process image": the bytes are a picture of the kind that was announced.
    ImageBytes,
    /// "image dimensions exceed max allowed size": 8000 pixels, 2000 where there are several.
    ImageDimensions,
    /// "image exceeds 5 MB maximum", measured in base64.
    ImageSize,
}

/// A demand that a view does not meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Which one.
    pub demand: Demand,
    /// The place of the row in the view, from 0.
    pub row: usize,
    /// What is wrong there.
    pub detail: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row {}: {:?}: {}", self.row, self.demand, self.detail)
    }
}

/// What was found so far.
#[derive(Default)]
struct Findings(Vec<Violation>);

impl Findings {
    fn add(&mut self, demand: Demand, row: usize, detail: impl Into<String>) {
        let violation = Violation { demand, row, detail: detail.into() };
        // The rows behind a compaction are asked twice.
        if !self.0.contains(&violation) {
            self.0.push(violation);
        }
    }

    fn demand(&mut self, holds: bool, demand: Demand, row: usize, detail: &str) {
        if !holds {
            self.add(demand, row, detail);
        }
    }
}

/// Checks every [`Demand`] but [`Demand::ThinkingKept`], which needs the record too. A view without
/// anything said is acceptable: the prompt that follows it is the first message.
///
/// # Errors
/// Everything that is wrong, not only the first thing.
pub fn is_acceptable(view: &[Entry]) -> Result<(), Vec<Violation>> {
    let rows = read(view);
    let mut findings = Findings::default();
    let reached = chain::check(&rows, &mut findings);
    for row in rows.iter().filter(|row| row.speaks) {
        block::check_row(row, &mut findings);
    }
    let sent: Vec<&read::Row> = rows.iter().filter(|row| reached[row.at]).collect();
    request::check(&sent, &mut findings);
    // A client may begin at the last compaction though the walk goes on.
    if let Some(start) = sent.iter().rposition(|row| row.boundary) {
        request::check(&sent[start..], &mut findings);
    }
    if findings.0.is_empty() { Ok(()) } else { Err(findings.0) }
}

/// The places of the rows that make up the request.
pub fn sent(view: &[Entry]) -> Vec<usize> {
    let rows = read(view);
    let reached = chain::check(&rows, &mut Findings::default());
    let start = rows.iter().rposition(|row| row.boundary && reached[row.at]).unwrap_or(0);
    let sent = rows[start..].iter().filter(|row| row.speaks && reached[row.at]);
    sent.map(|row| row.at).collect()
}

fn read(view: &[Entry]) -> Vec<read::Row> {
    let rows = view.iter().enumerate().map(|(at, entry)| read::Row::read(at, entry.raw()));
    let mut rows: Vec<read::Row> = rows.collect();
    // A transcript of side entries only is a subagent's own.
    if rows.iter().any(|row| row.speaks && !row.side) {
        rows.iter_mut().for_each(|row| row.speaks &= !row.side);
    }
    rows
}

/// Checks that each thinking block of `view` is, byte for byte, one of `record`.
///
/// # Errors
/// The blocks that are not.
pub fn keeps_thinking(record: &[Entry], view: &[Entry]) -> Result<(), Vec<Violation>> {
    let known: HashSet<String> =
        record.iter().flat_map(|entry| read::thinking(entry.raw())).collect();
    let mut findings = Findings::default();
    for (at, entry) in view.iter().enumerate() {
        for block in read::thinking(entry.raw()) {
            if !known.contains(&block) {
                findings.add(Demand::ThinkingKept, at, format!("changed: {block:.200}"));
            }
        }
    }
    if findings.0.is_empty() { Ok(()) } else { Err(findings.0) }
}

#[cfg(test)]
mod tests;
