//! Reads a command's arguments against a closed list of options.

use super::lexer::Word;

/// The options that a command may be given. What is not listed is refused, abbreviations included.
#[derive(Debug, Clone, Copy)]
pub(super) struct Options {
    /// Short options without a value, together: `la` for `-l` and `-a`.
    pub(super) flags: &'static str,
    /// Short options with a value, attached or in the next word.
    pub(super) valued: &'static str,
    /// Short options whose value, if any, is attached (`-U3`).
    pub(super) attached: &'static str,
    /// Lists of long options, separated by spaces; a value may be attached with `=`.
    pub(super) long: &'static [&'static str],
    /// Most operands. A limit also asks that none of them can expand to several.
    pub(super) operands: Option<usize>,
    /// Words that may expand to options are fine, as no option of the command does harm.
    pub(super) loose: bool,
}

/// No option and no operand.
pub(super) const NONE: Options =
    Options { flags: "", valued: "", attached: "", long: &[], operands: Some(0), loose: false };

/// Any operand, no option.
pub(super) const OPERANDS: Options = Options { operands: None, ..NONE };

impl Options {
    /// True where every word of `arguments` is on the list.
    pub(super) fn admit(&self, arguments: &[Word]) -> bool {
        self.read(arguments).is_some_and(|read| {
            self.operands
                .is_none_or(|most| read.len() <= most && read.iter().all(|word| word.fixed))
        })
    }

    /// The operands, where every word is on the list.
    pub(super) fn read<'w>(&self, arguments: &'w [Word]) -> Option<Vec<&'w Word>> {
        let mut operands = Vec::new();
        let mut words = arguments.iter();
        let mut after_option = false;
        while let Some(word) = words.next() {
            let follows_option = std::mem::replace(&mut after_option, word.text.starts_with('-'));
            if word.loose {
                if !self.loose {
                    return None;
                }
                operands.push(word);
            } else if word.text == "--" {
                // From here on nothing is an option, whatever it expands to; unless the option
                // before has swallowed it as its value.
                if !follows_option {
                    operands.extend(words);
                    return Some(operands);
                }
            } else if let Some(name) = word.text.strip_prefix("--") {
                let name = name.split_once('=').map_or(name, |(name, _)| name);
                if !self
                    .long
                    .iter()
                    .flat_map(|list| list.split_whitespace())
                    .any(|known| known == name)
                {
                    return None;
                }
            } else if word.is_operand() {
                operands.push(word);
            } else if self.cluster(&word.text[1..])? {
                // A value like `-o` may mean that the program counts differently.
                let value = words.next()?;
                let number = value.text.strip_prefix('-').is_some_and(is_number);
                if !(value.is_operand() || number || value.loose && self.loose) {
                    return None;
                }
            }
        }
        Some(operands)
    }

    /// Reads `la` of `-la`; true where the next word is its value, nothing where a letter is not listed.
    fn cluster(&self, letters: &str) -> Option<bool> {
        for (at, letter) in letters.char_indices() {
            if self.flags.contains(letter) {
                continue;
            }
            if self.attached.contains(letter) {
                return Some(false);
            }
            if self.valued.contains(letter) {
                return Some(at + letter.len_utf8() == letters.len());
            }
            return None;
        }
        Some(false)
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::lexer::commands;

    fn admits(options: &Options, line: &str) -> bool {
        options.admit(&commands(line).unwrap()[0].words[1..])
    }

    const SOME: Options =
        Options { flags: "la", valued: "n", attached: "U", long: &["all color"], ..OPERANDS };

    #[test]
    fn listed_options_pass_in_every_spelling() {
        for line in [
            "x",
            "x -l",
            "x -la",
            "x -n 3",
            "x -n3",
            "x -n -3",
            "x -lan3",
            "x -U",
            "x -U3",
            "x --all",
            "x --color=auto",
            "x a b",
            "x -",
            "x -- -o *",
            "x a -- -o",
            "x --all -- a",
            "x -ln 3 a",
        ] {
            assert!(admits(&SOME, line), "{line}");
        }
    }

    #[test]
    fn others_do_not() {
        for line in [
            "x -o",
            "x -lo",
            "x --al",
            "x --output",
            "x --output=all",
            "x -n",
            "x -n -o",
            "x *",
            "x $A",
            "x -n $A",
            "x a -o",
            "x '-o'",
            "x -l$A",
            "x -o --",
            "x --color -- -o",
            "x -l -- *",
        ] {
            assert!(!admits(&SOME, line), "{line}");
        }
    }

    #[test]
    fn a_limit_counts_what_a_glob_could_become() {
        let one = Options { operands: Some(1), ..SOME };
        assert!(admits(&one, "x a") && admits(&one, "x -n 3 'a*'"));
        assert!(!admits(&one, "x a b") && !admits(&one, "x a*") && !admits(&one, "x -- a b"));
    }
}
