//! Where results stand: right behind the message that made the calls, before everything else.

use std::collections::{HashMap, HashSet};

use super::Stretch;
use super::chain::only_answers;
use super::made;
use super::pair::{self, Block, Call};
use super::report::Mend;
use super::sheet::{Own, Row, Sheet, Speaker};
use super::text;
use super::turn::{self, Turn};
use crate::transcript::{Entry, Kind};

/// Where entries go that were made or moved: behind or before one that stays.
#[derive(Default)]
pub(super) struct Places {
    behind: HashMap<usize, Vec<usize>>,
    before: HashMap<usize, usize>,
    moved: HashSet<usize>,
}

/// Settles all stretches of all conversations.
pub(super) fn settle(sheet: &mut Sheet, stretches: &[Stretch], places: &mut Places) {
    let mut new_ids = pair::part_calls(sheet, stretches);
    for stretch in stretches {
        let mut turns = turn::turns(sheet, &stretch.rows);
        let calls = pair::answer(sheet, &mut turns, &mut new_ids);
        for turn in &turns {
            close(sheet, turn, &calls[turn.calls.clone()], places);
        }
    }
}

impl Places {
    /// The order of all rows with these changes.
    pub(super) fn carry_out(mut self, order: &mut Vec<usize>) {
        if self.behind.is_empty() && self.before.is_empty() && self.moved.is_empty() {
            return;
        }
        for row in std::mem::take(order) {
            if self.moved.contains(&row) {
                continue;
            }
            order.extend(self.before.remove(&row));
            order.push(row);
            order.extend(self.behind.remove(&row).unwrap_or_default());
        }
    }
}

/// Sees to it that the calls of a turn are answered right behind it, results first.
fn close(sheet: &mut Sheet, turn: &Turn, calls: &[Call], places: &mut Places) {
    let Some(last) = turn.last_head else { return };
    if !is_in_place(sheet, turn, calls) {
        rearrange(sheet, turn, calls, last, places);
    }
    let open: Vec<String> = calls
        .iter()
        .filter(|call| call.answer.is_none())
        .map(|call| {
            let row = &sheet.rows[call.row];
            let id = row.message().map(|message| message.blocks[call.block].id);
            let own = || text::string(&row.entry, id.unwrap_or_default()).unwrap_or_default();
            call.new_id.clone().unwrap_or_else(|| own().into_owned())
        })
        .collect();
    if open.is_empty() {
        return;
    }
    let ids: Vec<&str> = open.iter().map(String::as_str).collect();
    let anchor = &sheet.rows[last];
    let Some(entry) = made::answer(&anchor.entry, anchor.uuid(), &ids) else { return };
    let has_name = anchor.uuid().is_some();
    let answer = put(sheet, entry, Some(last), last);
    // Below an entry without a uuid the chain goes by order.
    sheet.rows[answer].as_written = !has_name;
    for _ in &ids {
        sheet.note(answer, Mend::UnansweredCall);
    }
    let below = sheet.below(last);
    // Several answers stay side by side below their call; one leads on.
    let parallel = below.iter().filter(|row| only_answers(&sheet.rows[**row])).count() > 2;
    for index in below {
        let stays = parallel && only_answers(&sheet.rows[index]);
        if index != answer && !stays && !is_head_of(sheet, turn, index) {
            sheet.hang(index, Some(answer));
        }
    }
    places.behind.entry(last).or_default().insert(0, answer);
}

fn is_head_of(sheet: &Sheet, turn: &Turn, row: usize) -> bool {
    sheet.rows[row].speaker() == Some(Speaker::Assistant) && turn.rows.contains(&row)
}

/// A new row, as live as the one beside it.
fn put(sheet: &mut Sheet, entry: Entry, above: Option<usize>, beside: usize) -> usize {
    let mut row = Row::new(entry);
    row.live = sheet.rows[beside].live;
    row.thread = sheet.rows[beside].thread;
    sheet.rows.push(row);
    let index = sheet.rows.len() - 1;
    sheet.hang(index, above);
    index
}

/// True where the turn's own rows answer its calls as they stand: each result behind its call, before
/// anything else is said, and where the message goes on behind results, none of its calls waits.
fn is_in_place(sheet: &Sheet, turn: &Turn, calls: &[Call]) -> bool {
    let (mut made, mut answered, mut spoken) = (0, 0, false);
    for index in turn.rows.iter().copied() {
        let row = &sheet.rows[index];
        match row.speaker() {
            Some(Speaker::Assistant) => {
                if spoken || answered > 0 && answered < made {
                    return false;
                }
                made += calls[made..].iter().take_while(|call| call.row == index).count();
            }
            Some(Speaker::User) => {
                for (block, outline) in row.blocks() {
                    let is_answer =
                        || calls[..made].iter().any(|call| call.answer == Some((index, block)));
                    if outline.kind != Kind::ToolResult {
                        spoken = true;
                    } else if is_answer() {
                        // What answers another turn is taken there by that one.
                        if spoken {
                            return false;
                        }
                        answered += 1;
                    }
                }
            }
            None => {}
        }
    }
    answered == calls.iter().filter(|call| call.answer.is_some()).count()
}

