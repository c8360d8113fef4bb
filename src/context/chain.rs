//! Who comes before whom: parents are resolved once, so that every row leads back to the beginning.
//!
//! A parent that is dropped is passed over by climbing (core.md R-20). A parent that was never written,
//! or that does not stand before its child, is replaced by the row before in order.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::Stretch;
use super::made;
use super::report::Mend;
use super::sheet::{Row, Sheet, Speaker};
use super::text;
use crate::transcript::{Entry, Kind};

/// The conversation that the model sees. Others are a subagent's that an older program wrote into the
/// same file.
pub(super) const MAIN: usize = 0;

/// Gives every row its thread. A transcript that has side entries only is a subagent's own.
pub(super) fn set_threads(sheet: &mut Sheet) {
    let only_side = !sheet.rows.iter().any(|row| row.speaker().is_some() && !row.entry.sidechain);
    let mut agents: HashMap<String, usize> = HashMap::new();
    for row in sheet.rows.iter_mut().filter(|row| !only_side && row.entry.sidechain) {
        let next = agents.len() + 1;
        row.thread = *agents.entry(row.entry.string("agentId").unwrap_or_default()).or_insert(next);
    }
}

/// Gives every entry that speaks a uuid, and every compaction: who walks along parents passes over those
/// without.
pub(super) fn give_names(sheet: &mut Sheet) {
    for index in 0..sheet.rows.len() {
        let row = &sheet.rows[index];
        let leads = row.speaker().is_some() || row.is_boundary();
        if row.entry.uuid.is_none() && leads {
            let name = made::derived(&format!("row\n{index}\n{}", row.entry.raw()));
            sheet.rows[index].edit().uuid = Some(name);
            sheet.note(index, Mend::MissingUuid);
        }
    }
}

/// Gives every entry a uuid of its own: a copy goes, another one gets a derived uuid.
pub(super) fn part_twins(sheet: &mut Sheet) {
    let mut first: HashMap<&str, (usize, usize)> = HashMap::with_capacity(sheet.rows.len());
    let mut twins = Vec::new();
    for (index, row) in sheet.rows.iter().enumerate().filter(|(_, row)| !row.gone) {
        let Some(uuid) = row.entry.uuid.as_deref() else { continue };
        let (known, times) = first.entry(uuid).or_insert((index, 0));
        *times += 1;
        if *times > 1 {
            twins.push((index, *known, *times));
        }
    }
    for (index, known, times) in twins {
        sheet.note(index, Mend::SharedUuid);
        if sheet.rows[known].entry.raw() == sheet.rows[index].entry.raw() {
            sheet.rows[index].gone = true;
            sheet.rows[index].above = Some(known);
        } else {
            let uuid = sheet.rows[index].entry.uuid.clone().unwrap_or_default();
            sheet.rows[index].edit().uuid = Some(made::derived(&format!("{uuid}#{times}")));
        }
    }
}

/// What was found about a row's place.
struct Found {
    above: Option<usize>,
    mend: Option<Mend>,
    as_written: bool,
}

/// Finds the row above every row. `roots` begin anew on purpose.
pub(super) fn trace(sheet: &mut Sheet, roots: &HashSet<usize>) {
    let found = look_up(sheet, roots);
    let mut gaps = Vec::new();
    for (index, found) in found.into_iter().enumerate() {
        let row = &mut sheet.rows[index];
        row.above = found.above;
        row.as_written = found.as_written;
        let Some(mend) = found.mend.filter(|_| !row.gone) else { continue };
        if mend == Mend::LostParent && row.speaker().is_some() && found.above.is_some() {
            gaps.push(index);
        }
        sheet.note(index, mend);
    }
    mark_gaps(sheet, &gaps);
}

/// Rows that were put below another one by order. Who hangs below that one too and comes later follows
/// them, since nothing tells of a branch.
#[derive(Default)]
struct Lines {
    /// The first row of such a line, by the row above it.
    put_below: HashMap<usize, usize>,
    /// The first row of the line that a row is part of.
    first: HashMap<usize, usize>,
    /// The last row of each line.
    last: HashMap<usize, usize>,
}

