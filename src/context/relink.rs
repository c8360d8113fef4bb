//! Leaving entries out without breaking the chain of parents.

use std::collections::{HashMap, HashSet};

use crate::transcript::Entry;

/// The entries that are not `dropped`; where a parent goes, its first remaining ancestor takes its
/// place (core.md R-20).
///
/// Where dropped entries only lead to each other, the chain goes on from the nearest remaining entry
/// before, so that damage in an error message does not cut off everything that was said before it.
pub(super) fn without(entries: &[Entry], dropped: impl Fn(&Entry) -> bool) -> Vec<Entry> {
    let gone: Vec<bool> = entries.iter().map(dropped).collect();
    if !gone.contains(&true) {
        return entries.to_vec();
    }
    let kept: HashSet<&str> = uuids(entries, &gone, false).collect();
    // A uuid that stands on both sides still leads somewhere.
    let lost: HashSet<&str> =
        uuids(entries, &gone, true).filter(|uuid| !kept.contains(uuid)).collect();
    let parents: HashMap<&str, Option<&str>> = entries
        .iter()
        .filter_map(|entry| Some((entry.uuid.as_deref()?, entry.parent.as_deref())))
        .collect();

    let mut left = Vec::with_capacity(entries.len());
    let mut before: HashMap<bool, &str> = HashMap::new();
    for (entry, _) in entries.iter().zip(&gone).filter(|(_, gone)| !**gone) {
        let parent = entry.parent.as_deref().filter(|parent| lost.contains(parent));
        left.push(match parent {
            None => entry.clone(),
            Some(parent) => {
                let ancestor = match climb(parent, &lost, &parents) {
                    Climb::Arrived(ancestor) => ancestor,
                    Climb::Circle => before.get(&entry.sidechain).copied(),
                };
                with_parent(entry, ancestor)
            }
        });
        if let Some(uuid) = entry.uuid.as_deref() {
            before.insert(entry.sidechain, uuid);
        }
    }
    left
}

/// The entry below another parent; only the text of that one field changes.
pub(super) fn with_parent(entry: &Entry, parent: Option<&str>) -> Entry {
    let text = serde_json::json!(parent).to_string();
    // An entry was parsed once, so it can be spliced; if not, the old one is better than none.
    entry.with_field("parentUuid", &text).unwrap_or_else(|_| entry.clone())
}

fn uuids<'a>(entries: &'a [Entry], gone: &'a [bool], which: bool) -> impl Iterator<Item = &'a str> {
    entries
        .iter()
        .zip(gone)
        .filter(move |(_, gone)| **gone == which)
        .filter_map(|(entry, _)| entry.uuid.as_deref())
}

enum Climb<'a> {
    /// At an entry that remains, or at the root.
    Arrived(Option<&'a str>),
    /// Back where it began.
    Circle,
}

fn climb<'a>(
    from: &'a str,
    lost: &HashSet<&str>,
    parents: &HashMap<&'a str, Option<&'a str>>,
) -> Climb<'a> {
    let mut seen = HashSet::new();
    let mut at = Some(from);
    while let Some(uuid) = at.filter(|uuid| lost.contains(uuid)) {
        if !seen.insert(uuid) {
            return Climb::Circle;
        }
        at = parents.get(uuid).copied().flatten();
    }
    Climb::Arrived(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(rows: &[(&str, &str, bool)]) -> Vec<(String, Option<String>)> {
        let entries: Vec<Entry> = rows
            .iter()
            .map(|(uuid, parent, error)| {
                let parent =
                    if parent.is_empty() { "null".into() } else { format!("\"{parent}\"") };
                Entry::parse(format!(
                    r#"{{"uuid":"{uuid}","parentUuid":{parent},"isApiErrorMessage":{error}}}"#
                ))
                .unwrap()
            })
            .collect();
        without(&entries, |entry| entry.api_error)
            .into_iter()
            .map(|entry| (entry.uuid.unwrap(), entry.parent))
            .collect()
    }

    fn pair(uuid: &str, parent: Option<&str>) -> (String, Option<String>) {
        (uuid.into(), parent.map(Into::into))
    }

    #[test]
    fn the_chain_closes_over_several_errors() {
        assert_eq!(
            chain(&[
                ("m1", "", false),
                ("e1", "m1", true),
                ("e2", "e1", true),
                ("m2", "e2", false)
            ]),
            [pair("m1", None), pair("m2", Some("m1"))]
        );
    }

    #[test]
    fn an_error_at_the_root_leaves_a_root() {
        assert_eq!(chain(&[("e", "", true), ("m", "e", false)]), [pair("m", None)]);
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
            [pair("m1", None), pair("m2", Some("m1"))]
        );
    }

    #[test]
    fn a_uuid_that_also_remains_is_still_a_parent() {
        assert_eq!(
            chain(&[("x", "", false), ("x", "x", true), ("m", "x", false)]),
            [pair("x", None), pair("m", Some("x"))]
        );
    }
}