/// Puts the turn's rows in order behind its last head: what only answers, then the rest; a result that
/// stands in a row with something else is taken out of it.
fn rearrange(sheet: &mut Sheet, turn: &Turn, calls: &[Call], last: usize, places: &mut Places) {
    let wanted: HashSet<Block> = calls.iter().filter_map(|call| call.answer).collect();
    let own: HashSet<usize> = turn.rows.iter().copied().collect();
    let mut sources = turn.rows.clone();
    for (row, _) in calls.iter().filter_map(|call| call.answer) {
        if !own.contains(&row) && !sources.contains(&row) {
            sources.push(row);
        }
    }
    let (mut answers, mut words, mut taken) = (Vec::new(), Vec::new(), Vec::new());
    for index in sources {
        let row = &sheet.rows[index];
        if row.speaker() != Some(Speaker::User) {
            continue;
        }
        let results: Vec<usize> = row
            .blocks()
            .map(|(block, _)| block)
            .filter(|block| wanted.contains(&(index, *block)))
            .collect();
        if only_answers(row) && results.len() == row.blocks().count() {
            answers.push(index);
            continue;
        }
        if only_answers(row) && results.is_empty() {
            continue;
        }
        for block in results {
            let row = &sheet.rows[index];
            let fresh = Own { block, ..Own::default() };
            taken.push(row.block_text(row.changes(block).unwrap_or(&fresh)));
            sheet.rows[index].cut(|place| place == block);
            sheet.rows[index].edit().without_copy = true;
        }
        sheet.drop_empty(index);
        // What is left may all answer another turn, which takes it.
        let row = &sheet.rows[index];
        if own.contains(&index) && !row.gone && !only_answers(row) {
            words.push(index);
        }
    }
    if !taken.is_empty() {
        let anchor = &sheet.rows[last];
        let content = format!("[{}]", taken.join(","));
        let name = format!("results\n{}\n{content}", anchor.uuid().unwrap_or_default());
        let entry = made::user(&anchor.entry, &made::derived(&name), anchor.uuid(), &content);
        if let Some(entry) = entry {
            answers.push(put(sheet, entry, Some(last), last));
        }
    }
    sheet.note(last, Mend::MovedResult);
    let rows: Vec<usize> = answers.into_iter().chain(words).collect();
    thread(sheet, turn, last, &rows);
    places.moved.extend(&rows);
    places.behind.entry(last).or_default().extend(rows);
}

/// Hangs rows one under the other behind a message; who followed any of them follows the last one.
fn thread(sheet: &mut Sheet, turn: &Turn, from: usize, rows: &[usize]) {
    let live = sheet.rows[from].live;
    unhang(sheet, turn, from, rows);
    let mut at = from;
    for row in rows.iter().copied() {
        // A branch that was given up stays one.
        if live && !sheet.rows[row].live && !only_answers(&sheet.rows[row]) {
            continue;
        }
        sheet.hang(row, Some(at));
        sheet.rows[row].live = live;
        at = row;
    }
    for above in rows.iter().copied().chain([from]) {
        for index in sheet.below(above) {
            let stays = rows.contains(&index) || is_head_of(sheet, turn, index);
            if !stays && sheet.rows[index].live == live {
                sheet.hang(index, Some(at));
            }
        }
    }
}

/// Takes rows out of the chain: what led through them to `from` leads past them, and so does what
/// followed those that come from elsewhere.
fn unhang(sheet: &mut Sheet, turn: &Turn, from: usize, rows: &[usize]) {
    let moved: HashSet<usize> = rows.iter().copied().collect();
    // A row stands behind the one above, so that only rows before `from` can lead to it.
    let mut path = HashSet::new();
    if let Some(first) = rows.iter().copied().filter(|row| *row < from).min() {
        let mut at = Some(from);
        while let Some(row) = at.filter(|row| *row > first && path.insert(*row)) {
            at = sheet.rows[row].above;
        }
    }
    for row in rows.iter().copied() {
        let mut above = sheet.rows[row].above;
        for _ in rows {
            above = match above {
                Some(inside) if moved.contains(&inside) => sheet.rows[inside].above,
                outside => outside,
            };
        }
        let own = turn.rows.contains(&row);
        for index in sheet.below(row) {
            if !moved.contains(&index) && (!own || path.contains(&index)) {
                sheet.hang(index, above);
            }
        }
    }
}

/// The first message must be the user's.
pub(super) fn open(sheet: &mut Sheet, rows: &mut Vec<usize>, places: &mut Places) {
    let first = rows.iter().copied().find(|row| sheet.rows[*row].speaker().is_some());
    let Some(first) = first else { return };
    let row = &sheet.rows[first];
    if row.speaker() != Some(Speaker::Assistant) {
        return;
    }
    let above = sheet.climb(row.above);
    let parent = above.and_then(|above| sheet.rows[above].uuid());
    let name = format!("start\n{}", row.uuid().unwrap_or_default());
    let content = text::literal(made::START);
    let Some(entry) = made::user(&row.entry, &made::derived(&name), parent, &content) else {
        return;
    };
    let start = put(sheet, entry, above, first);
    sheet.hang(first, Some(start));
    sheet.note(first, Mend::MissingStart);
    places.before.insert(first, start);
    rows.insert(0, start);
}
