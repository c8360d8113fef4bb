//! Text that cannot hurt a terminal, in lines that fit.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::report::plain;

/// Only printable characters and line ends; see [`plain`].
pub(crate) fn clean(text: &str) -> String {
    plain(text).replace('\t', " ")
}

/// Breaks clean text into lines of at most `width` columns; `first` stands before the first, `rest` before
/// all others. What follows a mark of a list hangs below its first word.
pub(crate) fn wrap(text: &str, width: usize, first: &str, rest: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::from(if lines.is_empty() { first } else { rest });
        let rest = format!("{rest}{}", " ".repeat(mark(paragraph).min(width / 3)));
        let mut empty = true;
        for token in tokens(paragraph) {
            let word = token.trim_end();
            if !empty && line.width() + word.width() > width {
                lines.push(std::mem::replace(&mut line, rest.to_owned()).trim_end().to_owned());
                empty = true;
            }
            if empty && token.trim().is_empty() && line.trim().is_empty() && !lines.is_empty() {
                continue;
            }
            for c in token.chars() {
                if line.width() + c.width().unwrap_or(0) > width {
                    if c == ' ' {
                        continue;
                    }
                    lines.push(std::mem::replace(&mut line, rest.to_owned()).trim_end().to_owned());
                }
                line.push(c);
            }
            empty = false;
        }
        lines.push(line.trim_end().to_owned());
    }
    lines
}

/// Joins the lines of a paragraph that was broken for a wider or narrower page than this one.
///
/// Only where a line was so long that it must have been broken for its length: short lines, lists, tables,
/// headings and fenced text stay as they are.
pub(super) fn reflow(text: &str) -> String {
    const BROKEN: usize = 60;
    let mut out = String::with_capacity(text.len());
    let mut fenced = false;
    // The last line, where it may go on.
    let mut open = false;
    for line in text.lines() {
        let trimmed = line.trim_start_matches(' ');
        let fence = trimmed.starts_with("```") || trimmed.starts_with("~~~");
        fenced ^= fence;
        let special = fence || fenced || trimmed.starts_with(['#', '|', '>']);
        let goes_on = !special && !trimmed.is_empty() && mark(trimmed) == 0;
        if open && goes_on {
            // Scripts with wide characters put no space between words.
            if out.chars().next_back().is_some_and(|c| c.width() == Some(1)) {
                out.push(' ');
            }
            out.push_str(trimmed);
        } else {
            if !out.is_empty() {
                out.push('\n');
            }
            out.push_str(line);
        }
        open = !special && line.width() >= BROKEN;
    }
    out
}

/// Columns of the indentation and the mark with which an item of a list begins: `- `, `* `, `1. `.
fn mark(line: &str) -> usize {
    let text = line.trim_start_matches(' ');
    let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let mark = match text.as_bytes() {
        [b'-' | b'*' | b'+', b' ', ..] => 2,
        _ if digits.len() < text.len()
            && (digits.starts_with(". ") || digits.starts_with(") ")) =>
        {
            text.len() - digits.len() + 2
        }
        _ => 0,
    };
    line.len() - text.len() + mark
}

/// Words with the spaces behind them; each wide character is a word, since such scripts have no spaces.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut start = 0;
    let mut in_space = false;
    for (at, c) in text.char_indices() {
        let wide = c.width() == Some(2);
        if at > start && ((in_space && c != ' ') || wide) {
            tokens.push(&text[start..at]);
            start = at;
        }
        in_space = c == ' ' || wide;
    }
    if start < text.len() {
        tokens.push(&text[start..]);
    }
    tokens
}

/// One line of at most `width` columns, cut with three dots.
pub(crate) fn one_line(text: &str, width: usize) -> String {
    let flat: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if flat.width() <= width {
        return flat;
    }
    let mut out = String::new();
    for c in flat.chars() {
        if out.width() + c.width().unwrap_or(0) + 3 > width {
            break;
        }
        out.push(c);
    }
    out + "..."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_of_lists_hang_below_their_first_word() {
        assert_eq!(
            wrap("- one two three\n12. four five\nsix seven", 12, "  ", "  "),
            ["  - one two", "    three", "  12. four", "      five", "  six seven"]
        );
        assert_eq!(wrap("1.5 is a number", 8, "", ""), ["1.5 is a", "number"]);
    }

    #[test]
    fn only_lines_that_were_broken_for_their_length_are_joined() {
        let long = "w".repeat(60);
        for (text, expected) in [
            (format!("{long}\nrest\nand more"), format!("{long} rest\nand more")),
            (format!("- {long}\n  rest"), format!("- {long} rest")),
            (format!("{long}\n- item"), format!("{long}\n- item")),
            (format!("{long}\n\nnext"), format!("{long}\n\nnext")),
            (format!("```\n{long}\nrest\n```"), format!("```\n{long}\nrest\n```")),
            (format!("# {long}\nrest"), format!("# {long}\nrest")),
            ("多".repeat(30) + "\n行", "多".repeat(30) + "行"),
            ("short\nlines".into(), "short\nlines".into()),
        ] {
            assert_eq!(reflow(&text), expected);
        }
    }

    #[test]
    fn nothing_that_moves_a_terminal_gets_through() {
        for (hostile, left) in [
            ("a\u{1b}[2Jb", "ab"),
            ("a\u{1b}[1;31mb\u{1b}[0m", "ab"),
            ("\u{1b}]0;title\u{7}x", "x"),
            ("\u{1b}]52;c;aGk=\u{1b}\\x", "x"),
            ("\u{1b}Pq#0~~\u{1b}\\x", "x"),
            ("\u{1b}[?25lx\u{1b}(0y", "xy"),
            ("bell\u{7}\rback\u{8}", "bellback"),
            ("\u{9b}2Jx\u{9d}t\u{9c}y", "xy"),
            ("abc\u{202e}def", "abcdef"),
            ("\u{1b}", ""),
            ("\u{1b}]never ends\nnext", "\nnext"),
        ] {
            assert_eq!(clean(hostile), left, "{hostile:?}");
        }
    }

    #[test]
    fn lines_fit_and_hang() {
        let lines = wrap("one two three four", 12, "* ", "  ");
        assert_eq!(lines, ["* one two", "  three four"]);
        assert_eq!(wrap("中文没有空格", 8, "", ""), ["中文没有", "空格"]);
        assert_eq!(wrap("aaaaaaaaaa", 4, "", ""), ["aaaa", "aaaa", "aa"]);
    }

    proptest::proptest! {
        #[test]
        fn no_line_is_too_wide_and_no_control_survives(text in "\\PC{0,80}|.{0,80}", width in 10usize..60) {
            let cleaned = clean(&text);
            proptest::prop_assert!(cleaned.chars().all(|c| c == '\n' || !c.is_control()));
            for line in wrap(&cleaned, width, "", "  ") {
                proptest::prop_assert!(line.width() <= width, "{:?}", line);
            }
            proptest::prop_assert!(one_line(&cleaned, width).width() <= width);
        }
    }
}
