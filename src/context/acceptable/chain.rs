//! What a client demands that walks from the last row to its parents.

use std::collections::{HashMap, HashSet};

use super::read::{Parent, Row};
use super::{Demand, Findings};

pub(super) fn check(rows: &[Row], findings: &mut Findings) {
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
    if let Some(leaf) = rows.iter().rposition(|row| row.speaks && row.uuid.is_some()) {
        check_reach(rows, &line(leaf, parent).places, findings);
    }
}

/// The rows that speak are on the line of parents, or beside it where parallel calls fork.
fn check_reach(rows: &[Row], line: &[usize], findings: &mut Findings) {
    let start = line.last().filter(|root| rows[**root].boundary).copied().unwrap_or(0);
    let mut reached: HashSet<usize> = line.iter().copied().collect();
    let messages: HashSet<&str> = line.iter().filter_map(|at| rows[*at].message_id()).collect();
    let mut callers: HashSet<&str> = HashSet::new();
    for (at, row) in rows.iter().enumerate().skip(start) {
        let sibling = row.message_id().is_some_and(|id| messages.contains(id));
        let result = !row.assistant
            && row.only_results()
            && matches!(&row.parent, Parent::Uuid(uuid) if callers.contains(uuid.as_str()));
        if sibling || result {
            reached.insert(at);
        }
        if row.assistant && reached.contains(&at) {
            callers.extend(row.uuid.as_deref());
        }
        if row.speaks && row.uuid.is_some() && !reached.contains(&at) {
            findings.add(Demand::Reachable, at, "the last row does not lead here");
        }
    }
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
