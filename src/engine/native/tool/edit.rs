//! Edit: replaces an exact piece of a text file.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::input::Input;
use super::{Answer, Complaint, ToolOutput, Toolbox, object_schema, place, write};

/// The largest file that is edited; it is held in memory.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

pub(super) const DESCRIPTION: &str = "Replaces `old_string` by `new_string` in a file. The old text must be \
exactly as in the file, blanks and indentation included, but without the line numbers that Read puts in \
front, and it must occur once; give more of its surroundings to make it so, or set `replace_all` to replace \
every occurrence. The file must have been read in this conversation and not have changed since. `file_path` \
is absolute or relative to the workspace. Line ends of the file are kept.";

pub(super) fn schema() -> Value {
    object_schema(
        json!({
            "file_path": {"type": "string", "description": "The file."},
            "old_string": {"type": "string", "minLength": 1, "description": "What is there."},
            "new_string": {"type": "string", "description": "What shall be there."},
            "replace_all": {"type": "boolean", "description": "Every occurrence; false unless given."},
        }),
        &["file_path", "old_string", "new_string"],
    )
}

pub(super) async fn run(toolbox: &Toolbox, input: &Input<'_>) -> Answer {
    let path = place::absolute(toolbox.workspace(), input.filled_text("file_path")?);
    let change = Change {
        old: input.text("old_string")?.to_owned(),
        new: input.text("new_string")?.to_owned(),
        all: input.flag("replace_all")?.unwrap_or(false),
    };
    let toolbox = toolbox.clone();
    super::walk::blocking(toolbox.fence(), move |_| {
        place::writable(&toolbox, &path)?;
        write::in_turn(|| edit(&toolbox, &path, &change))
    })
    .await
}

fn edit(toolbox: &Toolbox, path: &Path, change: &Change) -> Answer {
    let name = place::shown(toolbox.workspace(), path);
    let size = place::regular_file(path, &name)?.len();
    if size > MAX_BYTES {
        return Err(Complaint(format!("{name} is too large to edit ({size} bytes).")));
    }
    toolbox.seen().check(path, &name)?;
    let bytes = fs::read(path).map_err(|error| place::failed("read", &name, &error))?;
    let Ok(text) = String::from_utf8(bytes) else {
        return Err(Complaint(format!("{name} is not UTF-8 text, so it cannot be edited.")));
    };
    let (edited, lines) = change.apply(&text, &name)?;
    write::replace(path, edited.as_bytes())
        .map_err(|error| place::failed("written", &name, &error))?;
    write::remember(toolbox, path, &name)?;
    let detail = json!({
        "filePath": path.display().to_string(), "replaceAll": change.all, "lines": lines,
    });
    let text = match lines.as_slice() {
        [line] => format!("Edited {name} at line {line}."),
        _ => format!("Edited {name} at {} places.", lines.len()),
    };
    Ok(ToolOutput::text(text, detail))
}

/// What to replace.
#[derive(Debug)]
struct Change {
    old: String,
    new: String,
    all: bool,
}

impl Change {
    /// The new text and the lines (from 1) where the old text began.
    fn apply(&self, text: &str, name: &str) -> Result<(String, Vec<usize>), Complaint> {
        if self.old.is_empty() {
            return Err(Complaint::new(
                "The field old_string of Edit is empty; make new files with Write.",
            ));
        }
        if self.old == self.new {
            return Err(Complaint::new(
                "old_string and new_string are the same, so there is nothing to edit.",
            ));
        }
        let (old, new) = if has_only_crlf(text) {
            (to_crlf(&self.old), to_crlf(&self.new))
        } else {
            (self.old.clone(), self.new.clone())
        };
        let mut lines = Vec::new();
        let (mut line, mut done) = (1, 0);
        for (at, _) in text.match_indices(&old) {
            line += text[done..at].bytes().filter(|byte| *byte == b'\n').count();
            done = at;
            lines.push(line);
        }
        match lines.len() {
            0 => Err(Complaint(format!("old_string is not in {name}{}.", hint(text, &old)))),
            1 => Ok((text.replacen(&old, &new, 1), lines)),
            _ if self.all => Ok((text.replace(&old, &new), lines)),
            count => {
                let shown: Vec<_> = lines.iter().take(10).map(ToString::to_string).collect();
                let more = if count > 10 { ", …" } else { "" };
                Err(Complaint(format!(
                    "old_string is {count} times in {name} (lines {}{more}); give more of its surroundings, or set replace_all.",
                    shown.join(", ")
                )))
            }
        }
    }
}

/// Every line ends in CR LF, and there is at least one.
fn has_only_crlf(text: &str) -> bool {
    let ends = text.matches('\n').count();
    ends > 0 && ends == text.matches("\r\n").count()
}

fn to_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

