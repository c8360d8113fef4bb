//! What is fixed when a session begins: its instructions, with the workbench as it stood then.
//!
//! They are stored in the transcript, so that every later run sends the same bytes and the model's cache
//! of a long conversation stays good. What changed since is told in the newest prompt.

use serde_json::json;

use crate::transcript::{Entry, EntryError, SessionKey};

/// The `type` of the entry that holds them. It has no uuid and stands outside the chain.
const KIND: &str = "flower-instructions";

/// The role's instructions and the workbench's index.
pub(super) fn compose(role: &str, index: Option<&str>) -> String {
    match index {
        Some(index) => format!("{role}\n\n{index}"),
        None => role.to_owned(),
    }
}

/// The entry that keeps the instructions.
pub(super) fn entry(key: &SessionKey, instructions: &str) -> Result<Entry, EntryError> {
    let row = json!({"type": KIND, "sessionId": key.session, "instructions": instructions});
    Entry::parse(row.to_string())
}

/// The instructions that the session began with; nothing for a session of another tool.
pub(super) fn instructions(record: &[Entry]) -> Option<String> {
    record.iter().find(|entry| entry.kind == KIND).and_then(|entry| entry.string("instructions"))
}

/// The prompt, with the lines of the index that were not there when the session began.
pub(super) fn with_news(prompt: &str, fixed: &str, index: &str) -> String {
    let known: std::collections::HashSet<&str> = fixed.lines().collect();
    let news: Vec<&str> =
        index.lines().filter(|line| line.starts_with("- ") && !known.contains(line)).collect();
    if news.is_empty() {
        return prompt.to_owned();
    }
    format!("{prompt}\n\n<workbench-news>\n{}\n</workbench-news>", news.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_fixed_is_found_again() {
        let key = SessionKey::main("p", "s");
        let text = compose("be kind", Some("# Workbench\n- `a`"));
        let record = [entry(&key, &text).unwrap()];
        assert_eq!(instructions(&record).as_deref(), Some(text.as_str()));
        assert!(record[0].uuid.is_none());
    }

    #[test]
    fn only_new_lines_of_the_index_are_told() {
        let fixed = "role\n\n# Workbench\n- `a`";
        assert_eq!(with_news("go on", fixed, "# Workbench\n- `a`"), "go on");
        let told = with_news("go on", fixed, "# Workbench\n- `a`\n- `b`");
        assert_eq!(told, "go on\n\n<workbench-news>\n- `b`\n</workbench-news>");
    }
}