impl Lines {
    /// Where a row goes that wants to hang below `above`.
    fn end(&self, above: usize) -> usize {
        let mut end = above;
        // Each line stands behind the row that it was put below.
        while let Some(last) = self.put_below.get(&end).and_then(|first| self.last.get(first)) {
            end = *last;
        }
        end
    }

    fn add(&mut self, row: usize, above: Option<usize>, by_order: bool) {
        let Some(above) = above else { return };
        let first = if by_order {
            self.put_below.insert(above, row);
            row
        } else {
            match self.first.get(&above) {
                Some(first) => *first,
                None => return,
            }
        };
        self.first.insert(row, first);
        self.last.insert(first, row);
    }
}

/// Which call an entry answers; made where it is needed.
#[derive(Default)]
struct Callers<'a>(Option<HashMap<Cow<'a, str>, usize>>);

impl<'a> Callers<'a> {
    /// The row before that made the first call that a row answers, where it does nothing else.
    fn of(&mut self, sheet: &'a Sheet, index: usize) -> Option<usize> {
        let row = &sheet.rows[index];
        let (_, block) = row.blocks().next().filter(|_| only_answers(row))?;
        let calls = self.0.get_or_insert_with(|| {
            let calls = sheet.each_block(Kind::ToolUse).filter(|(row, ..)| !sheet.rows[*row].gone);
            let id = |row: usize, id| text::string(&sheet.rows[row].entry, id);
            calls.filter_map(|(row, _, block)| Some((id(row, block.id)?, row))).collect()
        });
        let caller = calls.get(&text::string(&row.entry, block.id)?).copied();
        caller.filter(|caller| *caller < index && sheet.rows[*caller].thread == row.thread)
    }
}

fn look_up(sheet: &Sheet, roots: &HashSet<usize>) -> Vec<Found> {
    let rows = &sheet.rows;
    let mut known: Option<HashSet<&str>> = None;
    let mut latest: HashMap<&str, usize> = HashMap::with_capacity(rows.len());
    let threads = rows.iter().map(|row| row.thread + 1).max().unwrap_or(0);
    let mut last: Vec<Option<usize>> = vec![None; threads];
    let mut all: Vec<Found> = Vec::with_capacity(rows.len());
    let mut lines = Lines::default();
    let mut callers = Callers::default();
    for (index, row) in rows.iter().enumerate() {
        let uuid = row.entry.uuid.as_deref();
        let before = last[row.thread];
        // A report of an error leads on, though nobody reads it.
        let talks = row.speaker().is_some() || row.entry.api_error && !row.gone;
        let is_copy = row.gone && row.above.is_some();
        let is_root = roots.contains(&index);
        let renamed = row.edit.as_ref().is_some_and(|edit| edit.uuid.is_some());
        let odd = row.has_odd_parent();
        let (above, mend) = match row.entry.parent.as_deref().filter(|_| !odd) {
            _ if is_copy => (row.above, None),
            _ if is_root => (None, None),
            _ if row.gone && row.entry.outline().boundary => (before, None),
            None if row.gone => (before, None),
            None if odd => (before, Some(Mend::MissingParent)),
            None if !talks || row.thread != MAIN => (None, None),
            // Nobody could name it as a parent, or it could not name one: that is counted already.
            None if renamed || before.is_some_and(|before| rows[before].entry.uuid.is_none()) => {
                (before, None)
            }
            None => (before, before.map(|_| Mend::MissingParent)),
            Some(parent)
                if uuid == Some(parent) && latest.get(parent).is_none_or(|at| rows[*at].gone) =>
            {
                (before, Some(Mend::OwnParent))
            }
            Some(parent) => match latest.get(parent) {
                Some(above) => (Some(lines.end(*above)), None),
                None => {
                    let known = known.get_or_insert_with(|| {
                        rows.iter().filter_map(|row| row.entry.uuid.as_deref()).collect()
                    });
                    let behind = known.contains(parent);
                    // Answers that hang one below the other go on so.
                    let is_answer = |row: usize| only_answers(&rows[row]);
                    let beside =
                        before.filter(|row| is_answer(*row)).and_then(|row| all[row].above);
                    let caller = match beside.filter(|above| is_answer(*above)) {
                        Some(_) => None,
                        None => callers.of(sheet, index),
                    };
                    (
                        caller.or(before),
                        Some(if behind { Mend::ParentBehind } else { Mend::LostParent }),
                    )
                }
            },
        };
        let named = row.entry.parent.as_deref().and_then(|parent| latest.get(parent).copied());
        let by_order = mend.is_some() || uuid.is_none() || named != above;
        lines.add(index, above, by_order && talks && !row.gone);
        // What has no place in the chain is not given one.
        let as_written =
            mend.is_none() && row.entry.parent.is_none() && !is_root && !renamed && !odd;
        all.push(Found { above, mend, as_written });
        if let Some(uuid) = uuid.filter(|_| !is_copy) {
            let talked = !talks && latest.get(uuid).is_some_and(|at| rows[*at].speaker().is_some());
            if !talked {
                latest.insert(uuid, index);
            }
        }
        if row.gone {
            continue;
        }
        if row.uuid().is_some() && (talks || !row.entry.outline().parent.is_empty()) {
            last[row.thread] = Some(index);
        }
    }
    all
}

