//! Grep: finds lines in files by a regular expression.

mod sink;

use std::path::Path;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::types::TypesBuilder;
use ignore::{DirEntry, WalkBuilder};
use serde_json::{Value, json};

use super::input::Input;
use super::walk::{self, Stop};
use super::{Answer, Complaint, ToolOutput, Toolbox, glob, object_schema, place};
use sink::{FileSink, Mode};

/// Lines of a result unless the call says otherwise.
const DEFAULT_LIMIT: u64 = 250;
/// Most memory for one file; a larger one is not searched across lines.
const HEAP_BYTES: usize = 64 * 1024 * 1024;

pub(super) const DESCRIPTION: &str = "Searches file contents with a regular expression (Rust syntax, no \
look-around). `path` is a file or folder, the workspace unless given; `glob` (`*.rs`, `src/**`, with `!` in \
front to exclude) and `type` (`rust`, `py`, …) narrow the files. `output_mode`: files_with_matches (default), \
content (lines with numbers, and `-A`, `-B`, `-C` lines around), or count (matching lines a file). Results \
come in order of path, at most `head_limit` lines (250 unless given). Patterns match within a line unless \
`multiline` is set; then `.` also matches line ends. What .gitignore excludes, hidden files (unless named) \
and binary files are left out.";

pub(super) fn schema() -> Value {
    let count = |text: &str| json!({"type": "integer", "minimum": 0, "description": text});
    let flag = |text: &str| json!({"type": "boolean", "description": text});
    let text = |text: &str| json!({"type": "string", "description": text});
    object_schema(
        json!({
            "pattern": text("The regular expression."),
            "path": text("The file or folder to search."),
            "glob": text("Only files of this shape."),
            "type": text("Only files of this kind."),
            "output_mode": {
                "type": "string", "enum": ["content", "files_with_matches", "count"],
                "description": "What to return.",
            },
            "-i": flag("Upper and lower case are the same."),
            "-n": flag("Line numbers in content mode; true unless given."),
            "-A": count("Lines after each match in content mode."),
            "-B": count("Lines before each match in content mode."),
            "-C": count("Lines before and after each match in content mode."),
            "head_limit": {"type": "integer", "minimum": 1, "description": "Most lines of the result."},
            "multiline": flag("Matches may span lines."),
        }),
        &["pattern"],
    )
}

pub(super) async fn run(toolbox: &Toolbox, input: &Input<'_>) -> Answer {
    let search = Search::read(toolbox, input)?;
    let toolbox = toolbox.clone();
    walk::blocking(toolbox.fence(), move |stop| Ok(search.run(toolbox.workspace(), stop))).await
}

/// A search, ready to run.
struct Search {
    matcher: RegexMatcher,
    searcher: Searcher,
    walk: WalkBuilder,
    mode: Mode,
    limit: usize,
}

impl Search {
    fn read(toolbox: &Toolbox, input: &Input<'_>) -> Result<Self, Complaint> {
        let pattern = input.text("pattern")?;
        if pattern.is_empty() {
            return Err(Complaint::new("The field pattern of Grep is empty."));
        }
        let multiline = input.flag("multiline")?.unwrap_or(false);
        let numbers = input.flag("-n")?.unwrap_or(true);
        let mode = match input.optional_text("output_mode")? {
            None | Some("files_with_matches") => Mode::Files,
            Some("content") => Mode::Content { numbers },
            Some("count") => Mode::Count,
            Some(_) => {
                return Err(Complaint::new(
                    "The field output_mode of Grep must be content, files_with_matches or count.",
                ));
            }
        };
        let limit = input.count("head_limit")?.unwrap_or(DEFAULT_LIMIT);
        if limit == 0 {
            return Err(Complaint::new("The field head_limit of Grep must be at least 1."));
        }
        Ok(Self {
            matcher: compile(pattern, input.flag("-i")?.unwrap_or(false), multiline)?,
            searcher: searcher(input, mode, multiline)?,
            walk: walk_of(toolbox, input)?,
            mode,
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
        })
    }

