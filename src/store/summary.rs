//! The summary of a main transcript, folded from its entries one by one (core.md S-30).

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::transcript::{Block, Body, Entry, RawObject, decode_string};

/// The longest first prompt, in characters; the list of sessions shows no more.
const LONGEST_PROMPT: usize = 200;

/// Fields of which the last one wins, with their names in the summary.
const LAST_WINS: [(&str, &str); 5] = [
    ("customTitle", "custom_title"),
    ("aiTitle", "ai_title"),
    ("lastPrompt", "last_prompt"),
    ("summary", "summary_hint"),
    ("gitBranch", "git_branch"),
];

/// The `data` of a summary row. Keys stand in the order in which they were learnt.
#[derive(Debug, Default)]
pub(super) struct Summary {
    data: Map<String, Value>,
}

impl Summary {
    /// Reads a stored summary; nothing where it cannot be read, so that it is folded anew.
    pub(super) fn parse(row: &str) -> Option<Self> {
        match serde_json::from_str::<Value>(row).ok()?.get_mut("data")?.take() {
            Value::Object(data) => Some(Self { data }),
            _ => None,
        }
    }

    /// The row as it is stored.
    pub(super) fn to_json(&self, session: &str, mtime: i64) -> String {
        serde_json::json!({"session_id": session, "mtime": mtime, "data": self.data}).to_string()
    }

    /// Takes one more entry into account.
    pub(super) fn fold(&mut self, entry: &Entry) {
        let Ok(fields) = Fields::parse(entry.raw()) else { return };
        self.data.entry("is_sidechain").or_insert(Value::Bool(entry.sidechain));
        if !self.data.contains_key("created_at")
            && let Some(time) = entry.timestamp.as_deref().and_then(milliseconds)
        {
            self.data.insert("created_at".into(), time.into());
        }
        if !self.data.contains_key("cwd")
            && let Some(cwd) = fields.string(CWD).filter(|cwd| !cwd.is_empty())
        {
            self.data.insert("cwd".into(), cwd.into());
        }
        if entry.kind == "user" && !entry.protected {
            self.fold_prompt(&fields);
        }
        for (place, (_, to)) in LAST_WINS.iter().enumerate() {
            let Some(text) = fields.string(place) else { continue };
            match self.data.get_mut(*to) {
                Some(Value::String(known)) if *known == text => {}
                _ => drop(self.data.insert((*to).into(), text.into())),
            }
        }
        if entry.kind == "tag" {
            match fields.string(TAG).filter(|tag| !tag.is_empty()) {
                Some(tag) => self.data.insert("tag".into(), tag.into()),
                // `remove` would move the last key into the gap.
                None => self.data.shift_remove("tag"),
            };
        }
    }

    /// Looks for the first thing that a person said.
    fn fold_prompt(&mut self, fields: &Fields<'_>) {
        if self.data.get("first_prompt_locked") == Some(&Value::Bool(true)) {
            return;
        }
        let blocks = fields
            .get(MESSAGE)
            .and_then(|message| RawObject::parse(message).ok())
            .and_then(|message| message.get("content"))
            .and_then(|content| Block::parse_content(content).ok())
            .unwrap_or_default();
        if blocks.iter().any(|block| matches!(block.body(), Body::ToolResult { .. })) {
            return;
        }
        for block in &blocks {
            let Body::Text(text) = block.body() else { continue };
            let line = text.replace('\n', " ");
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            if let Some(command) = between(line, "<command-name>", "</command-name>") {
                let known = self.data.get("command_fallback").and_then(Value::as_str);
                if known.is_none_or(str::is_empty) {
                    self.data.insert("command_fallback".into(), command.into());
                }
                continue;
            }
            if is_machine_made(line) {
                continue;
            }
            self.data.insert("first_prompt".into(), shorten(line).into());
            self.data.insert("first_prompt_locked".into(), true.into());
            return;
        }
    }
}

/// The fields that a summary is made of, behind those of [`LAST_WINS`].
const CWD: usize = LAST_WINS.len();
const TAG: usize = CWD + 1;
const MESSAGE: usize = TAG + 1;

/// The raw values of those fields. A summary is folded at each append, so nothing else is kept of the
/// entry's text.
#[derive(Default)]
struct Fields<'a>([Option<&'a RawValue>; MESSAGE + 1]);