/// A remark before each row whose past is missing, except where it is plain what was before: a result
/// answers a call, and a row that hangs below one of our own remarks misses nothing.
fn mark_gaps(sheet: &mut Sheet, gaps: &[usize]) {
    let mut before: HashMap<usize, usize> = HashMap::new();
    for index in gaps {
        let row = &sheet.rows[*index];
        let ours = row.entry.parent.as_deref().is_some_and(made::is_derived);
        let answers = row.blocks().any(|(_, block)| block.kind == Kind::ToolResult);
        // A summary tells what was before.
        if ours || answers || row.entry.outline().summary || row.uuid().is_none() {
            continue;
        }
        let above = sheet.climb(row.above);
        let parent = above.and_then(|above| sheet.rows[above].uuid());
        let name = format!("gap\n{}", row.uuid().unwrap_or_default());
        let content = text::literal(made::GAP);
        let Some(entry) = made::user(&row.entry, &made::derived(&name), parent, &content) else {
            continue;
        };
        let mut remark = Row::new(entry);
        remark.above = above;
        remark.thread = row.thread;
        let place = sheet.rows.len();
        sheet.rows.push(remark);
        sheet.rows[*index].above = Some(place);
        before.insert(*index, place);
    }
    if !before.is_empty() {
        let order = std::mem::take(&mut sheet.order);
        sheet.order = order
            .into_iter()
            .flat_map(|row| before.get(&row).copied().into_iter().chain([row]))
            .collect();
    }
}

/// Marks what leads from the newest row of the main conversation to its beginning. A row without a uuid
/// has its place by order only.
pub(super) fn mark_path(sheet: &mut Sheet, main: &[usize]) {
    let left = || main.iter().rev().copied().filter(|row| !sheet.rows[*row].gone);
    // Once it is known which branch goes on, an answer that was put behind another one changes nothing.
    let mut at = left().find(|row| sheet.rows[*row].live).or_else(|| left().next());
    sheet.rows.iter_mut().for_each(|row| row.live = false);
    for (place, row) in main.iter().enumerate() {
        sheet.rows[*row].live |= place == 0 || sheet.rows[*row].uuid().is_none();
    }
    let mut passed = vec![false; sheet.rows.len()];
    while let Some(row) = at.filter(|row| !std::mem::replace(&mut passed[*row], true)) {
        sheet.rows[row].live = true;
        at = sheet.rows[row].above;
    }
}

/// A stretch has one beginning, and everything stands behind what leads to it. Where what led to an entry
/// was dropped or moved, the entry hangs under the one before it in order.
pub(super) fn join_roots(sheet: &mut Sheet, stretch: &Stretch, places: &[usize]) {
    let mut before = stretch.boundary;
    for row in stretch.rows.iter().copied() {
        let (own, thread) = (&sheet.rows[row], sheet.rows[row].thread);
        let named = own.uuid().is_some();
        let first = sheet.climb(own.above);
        let said = |row: &Row| row.thread == thread && row.speaker().is_some();
        let ahead = |above: usize| {
            let place = places[above];
            place < places[row] && stretch.boundary.is_none_or(|boundary| place >= places[boundary])
        };
        let misled = match (first, sheet.climb_to(first, said)) {
            (Some(first), Some(above)) => !ahead(first) || !ahead(above),
            (Some(first), None) => thread == MAIN || !ahead(first),
            (None, _) => thread == MAIN || own.above.is_some(),
        };
        // What hung under an entry without a name may hang under one with a name now.
        if named && first.is_some_and(|first| sheet.rows[first].uuid().is_some()) {
            sheet.rows[row].as_written = false;
        }
        if before.is_some() && misled {
            sheet.hang(row, before);
        }
        if named {
            before = Some(row);
        }
    }
}