    fn run(mut self, workspace: &Path, stop: &Stop) -> ToolOutput {
        let (mut lines, mut files) = (Vec::new(), 0);
        for entry in self.walk.build().flatten() {
            // One line more than is shown tells that there are more.
            if stop.asked() || lines.len() > self.limit {
                break;
            }
            if !entry.path().is_file() || (entry.depth() > 0 && entry.path_is_symlink()) {
                continue;
            }
            let name = place::shown(workspace, entry.path());
            let room = (self.limit + 1).saturating_sub(lines.len());
            let mut sink = FileSink::new(name, self.mode, room);
            // A file that cannot be read has no matches, as for any search through a folder.
            if self.searcher.search_path(&self.matcher, entry.path(), &mut sink).is_ok() {
                let found = sink.finish();
                files += usize::from(!found.is_empty());
                let apart = has_context(&self.searcher) && !lines.is_empty() && !found.is_empty();
                if apart {
                    lines.push("--".to_owned());
                }
                lines.extend(found);
            }
        }
        let more = lines.len() > self.limit;
        lines.truncate(self.limit);
        let detail = json!({"numFiles": files, "numLines": lines.len(), "truncated": more});
        if lines.is_empty() {
            return ToolOutput::text("No matches found.", detail);
        }
        let mut text = lines.join("\n");
        if more {
            text.push_str(&format!(
                "\n\n[only the first {} lines are shown; narrow the search or raise head_limit]",
                self.limit
            ));
        }
        ToolOutput::text(text, detail)
    }
}

fn has_context(searcher: &Searcher) -> bool {
    searcher.before_context() > 0 || searcher.after_context() > 0
}

fn compile(pattern: &str, ignore_case: bool, multiline: bool) -> Result<RegexMatcher, Complaint> {
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(ignore_case).multi_line(true).dot_matches_new_line(multiline);
    if !multiline {
        builder.line_terminator(Some(b'\n'));
    }
    builder.build(pattern).map_err(|error| {
        // The message draws the pattern over several lines; its last line says what is wrong.
        let text = error.to_string();
        let last = text.lines().last().unwrap_or_default().trim();
        let reason = last.strip_prefix("error: ").unwrap_or(last);
        Complaint(format!("The pattern is not a regular expression that can be used: {reason}."))
    })
}

fn searcher(input: &Input<'_>, mode: Mode, multiline: bool) -> Result<Searcher, Complaint> {
    let around = input.count("-C")?;
    let context = |name| -> Result<usize, Complaint> {
        let lines = input.count(name)?.or(around).unwrap_or(0);
        // Context means nothing where lines are not shown.
        Ok(if matches!(mode, Mode::Content { .. }) { lines.min(1000) as usize } else { 0 })
    };
    Ok(SearcherBuilder::new()
        .line_number(true)
        .multi_line(multiline)
        .before_context(context("-B")?)
        .after_context(context("-A")?)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(HEAP_BYTES))
        .build())
}

fn walk_of(toolbox: &Toolbox, input: &Input<'_>) -> Result<WalkBuilder, Complaint> {
    let written = input.optional_text("path")?;
    let root = walk::root(toolbox, written)?;
    let wanted = input.optional_text("glob")?.filter(|wanted| !wanted.is_empty());
    let hidden = wanted.is_some_and(walk::names_hidden);
    let mut builder = match wanted {
        None => walk::entries(&root, hidden, toolbox.fence(), |_| true),
        Some(wanted) => {
            let shape = of_shape(&root, wanted)?;
            walk::entries(&root, hidden, toolbox.fence(), shape)
        }
    };
    if let Some(name) = input.optional_text("type")? {
        let mut types = TypesBuilder::new();
        let types = types.add_defaults().select(name).build();
        builder.types(
            types.map_err(|_| {
                Complaint(format!("There is no file type {name}; use glob instead."))
            })?,
        );
    }
    Ok(builder)
}

