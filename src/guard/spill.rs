//! Spill: a large result moves to a file, and the model gets a pointer and the beginning.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};

/// The tools whose results may spill.
const TOOLS: [&str; 6] = ["Bash", "Read", "Grep", "Glob", "WebFetch", "WebSearch"];

/// How much of the text stays, in characters.
const HEAD: usize = 400;

/// When and where results spill.
#[derive(Debug, Clone)]
pub struct SpillRule {
    /// Texts of at least this many characters spill; zero means that nothing does.
    pub threshold: usize,
    /// The folder of the files, absolute.
    pub spill_dir: PathBuf,
    /// The same folder as the model is told: relative inside the workspace, absolute elsewhere.
    pub shown_dir: String,
    /// More folders with texts that were spilled, as an agent may write them; what is read from there
    /// does not spill either.
    pub others: Vec<String>,
}

impl SpillRule {
    /// The usual threshold.
    pub const THRESHOLD: usize = 4000;
}

/// A result after spilling.
#[derive(Debug, Clone, PartialEq)]
pub struct Spilled {
    /// What the model sees; same shape as the result.
    pub output: Value,
    /// Files to write, name and text; the same text always has the same name.
    pub files: Vec<(String, String)>,
}

/// The result of a call with its large texts replaced; nothing where it stays as it is.
///
/// Arrays are never touched, since they hold images. A call that reads the spill folder is exempt,
/// or reading a spilled text would spill it again for ever.
pub fn spill(tool: &str, input: &Value, output: &Value, rule: &SpillRule) -> Option<Spilled> {
    if rule.threshold == 0 || !TOOLS.contains(&tool) || mentions(input, rule) {
        return None;
    }
    let mut files = Vec::new();
    let output = shorten(output, rule, &mut files);
    (!files.is_empty()).then_some(Spilled { output, files })
}

/// True where `file_path` lies in the folder `root`; by components, so that `/a/.flower-x` is not in
/// `/a/.flower`. Both are taken as they are written: a relative path is in no absolute folder.
pub fn touches(root: &Path, file_path: &Path) -> bool {
    clean(file_path).starts_with(clean(root))
}

fn shorten(value: &Value, rule: &SpillRule, files: &mut Vec<(String, String)>) -> Value {
    match value {
        Value::String(text) => {
            pointer(text, rule, files).map_or_else(|| value.clone(), Value::String)
        }
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(name, field)| (name.clone(), shorten(field, rule, files)))
                .collect(),
        ),
        _ => value.clone(),
    }
}

