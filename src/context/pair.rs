//! Results that answer no call: the API refuses a conversation that holds one.

use std::collections::HashSet;

use super::relink;
use crate::transcript::{BlockEdit, Body, Entry};

/// Takes them out; an entry that held nothing else goes as a whole.
pub(super) fn drop_orphan_results(entries: Vec<Entry>) -> Vec<Entry> {
    let calls = ids(&entries, |body| match body {
        Body::ToolUse { id, .. } => Some(id),
        _ => None,
    });
    let is_orphan = |body: &Body| match body {
        Body::ToolResult { tool_use_id, .. } => !calls.contains(tool_use_id),
        _ => false,
    };
    let mut emptied = HashSet::new();
    let edited: Vec<Entry> = entries
        .into_iter()
        .enumerate()
        .map(|(index, entry)| {
            if !entry.raw().contains("tool_result") {
                return entry;
            }
            let edited = entry.edit_blocks(|block| {
                if is_orphan(block.body()) { BlockEdit::Remove } else { BlockEdit::Keep }
            });
            match edited {
                Ok(edited) if edited.changed => {
                    if edited.left == 0 {
                        emptied.insert(index);
                    }
                    // The harness's own copy of the result would tell what the message no longer does.
                    edited.entry.without_field("toolUseResult").unwrap_or(edited.entry)
                }
                _ => entry,
            }
        })
        .collect();
    if emptied.is_empty() {
        return edited;
    }
    let index = std::cell::Cell::new(0);
    relink::without(&edited, |_| {
        let here = index.replace(index.get() + 1);
        emptied.contains(&here)
    })
}

/// The ids that `pick` finds in the blocks of all entries.
pub(super) fn ids(entries: &[Entry], pick: impl Fn(&Body) -> Option<&String>) -> HashSet<String> {
    entries
        .iter()
        .filter(|entry| entry.raw().contains("tool_"))
        .filter_map(Entry::message)
        .flat_map(|message| {
            message
                .blocks
                .iter()
                .filter_map(|block| pick(block.body()).cloned())
                .collect::<Vec<_>>()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_orphan_result_goes_and_its_neighbours_stay() {
        let rows = [
            r#"{"type":"assistant","uuid":"a","parentUuid":null,"message":{"content":[{"type":"tool_use","id":"t1","name":"x","input":{}}]}}"#,
            r#"{"type":"user","uuid":"b","parentUuid":"a","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"x"},{"type":"tool_result","tool_use_id":"t0","content":"y"}]},"toolUseResult":"y"}"#,
            r#"{"type":"user","uuid":"c","parentUuid":"b","message":{"content":[{"type":"tool_result","tool_use_id":"t9","content":"z"}]}}"#,
            r#"{"type":"user","uuid":"d","parentUuid":"c","message":{"content":"on"}}"#,
        ];
        let entries = rows.map(|row| Entry::parse(row).unwrap()).to_vec();
        let left = drop_orphan_results(entries);
        let texts: Vec<&str> = left.iter().map(Entry::raw).collect();
        assert_eq!(
            texts,
            [
                rows[0],
                r#"{"type":"user","uuid":"b","parentUuid":"a","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"x"}]}}"#,
                r#"{"type":"user","uuid":"d","parentUuid":"b","message":{"content":"on"}}"#,
            ]
        );
    }
}
