//! Results that an interrupt left behind: they say nothing about the work and must not look like failures.

use crate::transcript::{Block, BlockEdit, Body, Entry, RawObject, decode_string};

/// What stands in their place. Part of the transcript, so one form in every language.
pub(super) const INTERRUPTED: &str = "[上一轮在此处被中断,该工具结果未产生]";

/// How the harness marks them.
const MARK: &str = "[Request interrupted";

/// Replaces the text of such results and takes their error flag away (core.md R-15).
pub(super) fn neutralise(entries: Vec<Entry>) -> Vec<Entry> {
    entries.into_iter().map(|entry| calm(&entry).unwrap_or(entry)).collect()
}

fn calm(entry: &Entry) -> Option<Entry> {
    // Looking at the text first: hardly any entry has the mark.
    if !entry.raw().contains(MARK) {
        return None;
    }
    let is_error = |block: &Block| matches!(block.body(), Body::ToolResult { is_error: true, .. });
    let blocks = entry.message()?.blocks;
    let struck = blocks.iter().any(|block| {
        is_error(block)
            && content(block)
                .and_then(|content| decode_string(&content))
                .is_some_and(|text| text.contains(MARK))
    });
    if !struck {
        return None;
    }
    let marker = serde_json::json!(INTERRUPTED).to_string();
    let edited = entry.edit_blocks(|block| {
        if !is_error(block) || !content(block).is_some_and(|content| content.contains(MARK)) {
            return BlockEdit::Keep;
        }
        block
            .with_field("content", &marker)
            .and_then(|block| block.with_field("is_error", "false"))
            .map_or(BlockEdit::Keep, BlockEdit::Replace)
    });
    edited.ok().map(|edited| edited.entry)
}

/// The raw text of a result's content.
fn content(block: &Block) -> Option<String> {
    RawObject::parse(block.raw()).ok()?.get("content").map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(content: &str, is_error: bool) -> Entry {
        Entry::parse(format!(
            r#"{{"uuid":"u","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t","content":{content},"is_error":{is_error}}}]}},"toolUseResult":"x"}}"#
        ))
        .unwrap()
    }

    #[test]
    fn an_interrupted_result_becomes_a_marker() {
        let entry = row(r#""[Request interrupted by user]""#, true);
        let calmed = neutralise(vec![entry.clone()]);
        let want = entry
            .raw()
            .replace(r#""[Request interrupted by user]""#, &format!("\"{INTERRUPTED}\""))
            .replace("true", "false");
        assert_eq!(calmed[0].raw(), want);
    }

    #[test]
    fn results_that_only_mention_it_stay() {
        for entry in [
            row(r#""[Request interrupted by user]""#, false),
            row(r#"[{"type":"text","text":"[Request interrupted by user]"}]"#, true),
            row(r#""something else""#, true),
        ] {
            assert_eq!(neutralise(vec![entry.clone()])[0].raw(), entry.raw());
        }
    }
}
