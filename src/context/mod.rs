//! View: from the record to what the model sees. Pure: entries in, entries out, the same every time.
//!
//! An entry was outlined when it was read; the layers look at outlines and note changes on a working copy,
//! which are carried out once at the end. In order:
//!
//! 1. old results of commands that only looked expire (`expire`);
//! 2. old large results become a pointer to a file (`trim`);
//! 3. refusals, errors of the API and interrupts go or become plain (`prune`);
//! 4. everything is made acceptable to the API, as [`demand`] lists it: twins and parents (`chain`),
//!    compactions (`compaction`), blocks (`mend`), calls and results (`turn`, `pair`, `place`).

pub mod acceptable;
mod archived;
mod chain;
mod compaction;
pub mod demand;
mod expire;
mod foreign;
mod made;
mod mark;
mod mend;
mod order;
mod pair;
mod picture;
mod place;
mod policy;
mod prune;
mod report;
mod sheet;
#[cfg(test)]
mod tests;
mod text;
mod thought;
mod trim;
mod turn;

use std::collections::HashSet;

use crate::transcript::Entry;

pub use archived::Archived;
pub use chain::relink;
pub use policy::{EphemeralPolicy, Policy, PrunePolicy, ThinkingPolicy, TrimPolicy};
pub use report::{Mend, Report};

use sheet::Sheet;

/// What is fed back when a conversation is resumed.
#[derive(Debug, Clone)]
pub struct View {
    /// All that is left of the record, in order: also branches that were given up, what lies before a
    /// compaction, and entries that are no conversation.
    pub entries: Vec<Entry>,
    /// What was left out and mended.
    pub report: Report,
    /// Texts that the entries point to. They must be in their files before the view is used.
    pub archived: Vec<Archived>,
    live: Vec<bool>,
}

impl View {
    /// The entries that make up what the model sees: the chain of the newest entry, from the last
    /// compaction on.
    pub fn conversation(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().zip(&self.live).filter(|(_, live)| **live).map(|(entry, _)| entry)
    }

    /// The same, without a copy.
    pub fn into_conversation(self) -> Vec<Entry> {
        let live = self.live.into_iter();
        self.entries
            .into_iter()
            .zip(live)
            .filter(|(_, live)| *live)
            .map(|(entry, _)| entry)
            .collect()
    }
}

/// The view of a record. The same record and policy always give the same bytes.
pub fn view(entries: Vec<Entry>, policy: &Policy) -> View {
    let (entries, late) = order::by_chain(entries);
    let mut sheet = Sheet::new(entries);
    if late > 0 {
        sheet.report.mended.insert(Mend::ParentBehind, late);
    }
    expire::expire(&mut sheet, &policy.ephemeral);
    trim::trim(&mut sheet, &policy.trim);
    prune::prune(&mut sheet, &policy.prune);
    mend::mend(&mut sheet, policy.thinking);
    settle(&mut sheet);
    let (entries, live, report, archived) = sheet.finish();
    View { entries, report, archived, live }
}

/// The chain and its calls.
fn settle(sheet: &mut Sheet) {
    chain::give_names(sheet);
    chain::part_twins(sheet);
    chain::set_threads(sheet);
    let boundaries = compaction::find(sheet);
    chain::trace(sheet, &boundaries);
    compaction::carry_over(sheet, &boundaries);
    let stretches = stretches(sheet, &boundaries);
    for stretch in &stretches {
        turn::cut_loose_ends(sheet, &stretch.rows);
    }
    see(sheet, &stretches, false);
    let mut places = place::Places::default();
    place::settle(sheet, &stretches, &mut places);
    places.carry_out(&mut sheet.order);
    // Only now it is known what stands where.
    let mut places = place::Places::default();
    let mut stretches = self::stretches(sheet, &boundaries);
    for stretch in stretches.iter_mut().filter(|stretch| stretch.thread == chain::MAIN) {
        place::open(sheet, &mut stretch.rows, &mut places);
    }
    places.carry_out(&mut sheet.order);
    let mut order = vec![usize::MAX; sheet.rows.len()];
    for (place, row) in sheet.order.iter().enumerate() {
        order[*row] = place;
    }
    for stretch in &stretches {
        chain::join_roots(sheet, stretch, &order);
    }
    see(sheet, &stretches, true);
    while thought::cut(sheet) {
        see(sheet, &stretches, true);
    }
    for row in &mut sheet.rows {
        // Only what is said is seen.
        row.live = row.live && row.speaker().is_some() && row.thread == chain::MAIN;
    }
}

/// Marks what the model sees; before results are given to calls, without those beside the chain.
fn see(sheet: &mut Sheet, stretches: &[Stretch], answered: bool) {
    let newest = stretches.iter().rev().find(|stretch| stretch.thread == chain::MAIN);
    if let Some(newest) = newest {
        chain::mark_path(sheet, &newest.rows);
        turn::spread_life(sheet, &newest.rows, answered);
    }
}

/// The rows of a thread between two compactions, in order.
struct Stretch {
    thread: usize,
    /// The compaction before it.
    boundary: Option<usize>,
    rows: Vec<usize>,
}

/// In the order in which they begin; of one thread, the last is the newest.
fn stretches(sheet: &Sheet, boundaries: &HashSet<usize>) -> Vec<Stretch> {
    let threads = sheet.rows.iter().map(|row| row.thread + 1).max().unwrap_or(0);
    let mut open: Vec<Option<usize>> = vec![None; threads];
    let mut behind: Vec<Option<usize>> = vec![None; threads];
    let mut stretches: Vec<Stretch> = Vec::new();
    for index in &sheet.order {
        let row = &sheet.rows[*index];
        if boundaries.contains(index) {
            open[row.thread] = None;
            behind[row.thread] = Some(*index);
        }
        if row.speaker().is_some() {
            let stretch = *open[row.thread].get_or_insert_with(|| {
                let boundary = behind[row.thread];
                stretches.push(Stretch { thread: row.thread, boundary, rows: Vec::new() });
                stretches.len() - 1
            });
            stretches[stretch].rows.push(*index);
        }
    }
    stretches
}
