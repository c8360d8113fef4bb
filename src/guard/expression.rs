//! Finds where a regular expression ends, where all implementations agree about it.

use std::iter::Peekable;
use std::str::Chars;

/// Reads up to and with `mark`. Some implementations end an expression at a mark between brackets and
/// some do not, so one there is not understood; neither is a newline.
pub(super) fn until(rest: &mut Peekable<Chars<'_>>, mark: char) -> Option<()> {
    loop {
        match rest.next()? {
            '\n' => return None,
            '\\' => {
                rest.next().filter(|c| *c != '\n')?;
            }
            c if c == mark => return Some(()),
            '[' => brackets(rest, mark)?,
            _ => {}
        }
    }
}

/// Reads `[^]a-z[:space:]]` from behind its first bracket.
fn brackets(rest: &mut Peekable<Chars<'_>>, mark: char) -> Option<()> {
    rest.next_if_eq(&'^');
    // In the first place a closing bracket stands for itself.
    let mut first = true;
    loop {
        let c = rest.next().filter(|c| *c != mark && *c != '\n')?;
        match c {
            ']' if !first => return Some(()),
            '\\' => {
                // Escape or plain backslash: that differs, too, so what follows must not matter.
                rest.peek().filter(|c| **c != ']' && **c != mark && **c != '\\')?;
            }
            '[' => {
                if let Some(kind) = rest.next_if(|c| ":.=".contains(*c)) {
                    class(rest, kind, mark)?;
                }
            }
            _ => {}
        }
        first = false;
    }
}

/// Reads `space:]` of `[:space:]`.
fn class(rest: &mut Peekable<Chars<'_>>, kind: char, mark: char) -> Option<()> {
    while let Some(c) = rest.next().filter(|c| *c != mark && *c != '\n' && *c != '\\') {
        if c == kind {
            return rest.next_if_eq(&']').map(|_| ());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rest_of(text: &str) -> Option<String> {
        let mut rest = text.chars().peekable();
        until(&mut rest, '/').map(|()| rest.collect())
    }

    #[test]
    fn the_end_is_found() {
        for text in [
            "a/x",
            "a\\/b/x",
            "[a-z]/x",
            "[^]a]/x",
            "[[:space:]]*/x",
            "[]]/x",
            "[[.a.]]/x",
            "[\\t ]/x",
        ] {
            assert_eq!(rest_of(text).as_deref(), Some("x"), "{text}");
        }
    }

    #[test]
    fn a_doubtful_end_is_none() {
        for text in [
            "a",
            "a\n/",
            "[/]/",
            "[[:alpha:]/]/x",
            "[]/]/x",
            "[^]/]/x",
            "[\\]/]/x",
            "[\\/]/",
            "a\\",
            "[a",
            "[[:a/",
        ] {
            assert_eq!(rest_of(text), None, "{text}");
        }
    }
}
