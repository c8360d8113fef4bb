//! Reads a list: one item a line, wrapped lines joined, closing words left out.

use super::fence::Place;
use super::section::{Line, is_rule};

/// The items of a section's body.
pub(super) fn items(lines: &[Line]) -> Vec<String> {
    let marked = lines.iter().any(|line| line.place == Place::Text && bullet(&line.text).is_some());
    let mut items: Vec<String> = Vec::new();
    let mut in_item = false;
    let mut after_blank = false;
    for line in lines {
        let text = line.text.trim();
        match line.place {
            Place::Fence => continue,
            Place::Code => {
                // A command given in a fence belongs to the item above it.
                if let (Some(item), false) = (items.last_mut(), text.is_empty()) {
                    let tick = if text.contains('`') { "" } else { "`" };
                    item.push_str(&format!(" {tick}{text}{tick}"));
                }
                continue;
            }
            Place::Text => {}
        }
        if text.is_empty() || is_rule(text) {
            after_blank = true;
            continue;
        }
        let gap = std::mem::take(&mut after_blank);
        if let Some(item) = bullet(&line.text) {
            in_item = true;
            items.push(item.to_owned());
        } else if !marked {
            items.push(text.to_owned());
        } else if !in_item {
            // "All of these must hold:" introduces the list and is no item.
            if !text.ends_with([':', '：']) {
                items.push(text.to_owned());
            }
        } else if let Some(item) = items.last_mut()
            && (!gap || line.text.starts_with([' ', '\t']))
        {
            item.push(' ');
            item.push_str(text);
        }
        // Anything else stands apart after the list: closing words.
    }
    items.retain(|item| !item.is_empty());
    items
}

/// The text after `-`, `*`, `+`, `•`, `1.`, `1)` or `1、`, and after a check box.
fn bullet(line: &str) -> Option<&str> {
    let line = line.trim();
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = if digits > 0 {
        let rest = &line[digits..];
        match rest.strip_prefix('、') {
            Some(rest) => rest,
            None => spaced(rest.strip_prefix(['.', ')', '）'])?)?,
        }
    } else {
        spaced(line.strip_prefix(['-', '*', '+', '•'])?)?
    };
    let rest = rest.trim();
    let unboxed = ["[ ]", "[x]", "[X]"].into_iter().find_map(|mark| rest.strip_prefix(mark));
    Some(unboxed.map_or(rest, str::trim))
}

/// "-x works" and "3.11 is used" are items without a mark.
fn spaced(rest: &str) -> Option<&str> {
    (rest.is_empty() || rest.starts_with(char::is_whitespace)).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<String> {
        let line = |text: &str| Line { text: text.to_owned(), place: Place::Text };
        items(&text.lines().map(line).collect::<Vec<_>>())
    }

    #[test]
    fn marks_and_boxes_are_taken_off() {
        assert_eq!(
            read("- a\n* b\n+ c\n1. d\n2、e\n10) f\n- [x] g"),
            ["a", "b", "c", "d", "e", "f", "g"]
        );
    }

    #[test]
    fn text_that_only_looks_marked_stays() {
        assert_eq!(
            read("-x works\n3.11 is used\n**a** holds"),
            ["-x works", "3.11 is used", "**a** holds"]
        );
    }

    #[test]
    fn wrapped_lines_are_one_item_and_words_around_the_list_are_none() {
        assert_eq!(
            read("All of:\n- run x\n  and look\n\n- b\n\nThat is all."),
            ["run x and look", "b"]
        );
    }
}
