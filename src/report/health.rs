//! What is wrong with a stored transcript, counted.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::context::view;
use crate::transcript::{Body, Entry};

/// A kind of damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Finding {
    /// A row of the database that is no entry.
    UnreadableRow,
    /// A user or assistant entry whose message cannot be read.
    UnreadableMessage,
    /// A parent that is stored nowhere, so that what was before it is out of reach.
    UnknownParent,
    /// An entry that is its own ancestor.
    Circle,
    /// Two entries of one name.
    TwoOfOneName,
    /// A call of a tool that was never answered.
    CallWithoutResult,
    /// A result that no call asked for, or a second one.
    ResultWithoutCall,
    /// Two calls of one id, or one without any.
    CallIdTwice,
}

impl Finding {
    /// One word for machines, and the end of its key in the catalogues.
    pub fn name(self) -> &'static str {
        match self {
            Finding::UnreadableRow => "unreadable_row",
            Finding::UnreadableMessage => "unreadable_message",
            Finding::UnknownParent => "unknown_parent",
            Finding::Circle => "circle",
            Finding::TwoOfOneName => "two_of_one_name",
            Finding::CallWithoutResult => "call_without_result",
            Finding::ResultWithoutCall => "result_without_call",
            Finding::CallIdTwice => "call_id_twice",
        }
    }
}

/// How often each kind of damage was found; nothing for a sound transcript.
pub type Health = BTreeMap<Finding, usize>;

/// Looks at one transcript, which is not changed.
pub fn examine(entries: &[Entry]) -> Health {
    let mut health = Health::new();
    let mut count = |finding| *health.entry(finding).or_default() += 1;
    chain(entries, &mut count);
    pairs(entries, &mut count);
    health
}

/// What a model would be shown of the transcript, with everything mended.
pub fn mended(entries: &[Entry]) -> Vec<Entry> {
    view(entries)
}

fn chain(entries: &[Entry], count: &mut impl FnMut(Finding)) {
    let mut parents: HashMap<&str, Option<&str>> = HashMap::new();
    for entry in entries {
        if let Some(uuid) = entry.uuid.as_deref()
            && parents.insert(uuid, entry.parent.as_deref()).is_some()
        {
            count(Finding::TwoOfOneName);
        }
    }
    // Each entry is walked over once: what is known to end needs no second look.
    let mut sound: HashSet<&str> = HashSet::new();
    for entry in entries {
        if entry.parent.as_deref().is_some_and(|parent| !parents.contains_key(parent)) {
            count(Finding::UnknownParent);
        }
        let mut path: HashSet<&str> = HashSet::new();
        let mut at = entry.uuid.as_deref();
        while let Some(uuid) = at.filter(|uuid| !sound.contains(uuid)) {
            if !path.insert(uuid) {
                count(Finding::Circle);
                break;
            }
            at = parents.get(uuid).copied().flatten();
        }
        sound.extend(path);
    }
}

fn pairs(entries: &[Entry], count: &mut impl FnMut(Finding)) {
    let mut open: HashSet<String> = HashSet::new();
    let mut called: HashSet<String> = HashSet::new();
    for entry in entries.iter().filter(|e| matches!(e.kind.as_str(), "user" | "assistant")) {
        let Some(message) = entry.message() else {
            count(Finding::UnreadableMessage);
            continue;
        };
        for block in &message.blocks {
            match block.body() {
                Body::ToolUse { id, .. } => {
                    if id.is_empty() || !called.insert(id.clone()) {
                        count(Finding::CallIdTwice);
                    }
                    open.insert(id.clone());
                }
                Body::ToolResult { tool_use_id, .. } if !open.remove(tool_use_id) => {
                    count(Finding::ResultWithoutCall);
                }
                _ => {}
            }
        }
    }
    open.iter().for_each(|_| count(Finding::CallWithoutResult));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rows: &[&str]) -> Vec<(&'static str, usize)> {
        let entries: Vec<Entry> = rows.iter().map(|row| Entry::parse(*row).unwrap()).collect();
        examine(&entries).into_iter().map(|(finding, count)| (finding.name(), count)).collect()
    }

    #[test]
    fn a_sound_transcript_has_no_findings() {
        let rows = [
            r#"{"type":"user","uuid":"1","parentUuid":null,"message":{"content":"hi"}}"#,
            r#"{"type":"assistant","uuid":"2","parentUuid":"1","message":{"content":[{"type":"tool_use","id":"a","name":"x","input":{}}]}}"#,
            r#"{"type":"user","uuid":"3","parentUuid":"2","message":{"content":[{"type":"tool_result","tool_use_id":"a","content":""}]}}"#,
            r#"{"type":"mode"}"#,
        ];
        assert_eq!(found(&rows), []);
        assert_eq!(found(&rows[..2]), [("call_without_result", 1)]);
        assert_eq!(found(&rows[2..]), [("unknown_parent", 1), ("result_without_call", 1)]);
    }

    /// anthropics/claude-code#36583: a row that is its own parent, two rows of one name.
    #[test]
    fn circles_are_counted_once_each_and_end() {
        let row =
            |uuid: &str, parent: &str| format!(r#"{{"uuid":"{uuid}","parentUuid":"{parent}"}}"#);
        let rows = [row("1", "1"), row("2", "3"), row("3", "2"), row("4", "3"), row("4", "1")];
        let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
        assert_eq!(found(&rows), [("circle", 2), ("two_of_one_name", 1)]);
    }

    #[test]
    fn ids_that_stand_twice_or_are_missing_are_counted() {
        let call = |id: &str| {
            format!(
                r#"{{"type":"assistant","message":{{"content":[{{"type":"tool_use","id":"{id}","name":"x","input":{{}}}}]}}}}"#
            )
        };
        let result = |id: &str| {
            format!(
                r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"{id}","content":""}}]}}}}"#
            )
        };
        let rows = [call("a"), result("a"), result("a"), call("a"), result("a"), call("")];
        let mut rows: Vec<&str> = rows.iter().map(String::as_str).collect();
        rows.push(r#"{"type":"user","message":1}"#);
        assert_eq!(
            found(&rows),
            [
                ("unreadable_message", 1),
                ("call_without_result", 1),
                ("result_without_call", 1),
                ("call_id_twice", 2)
            ]
        );
    }
}
