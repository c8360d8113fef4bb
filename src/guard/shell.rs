//! The one judge of "a glance": a command line that only looks.
//!
//! What the coordinator may run itself and what later counts as stale are the same set, so there is
//! one function for both. When it is unsure, the answer is no.

use super::lexer::{Command, Join, Word, commands};
use super::verb;

/// True where every command of `line` only looks: nothing is written, sent, started or waited for.
///
/// ```
/// assert!(flower::is_ephemeral("git status --short | head -5"));
/// assert!(!flower::is_ephemeral("git status; rm -rf build"));
/// ```
pub fn is_ephemeral(line: &str) -> bool {
    commands(line).is_some_and(|commands| commands.iter().all(looks))
}

fn looks(command: &Command) -> bool {
    verb::looks(&command.words) || changes_folder(command)
}

/// `cd DIR &&`: harmless where it only says where the next glance looks.
fn changes_folder(command: &Command) -> bool {
    let is_path = |word: &Word| word.text != "-" && word.is_operand();
    let [verb, path] = command.words.as_slice() else { return false };
    command.join == Join::And && verb.bare && verb.text == "cd" && is_path(path)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::guard::action_cases::{ACTIONS, ADVERSARIAL};
    use crate::guard::glance_cases::GLANCES;
    use crate::guard::verb::VERBS;

    #[test]
    fn what_only_looks_is_a_glance() {
        for line in GLANCES {
            assert!(is_ephemeral(line), "{line}");
        }
    }

    #[test]
    fn what_acts_is_not() {
        for line in ACTIONS {
            assert!(!is_ephemeral(line), "{line}");
        }
    }

    #[test]
    fn every_verb_has_something_it_must_not_be_given() {
        let tested: BTreeSet<&str> = ADVERSARIAL.iter().map(|(verb, _)| *verb).collect();
        let known: BTreeSet<&str> = VERBS.iter().map(|(verb, _)| *verb).collect();
        assert_eq!(tested, known);
        for (verb, line) in ADVERSARIAL {
            assert!(line.contains(verb), "{line}");
            assert!(!is_ephemeral(line), "{line}");
        }
    }

    #[test]
    fn a_long_line_is_judged_like_a_short_one() {
        assert!(is_ephemeral(&format!("echo {}", "x".repeat(60_000))));
        assert!(is_ephemeral(&vec!["git status && ls -la"; 300].join(" && ")));
        assert!(!is_ephemeral(&format!("{}rm x", "ls && ".repeat(3000))));
    }

    fn piece() -> impl Strategy<Value = String> {
        prop_oneof![
            prop::sample::select(vec![
                "ls",
                "git",
                "log",
                "status",
                "find",
                "sed",
                "awk",
                "sort",
                "env",
                "rm",
                "-o",
                "-i",
                "x",
                "--output=x",
                "'",
                "\"",
                "\\",
                "$(",
                "`",
                "<(",
                ">",
                ">>",
                "2>&1",
                "&",
                "&&",
                "||",
                ";",
                "|",
                "\n",
                "#",
                " ",
                "  ",
                "/dev/null",
                "$X",
                "*",
                "{a,b}",
                "'{print > \"f\"}'",
                "-f",
                "s/a/b/w x",
            ])
            .prop_map(str::to_owned),
            "\\PC{0,4}",
        ]
    }

    proptest! {
        #[test]
        fn no_line_makes_it_panic(line in "\\PC*") {
            is_ephemeral(&line);
        }

        #[test]
        fn no_mixture_of_pieces_makes_it_panic(pieces in prop::collection::vec(piece(), 0..20)) {
            is_ephemeral(&pieces.concat());
            is_ephemeral(&pieces.join(" "));
        }

        #[test]
        fn a_redirection_to_a_file_is_never_a_glance(
            verb in prop::sample::select(vec!["ls", "git status", "cat f", "echo"]),
            sign in prop::sample::select(vec![">", ">>", "2>", "&>", ">|", "1>", "> ", "2>> "]),
            file in "[a-z./~$][a-z/.]{0,10}",
        ) {
            prop_assume!(file != "/dev/null");
            let line = format!("{verb} {sign}{file}");
            prop_assert!(!is_ephemeral(&line));
        }

        #[test]
        fn a_program_that_is_not_listed_is_never_a_glance(
            before in prop::sample::select(vec!["", "ls; ", "ls && ", "ls | ", "ls || ", "ls\n", "ls \\\n; "]),
            program in "[a-z]{1,8}",
        ) {
            prop_assume!(!VERBS.iter().any(|(verb, _)| *verb == program));
            let line = format!("{before}{program}");
            prop_assert!(!is_ephemeral(&line));
        }

        #[test]
        fn a_substitution_outside_single_quotes_is_never_a_glance(
            before in "[a-z ]{0,5}", after in "[a-z ]{0,5}",
            sign in prop::sample::select(vec!["$(", "`", "<(", ">(", "$((", "${x:="]),
        ) {
            let closed = if sign == "`" { "`" } else { ")" };
            let bare = format!("echo {before}{sign}rm x{closed}{after}");
            let quoted = format!("echo \"{before}{sign}rm x{closed}{after}\"");
            prop_assert!(!is_ephemeral(&bare));
            if !sign.starts_with(['<', '>']) {
                prop_assert!(!is_ephemeral(&quoted));
            }
        }
    }
}
