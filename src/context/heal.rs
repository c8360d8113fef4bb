//! Calls that were never answered: each gets a result that says so.

use std::collections::{BTreeMap, HashMap};

use uuid::Uuid;

use super::{pair, relink};
use crate::transcript::{Block, Body, Entry};

/// The answer. Part of the transcript, so one form in every language.
pub(super) const UNANSWERED: &str = "[这一步被打断了,没有结果。需要的话重做。]";

/// Namespace of the made-up entries' uuids; random once, fixed for ever, because stored entries of
/// later sessions name them as their parents.
const NAMESPACE: Uuid = Uuid::from_u128(0x8d1f_53c6_0b7e_4a52_9c1e_47d9_e0a6_b38c);

/// Fields that the made-up entry takes over from the one that it follows.
const COPIED: [&str; 8] = [
    "sessionId",
    "cwd",
    "gitBranch",
    "version",
    "agentId",
    "isSidechain",
    "userType",
    "entrypoint",
];

/// The calls of one message that have no result.
struct Orphans<'a> {
    /// The message; entries without one are messages of their own.
    message: Option<String>,
    calls: Vec<&'a str>,
}

/// Puts an entry with results behind each message that has unanswered calls (core.md R-30 to R-32).
///
/// A message may lie in several entries; the results come after its last one, and whatever followed
/// that entry follows them. The uuid is derived from what it answers, so that every load of the same
/// record makes the same entry.
pub(super) fn answer_orphan_calls(entries: Vec<Entry>) -> Vec<Entry> {
    let answered = pair::ids(&entries, |body| match body {
        Body::ToolResult { tool_use_id, .. } => Some(tool_use_id),
        _ => None,
    });
    let mut last_of: HashMap<String, usize> = HashMap::new();
    let mut open: Vec<(usize, Option<String>, Vec<String>)> = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let Some(message) = entry.message() else { continue };
        if let Some(id) = &message.id {
            last_of.insert(id.clone(), index);
        }
        let calls: Vec<String> = message
            .blocks
            .iter()
            .filter_map(|block| match block.body() {
                Body::ToolUse { id, .. } if !id.is_empty() && !answered.contains(id) => {
                    Some(id.clone())
                }
                _ => None,
            })
            .collect();
        if !calls.is_empty() {
            open.push((index, message.id, calls));
        }
    }
    let mut orphans: BTreeMap<usize, Orphans<'_>> = BTreeMap::new();
    for (index, message, calls) in &open {
        let anchor = message.as_ref().and_then(|id| last_of.get(id)).unwrap_or(index);
        let group = orphans
            .entry(*anchor)
            .or_insert_with(|| Orphans { message: message.clone(), calls: Vec::new() });
        for call in calls {
            if !group.calls.contains(&call.as_str()) {
                group.calls.push(call);
            }
        }
    }
    if orphans.is_empty() {
        return entries;
    }
    insert(&entries, &orphans)
}

fn insert(entries: &[Entry], orphans: &BTreeMap<usize, Orphans<'_>>) -> Vec<Entry> {
    let mut healed: HashMap<usize, Entry> = HashMap::new();
    // Who followed the anchor follows the new entry: from the anchor's uuid to the new one, with the
    // message whose own parts must stay together.
    let mut moved: HashMap<&str, (String, Option<&str>)> = HashMap::new();
    for (anchor, group) in orphans {
        let Some(answer) = answer(&entries[*anchor], &group.calls) else { continue };
        if let (Some(from), Some(to)) = (entries[*anchor].uuid.as_deref(), answer.uuid.clone()) {
            moved.insert(from, (to, group.message.as_deref()));
        }
        healed.insert(*anchor, answer);
    }
    let mut out = Vec::with_capacity(entries.len() + healed.len());
    for (index, entry) in entries.iter().enumerate() {
        let target = entry.parent.as_deref().and_then(|parent| moved.get(parent));
        let moves = target.filter(|(_, message)| {
            entry.parent != entry.uuid && {
                message.is_none() || entry.message().and_then(|own| own.id).as_deref() != *message
            }
        });
        out.push(match moves {
            Some((to, _)) => relink::with_parent(entry, Some(to)),
            None => entry.clone(),
        });
        out.extend(healed.remove(&index));
    }
    out
}