impl<'a> Fields<'a> {
    fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    fn get(&self, place: usize) -> Option<&'a str> {
        self.0[place].map(RawValue::get)
    }

    fn string(&self, place: usize) -> Option<String> {
        self.get(place).and_then(decode_string)
    }

    fn place(name: &str) -> Option<usize> {
        match name {
            "cwd" => Some(CWD),
            "tag" => Some(TAG),
            "message" => Some(MESSAGE),
            name => LAST_WINS.iter().position(|(from, _)| *from == name),
        }
    }
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Wanted;
        impl<'de> Visitor<'de> for Wanted {
            type Value = Fields<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Fields::default();
                // Keys are taken raw: half of a surrogate pair in one must not spoil the entry.
                while let Some((key, value)) = map.next_entry::<&'de RawValue, &'de RawValue>()? {
                    let key = key.get();
                    let place = if key.contains('\\') {
                        decode_string(key).and_then(|name| Fields::place(&name))
                    } else {
                        Fields::place(key.trim_matches('"'))
                    };
                    if let Some(place) = place {
                        fields.0[place] = Some(value);
                    }
                }
                Ok(fields)
            }
        }
        deserializer.deserialize_map(Wanted)
    }
}

/// Texts that a program put in the place of a prompt.
fn is_machine_made(line: &str) -> bool {
    const BEGINNINGS: [&str; 4] =
        ["<local-command-stdout>", "<session-start-hook>", "<tick>", "<goal>"];
    let wholly = |name: &str| {
        line.starts_with(&format!("<{name}>")) && line.ends_with(&format!("</{name}>"))
    };
    BEGINNINGS.iter().any(|beginning| line.starts_with(beginning))
        || line.strip_prefix("[Request interrupted by user").is_some_and(|rest| rest.contains(']'))
        || wholly("ide_opened_file")
        || wholly("ide_selection")
}

fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(open)?;
    rest.split_once(close).map(|(inner, _)| inner)
}

fn shorten(line: &str) -> String {
    if line.chars().count() <= LONGEST_PROMPT {
        return line.to_owned();
    }
    let cut: String = line.chars().take(LONGEST_PROMPT).collect();
    format!("{}…", cut.trim_end())
}

/// Milliseconds since 1970; a time without a zone is read as UTC.
fn milliseconds(time: &str) -> Option<i64> {
    if let Ok(time) = time.parse::<jiff::Timestamp>() {
        return Some(time.as_millisecond());
    }
    let civil = time.parse::<jiff::civil::DateTime>().ok()?;
    Some(jiff::tz::TimeZone::UTC.to_timestamp(civil).ok()?.as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(rows: &[&str]) -> Value {
        let mut summary = Summary::default();
        for row in rows {
            summary.fold(&Entry::parse(*row).unwrap());
        }
        Value::Object(summary.data)
    }

    #[test]
    fn the_first_words_of_a_person_are_kept() {
        let data = folded(&[
            r#"{"type":"user","message":{"content":"<command-name>/init</command-name> x"}}"#,
            r#"{"type":"user","message":{"content":"[Request interrupted by user for tool use]"}}"#,
            r#"{"type":"user","message":{"content":[{"type":"text","text":"<ide_selection>a\nb</ide_selection>"},{"type":"text","text":" do\nit "}]}}"#,
            r#"{"type":"user","message":{"content":"later"}}"#,
        ]);
        assert_eq!(data["command_fallback"], "/init");
        assert_eq!(data["first_prompt"], "do it");
    }

    #[test]
    fn results_and_protected_entries_are_not_prompts() {
        let data = folded(&[
            r#"{"type":"user","isMeta":true,"message":{"content":"meta"}}"#,
            r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"x"},{"type":"text","text":"y"}]}}"#,
        ]);
        assert_eq!(data.get("first_prompt"), None);
        assert_eq!(data["is_sidechain"], false);
    }

    #[test]
    fn long_prompts_are_cut_by_characters() {
        let text = format!("{} {}", "é".repeat(199), "y".repeat(10));
        assert_eq!(shorten(&text), format!("{}…", "é".repeat(199)));
    }

    #[test]
    fn a_tag_comes_and_goes() {
        let data = folded(&[r#"{"type":"tag","tag":"a"}"#, r#"{"type":"tag","tag":""}"#]);
        assert_eq!(data.get("tag"), None);
    }

    #[test]
    fn folding_in_two_halves_is_folding_at_once() {
        let rows = [
            r#"{"type":"user","timestamp":"2025-11-02T10:00:01.000Z","cwd":"/a","message":{"content":"hi"}}"#,
            r#"{"type":"custom-title","customTitle":"t"}"#,
            r#"{"type":"user","gitBranch":"b","message":{"content":"there"}}"#,
        ];
        let mut first = Summary::default();
        first.fold(&Entry::parse(rows[0]).unwrap());
        let mut second = Summary::parse(&first.to_json("s", 1)).unwrap();
        rows[1..].iter().for_each(|row| second.fold(&Entry::parse(*row).unwrap()));
        assert_eq!(Value::Object(second.data), folded(&rows));
    }
}
