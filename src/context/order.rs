//! Entries stand behind what leads to them: parents that make a chain without a circle tell the right
//! order, whatever order they were written in.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::transcript::Entry;

/// The entries with each behind its parent, else in their order, and how many stood before theirs.
pub(super) fn by_chain(entries: Vec<Entry>) -> (Vec<Entry>, usize) {
    let (parents, late) = parents(&entries);
    if late == 0 {
        return (entries, 0);
    }
    let opens = circles(&parents);
    let mut waiting: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut order = Vec::with_capacity(entries.len());
    let mut done = vec![false; entries.len()];
    for first in 0..entries.len() {
        if let Some(parent) = parents[first].filter(|parent| !done[*parent] && !opens[first]) {
            waiting.entry(parent).or_default().push(first);
            continue;
        }
        let mut ready = BinaryHeap::from([Reverse(first)]);
        while let Some(Reverse(row)) = ready.pop() {
            done[row] = true;
            order.push(row);
            ready.extend(waiting.remove(&row).into_iter().flatten().map(Reverse));
        }
    }
    let mut entries: Vec<Option<Entry>> = entries.into_iter().map(Some).collect();
    (order.into_iter().filter_map(|row| entries[row].take()).collect(), late)
}

/// The parent of each entry as far as it decides about the order, and how many stand behind their child.
/// Nothing passes a compaction.
fn parents(entries: &[Entry]) -> (Vec<Option<usize>>, usize) {
    let mut stretch = 0;
    let mut stretches = Vec::with_capacity(entries.len());
    let mut first: HashMap<&str, usize> = HashMap::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        stretch += usize::from(entry.kind == "system" && entry.outline().boundary);
        stretches.push(stretch);
        if let Some(uuid) = entry.uuid.as_deref() {
            first.entry(uuid).or_insert(index);
        }
    }
    let mut late = 0;
    let parents = entries.iter().enumerate().map(|(index, entry)| {
        if entry.outline().boundary {
            return None;
        }
        let parent = first.get(entry.parent.as_deref()?).copied()?;
        late += usize::from(parent > index && stretches[parent] == stretches[index]);
        (parent != index && stretches[parent] == stretches[index]).then_some(parent)
    });
    let parents = parents.collect();
    (parents, late)
}

/// True for the first entry of each circle.
fn circles(parents: &[Option<usize>]) -> Vec<bool> {
    let mut opens = vec![false; parents.len()];
    // By which walk an entry was passed.
    let mut passed: Vec<Option<usize>> = vec![None; parents.len()];
    for start in 0..parents.len() {
        let mut at = Some(start);
        while let Some(row) = at.filter(|row| passed[*row].is_none()) {
            passed[row] = Some(start);
            at = parents[row];
        }
        // Each walk begins at the smallest number that is left; a circle it runs into may have a smaller
        // one than where it was entered.
        if let Some(entered) = at.filter(|row| passed[*row] == Some(start)) {
            let inside = std::iter::successors(Some(entered), |row| {
                parents[*row].filter(|next| *next != entered)
            });
            opens[inside.min().unwrap_or(entered)] = true;
        }
    }
    opens
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The uuids in order; each row is a uuid and a parent, `|` is a compaction.
    fn order(rows: &[(&str, &str)]) -> String {
        let entries = rows.iter().map(|(uuid, parent)| {
            let kind = match *uuid {
                "|" => r#""type":"system","subtype":"compact_boundary","#,
                _ => "",
            };
            let parent = if parent.is_empty() { "null".into() } else { format!("\"{parent}\"") };
            Entry::parse(format!(r#"{{{kind}"uuid":"{uuid}","parentUuid":{parent}}}"#)).unwrap()
        });
        let (ordered, _) = by_chain(entries.collect());
        ordered.into_iter().map(|entry| entry.uuid.unwrap()).collect()
    }

    #[test]
    fn who_stands_before_its_parent_is_put_behind_it_with_all_that_follows() {
        assert_eq!(order(&[("b", "a"), ("c", "b"), ("x", ""), ("a", ""), ("d", "c")]), "xabcd");
        assert_eq!(order(&[("a", ""), ("d", "c"), ("b", "a"), ("c", "b"), ("e", "d")]), "abcde");
    }

    #[test]
    fn circles_and_compactions_do_not_keep_anything_waiting() {
        assert_eq!(order(&[("a", "c"), ("b", "a"), ("c", "b"), ("d", "c")]), "abcd");
        assert_eq!(order(&[("a", "a"), ("c", "b"), ("b", "a")]), "abc");
        assert_eq!(order(&[("b", "a"), ("|", ""), ("a", "|")]), "b|a");
    }
}
