//! What a list says of a session, read from the summary that the store keeps.

use serde_json::Value;

/// The readable part of a stored summary.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Digest {
    /// The session's id.
    pub session: String,
    /// What it is about: the title that a person or a model gave it, else its last or first prompt; empty
    /// where nothing was said.
    pub title: String,
    /// The first entry's time, in milliseconds since 1970.
    pub created: Option<i64>,
    /// Where the agent worked.
    pub folder: Option<String>,
    /// The git branch there.
    pub branch: Option<String>,
}

impl Digest {
    /// Reads a summary row; one that cannot be read says nothing.
    pub fn read(row: &str) -> Option<Self> {
        const TITLES: [&str; 6] = [
            "custom_title",
            "ai_title",
            "last_prompt",
            "summary_hint",
            "first_prompt",
            "command_fallback",
        ];
        let row: Value = serde_json::from_str(row).ok()?;
        let data = row.get("data")?;
        let text = |name: &str| {
            let text = data.get(name).and_then(Value::as_str).map(str::trim);
            text.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        // A prompt may be a document: its first paragraph is enough, without the mark of a heading. Where
        // a line was empty, the summary has two blanks.
        let title = |name| {
            text(name).and_then(|text| {
                let first = text.trim_start_matches(['#', ' ']).split("  ").next()?;
                Some(first.to_owned())
            })
        };
        Some(Self {
            session: row.get("session_id")?.as_str()?.to_owned(),
            title: TITLES.into_iter().find_map(title).unwrap_or_default(),
            created: data.get("created_at").and_then(Value::as_i64),
            folder: text("cwd"),
            branch: text("git_branch"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_title_wins() {
        let title = |data: &str| {
            let row = format!(r#"{{"session_id":"s","mtime":1,"data":{{{data}}}}}"#);
            Digest::read(&row).unwrap().title
        };
        assert_eq!(title(r#""first_prompt":"a","last_prompt":"b""#), "b");
        assert_eq!(title(r#""first_prompt":"a","custom_title":"c","ai_title":"d""#), "c");
        assert_eq!(title(r#""first_prompt":"a","custom_title":" ""#), "a");
        assert_eq!(title(r#""command_fallback":"/init""#), "/init");
        assert_eq!(title(r###""first_prompt":"## Goal x  - y""###), "Goal x");
        assert_eq!(title(""), "");
    }

    #[test]
    fn a_summary_that_cannot_be_read_says_nothing() {
        for row in ["", "[]", "{}", r#"{"session_id":1,"data":{}}"#] {
            assert_eq!(Digest::read(row), None);
        }
    }
}
