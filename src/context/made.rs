//! Entries that no record holds: answers and remarks that the view adds. Their ids are derived, so that
//! every load of the same record makes the same ones.

use uuid::Uuid;

use super::text;
use crate::transcript::Entry;

/// The answer to a call that got none. Part of the transcript, so one form in every language.
pub(super) const UNANSWERED: &str = "[这一步被打断了,没有结果。需要的话重做。]";

/// Where the entry before was never written.
pub(super) const GAP: &str = "[这里缺了一段记录,前面的内容按先后顺序接上]";

/// Where a conversation begins with a reply.
pub(super) const START: &str = "[对话的开头没有记录]";

/// Namespace of the made-up uuids; random once, fixed for ever, because stored entries of later
/// sessions name them as their parents.
const NAMESPACE: Uuid = Uuid::from_u128(0x8d1f_53c6_0b7e_4a52_9c1e_47d9_e0a6_b38c);

/// Fields that a made-up entry takes over from the one beside it.
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

/// An id in UUID form from what it stands for.
pub(super) fn derived(name: &str) -> String {
    Uuid::new_v5(&NAMESPACE, name.as_bytes()).to_string()
}

/// True for an id that may be one of ours: the entry was made for an earlier view and is not needed now.
pub(super) fn is_derived(uuid: &str) -> bool {
    Uuid::parse_str(uuid).is_ok_and(|uuid| uuid.get_version_num() == 5)
}

/// The entry that answers these calls, behind `anchor`.
pub(super) fn answer(anchor: &Entry, uuid: Option<&str>, calls: &[&str]) -> Option<Entry> {
    let mut name = uuid.unwrap_or_default().to_owned();
    for call in calls {
        name.push('\n');
        name.push_str(call);
    }
    let results: Vec<String> = calls.iter().map(|call| unanswered(call)).collect();
    user(anchor, &derived(&name), uuid, &format!("[{}]", results.join(",")))
}

fn unanswered(call: &str) -> String {
    let (call, text) = (text::literal(call), text::literal(UNANSWERED));
    format!(r#"{{"type":"tool_result","tool_use_id":{call},"content":{text},"is_error":false}}"#)
}

/// An entry of the user's with this content, like the entry beside it.
pub(super) fn user(
    beside: &Entry,
    uuid: &str,
    parent: Option<&str>,
    content: &str,
) -> Option<Entry> {
    let parent = parent.map_or_else(|| "null".to_owned(), text::literal);
    let mut raw = format!(
        r#"{{"type":"user","uuid":"{uuid}","parentUuid":{parent},"message":{{"role":"user","content":{content}}}"#
    );
    for field in COPIED {
        if let Some(value) = beside.field(field) {
            raw.push_str(&format!(r#","{field}":{value}"#));
        }
    }
    raw.push('}');
    Entry::parse(raw).ok()
}
