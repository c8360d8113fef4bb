//! `awk`: only programs without output to files, pipes and other programs.

use std::iter::Peekable;
use std::str::Chars;

use super::expression::until;
use super::lexer::Word;
use super::option::{OPERANDS, Options};

/// Without `-f`, `-i`, `-l` and `-e`: they bring in text that is not in front of us.
const AWK: Options = Options { valued: "Fv", ..OPERANDS };

/// Names that reach outside, or that give a reader the environment.
const FORBIDDEN: [&str; 8] =
    ["system", "getline", "ENVIRON", "close", "extension", "SYMTAB", "FUNCTAB", "PROCINFO"];

/// After these a slash begins a regular expression.
const KEYWORDS: [&str; 8] = ["print", "printf", "return", "case", "do", "else", "exit", "default"];

/// True where `awk` with these arguments only prints.
pub(super) fn looks(arguments: &[Word]) -> bool {
    AWK.read(arguments)
        .and_then(|operands| operands.first().copied())
        .is_some_and(|program| program.fixed && only_prints(&program.text))
}

/// What came before, as far as it decides what a slash means.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    /// A value: a slash divides.
    Value,
    /// A sign, a keyword or the beginning: a slash opens a regular expression.
    Sign,
    /// It could be either; then a slash is not understood.
    Unclear,
}

/// True where nothing in `program` writes to a file, talks to a program or cannot be read for certain.
fn only_prints(program: &str) -> bool {
    let mut rest = program.chars().peekable();
    let mut before = Before::Sign;
    // After `print`, a `>` is a redirection; elsewhere it compares.
    let mut printing = false;
    while let Some(c) = rest.next() {
        before = match c {
            ' ' | '\t' => before,
            '"' => {
                if quoted(&mut rest).is_none() {
                    return false;
                }
                Before::Value
            }
            '/' if before == Before::Sign => {
                if until(&mut rest, '/').is_none() {
                    return false;
                }
                Before::Value
            }
            '/' if before == Before::Unclear => return false,
            '|' => {
                if rest.next() != Some('|') || rest.peek() == Some(&'&') {
                    return false;
                }
                Before::Sign
            }
            '>' if printing => return false,
            '>' if rest.peek() == Some(&'>') => return false,
            '@' | '\\' | '#' | '`' | '\'' => return false,
            '{' | '}' | ';' => {
                printing = false;
                Before::Sign
            }
            '+' | '-' if rest.next_if_eq(&c).is_some() => Before::Unclear,
            ')' | '.' | '$' => Before::Unclear,
            ']' => Before::Value,
            c if c.is_alphanumeric() || c == '_' => {
                let word = name(c, &mut rest);
                if FORBIDDEN.contains(&word.as_str()) {
                    return false;
                }
                printing |= word == "print" || word == "printf";
                if KEYWORDS.contains(&word.as_str()) { Before::Sign } else { Before::Value }
            }
            c if ",<>=!~?:*%^&+-([\n/".contains(c) => Before::Sign,
            _ => return false,
        };
    }
    true
}

fn name(first: char, rest: &mut Peekable<Chars<'_>>) -> String {
    let mut word = String::from(first);
    while let Some(c) = rest.next_if(|c| c.is_alphanumeric() || *c == '_') {
        word.push(c);
    }
    word
}

fn quoted(rest: &mut Peekable<Chars<'_>>) -> Option<()> {
    loop {
        match rest.next()? {
            '"' => return Some(()),
            '\n' => return None,
            '\\' => {
                rest.next().filter(|c| *c != '\n')?;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_print_pass() {
        for program in [
            "{print $1}",
            "$3 > 5 {print}",
            "/a|b/",
            "NR==5",
            "/start/,/end/",
            "{s+=$1} END {print s}",
            "{print $1, $NF}",
            "{print $1/2}",
            "$1 ~ /x/ {print \"a|b > c\"}",
            "{if ($1 > 2) print}",
            "a || b",
            "!seen[$0]++",
            "BEGIN{FS=\",\"} {print $2}",
            "{print a[1]/2, \"x\"}",
            "1",
        ] {
            assert!(only_prints(program), "{program}");
        }
    }

    #[test]
    fn programs_that_write_or_run_do_not() {
        for program in [
            "BEGIN{system(\"rm x\")}",
            "{print > \"f\"}",
            "{print $1 > \"f\"}",
            "{print >> \"f\"}",
            "{print | \"sh\"}",
            "BEGIN{\"date\" | getline x}",
            "BEGIN{getline x < \"f\"}",
            "{printf \"x\" > \"f\"}",
            "{print a,\n b > \"f\"}",
            "@include \"x\"",
            "BEGIN{x=\"system\";@x()}",
            "BEGIN{print ENVIRON[\"HOME\"]}",
            "{print |& \"sh\"}",
            "{x++ / 2; system(\"a\") / 2}",
            "BEGIN{(1) / system(\"rm\") / 1}",
            "{print \"a\\\"\" > \"f\"}",
            "{print (1 > 2)}",
            "/[/]/",
            "{print \"x",
            "/a",
            "{print $1 # }\n > \"f\"}",
            "BEGIN{system (\"rm\")}",
            "{x = 5. /1; system(\"rm\"); y = 5 /1}",
            "{x = 1 /2; print \"/\" > \"f\"}",
            "a ||& b",
            "{print /x/ > \"f\"}",
        ] {
            assert!(!only_prints(program), "{program}");
        }
    }
}
