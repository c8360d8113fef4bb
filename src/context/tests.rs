//! Damage of every kind, made at random: whatever it is, there is a view, and always the same.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// A record with damage: few ids, so that they meet.
fn record() -> impl Strategy<Value = Vec<String>> {
    let id = || prop::sample::select(vec!["a", "b", "c", "d", "e", ""]);
    let block = (id(), 0..14usize).prop_map(|(id, kind)| match kind {
        0 | 1 => json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "ls"}}),
        2 => json!({"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": id}}),
        3..=5 => json!({"type": "tool_result", "tool_use_id": id, "content": "y"}),
        6 => json!({"type": "tool_result", "tool_use_id": id, "content": [], "is_error": true}),
        7 | 8 => json!({"type": "text", "text": format!("t{id}")}),
        9 => json!({"type": "text", "text": " ", "cache_control": {"type": "ephemeral"}}),
        10 => json!({"type": "thinking", "thinking": "h", "signature": id}),
        11 => json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}}),
        12 => json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": {}}),
        _ => json!(id),
    });
    let blocks = prop::collection::vec(block, 0..4);
    let row = (id(), id(), id(), blocks, 0..20usize).prop_map(|(uuid, parent, message, blocks, kind)| {
        let content = json!(blocks);
        let user = json!({"role": "user", "content": content});
        let assistant = json!({"role": "assistant", "id": format!("m{message}"), "content": content});
        let mut row = match kind {
            0..=5 => json!({"type": "user", "message": user}),
            6..=13 => json!({"type": "assistant", "message": assistant}),
            14 => json!({"type": "user", "message": {"role": "user", "content": "go"}}),
            15 => json!({"type": "system", "subtype": "compact_boundary", "compactMetadata":
                {"preservedSegment": {"headUuid": parent, "tailUuid": message}}}),
            16 => json!({"type": "user", "isCompactSummary": true, "message": {"role": "user", "content": "sum"}}),
            17 => json!({"type": "assistant", "isApiErrorMessage": true, "message": assistant}),
            18 => json!({"type": "user", "isSidechain": true, "message": user}),
            _ => json!({"type": "user", "toolDenialKind": "permission-rule", "message": user}),
        };
        if !uuid.is_empty() {
            row["uuid"] = json!(uuid);
        }
        row["parentUuid"] = if parent.is_empty() { Value::Null } else { json!(parent) };
        row.to_string()
    });
    // Some uuids are unique, so that there are chains too.
    prop::collection::vec((row, any::<bool>()), 0..14).prop_map(|rows| {
        let mut last = Value::Null;
        let rows = rows.into_iter().enumerate().map(|(index, (row, in_order))| {
            let mut row: Value = serde_json::from_str(&row).unwrap();
            if in_order {
                row["parentUuid"] = last.clone();
                row["uuid"] = json!(format!("u{index}"));
            }
            if let Some(uuid) = row.get("uuid") {
                last = uuid.clone();
            }
            row.to_string()
        });
        rows.collect()
    })
}

fn texts<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Vec<&'a str> {
    entries.into_iter().map(Entry::raw).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]
    #[test]
    fn the_same_record_gives_the_same_view_whatever_is_in_it(rows in record()) {
        let record: Vec<Entry> =
            rows.iter().map(|row| Entry::parse(row.as_str()).unwrap()).collect();
        let (seen, again) = (view(record.clone(), &Policy::default()), view(record, &Policy::default()));
        prop_assert_eq!(texts(&seen.entries), texts(&again.entries));
        prop_assert_eq!(texts(seen.conversation()), texts(again.conversation()));
        prop_assert_eq!(seen.report, again.report);
    }
}
