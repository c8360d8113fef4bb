//! Turns: a message of the model, which may lie in several entries, and what the user said to it.

use std::collections::HashSet;

use super::chain::only_answers;
use super::report::Mend;
use super::sheet::{Row, Sheet, Speaker};
use super::text;
use crate::transcript::Kind;

/// A message of the model and what the user said to it: a part of a stretch's rows. All entries of one
/// message id are one message.
pub(super) struct Turn {
    /// All rows in order.
    pub(super) rows: Vec<usize>,
    /// The last entry of the message; nothing where a conversation begins with the user.
    pub(super) last_head: Option<usize>,
    /// Its calls are these of the stretch's.
    pub(super) calls: std::ops::Range<usize>,
}

impl Turn {
    /// The entries of the message.
    pub(super) fn heads<'a>(
        &'a self,
        sheet: &'a Sheet,
    ) -> impl DoubleEndedIterator<Item = usize> + 'a {
        let is_head = |row: &usize| sheet.rows[*row].speaker() == Some(Speaker::Assistant);
        self.rows.iter().copied().filter(is_head)
    }
}

/// The turns of a stretch.
pub(super) fn turns(sheet: &Sheet, rows: &[usize]) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    // The turn's message has user's words behind it, so that only its own chain can continue it.
    let mut spoken = false;
    for index in rows.iter().copied() {
        let row = &sheet.rows[index];
        let Some(speaker) = row.speaker() else { continue };
        let joins = turns.last().is_some_and(|turn| match speaker {
            Speaker::User => true,
            Speaker::Assistant => continues(sheet, turn, row, spoken),
        });
        if !joins {
            turns.push(Turn { rows: Vec::with_capacity(2), last_head: None, calls: 0..0 });
            spoken = false;
        }
        let Some(turn) = turns.last_mut() else { continue };
        turn.rows.push(index);
        match speaker {
            Speaker::Assistant => turn.last_head = Some(index),
            Speaker::User => spoken |= !only_answers(row),
        }
    }
    turns
}

/// True where a row is one more entry of the turn's message.
fn continues(sheet: &Sheet, turn: &Turn, row: &Row, spoken: bool) -> bool {
    let Some(last) = turn.last_head else { return false };
    let id = row.message_id();
    let follows = || {
        row.above.is_some_and(|above| {
            let own = turn.rows.contains(&above);
            let above = &sheet.rows[above];
            own && (above.speaker() == Some(Speaker::Assistant) || only_answers(above))
        })
    };
    id.is_some() && id == sheet.rows[last].message_id() && (!spoken || follows())
}

/// A message that has a live part is live as a whole, with what answers it.
pub(super) fn spread_life(sheet: &mut Sheet, rows: &[usize], answered: bool) {
    for turn in turns(sheet, rows) {
        if !turn.heads(sheet).any(|head| sheet.rows[head].live) {
            continue;
        }
        for index in turn.rows {
            let row = &mut sheet.rows[index];
            let part = row.speaker() == Some(Speaker::Assistant)
                || answered && row.blocks().any(|(_, block)| block.kind == Kind::ToolResult);
            row.live |= part;
        }
    }
}

/// What a message must not end with, and halves of what a server runs.
pub(super) fn cut_loose_ends(sheet: &mut Sheet, rows: &[usize]) {
    for turn in turns(sheet, rows) {
        let Some(last) = turn.last_head else { continue };
        let thinks = |kind| matches!(kind, Kind::Thinking | Kind::Redacted);
        let serves = |kind| matches!(kind, Kind::ServerUse | Kind::ServerResult);
        let ends = sheet.rows[last].blocks().last().is_some_and(|(_, block)| thinks(block.kind));
        let served = turn
            .heads(sheet)
            .any(|head| sheet.rows[head].blocks().any(|(_, block)| serves(block.kind)));
        if ends || served {
            cut_ends_of(sheet, &turn);
        }
    }
}

fn cut_ends_of(sheet: &mut Sheet, turn: &Turn) {
    let heads: Vec<usize> = turn.heads(sheet).collect();
    let ids = |kind: Kind| -> HashSet<String> {
        let blocks = heads.iter().flat_map(|head| {
            let row = &sheet.rows[*head];
            row.blocks().map(move |(_, block)| (row, block))
        });
        blocks
            .filter(|(_, block)| block.kind == kind)
            .map(|(row, block)| text::string(&row.entry, block.id).unwrap_or_default().into_owned())
            .collect()
    };
    let (uses, results) = (ids(Kind::ServerUse), ids(Kind::ServerResult));
    let mut ends = true;
    for head in heads.iter().rev().copied() {
        let row = &sheet.rows[head];
        let mut blocks: Vec<_> = row.blocks().collect();
        blocks.reverse();
        let mut gone = Vec::new();
        for (place, block) in blocks {
            let id = || text::string(&row.entry, block.id).unwrap_or_default();
            let mend = match block.kind {
                Kind::ServerUse if !results.contains(id().as_ref()) => Some(Mend::ServerTool),
                Kind::ServerResult if !uses.contains(id().as_ref()) => Some(Mend::ServerTool),
                Kind::Thinking | Kind::Redacted if ends => Some(Mend::Thinking),
                _ => None,
            };
            ends &= mend.is_some();
            gone.extend(mend.map(|mend| (place, mend)));
        }
        for (block, mend) in gone {
            sheet.rows[head].cut(|place| place == block);
            sheet.note(head, mend);
        }
        sheet.drop_empty(head);
    }
}