/// Why the text may not have been found.
fn hint(text: &str, old: &str) -> &'static str {
    let numbered = |line: &str| {
        line.split_once('\t').is_some_and(|(number, _)| number.trim().parse::<u32>().is_ok())
    };
    if old.lines().all(numbered) {
        return "; leave out the line numbers that Read puts in front";
    }
    let squeeze = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let old = squeeze(old);
    if !old.is_empty() && squeeze(text).contains(&old) {
        return ", but it is with other blanks or line ends; copy it exactly";
    }
    "; Read the file and copy the text exactly"
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::run as call;
    use super::*;

    fn apply(text: &str, old: &str, new: &str, all: bool) -> Result<String, String> {
        let change = Change { old: old.into(), new: new.into(), all };
        change.apply(text, "f").map(|(text, _)| text).map_err(|complaint| complaint.0)
    }

    #[test]
    fn once_is_replaced_and_more_only_on_demand() {
        assert_eq!(apply("a b c", "b", "x", false), Ok("a x c".into()));
        assert_eq!(apply("b\nb\n", "b", "x", true), Ok("x\nx\n".into()));
        assert_eq!(
            apply("b\nb\n", "b", "x", false).unwrap_err(),
            "old_string is 2 times in f (lines 1, 2); give more of its surroundings, or set replace_all."
        );
    }

    #[test]
    fn what_is_not_found_comes_with_a_reason() {
        let say = |text, old| apply(text, old, "-", false).unwrap_err();
        assert!(say("a", "z").contains("Read the file"));
        assert!(say("  a\n  b", "a\nb").contains("other blanks"));
        assert!(say("a", "     1\ta").contains("line numbers"));
        assert!(say("a", "-").contains("the same"));
        assert!(say("a", "").contains("empty"));
    }

    #[test]
    fn line_ends_are_kept() {
        assert_eq!(apply("a\r\nb\r\n", "a\nb", "1\n2\n3", false), Ok("1\r\n2\r\n3\r\n".into()));
        assert_eq!(apply("a\r\nb\n", "b", "1\n2", false), Ok("a\r\n1\n2\n".into()));
    }

    #[tokio::test]
    async fn the_file_must_be_fresh_and_text() {
        let folder = tempfile::tempdir().unwrap();
        let toolbox = Toolbox::new(folder.path().to_owned(), Vec::new());
        let file = folder.path().join("f");
        fs::write(&file, "one two\n").unwrap();
        let input = json!({"file_path": "f", "old_string": "two", "new_string": "2"});
        let edit = async || call(&toolbox, "Edit", &input).await.unwrap();
        assert!(edit().await.output.as_str().unwrap().contains("Read it first"));
        call(&toolbox, "Read", &json!({"file_path": "f"})).await.unwrap();
        assert_eq!(edit().await.output, json!("Edited f at line 1."));
        assert_eq!(fs::read_to_string(&file).unwrap(), "one 2\n");
        fs::write(&file, "one two\n").unwrap();
        assert!(edit().await.output.as_str().unwrap().contains("has changed since"));
        fs::write(&file, b"two \xff\n").unwrap();
        call(&toolbox, "Read", &json!({"file_path": "f"})).await.unwrap();
        assert!(edit().await.output.as_str().unwrap().contains("not UTF-8"));
        fs::remove_file(&file).unwrap();
        assert!(edit().await.output.as_str().unwrap().contains("does not exist"));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn what_two_conversations_edit_at_the_same_time_is_all_there() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f");
        let start: String = (0..4).map(|number| format!("{number}:\n")).collect();
        fs::write(&file, start).unwrap();
        let work = |number: usize| {
            let toolbox = Toolbox::new(folder.path().to_owned(), Vec::new());
            tokio::spawn(async move {
                let mut done = 0;
                while done < 50 {
                    let input = json!({"file_path": "f"});
                    call(&toolbox, "Read", &input).await.unwrap();
                    let (old, new) = (format!("{number}:"), format!("{number}:x"));
                    let input = json!({"file_path": "f", "old_string": old, "new_string": new});
                    let output = call(&toolbox, "Edit", &input).await.unwrap();
                    done += usize::from(!output.is_error);
                }
            })
        };
        for task in (0..4).map(work).collect::<Vec<_>>() {
            task.await.unwrap();
        }
        assert_eq!(fs::read_to_string(&file).unwrap().matches('x').count(), 200);
    }

    proptest! {
        #[test]
        fn a_unique_edit_is_a_single_replacement(
            text in "[ab\n]{0,30}", old in "[ab\n]{1,3}", new in "[abc\n]{0,4}",
        ) {
            prop_assume!(old != new);
            let result = apply(&text, &old, &new, false);
            match text.matches(&old).count() {
                1 => prop_assert_eq!(result, Ok(text.replacen(&old, &new, 1))),
                _ => prop_assert!(result.is_err()),
            }
        }
    }
}
