//! What a client demands that walks from the last row to its parents.

use std::collections::{HashMap, HashSet};

use super::read::{Parent, Row};
use super::{Demand, Findings};

/// Checks the chain; true for the rows that a walk from the last row that speaks arrives at.
pub(super) fn check(rows: &[Row], findings: &mut Findings) -> Vec<bool> {
    let mut place: HashMap<&str, usize> = HashMap::new();
    for (at, row) in rows.iter().enumerate() {
        match row.uuid.as_deref() {
            Some(uuid) if place.contains_key(uuid) => findings.add(Demand::UniqueUuid, at, uuid),
            Some(uuid) => {
                place.insert(uuid, at);
            }
            None if row.speaks => findings.add(Demand::HasUuid, at, "a row that speaks"),
            None => {}
        }
    }
    let parent = |at: usize| match &rows[at].parent {
        Parent::Uuid(uuid) => place.get(uuid.as_str()).copied(),
        Parent::None | Parent::Nonsense => None,
    };
    for (at, row) in rows.iter().enumerate() {
        match (&row.parent, parent(at)) {
            (Parent::None, _) => {}
            (Parent::Nonsense, _) => findings.add(Demand::ParentExists, at, "is no uuid"),
            (Parent::Uuid(uuid), None) => findings.add(Demand::ParentExists, at, uuid),
            (_, Some(above)) if above < at => {}
            (Parent::Uuid(uuid), Some(_)) if line(at, parent).circle => {
                findings.add(Demand::NoCircle, at, uuid);
            }
            (Parent::Uuid(uuid), Some(_)) => findings.add(Demand::ParentFirst, at, uuid),
        }
    }
    let leaf = rows.iter().rposition(|row| row.speaks && row.uuid.is_some());
    let Some(leaf) = leaf else { return vec![false; rows.len()] };
    let main = line(leaf, parent).places;
    // What lies before a compaction hangs at roots of its own, and is not read any more: also not what
    // belongs to a message that was being written when the compaction came.
    let start = main.last().filter(|root| rows[**root].boundary).copied().unwrap_or(0);
    let reached = reach(rows, &main, start);
    for (at, row) in rows.iter().enumerate().skip(start) {
        if row.speaks && row.uuid.is_some() && !reached[at] {
            let above = line(at, parent).places;
            let branch = above.iter().any(|above| reached[*above] || *above < start);
            findings.demand(branch, Demand::Reachable, at, "it hangs at another root");
        }
    }
    reached
}

/// The line, and what stands beside it where parallel calls fork.
fn reach(rows: &[Row], line: &[usize], start: usize) -> Vec<bool> {
    let mut reached = vec![false; rows.len()];
    line.iter().for_each(|at| reached[*at] = true);
    let messages: HashSet<&str> = line.iter().filter_map(|at| rows[*at].message_id()).collect();
    let mut callers: HashSet<&str> = HashSet::new();
    for (at, row) in rows.iter().enumerate().skip(start) {
        let part = row.message_id().is_some_and(|id| messages.contains(id));
        let result = !row.assistant
            && row.only_results()
            && matches!(&row.parent, Parent::Uuid(uuid) if callers.contains(uuid.as_str()));
        reached[at] |= row.speaks && (part || result);
        if row.assistant && reached[at] {
            callers.extend(row.uuid.as_deref());
        }
    }
    reached
}

struct Line {
    /// From the row upwards.
    places: Vec<usize>,
    /// It comes back to where it began.
    circle: bool,
}

fn line(from: usize, parent: impl Fn(usize) -> Option<usize>) -> Line {
    let mut line = Line { places: vec![from], circle: false };
    let mut seen = HashSet::from([from]);
    let mut at = from;
    while let Some(above) = parent(at) {
        if !seen.insert(above) {
            line.circle = above == from;
            break;
        }
        line.places.push(above);
        at = above;
    }
    line
}