/// The entries that are not dropped; where a parent goes, its first remaining ancestor takes its place, or
/// none (core.md R-20). Everything else stays as it is written.
///
/// The whole list is needed, with the entries that are to be dropped. Where those only lead to each other,
/// the chain goes on from the nearest remaining entry before, so that damage in an error message does not
/// cut off everything that was said before it.
///
/// ```
/// use flower::transcript::Entry;
///
/// let rows = [
///     r#"{"uuid":"m1","parentUuid":null,"type":"user"}"#,
///     r#"{"uuid":"e1","parentUuid":"m1","type":"assistant","isApiErrorMessage":true}"#,
///     r#"{"uuid":"m2","parentUuid":"e1","type":"assistant"}"#,
/// ];
/// let entries = rows.iter().map(|row| Entry::parse(*row).unwrap()).collect();
/// let left = flower::relink(entries, |entry| entry.api_error);
/// assert_eq!(left.len(), 2);
/// assert_eq!(left[1].parent.as_deref(), Some("m1"));
/// ```
pub fn relink(entries: Vec<Entry>, dropped: impl Fn(&Entry) -> bool) -> Vec<Entry> {
    let mut sheet = Sheet::new(entries);
    for row in &mut sheet.rows {
        row.gone = dropped(&row.entry);
    }
    set_threads(&mut sheet);
    for (index, found) in look_up(&sheet, &HashSet::new()).into_iter().enumerate() {
        let passes = found.above.is_some_and(|above| sheet.rows[above].gone);
        sheet.rows[index].above = found.above;
        sheet.rows[index].as_written = !(passes && sheet.rows[index].entry.parent.is_some());
    }
    sheet.finish().0
}

/// True for a row that only answers calls.
pub(super) fn only_answers(row: &Row) -> bool {
    row.speaker() == Some(Speaker::User)
        && row.blocks().all(|(_, block)| block.kind == Kind::ToolResult)
        && !row.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uuids and parents after relinking; each row is a uuid, a parent, and whether it is an error.
    fn chain(rows: &[(&str, &str, bool)]) -> Vec<String> {
        let entries = rows.iter().map(|(uuid, parent, error)| {
            let parent = if parent.is_empty() { "null".into() } else { format!("\"{parent}\"") };
            Entry::parse(format!(
                r#"{{"uuid":"{uuid}","parentUuid":{parent},"isApiErrorMessage":{error}}}"#
            ))
            .unwrap()
        });
        relink(entries.collect(), |entry| entry.api_error)
            .into_iter()
            .map(|entry| format!("{}<{}", entry.uuid.unwrap(), entry.parent.unwrap_or_default()))
            .collect()
    }

    #[test]
    fn the_chain_closes_over_what_was_dropped() {
        assert_eq!(
            chain(&[
                ("m1", "", false),
                ("e1", "m1", true),
                ("e2", "e1", true),
                ("m2", "e2", false)
            ]),
            ["m1<", "m2<m1"]
        );
        assert_eq!(chain(&[("e", "", true), ("m", "e", false)]), ["m<"]);
        // What was never written is not looked for.
        assert_eq!(chain(&[("m1", "x", false), ("m2", "y", false)]), ["m1<x", "m2<y"]);
    }

    #[test]
    fn errors_that_lead_in_a_circle_do_not_cut_the_past_off() {
        assert_eq!(
            chain(&[
                ("m1", "", false),
                ("e1", "e2", true),
                ("e2", "e1", true),
                ("m2", "e2", false)
            ]),
            ["m1<", "m2<m1"]
        );
    }

    #[test]
    fn a_uuid_that_also_remains_is_still_a_parent() {
        assert_eq!(chain(&[("x", "", false), ("x", "x", true), ("m", "x", false)]), ["x<", "m<x"]);
    }
}
