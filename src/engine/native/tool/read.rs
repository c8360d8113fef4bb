//! Read: a part of a text file with line numbers, or a picture.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use serde_json::{Value, json};

use super::freshness::Print;
use super::input::Input;
use super::{Answer, Complaint, ToolOutput, Toolbox, image, object_schema, place};

const DEFAULT_LINES: u64 = 2000;
/// Characters of a line that are shown among others.
const LINE_CHARS: usize = 2000;
/// Characters of one result. A single line that is asked for alone may fill it.
const RESULT_CHARS: usize = 100_000;
/// Lines behind the part shown are counted only in files up to this size.
const COUNTED_BYTES: u64 = 64 * 1024 * 1024;

pub(super) const DESCRIPTION: &str = "Reads a file. `file_path` is absolute or relative to the workspace. \
Text comes with line numbers, up to 2000 lines or 100000 characters a call; the result says when there is \
more and with which `offset` to go on. In a file of more than 100000 bytes lines longer than 2000 characters are cut; ask for such a line alone \
(`limit` 1) to see up to 100000 characters of it. PNG, JPEG, GIF and WebP pictures are shown. Folders and other binary \
files cannot be read.";

pub(super) fn schema() -> Value {
    object_schema(
        json!({
            "file_path": {"type": "string", "description": "The file."},
            "offset": {"type": "integer", "minimum": 1, "description": "The first line, from 1."},
            "limit": {"type": "integer", "minimum": 1, "description": "How many lines."},
        }),
        &["file_path"],
    )
}

pub(super) async fn run(toolbox: &Toolbox, input: &Input<'_>) -> Answer {
    let written = input.filled_text("file_path")?;
    let path = place::absolute(toolbox.workspace(), written);
    let window = Window {
        first: input.count("offset")?.unwrap_or(1).max(1),
        lines: input.count("limit")?.unwrap_or(DEFAULT_LINES),
    };
    if window.lines == 0 {
        return Err(Complaint::new("The field limit of Read must be at least 1."));
    }
    let toolbox = toolbox.clone();
    super::walk::blocking(toolbox.fence(), move |_| {
        place::readable(&toolbox, &path)?;
        let name = place::shown(toolbox.workspace(), &path);
        // Taken before the content is: a change in between makes the file stale, not fresh.
        let size = place::regular_file(&path, &name)?.len();
        let unreadable = |error: io::Error| place::failed("read", &name, &error);
        let print = Print::take(&path).map_err(unreadable)?;
        let output = read(&path, &name, size, window)?;
        toolbox.seen().remember(&path, print);
        Ok(output)
    })
    .await
}

/// Which lines are asked for.
#[derive(Debug, Clone, Copy)]
struct Window {
    first: u64,
    lines: u64,
}

fn read(path: &Path, name: &str, size: u64, window: Window) -> Answer {
    let unreadable = |error: io::Error| place::failed("read", name, &error);
    let mut reader = BufReader::with_capacity(64 * 1024, File::open(path).map_err(unreadable)?);
    let start = reader.fill_buf().map_err(unreadable)?;
    if let Some(media_type) = image::media_type(start) {
        if size > image::MAX_BYTES {
            return Err(Complaint(format!(
                "{name} is a picture of {size} bytes; at most {} can be shown.",
                image::MAX_BYTES
            )));
        }
        let mut bytes = Vec::new();
        reader.take(image::MAX_BYTES).read_to_end(&mut bytes).map_err(unreadable)?;
        return Ok(ToolOutput {
            output: json!([image::block(media_type, &bytes)]),
            is_error: false,
            detail: json!({"type": "image", "file": {"filePath": path.display().to_string(), "originalSize": size}}),
        });
    }
    if start[..start.len().min(8192)].contains(&0) {
        return Err(Complaint(format!("{name} is a binary file of {size} bytes.")));
    }
    let page = Page::take(&mut reader, window, size).map_err(unreadable)?;
    let detail = json!({"type": "text", "file": {
        "filePath": path.display().to_string(),
        "startLine": window.first, "numLines": page.shown, "totalLines": page.total,
    }});
    Ok(ToolOutput::text(page.into_text(window, name), detail))
}

/// A part of a file, as it is shown.
#[derive(Debug, Default)]
struct Page {
    text: String,
    shown: u64,
    /// Lines in the file; nothing where they were not counted.
    total: Option<u64>,
    more: bool,
}