fn pointer(text: &str, rule: &SpillRule, files: &mut Vec<(String, String)>) -> Option<String> {
    let size = text.chars().count();
    if size < rule.threshold {
        return None;
    }
    let name = format!("{}.txt", &hex(&Sha256::digest(text.as_bytes()))[..16]);
    let folder = rule.shown_dir.trim_end_matches('/');
    let head: String = text.chars().take(HEAD).map(|c| if c == '\n' { ' ' } else { c }).collect();
    let pointer = format!(
        "[{size} characters, kept in {folder}/{name}: use Read for the whole or Grep to search it]\n{head}"
    );
    // With a low threshold the pointer could be the longer one.
    if pointer.chars().count() >= size {
        return None;
    }
    if !files.iter().any(|(known, _)| *known == name) {
        files.push((name, text.to_owned()));
    }
    Some(pointer)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// True where any text of the input is a path in the spill folder, or speaks of it.
fn mentions(input: &Value, rule: &SpillRule) -> bool {
    match input {
        Value::String(text) => {
            let absolute = rule.spill_dir.to_string_lossy();
            let others = rule.others.iter().map(String::as_str);
            [absolute.as_ref(), rule.shown_dir.as_str()].into_iter().chain(others).any(|folder| {
                let folder = folder.trim_end_matches('/');
                !folder.is_empty()
                    && (touches(Path::new(folder), Path::new(text)) || speaks_of(text, folder))
            })
        }
        Value::Array(items) => items.iter().any(|item| mentions(item, rule)),
        Value::Object(fields) => fields.values().any(|field| mentions(field, rule)),
        _ => false,
    }
}

/// True where `folder` stands in `text` and its last component ends there.
fn speaks_of(text: &str, folder: &str) -> bool {
    text.match_indices(folder).any(|(at, _)| {
        let next = text[at + folder.len()..].chars().next();
        next.is_none_or(|c| !(c.is_alphanumeric() || "-_.".contains(c)))
    })
}

/// The path without `.` and with `..` resolved on paper; there are no files here to ask.
fn clean(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir
                if matches!(out.components().next_back(), Some(Component::Normal(_))) =>
            {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn rule() -> SpillRule {
        SpillRule {
            threshold: SpillRule::THRESHOLD,
            spill_dir: "/w/.flower/spill".into(),
            shown_dir: ".flower/spill".into(),
            others: Vec::new(),
        }
    }

    fn bash(output: Value) -> Option<Spilled> {
        spill("Bash", &json!({"command": "make"}), &output, &rule())
    }

    #[test]
    fn a_large_text_becomes_a_pointer_and_its_beginning() {
        let text = format!("first\nsecond{}", "x".repeat(4000));
        let spilled = bash(json!(text)).unwrap();
        let (name, kept) = &spilled.files[0];
        assert_eq!(kept, &text);
        assert_eq!(name.len(), 20);
        let shown = spilled.output.as_str().unwrap();
        let (line, head) = shown.split_once('\n').unwrap();
        assert!(
            line.contains("4012 characters") && line.contains(&format!(".flower/spill/{name}"))
        );
        assert!(line.contains("Read") && line.contains("Grep"));
        assert!(head.starts_with("first second") && head.chars().count() == 400);
    }

    #[test]
    fn the_name_is_the_hash_of_the_text() {
        let (name, _) = &bash(json!("a".repeat(4000))).unwrap().files[0];
        let whole = hex(&Sha256::digest("a".repeat(4000).as_bytes()));
        assert_eq!(*name, format!("{}.txt", &whole[..16]));
    }

    #[test]
    fn the_threshold_counts_characters() {
        assert_eq!(bash(json!("界".repeat(3999))), None);
        assert!(bash(json!("界".repeat(4000))).is_some());
        assert_eq!(
            spill(
                "Bash",
                &json!({}),
                &json!("x".repeat(9000)),
                &SpillRule { threshold: 0, ..rule() }
            ),
            None
        );
    }

    #[test]
    fn texts_in_objects_spill_and_the_rest_stays() {
        let long = "y".repeat(5000);
        let spilled = bash(
            json!({"stdout": long, "n": 1, "in": {"stderr": long, "ok": "s"}, "list": [long]}),
        )
        .unwrap();
        assert_eq!(spilled.output["n"], 1);
        assert_eq!(spilled.output["in"]["ok"], "s");
        assert_eq!(spilled.output["list"], json!([long]));
        assert_eq!(spilled.output["stdout"], spilled.output["in"]["stderr"]);
        assert_eq!(spilled.files.len(), 1);
    }

    #[test]
    fn arrays_and_small_results_stay() {
        assert_eq!(bash(json!([{"type": "text", "text": "z".repeat(9000)}])), None);
        assert_eq!(bash(json!({"stdout": "short"})), None);
        assert_eq!(bash(json!(null)), None);
    }

    #[test]
    fn other_tools_do_not_spill() {
        let long = json!("x".repeat(9000));
        for tool in ["Agent", "Edit", "mcp__human__ask", "bash"] {
            assert_eq!(spill(tool, &json!({}), &long, &rule()), None, "{tool}");
        }
        for tool in TOOLS {
            assert!(spill(tool, &json!({}), &long, &rule()).is_some(), "{tool}");
        }
    }

    #[test]
    fn reading_the_spill_folder_is_exempt() {
        let long = json!("x".repeat(9000));
        for input in [
            json!({"file_path": "/w/.flower/spill/a.txt"}),
            json!({"file_path": "/w/src/../.flower/./spill/a.txt"}),
            json!({"file_path": ".flower/spill/a.txt"}),
            json!({"file_path": "./.flower/spill/a.txt"}),
            json!({"path": "/w/.flower/spill"}),
            json!({"command": "cat /w/.flower/spill/a.txt | head"}),
            json!({"command": "cd .flower/spill; cat a.txt"}),
            json!({"deep": [{"x": ".flower/spill/"}]}),
        ] {
            assert_eq!(spill("Read", &input, &long, &rule()), None, "{input}");
        }
        for input in [
            json!({"file_path": "/w/.flower/spill-old/a.txt"}),
            json!({"file_path": "/w/.flower/spilled.txt"}),
            json!({"command": "cat .flower/spill_x/a"}),
            json!({"offset": 3}),
        ] {
            assert!(spill("Read", &input, &long, &rule()).is_some(), "{input}");
        }
    }

    #[test]
    fn reading_what_a_view_archived_is_exempt_wherever_the_workbench_lies() {
        let long = json!("x".repeat(9000));
        for bench in ["/w/.flower", "/.flower-w", "/runs/workbench"] {
            let rule = SpillRule {
                spill_dir: format!("{bench}/spill").into(),
                shown_dir: format!("{bench}/spill"),
                others: vec!["/w/.flower/spill".into(), ".flower/spill".into()],
                ..rule()
            };
            for path in
                ["/w/.flower/spill/a.txt", ".flower/spill/a.txt", &format!("{bench}/spill/a.txt")]
            {
                let input = json!({"file_path": path});
                assert_eq!(spill("Read", &input, &long, &rule), None, "{bench}: {path}");
            }
            assert!(spill("Read", &json!({"file_path": "/w/a"}), &long, &rule).is_some());
        }
    }

    #[test]
    fn containment_goes_by_components() {
        let root = Path::new("/a/.flower");
        for inside in ["/a/.flower", "/a/.flower/notes/x.md", "/a/b/../.flower/x", "/a/./.flower/x"]
        {
            assert!(touches(root, Path::new(inside)), "{inside}");
        }
        for outside in ["/a/.flower-x/y", "/a/.flower/../y", "/b/.flower/x", ".flower/x", "", "/"] {
            assert!(!touches(root, Path::new(outside)), "{outside}");
        }
    }

    proptest! {
        #[test]
        fn a_result_never_grows(text in "\\PC{0,900}", threshold in 1usize..900) {
            let rule = SpillRule { threshold, ..rule() };
            if let Some(spilled) = spill("Bash", &json!({}), &json!(text), &rule) {
                let shown = spilled.output.as_str().unwrap();
                prop_assert!(shown.chars().count() < text.chars().count());
            }
        }
    }
}
