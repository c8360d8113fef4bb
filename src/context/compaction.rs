//! Compactions: from a boundary on, the model sees the summary, what was kept, and what is new.

use std::collections::HashSet;

use super::chain::only_answers;
use super::report::Mend;
use super::sheet::{Row, Sheet, Speaker};
use crate::transcript::{RawObject, decode_string};

/// The boundaries that count: those with a summary behind them. One without would hide everything that
/// was said before it, so it goes.
pub(super) fn find(sheet: &mut Sheet) -> HashSet<usize> {
    let mut counting = HashSet::new();
    for index in 0..sheet.rows.len() {
        let row = &sheet.rows[index];
        if !row.is_boundary() {
            continue;
        }
        let thread = row.thread;
        let next = sheet.rows[index + 1..]
            .iter()
            .find(|row| row.speaker().is_some() && row.thread == thread);
        let is_summary =
            |row: &Row| row.speaker() == Some(Speaker::User) && row.entry.outline().summary;
        if next.is_some_and(|row| is_summary(row) && !row.is_empty()) {
            counting.insert(index);
        } else {
            sheet.rows[index].gone = true;
            sheet.note(index, Mend::NoSummary);
        }
    }
    counting
}

/// Puts what each compaction kept behind its summary.
pub(super) fn carry_over(sheet: &mut Sheet, boundaries: &HashSet<usize>) {
    let mut sorted: Vec<usize> = boundaries.iter().copied().collect();
    sorted.sort_unstable();
    for boundary in sorted {
        let Some(kept) = kept_segment(sheet, boundary) else { continue };
        let summary = sheet.order.iter().position(|row| *row == boundary).and_then(|at| {
            sheet.order[at..]
                .iter()
                .copied()
                .find(|row| sheet.rows[*row].entry.outline().summary && !sheet.rows[*row].gone)
        });
        match (summary, rows_between(sheet, boundary, &kept)) {
            (Some(summary), Some(rows)) => put_behind(sheet, summary, &rows),
            _ => sheet.note(boundary, Mend::LostKept),
        }
    }
}

/// First and last uuid of what was kept.
fn kept_segment(sheet: &Sheet, boundary: usize) -> Option<(String, String)> {
    let entry = &sheet.rows[boundary].entry;
    let about = RawObject::parse(entry.field("compactMetadata")?).ok()?;
    let segment = RawObject::parse(about.get("preservedSegment")?).ok()?;
    let id = |name| segment.get(name).and_then(decode_string);
    Some((id("headUuid").unwrap_or_default(), id("tailUuid").unwrap_or_default()))
}

/// The chain from the last to the first, with results that hang beside it.
fn rows_between(sheet: &Sheet, boundary: usize, kept: &(String, String)) -> Option<Vec<usize>> {
    let find = |uuid: &str| {
        let found = |row: &&usize| {
            let row = &sheet.rows[**row];
            !row.gone && row.uuid() == Some(uuid)
        };
        sheet.order.iter().find(found).copied()
    };
    let (head, tail) = (find(&kept.0)?, find(&kept.1)?);
    let mut chain = HashSet::new();
    let mut at = Some(tail);
    while let Some(row) = at {
        if !chain.insert(row) || row == head {
            break;
        }
        at = sheet.rows[row].above;
    }
    if !chain.contains(&head) || chain.contains(&boundary) {
        return None;
    }
    let beside = |row: &usize| {
        sheet.rows[*row].above.is_some_and(|above| chain.contains(&above))
            && only_answers(&sheet.rows[*row])
    };
    Some(sheet.order.iter().copied().filter(|row| chain.contains(row) || beside(row)).collect())
}

fn put_behind(sheet: &mut Sheet, summary: usize, kept: &[usize]) {
    let inside: HashSet<usize> = kept.iter().copied().collect();
    if inside.contains(&summary) {
        return;
    }
    let Some((first, last)) = kept.first().copied().zip(kept.last().copied()) else { return };
    for index in 0..sheet.rows.len() {
        if sheet.rows[index].above == Some(summary) && !inside.contains(&index) {
            sheet.rows[index].above = Some(last);
        }
    }
    sheet.rows[first].above = Some(summary);
    let order = std::mem::take(&mut sheet.order);
    for row in order {
        if !inside.contains(&row) {
            sheet.order.push(row);
        }
        if row == summary {
            sheet.order.extend_from_slice(kept);
        }
    }
}