impl Page {
    fn take(reader: &mut impl BufRead, window: Window, size: u64) -> io::Result<Self> {
        let mut page = Self::default();
        let count_all = size <= COUNTED_BYTES;
        // A file that fits into one result is shown whole, however long its lines are.
        let alone = window.lines == 1 || size <= RESULT_CHARS as u64;
        let most = if alone { RESULT_CHARS } else { LINE_CHARS };
        let mut line = Line::default();
        let (mut number, mut chars) = (0_u64, 0);
        let end = window.first.saturating_add(window.lines);
        while {
            let wanted = (window.first..end).contains(&(number + 1)) && !page.more;
            // Four bytes are the longest character.
            line.next(reader, if wanted { most * 4 } else { 0 })?
        } {
            number += 1;
            if number < window.first {
                continue;
            }
            let text = if page.more || number >= end { None } else { Some(line.show(most)) };
            let size = text.as_ref().map_or(0, |text| text.chars().count() + 8);
            match text {
                Some(text) if page.shown == 0 || chars + size <= RESULT_CHARS => {
                    page.text.push_str(&format!("{number:>6}\t{text}\n"));
                    page.shown += 1;
                    chars += size;
                }
                _ => {
                    page.more = true;
                    if !count_all {
                        return Ok(page);
                    }
                }
            }
        }
        page.total = Some(number);
        Ok(page)
    }

    fn into_text(mut self, window: Window, name: &str) -> String {
        if self.shown == 0 {
            return match self.total {
                Some(0) => format!("{name} is empty."),
                total => {
                    let lines = total.unwrap_or_default();
                    format!("{name} has {lines} lines; there is none from {} on.", window.first)
                }
            };
        }
        if self.more {
            let last = window.first + self.shown - 1;
            let total = self.total.map_or(String::new(), |total| format!(" of {total}"));
            self.text.push_str(&format!(
                "\n[lines {} to {last}{total} are shown; go on with offset {}]",
                window.first,
                last + 1
            ));
        }
        self.text.trim_end_matches('\n').to_owned()
    }
}

/// The line that is being read: its beginning, and how long the rest is.
#[derive(Debug, Default)]
struct Line {
    bytes: Vec<u8>,
    dropped: u64,
}

