//! Calls and results: whose id is whose, and which result answers which call.

use std::borrow::Cow;
use std::collections::HashMap;

use super::Stretch;
use super::made;
use super::mend::is_name;
use super::report::Mend;
use super::sheet::{Row, Sheet, Speaker};
use super::text;
use super::turn::Turn;
use crate::transcript::Kind;

/// A block by its row and its place in the row's outline.
pub(super) type Block = (usize, usize);

/// One call of the model.
pub(super) struct Call {
    pub(super) row: usize,
    pub(super) block: usize,
    /// The id that it gets instead of its own.
    pub(super) new_id: Option<String>,
    /// The result, by row and block.
    pub(super) answer: Option<(usize, usize)>,
}

/// Gives every call an id of its own that the API takes; a call that was recorded twice goes.
///
/// What the model sees has the first right to an id: live rows, then newer stretches, then the order.
/// Gives the new ids.
pub(super) fn part_calls(sheet: &mut Sheet, stretches: &[Stretch]) -> HashMap<Block, String> {
    let mut owners: HashMap<(usize, Cow<'_, str>), (usize, Block)> = HashMap::new();
    let (mut again, mut unfit): (Vec<Block>, Vec<Block>) = (Vec::new(), Vec::new());
    for live in [true, false] {
        for (number, stretch) in stretches.iter().enumerate().rev() {
            for index in stretch.rows.iter().copied() {
                let row = &sheet.rows[index];
                if row.live != live {
                    continue;
                }
                for (place, block) in row.blocks() {
                    if block.kind != Kind::ToolUse {
                        continue;
                    }
                    let id = text::string(&row.entry, block.id).unwrap_or_default();
                    if !is_name(&id) {
                        unfit.push((index, place));
                        continue;
                    }
                    let (owner, known) =
                        *owners.entry((stretch.thread, id)).or_insert((number, (index, place)));
                    if known == (index, place) {
                        continue;
                    }
                    if owner == number && is_same(sheet, known, (index, place)) {
                        again.push((index, place));
                    } else {
                        unfit.push((index, place));
                    }
                }
            }
        }
    }
    let mut new_ids = HashMap::new();
    for (row, block) in unfit {
        let uuid = sheet.rows[row].uuid().unwrap_or_else(|| sheet.rows[row].entry.raw());
        let new = format!("toolu_{}", made::derived(&format!("call\n{uuid}\n{block}")));
        new_ids.insert((row, block), new);
    }
    drop(owners);
    for (row, block) in again {
        sheet.rows[row].cut(|place| place == block);
        sheet.note(row, Mend::RepeatedCall);
        sheet.drop_empty(row);
    }
    for ((row, block), new) in &new_ids {
        let place = sheet.rows[*row].message().map(|message| message.blocks[*block].id);
        sheet.rows[*row].set(*block, ("id", place.unwrap_or_default()), &text::literal(new));
        sheet.note(*row, Mend::CallId);
    }
    new_ids
}

/// True for two calls with one name and one input.
fn is_same(sheet: &Sheet, one: Block, other: Block) -> bool {
    let text = |(row, block): Block| {
        let entry = &sheet.rows[row].entry;
        let block = sheet.rows[row].message()?.blocks.get(block)?;
        Some((entry.at(block.name), entry.at(block.body)))
    };
    text(one) == text(other)
}

/// What becomes of results.
#[derive(Default)]
struct Answers {
    gone: Vec<(Block, Mend)>,
    renamed: Vec<(Block, String)>,
    live: Vec<usize>,
}

/// Gives each result to its call. A result without one goes, and so does a second one.
pub(super) fn answer(
    sheet: &mut Sheet,
    turns: &mut [Turn],
    new_ids: &mut HashMap<Block, String>,
) -> Vec<Call> {
    let (calls, answers) = find_answers(sheet, turns, new_ids);
    for row in answers.live {
        sheet.rows[row].live = true;
    }
    for ((row, block), mend) in answers.gone {
        sheet.rows[row].cut(|place| place == block);
        // The harness's own copy of the result would tell what the message no longer does.
        sheet.rows[row].edit().without_copy = true;
        sheet.note(row, mend);
        sheet.drop_empty(row);
    }
    for ((row, block), id) in answers.renamed {
        let place = sheet.rows[row].message().map(|message| message.blocks[block].id);
        let id = text::literal(&id);
        sheet.rows[row].set(block, ("tool_use_id", place.unwrap_or_default()), &id);
    }
    calls
}

fn find_answers(
    sheet: &Sheet,
    turns: &mut [Turn],
    new_ids: &mut HashMap<Block, String>,
) -> (Vec<Call>, Answers) {
    let mut calls: Vec<Call> = Vec::new();
    // Of calls that share an id, each knows the one before it.
    let mut newest: HashMap<Cow<'_, str>, usize> = HashMap::new();
    let mut earlier: Vec<Option<usize>> = Vec::new();
    let mut answers = Answers::default();
    let mut left = Vec::new();
    for turn in turns.iter_mut() {
        let first = calls.len();
        for index in turn.rows.iter().copied() {
            let row = &sheet.rows[index];
            if row.speaker() != Some(Speaker::Assistant) {
                continue;
            }
            for (place, block) in row.blocks().filter(|(_, block)| block.kind == Kind::ToolUse) {
                let id = text::string(&row.entry, block.id).unwrap_or_default();
                earlier.push(newest.insert(id, calls.len()));
                let new_id = new_ids.remove(&(index, place));
                calls.push(Call { row: index, block: place, new_id, answer: None });
            }
        }
        turn.calls = first..calls.len();
        for index in turn.rows.iter().copied() {
            let row = &sheet.rows[index];
            if row.speaker() != Some(Speaker::User) {
                continue;
            }
            for (place, block) in row.blocks().filter(|(_, block)| block.kind == Kind::ToolResult) {
                let id = text::string(&row.entry, block.id).unwrap_or_default();
                let known = newest.get(&id).copied();
                match best(sheet, row, &calls, &earlier, known) {
                    Some(call) => give(sheet, &mut calls[call], (index, place), &mut answers),
                    None => left.push((index, place, id)),
                }
            }
        }
    }
    // A result that stands before its call.
    for (index, place, id) in left {
        let row = &sheet.rows[index];
        let known = newest.get(&id).copied();
        match best(sheet, row, &calls, &earlier, known) {
            Some(call) if calls[call].answer.is_none() => calls[call].answer = Some((index, place)),
            Some(_) => answers.gone.push(((index, place), Mend::SecondResult)),
            None => answers.gone.push(((index, place), Mend::OrphanResult)),
        }
    }
    for call in &mut calls {
        let Some(answer) = call.answer else { continue };
        if sheet.rows[call.row].live {
            answers.live.push(answer.0);
        }
        answers.renamed.extend(call.new_id.clone().map(|id| (answer, id)));
    }
    (calls, answers)
}

/// Of the calls with a result's id: one that is still open, that it hangs under, of the newest message.
/// A branch that was given up has no part in what the model sees.
fn best(
    sheet: &Sheet,
    row: &Row,
    calls: &[Call],
    earlier: &[Option<usize>],
    newest: Option<usize>,
) -> Option<usize> {
    let all = std::iter::successors(newest, |call| earlier[*call]);
    let fits = all.filter(|call| !row.live || sheet.rows[calls[*call].row].live);
    fits.min_by_key(|call| {
        let call = &calls[*call];
        (call.answer.is_some(), row.above != Some(call.row))
    })
}

/// What the model sees has the first right to be the answer.
fn give(sheet: &Sheet, call: &mut Call, result: Block, answers: &mut Answers) {
    let is_live = |row: usize| sheet.rows[row].live;
    let gone = match call.answer {
        None => {
            call.answer = Some(result);
            return;
        }
        Some(other) if is_live(call.row) && is_live(result.0) && !is_live(other.0) => {
            call.answer = Some(result);
            other
        }
        Some(_) => result,
    };
    answers.gone.push((gone, Mend::SecondResult));
}
