//! Marks for the cache: at most four in a request, and none on an empty text.

use super::report::Mend;
use super::sheet::Sheet;
use crate::transcript::{BlockOutline, Entry, Kind, Shape, Span};

/// The most marks that a request may have; the newest stay.
const MOST: usize = 4;

/// True for a block with a mark; `null` is none.
pub(super) fn is_marked(entry: &Entry, block: &BlockOutline) -> bool {
    !matches!(entry.at(block.cache), "" | "null")
}

/// So many of the oldest marks go.
pub(super) fn surplus(sheet: &Sheet) -> usize {
    let rows = sheet.rows.iter().filter(|row| row.speaker().is_some());
    let marks = rows.flat_map(|row| {
        let blocks = row.message().into_iter().flat_map(|message| message.blocks.iter());
        blocks.filter(|block| is_marked(&row.entry, block))
    });
    marks.count().saturating_sub(MOST)
}

/// The mark of a text that went goes to the block before it, where one can carry it.
pub(super) fn hand_on(sheet: &mut Sheet, index: usize, gone: usize) {
    let row = &mut sheet.rows[index];
    let Some(message) = row.message() else { return };
    if !is_marked(&row.entry, &message.blocks[gone]) {
        return;
    }
    let mark = row.entry.at(message.blocks[gone].cache).to_owned();
    let carries = |block: &BlockOutline| {
        block.cache.is_empty()
            && matches!(
                block.kind,
                Kind::Text | Kind::ToolUse | Kind::ToolResult | Kind::Image | Kind::Document
            )
    };
    let before = row
        .blocks()
        .filter(|(place, block)| *place < gone && carries(block))
        .map(|(place, _)| place)
        .last();
    if let Some(before) = before
        && row.message().is_some_and(|message| message.shape == Shape::Blocks)
    {
        row.set(before, ("cache_control", Span::default()), &mark);
    }
    sheet.note(index, Mend::CacheMark);
}