impl Line {
    /// Reads the next line and keeps at most `keep` bytes of it, so that a file without line ends does
    /// not fill the memory. False at the end of the file.
    fn next(&mut self, reader: &mut impl BufRead, keep: usize) -> io::Result<bool> {
        self.bytes.clear();
        self.dropped = 0;
        let mut found = false;
        loop {
            let buffer = reader.fill_buf()?;
            if buffer.is_empty() {
                return Ok(found);
            }
            found = true;
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let part = &buffer[..end.unwrap_or(buffer.len())];
            let kept = part.len().min(keep - self.bytes.len());
            self.bytes.extend_from_slice(&part[..kept]);
            self.dropped += (part.len() - kept) as u64;
            let used = end.map_or(buffer.len(), |end| end + 1);
            reader.consume(used);
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    fn show(&self, most: usize) -> String {
        let bytes = match self.bytes.as_slice() {
            [start @ .., b'\r'] if self.dropped == 0 => start,
            all => all,
        };
        let text = String::from_utf8_lossy(bytes);
        match text.char_indices().nth(most) {
            None if self.dropped == 0 => text.into_owned(),
            at => {
                let kept = &text[..at.map_or(text.len(), |(at, _)| at)];
                let left = text.len() as u64 - kept.len() as u64 + self.dropped;
                format!("{kept} [{left} more bytes of this line are not shown]")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::super::run as call;
    use super::*;

    async fn read_in(folder: &Path, input: Value) -> ToolOutput {
        let toolbox = Toolbox::new(folder.to_owned(), Vec::new());
        call(&toolbox, "Read", &input).await.unwrap()
    }

    async fn text_of(content: impl AsRef<[u8]>, mut input: Value) -> String {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("f"), content).unwrap();
        input["file_path"] = json!("f");
        let output = read_in(folder.path(), input).await;
        output.output.as_str().unwrap().to_owned()
    }

    #[tokio::test]
    async fn lines_are_numbered_and_line_ends_do_not_show() {
        assert_eq!(
            text_of("a\r\nb\n\nc", json!({})).await,
            "     1\ta\n     2\tb\n     3\t\n     4\tc"
        );
    }

    #[tokio::test]
    async fn a_window_says_how_to_go_on() {
        let text = text_of("a\nb\nc\nd\n", json!({"offset": 2, "limit": 2})).await;
        assert_eq!(
            text,
            "     2\tb\n     3\tc\n\n[lines 2 to 3 of 4 are shown; go on with offset 4]"
        );
        let text = text_of("a\n", json!({"offset": 9})).await;
        assert_eq!(text, "f has 1 lines; there is none from 9 on.");
        assert_eq!(text_of("", json!({})).await, "f is empty.");
    }

    #[tokio::test]
    async fn a_long_line_is_cut_unless_it_is_asked_for_alone() {
        let long = "é".repeat(3000);
        let (file, rest) = (format!("{long}\nb\n"), "z\n".repeat(60_000));
        let text = text_of(format!("{file}{rest}"), json!({})).await;
        assert!(text.contains("[2000 more bytes of this line are not shown]\n     2\tb"));
        let text = text_of(format!("{file}{rest}"), json!({"limit": 1})).await;
        assert!(text.contains(&long));
        // A spilled result, say, is short enough to be shown as a whole.
        assert_eq!(text_of(&file, json!({})).await, format!("     1\t{long}\n     2\tb"));
        let text = text_of("x".repeat(500_000), json!({})).await;
        assert!(text.contains("[498000 more bytes"), "{}", text.len());
    }

    #[tokio::test]
    async fn what_is_no_text_is_one_sentence_and_a_picture_is_shown() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("b"), [1, 0, 2]).unwrap();
        fs::write(folder.path().join("p.txt"), b"\x89PNG\r\n\x1a\n\0").unwrap();
        let output = read_in(folder.path(), json!({"file_path": "b"})).await;
        assert_eq!(output.output, json!("b is a binary file of 3 bytes."));
        assert!(output.is_error);
        let output = read_in(folder.path(), json!({"file_path": "p.txt"})).await;
        assert_eq!(output.output[0]["source"]["media_type"], json!("image/png"));
        let output = read_in(folder.path(), json!({"file_path": "."})).await;
        assert!(output.is_error && output.output.as_str().unwrap().contains("is a folder"));
        let output = read_in(folder.path(), json!({"file_path": "/dev/zero"})).await;
        assert_eq!(output.output, json!("/dev/zero is not a regular file."));
        let output = read_in(folder.path(), json!({"file_path": "a\0b"})).await;
        assert!(output.is_error);
    }

    #[tokio::test]
    async fn a_picture_that_is_too_large_is_a_sentence() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.gif");
        fs::write(&path, b"GIF89a").unwrap();
        File::options().write(true).open(&path).unwrap().set_len(image::MAX_BYTES + 1).unwrap();
        let output = read_in(folder.path(), json!({"file_path": "p.gif"})).await;
        assert!(output.is_error && output.output.as_str().unwrap().contains("at most"));
    }

    /// Reads page by page as the results say, without numbers and notes.
    fn read_all(content: &str, lines: u64) -> Vec<String> {
        let (mut first, mut all) = (1, Vec::new());
        loop {
            let mut reader = io::BufReader::with_capacity(7, content.as_bytes());
            let window = Window { first, lines };
            let page = Page::take(&mut reader, window, content.len() as u64).unwrap();
            let parts = page.text.split_terminator('\n');
            all.extend(parts.map(|line| line.split_once('\t').unwrap().1.to_owned()));
            first += page.shown;
            if !page.more {
                return all;
            }
        }
    }

    #[test]
    fn lines_beyond_the_limit_of_a_result_come_on_the_next_page() {
        let content = format!("{}\n", "x".repeat(1500)).repeat(500);
        assert_eq!(read_all(&content, 2000).join("\n") + "\n", content);
    }

    proptest! {
        #[test]
        fn pages_together_are_the_file(
            lines in proptest::collection::vec("[a-zé\t ]{0,12}", 0..40),
            limit in 1_u64..9,
            end in any::<bool>(),
        ) {
            let mut content = lines.join("\n");
            if end { content.push('\n'); }
            let expected: Vec<_> = content.lines().map(str::to_owned).collect();
            prop_assert_eq!(read_all(&content, limit), expected);
        }
    }
}
