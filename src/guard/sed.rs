//! `sed`: only scripts of commands that print, delete and substitute in the stream.

use std::iter::Peekable;
use std::str::Chars;

use super::expression::until;
use super::lexer::Word;
use super::option::{OPERANDS, Options};

/// Without `-i` (edits files) and `-f` (a script that nobody sees). `e` is taken care of below.
const SED: Options = Options {
    flags: "nErsuz",
    valued: "e",
    long: &["quiet silent regexp-extended null-data unbuffered separate posix debug sandbox"],
    loose: false,
    ..OPERANDS
};

/// True where `sed` with these arguments only prints.
pub(super) fn looks(arguments: &[Word]) -> bool {
    let Some(operands) = SED.read(arguments) else { return false };
    let Some(mut scripts) = attached_scripts(arguments) else { return false };
    if scripts.is_empty() {
        scripts.extend(operands.first().filter(|word| word.fixed).map(|word| word.text.as_str()));
    }
    !scripts.is_empty() && scripts.into_iter().all(only_prints)
}

/// The scripts given with `-e`; nothing where one is not known to the letter.
fn attached_scripts(arguments: &[Word]) -> Option<Vec<&str>> {
    let mut scripts = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if word.text == "--" {
            break;
        }
        if !word.text.starts_with('-') || word.text.starts_with("--") {
            continue;
        }
        if let Some((_, attached)) = word.text.split_once('e') {
            let script = if attached.is_empty() { words.next()? } else { word };
            if !script.fixed {
                return None;
            }
            scripts.push(if attached.is_empty() { script.text.as_str() } else { attached });
        }
    }
    Some(scripts)
}

/// True where `script` has only commands that stay within the stream. `w`, `W`, `e` and `r`, their
/// flags at `s`, and whatever takes text to the end of the line are not among them.
fn only_prints(script: &str) -> bool {
    let mut rest = script.chars().peekable();
    loop {
        while rest.next_if(|c| c.is_whitespace() || *c == ';' || *c == '}').is_some() {}
        if rest.peek().is_none() {
            return true;
        }
        if command(&mut rest).is_none() {
            return false;
        }
    }
}

fn command(rest: &mut Peekable<Chars<'_>>) -> Option<()> {
    if address(rest)? {
        skip_blanks(rest);
        if rest.next_if_eq(&',').is_some() {
            skip_blanks(rest);
            rest.next_if(|c| *c == '+' || *c == '~');
            address(rest)?.then_some(())?;
        }
    }
    skip_blanks(rest);
    while rest.next_if_eq(&'!').is_some() {
        skip_blanks(rest);
    }
    match rest.next()? {
        '{' => Some(()),
        'p' | 'P' | 'd' | 'D' | '=' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | 'z' => end(rest),
        'q' | 'Q' | 'l' => {
            skip_blanks(rest);
            while rest.next_if(char::is_ascii_digit).is_some() {}
            end(rest)
        }
        's' => {
            let mark = delimiter(rest)?;
            until(rest, mark)?;
            until(rest, mark)?;
            while rest.next_if(|c| "gpiIM0123456789".contains(*c)).is_some() {}
            end(rest)
        }
        'y' => {
            let mark = delimiter(rest)?;
            until(rest, mark)?;
            until(rest, mark)?;
            end(rest)
        }
        _ => None,
    }
}

/// A command ends at a separator, a brace or the end; anything else is not understood.
fn end(rest: &mut Peekable<Chars<'_>>) -> Option<()> {
    skip_blanks(rest);
    matches!(rest.peek(), None | Some(';' | '\n' | '}')).then_some(())
}

/// Reads an address; true where there was one.
fn address(rest: &mut Peekable<Chars<'_>>) -> Option<bool> {
    match rest.peek().copied() {
        Some('$') => {
            rest.next();
        }
        Some(c) if c.is_ascii_digit() => {
            while rest.next_if(|c| c.is_ascii_digit() || *c == '~').is_some() {}
        }
        Some('/') => {
            rest.next();
            until(rest, '/')?;
            while rest.next_if(|c| *c == 'I' || *c == 'M').is_some() {}
        }
        _ => return Some(false),
    }
    Some(true)
}

fn delimiter(rest: &mut Peekable<Chars<'_>>) -> Option<char> {
    rest.next().filter(|c| !c.is_alphanumeric() && !c.is_whitespace() && !"\\;{}[]".contains(*c))
}

fn skip_blanks(rest: &mut Peekable<Chars<'_>>) {
    while rest.next_if(|c| *c == ' ' || *c == '\t').is_some() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_that_print_pass() {
        for script in [
            "1,20p",
            "p",
            "$p",
            "/a/,/b/p",
            "s/a/b/",
            "s/a/b/gp",
            "s|a|b|",
            "s/\\/x/y/2",
            "1!d",
            "1~2p",
            "/x/{p;q}",
            "5q",
            "1p;2p",
            "1,+3p",
            "s/[^a]/b/",
            "y/ab/cd/",
            "/begin/I,/end/p",
            "=",
            "q5",
            "s/^[ \t]*//",
            "1d;$d",
            "/a/!d",
            "n;d",
            "s/x/w f/",
            "s/[[:space:]]*$//",
        ] {
            assert!(only_prints(script), "{script}");
        }
    }

    #[test]
    fn scripts_that_write_or_run_do_not() {
        for script in [
            "w out",
            "1w out",
            "s/a/b/w out",
            "s/a/b/gw out",
            "e",
            "e ls",
            "1e ls",
            "s/a/b/e",
            "s/a/b/ge",
            "r f",
            "R f",
            "W f",
            "1,2w f",
            "/a/w f",
            "{w f",
            "p;w f",
            "p\nw f",
            "s/a/b/\nw f",
            "a text",
            "i text",
            "c text",
            "b x",
            "s/[/]/x/",
            "s/a/b",
            "sxaxbxe",
            "s;a;b;w f",
            "s/[/]/w f/",
            "F",
            "v",
            "1p w f",
            "}w f",
            "s/a/b/;e",
            ":a;w f",
            "\\,a,w f",
            "s/a\\\n/b/",
            "s/[[:alpha:]/]/p;s/w f/x/",
            "s/[]/]/p;s/w f/x/",
            "pw f",
            "y/a/b/w f",
        ] {
            assert!(!only_prints(script), "{script}");
        }
    }
}