/// Lets through folders and what has the shape.
fn of_shape(
    root: &Path,
    wanted: &str,
) -> Result<impl Fn(&DirEntry) -> bool + Send + Sync + 'static, Complaint> {
    let (exclude, shape) = match wanted.strip_prefix('!') {
        Some(shape) => (true, shape),
        None => (false, wanted),
    };
    let matcher = glob::compile(shape.strip_prefix('/').unwrap_or(shape))?;
    let whole_path = shape.contains('/');
    let root = root.to_owned();
    Ok(move |entry: &DirEntry| {
        if entry.file_type().is_some_and(|kind| kind.is_dir()) {
            return true;
        }
        let inside = entry.path().strip_prefix(&root).unwrap_or(entry.path());
        let subject = if whole_path { inside } else { Path::new(entry.file_name()) };
        matcher.is_match(subject) != exclude
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::run as call;
    use super::*;

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("a.rs", "fn one() {}\nlet x = 1;\nfn two() {}\n"),
            ("b.py", "def one():\n    pass\n"),
            ("sub/c.rs", "// ONE\n"),
            ("skip.log", "one\n"),
            (".hidden", "one\n"),
            (".gitignore", "*.log\n"),
            (".git/x", "one\n"),
            ("binary", "one\n\0\n"),
        ] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    async fn grep(input: Value) -> String {
        let folder = folder();
        let toolbox = Toolbox::new(folder.path().to_owned(), Vec::new());
        let output = call(&toolbox, "Grep", &input).await.unwrap();
        output.output.as_str().unwrap().to_owned()
    }

    #[tokio::test]
    async fn files_come_without_the_ignored_the_hidden_and_the_binary() {
        assert_eq!(grep(json!({"pattern": "one"})).await, "a.rs\nb.py");
        assert_eq!(grep(json!({"pattern": "one", "-i": true})).await, "a.rs\nb.py\nsub/c.rs");
        assert_eq!(grep(json!({"pattern": "three"})).await, "No matches found.");
    }

    #[tokio::test]
    async fn files_are_narrowed_by_shape_kind_and_place() {
        let all = json!({"pattern": "(?i)one", "glob": "*.rs"});
        assert_eq!(grep(all).await, "a.rs\nsub/c.rs");
        assert_eq!(grep(json!({"pattern": "(?i)one", "glob": "sub/**"})).await, "sub/c.rs");
        assert_eq!(grep(json!({"pattern": "(?i)one", "glob": "!*.rs"})).await, "b.py");
        assert_eq!(grep(json!({"pattern": "one", "glob": ".hid*"})).await, ".hidden");
        assert_eq!(grep(json!({"pattern": "one", "type": "py"})).await, "b.py");
        assert_eq!(grep(json!({"pattern": "ONE", "path": "sub"})).await, "sub/c.rs");
        assert_eq!(grep(json!({"pattern": "one", "path": "skip.log"})).await, "skip.log");
    }

    #[tokio::test]
    async fn content_has_numbers_and_surroundings() {
        let input = json!({"pattern": "^fn", "output_mode": "content"});
        assert_eq!(grep(input).await, "a.rs:1:fn one() {}\na.rs:3:fn two() {}");
        let input = json!({"pattern": "two", "output_mode": "content", "-n": false});
        assert_eq!(grep(input).await, "a.rs:fn two() {}");
        let input = json!({"pattern": "two|pass", "output_mode": "content", "-B": 1});
        let text = "a.rs-2-let x = 1;\na.rs:3:fn two() {}\n--\nb.py-1-def one():\nb.py:2:    pass";
        assert_eq!(grep(input).await, text);
    }

    #[tokio::test]
    async fn counts_are_by_file() {
        assert_eq!(
            grep(json!({"pattern": "fn|def", "output_mode": "count"})).await,
            "a.rs:2\nb.py:1"
        );
    }

    #[tokio::test]
    async fn a_match_spans_lines_only_on_demand() {
        let input = json!({"pattern": "one.*two", "output_mode": "content"});
        assert_eq!(grep(input).await, "No matches found.");
        let input = json!({"pattern": "one.*two", "output_mode": "content", "multiline": true});
        assert_eq!(grep(input).await, "a.rs:1:fn one() {}\na.rs:2:let x = 1;\na.rs:3:fn two() {}");
    }

    #[tokio::test]
    async fn the_limit_is_told_only_when_it_cuts() {
        let input = |limit| json!({"pattern": "fn", "output_mode": "content", "head_limit": limit});
        let text = grep(input(1)).await;
        assert!(text.starts_with("a.rs:1:fn one() {}\n\n[only the first 1 lines"), "{text}");
        assert!(!grep(input(2)).await.contains("[only"));
    }

    #[tokio::test]
    async fn bad_input_is_one_sentence() {
        for input in [
            json!({"pattern": "("}),
            json!({"pattern": ""}),
            json!({"pattern": "a\nb"}),
            json!({"pattern": "a", "type": "nonsense"}),
            json!({"pattern": "a", "glob": "["}),
            json!({"pattern": "a", "path": "missing"}),
            json!({"pattern": "a", "output_mode": "lines"}),
            json!({"pattern": "a", "head_limit": 0}),
        ] {
            let folder = folder();
            let toolbox = Toolbox::new(folder.path().to_owned(), Vec::new());
            let output = call(&toolbox, "Grep", &input).await.unwrap();
            assert!(output.is_error, "{input}");
            assert!(!output.output.as_str().unwrap().contains('\n'), "{}", output.output);
        }
    }
}
