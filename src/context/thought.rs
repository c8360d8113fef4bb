//! Where thinking may stand: at the beginning of the model's message, before its calls, and not at its end.
//!
//! What counts is the message that the API makes of the entries: those of the model that follow each other,
//! or have one message id with nothing but results between them.

use super::chain::only_answers;
use super::report::Mend;
use super::sheet::{Sheet, Speaker};
use crate::transcript::Kind;

/// Takes thinking that stands elsewhere out of what the model sees; true where there was some.
pub(super) fn cut(sheet: &mut Sheet) -> bool {
    let mut misplaced = Vec::new();
    for message in messages(sheet) {
        let blocks = message.iter().flat_map(|row| {
            sheet.rows[*row].blocks().map(|(place, block)| (*row, place, block.kind))
        });
        let blocks: Vec<(usize, usize, Kind)> = blocks.collect();
        let thinks = |kind| matches!(kind, Kind::Thinking | Kind::Redacted);
        let leads = blocks.first().is_some_and(|(_, _, kind)| thinks(*kind));
        let end = blocks.iter().rposition(|(_, _, kind)| !thinks(*kind)).unwrap_or(0);
        let call = blocks.iter().position(|(_, _, kind)| *kind == Kind::ToolUse).unwrap_or(end);
        let fits = |place: usize| leads && place < call;
        let thoughts = blocks.iter().enumerate().filter(|(_, (_, _, kind))| thinks(*kind));
        misplaced.extend(
            thoughts.filter(|(at, _)| !fits(*at)).map(|(_, (row, place, _))| (*row, *place)),
        );
    }
    for (row, block) in &misplaced {
        sheet.rows[*row].cut(|place| place == *block);
        sheet.note(*row, Mend::Thinking);
        sheet.drop_empty(*row);
    }
    !misplaced.is_empty()
}

/// The entries of each message of the model that is seen.
fn messages(sheet: &Sheet) -> Vec<Vec<usize>> {
    let mut messages: Vec<Vec<usize>> = Vec::new();
    // What the user said since the last entry of the model.
    let (mut heard, mut answers) = (false, true);
    for index in sheet.order.iter().copied() {
        let row = &sheet.rows[index];
        let Some(speaker) = row.speaker().filter(|_| row.live) else { continue };
        if speaker == Speaker::User {
            heard = true;
            answers &= only_answers(row);
            continue;
        }
        // An empty id is one here, as a client may take it.
        let id = |row: usize| {
            let row = &sheet.rows[row];
            row.message().map(|message| row.entry.at(message.id)).filter(|id| id.starts_with('"'))
        };
        let same = |last: &usize| id(index).is_some() && id(index) == id(*last);
        match messages.last_mut() {
            Some(message) if !heard || answers && message.last().is_some_and(same) => {
                message.push(index);
            }
            _ => messages.push(vec![index]),
        }
        (heard, answers) = (false, true);
    }
    messages
}
