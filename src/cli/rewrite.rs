//! The default command: words that name none are the request of `go` (flow.md C1).

use std::ffi::{OsStr, OsString};

use clap::CommandFactory;

use super::args::Arguments;

/// Puts `go` in front of the first word that is neither a global flag nor a command.
///
/// Which flags take a value is read from the parser itself, so that a new flag cannot be forgotten here.
/// Only the first word counts: later ones may be part of the request.
pub(super) fn fill_in_command(words: Vec<OsString>) -> Vec<OsString> {
    let parser = Arguments::command();
    let takes_value = |word: &str| {
        parser.get_arguments().find_map(|argument| {
            let long =
                argument.get_long().is_some_and(|long| word.strip_prefix("--") == Some(long));
            let short = argument.get_short().is_some_and(|short| {
                word.strip_prefix('-').is_some_and(|rest| rest == short.to_string())
            });
            (long || short).then(|| argument.get_action().takes_values())
        })
    };
    let is_command = |word: &OsStr| {
        word == "help" || parser.get_subcommands().any(|command| word == command.get_name())
    };
    let mut at = 1;
    let mut help = false;
    while let Some(word) = words.get(at) {
        let text = word.to_string_lossy();
        if matches!(text.as_ref(), "-h" | "--help" | "-V" | "--version") {
            help = true;
            at += 1;
            continue;
        }
        let name = text.split_once('=').map_or(text.as_ref(), |(name, _)| name);
        match takes_value(name) {
            Some(true) if name.len() == text.len() => at += 2,
            Some(_) => at += 1,
            None if is_command(word) => return words,
            None => match words_of_group(&text, &takes_value) {
                Some(count) => at += count,
                None => break,
            },
        }
    }
    let mut words = words;
    if at < words.len() || !help {
        words.insert(at.min(words.len()), "go".into());
    }
    words
}

/// How many words a group of short flags takes: `-wDIR` and `-vW` one, `-vw DIR` two.
fn words_of_group(word: &str, takes_value: &impl Fn(&str) -> Option<bool>) -> Option<usize> {
    let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
    for (index, letter) in letters.char_indices() {
        if takes_value(&format!("-{letter}"))? {
            let last = index + letter.len_utf8() == letters.len();
            return Some(if last { 2 } else { 1 });
        }
    }
    (!letters.is_empty()).then_some(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(line: &str) -> String {
        let words = std::iter::once("flower").chain(line.split('|').filter(|w| !w.is_empty()));
        let words = fill_in_command(words.map(OsString::from).collect());
        words[1..].iter().map(|w| w.to_str().unwrap()).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn words_become_the_request_of_go() {
        for (line, expected) in [
            ("", "go"),
            ("-v", "-v|go"),
            ("-w|/tmp/p", "-w|/tmp/p|go"),
            ("--clarify-only", "go|--clarify-only"),
            ("x", "go|x"),
            ("-v|x", "-v|go|x"),
            ("x|-v", "go|x|-v"),
            ("--workspace=/tmp/p|x", "--workspace=/tmp/p|go|x"),
            ("-w/tmp/p|x", "-w/tmp/p|go|x"),
            ("-vw|p|x", "-vw|p|go|x"),
            ("--asks|12|x|--new", "go|--asks|12|x|--new"),
            ("go|x", "go|x"),
            ("once|p", "once|p"),
            ("-v|run|f.yaml", "-v|run|f.yaml"),
            ("go|run", "go|run"),
            ("setup", "setup"),
            ("--help", "--help"),
            ("-h", "-h"),
            ("-v|--help", "-v|--help"),
            ("--version", "--version"),
            ("make the tests run", "go|make the tests run"),
        ] {
            assert_eq!(filled(line), expected, "{line}");
        }
    }
}