/// The entry with one result for each call, below `anchor`.
fn answer(anchor: &Entry, calls: &[&str]) -> Option<Entry> {
    let mut name = anchor.uuid.clone().unwrap_or_default();
    for call in calls {
        name.push('\n');
        name.push_str(call);
    }
    let uuid = Uuid::new_v5(&NAMESPACE, name.as_bytes());
    let results: Vec<String> = calls
        .iter()
        .map(|call| Block::tool_result(call, UNANSWERED, false).raw().to_owned())
        .collect();
    let mut text = format!(
        r#"{{"type":"user","uuid":"{uuid}","parentUuid":{},"message":{{"role":"user","content":[{}]}}"#,
        serde_json::json!(anchor.uuid),
        results.join(",")
    );
    for field in COPIED {
        if let Some(value) = anchor.field(field) {
            text.push_str(&format!(r#","{field}":{value}"#));
        }
    }
    text.push('}');
    Entry::parse(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(uuid: &str, parent: &str, message: &str, id: &str) -> Entry {
        Entry::parse(format!(
            r#"{{"type":"assistant","uuid":"{uuid}","parentUuid":"{parent}","sessionId":"s","isSidechain":false,"message":{{"id":"{message}","role":"assistant","content":[{{"type":"tool_use","id":"{id}","name":"Bash","input":{{}}}}]}}}}"#
        ))
        .unwrap()
    }

    fn result(uuid: &str, parent: &str, id: &str) -> Entry {
        Entry::parse(format!(
            r#"{{"type":"user","uuid":"{uuid}","parentUuid":"{parent}","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","content":"ok"}}]}}}}"#
        ))
        .unwrap()
    }

    fn shape(entries: &[Entry]) -> Vec<(String, String)> {
        entries
            .iter()
            .map(|entry| {
                (entry.uuid.clone().unwrap_or_default(), entry.parent.clone().unwrap_or_default())
            })
            .collect()
    }

    #[test]
    fn nothing_open_means_nothing_changes() {
        let entries = vec![call("a", "u", "m", "t"), result("b", "a", "t")];
        let after = answer_orphan_calls(entries.clone());
        assert_eq!(shape(&after), shape(&entries));
    }

    #[test]
    fn the_results_come_after_the_last_part_of_the_message() {
        // Both calls of one message lie in two entries; the first is unanswered.
        let entries = vec![
            call("a1", "u", "m", "t1"),
            call("a2", "a1", "m", "t2"),
            result("r2", "a2", "t2"),
            result("x", "a2", "t2"),
        ];
        let after = answer_orphan_calls(entries);
        let heal = after[2].uuid.clone().unwrap();
        assert_eq!(
            shape(&after),
            [
                ("a1".into(), "u".into()),
                ("a2".into(), "a1".into()),
                (heal.clone(), "a2".into()),
                ("r2".into(), heal.clone()),
                ("x".into(), heal),
            ]
        );
    }

    #[test]
    fn the_made_up_entry_is_the_same_every_time_and_knows_where_it_is() {
        let entries = vec![call("a1", "u", "m", "t1")];
        let after = answer_orphan_calls(entries.clone());
        assert_eq!(after[1].raw(), answer_orphan_calls(entries)[1].raw());
        let uuid = after[1].uuid.as_deref().unwrap();
        assert_eq!(Uuid::parse_str(uuid).unwrap().get_version_num(), 5);
        assert_eq!(
            after[1].raw(),
            format!(
                r#"{{"type":"user","uuid":"{uuid}","parentUuid":"a1","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t1","content":"{UNANSWERED}","is_error":false}}]}},"sessionId":"s","isSidechain":false}}"#
            )
        );
    }

    #[test]
    fn an_entry_stored_below_a_made_up_one_finds_it_again() {
        let first = answer_orphan_calls(vec![call("a1", "u", "m", "t1")]);
        let heal = first[1].uuid.clone().unwrap();
        // The next prompt was stored with the made-up entry as its parent, which is not stored.
        let prompt = Entry::parse(format!(
            r#"{{"type":"user","uuid":"p","parentUuid":"{heal}","message":{{"content":"on"}}}}"#
        ))
        .unwrap();
        let again = answer_orphan_calls(vec![call("a1", "u", "m", "t1"), prompt]);
        assert_eq!(again[1].uuid.as_deref(), Some(heal.as_str()));
        assert_eq!(again[2].parent.as_deref(), Some(heal.as_str()));
    }
}
