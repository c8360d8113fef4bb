//! Takes a shell command line apart, or gives up: what it does not fully understand is refused.
//!
//! There is no expansion here. A word only remembers what an expansion could do to it, because a glob
//! or a variable can turn into an option that nobody wrote.

use std::iter::Peekable;
use std::str::Chars;

/// Variables that hold a path or a name in every shell, and that no command here can change; others
/// could hold `-delete`.
const KNOWN_VARIABLES: [&str; 2] = ["HOME", "USER"];

/// What stands between a command and the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Join {
    /// `&&`
    And,
    /// `||`
    Or,
    /// `|` or `|&`
    Pipe,
    /// `;`, a newline, or the end.
    Next,
}

/// One word of a command, quotes removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// The text; expansions stand in it as they were written.
    pub(super) text: String,
    /// No quote, no escape, no expansion: the word is exactly what was written.
    pub(super) bare: bool,
    /// No expansion: the program gets exactly `text`.
    pub(super) fixed: bool,
    /// An expansion could make an option of it, or put one beside it.
    pub(super) loose: bool,
}

impl Word {
    fn new() -> Self {
        Self { text: String::new(), bare: true, fixed: true, loose: false }
    }

    /// True where the word certainly reaches the program as something else than an option.
    pub(super) fn is_operand(&self) -> bool {
        !self.loose && (self.text == "-" || !self.text.starts_with('-'))
    }

    /// A glob or brace keeps what stands before it, so only a leading one can become an option.
    fn expand(&mut self) {
        self.fixed = false;
        self.bare = false;
        self.loose |= self.text.is_empty() || self.text.starts_with('-');
    }
}

/// One simple command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Command {
    /// Its words; there is at least one.
    pub(super) words: Vec<Word>,
    /// What follows it.
    pub(super) join: Join,
}

/// The simple commands of `line`; nothing where it is empty, not understood, or does more than
/// joining simple commands (substitution, background, heredoc, file redirection, comment, subshell).
pub(super) fn commands(line: &str) -> Option<Vec<Command>> {
    let odd = |c: char| c.is_control() && c != '\n' && c != '\t';
    if line.chars().any(odd) {
        return None;
    }
    let mut lexer = Lexer {
        rest: line.chars().peekable(),
        word: None,
        words: Vec::new(),
        redirected: false,
        commands: Vec::new(),
    };
    lexer.run()?;
    Some(lexer.commands)
}

struct Lexer<'a> {
    rest: Peekable<Chars<'a>>,
    word: Option<Word>,
    words: Vec<Word>,
    redirected: bool,
    commands: Vec<Command>,
}

impl Lexer<'_> {
    fn run(&mut self) -> Option<()> {
        while let Some(c) = self.rest.next() {
            match c {
                ' ' | '\t' => self.end_word(),
                '\n' => self.newline()?,
                ';' => {
                    // `;;` and `;&` belong to `case`.
                    if matches!(self.rest.peek(), Some(';' | '&')) {
                        return None;
                    }
                    self.end_command(Join::Next)?;
                }
                '&' => self.ampersand()?,
                '|' => {
                    let join = if self.rest.next_if_eq(&'|').is_some() {
                        Join::Or
                    } else {
                        self.rest.next_if_eq(&'&');
                        Join::Pipe
                    };
                    self.end_command(join)?;
                }
                '>' => self.output()?,
                '<' | '(' | ')' | '`' => return None,
                '#' if self.word.is_none() => return None,
                _ => self.letter(c)?,
            }
        }
        self.end()
    }

    /// Everything that is part of a word.
    fn letter(&mut self, c: char) -> Option<()> {
        match c {
            '\\' => {
                let next = self.rest.next()?;
                if next != '\n' {
                    self.quoted().text.push(next);
                } else if let Some(word) = &mut self.word {
                    word.bare = false;
                }
            }
            '\'' => loop {
                self.quoted();
                match self.rest.next()? {
                    '\'' => break,
                    inner => self.open().text.push(inner),
                }
            },
            '"' => self.double_quotes()?,
            '$' => self.dollar(false)?,
            '*' | '?' | '[' | '{' => {
                let word = self.open();
                word.expand();
                word.text.push(c);
            }
            '~' => {
                let word = self.open();
                if word.text.is_empty() {
                    word.fixed = false;
                    word.bare = false;
                }
                word.text.push(c);
            }
            _ => self.open().text.push(c),
        }
        Some(())
    }

    fn double_quotes(&mut self) -> Option<()> {
        self.quoted();
        loop {
            match self.rest.next()? {
                '"' => return Some(()),
                '`' => return None,
                '$' => self.dollar(true)?,
                '\\' => match self.rest.next()? {
                    '\n' => {}
                    special @ ('$' | '`' | '"' | '\\') => self.open().text.push(special),
                    other => self.open().text.extend(['\\', other]),
                },
                c => self.open().text.push(c),
            }
        }
    }

    /// `$NAME`, `${NAME}`, `$?` or a plain dollar. Every other form can run or assign something.
    fn dollar(&mut self, in_quotes: bool) -> Option<()> {
        let mut name = String::new();
        let braced = match self.rest.peek().copied() {
            Some('{') => {
                self.rest.next();
                true
            }
            Some('?') => {
                self.rest.next();
                let word = self.open();
                word.bare = false;
                word.fixed = false;
                word.text.push_str("$?");
                return Some(());
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => false,
            None | Some(' ' | '\t' | '\n' | '/' | '|' | ';' | '%' | ',' | '.' | ':' | '=') => {
                self.open().text.push('$');
                return Some(());
            }
            Some('"') if in_quotes => {
                self.open().text.push('$');
                return Some(());
            }
            Some(_) => return None,
        };
        while let Some(c) = self.rest.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
            name.push(c);
        }
        if braced && (self.rest.next() != Some('}') || name.is_empty()) {
            return None;
        }
        if name.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let known = KNOWN_VARIABLES.contains(&name.as_str());
        let word = self.open();
        // Between quotes a value stays one word, so only its first letter matters.
        let leads = word.text.is_empty() || word.text.starts_with('-');
        word.loose |= !known && (!in_quotes || leads);
        word.bare = false;
        word.fixed = false;
        word.text.push('$');
        word.text.push_str(&name);
        Some(())
    }

    fn ampersand(&mut self) -> Option<()> {
        match self.rest.next()? {
            '&' => self.end_command(Join::And),
            '>' => {
                self.end_word();
                self.rest.next_if_eq(&'>');
                self.null_target()
            }
            _ => None,
        }
    }

    /// `>`, `>>`, `1>`, `2>` to exactly /dev/null, and `2>&1`; nothing else.
    fn output(&mut self) -> Option<()> {
        let mut stream = '1';
        if let Some(word) = &self.word
            && word.bare
            && word.text.chars().all(|c| c.is_ascii_digit())
        {
            stream = match word.text.as_str() {
                "1" => '1',
                "2" => '2',
                _ => return None,
            };
            self.word = None;
        }
        self.end_word();
        if self.rest.next_if_eq(&'&').is_some() {
            let ends = |c: Option<&char>| {
                matches!(c, None | Some(' ' | '\t' | '\n' | ';' | '|' | '&' | '>'))
            };
            let joins = stream == '2' && self.rest.next() == Some('1') && ends(self.rest.peek());
            self.redirected = true;
            return joins.then_some(());
        }
        self.rest.next_if_eq(&'>');
        self.null_target()
    }

    fn null_target(&mut self) -> Option<()> {
        while self.rest.next_if(|c| *c == ' ' || *c == '\t').is_some() {}
        let mut target = String::new();
        while let Some(c) = self.rest.next_if(|c| !" \t\n;|&<>()".contains(*c)) {
            target.push(c);
        }
        self.redirected = true;
        (target == "/dev/null").then_some(())
    }

    fn open(&mut self) -> &mut Word {
        self.word.get_or_insert_with(Word::new)
    }

    fn quoted(&mut self) -> &mut Word {
        let word = self.open();
        word.bare = false;
        word
    }

    fn end_word(&mut self) {
        self.words.extend(self.word.take());
    }

    fn newline(&mut self) -> Option<()> {
        self.end_word();
        // An empty line, or the line after `&&`, `||` and `|`: the command goes on.
        if self.words.is_empty() && !self.redirected {
            Some(())
        } else {
            self.end_command(Join::Next)
        }
    }

    fn end_command(&mut self, join: Join) -> Option<()> {
        self.end_word();
        let words = std::mem::take(&mut self.words);
        self.redirected = false;
        if words.is_empty() {
            return None;
        }
        self.commands.push(Command { words, join });
        Some(())
    }

    fn end(&mut self) -> Option<()> {
        self.newline()?;
        (self.commands.last()?.join == Join::Next).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(line: &str) -> Option<Vec<Vec<String>>> {
        let commands = commands(line)?;
        Some(
            commands
                .into_iter()
                .map(|command| command.words.into_iter().map(|word| word.text).collect())
                .collect(),
        )
    }

    fn word(line: &str) -> Word {
        commands(line).unwrap()[0].words[1].clone()
    }

    #[test]
    fn quotes_hide_separators() {
        assert_eq!(texts(r#"a 'b;c' "d|e" f\;g"#).unwrap(), [["a", "b;c", "d|e", "f;g"]]);
        assert_eq!(texts("a \"b\\\"c\\d\"").unwrap(), [["a", "b\"c\\d"]]);
    }

    #[test]
    fn newlines_and_signs_separate() {
        assert_eq!(texts("a\nb").unwrap(), [["a"], ["b"]]);
        assert_eq!(texts("a |\n\n b").unwrap(), [["a"], ["b"]]);
        assert_eq!(texts("a && b || c ; d |& e;").unwrap().len(), 5);
        assert_eq!(texts("a \\\n b").unwrap(), [["a", "b"]]);
    }

    #[test]
    fn a_line_that_is_not_whole_is_refused() {
        for line in
            ["a &&", "&& a", "a && && b", "; a", "a ;; b", "a |", "a \\", "a 'b", "a \"b", ""]
        {
            assert_eq!(commands(line), None, "{line}");
        }
    }

    #[test]
    fn whatever_runs_more_than_simple_commands_is_refused() {
        for line in [
            "a $(b)",
            "a `b`",
            "a <(b)",
            "a >(b)",
            "(a)",
            "a &",
            "a & b",
            "a # b",
            "#a",
            "a <<E\nE",
            "a <<<b",
            "a < b",
            "a() b",
            "a \"$(b)\"",
            "a \"`b`\"",
            "a $'b'",
            "a $\"b\"",
            "a ${b:=c}",
            "a ${b@P}",
            "a $[b]",
            "a $((1))",
            "a $1",
            "a $@",
            "a ${b[$(c)]}",
            "a\r",
            "a \u{1b}",
            "a\0b",
        ] {
            assert_eq!(commands(line), None, "{line}");
        }
    }

    #[test]
    fn only_the_null_device_may_be_written() {
        for line in [
            "a >/dev/null",
            "a > /dev/null",
            "a 2>/dev/null",
            "a 1> /dev/null",
            "a >>/dev/null",
            "a 2>>/dev/null",
            "a &>/dev/null",
            "a &>>/dev/null",
            "a >/dev/null 2>&1",
            "a 2>&1|b",
        ] {
            assert!(commands(line).is_some(), "{line}");
        }
        for line in [
            "a > b",
            "a >b",
            "a >> b",
            "a 2>b",
            "a &>b",
            "a >/dev/nullx",
            "a >/dev/null/x",
            "a >|b",
            "a >&b",
            "a >&2",
            "a 3>/dev/null",
            "a 2>&1b",
            "a 2>&12",
            "a >'/dev/null'",
            "a <>b",
            "a >$X",
            "> /dev/null",
            "a >/dev/null>b",
            "a 2>&1>b",
            "a2>b",
            "a >/dev/../etc/x",
        ] {
            assert_eq!(commands(line), None, "{line}");
        }
    }

    #[test]
    fn a_word_knows_what_it_could_turn_into() {
        assert!(word("a b").bare);
        assert!(!word("a 'b'").bare && word("a 'b'").fixed);
        for loose in ["a *", "a -*", "a $X", "a b$X", "a \"$X\"", "a {b,-c}", "a [b]*", "a ${X}/b"]
        {
            assert!(word(loose).loose, "{loose}");
        }
        for tight in ["a b*", "a $HOME/b", "a \"b$X\"", "a b{1,2}", "a '*'", "a ~/b", "a ${HOME}"] {
            assert!(!word(tight).loose, "{tight}");
        }
        assert!(!word("a b*").fixed && word("a '$X'").fixed && !word("a ~").fixed);
    }

    #[test]
    fn plain_dollars_stay() {
        assert_eq!(texts("a \"b$\" c$ $").unwrap(), [["a", "b$", "c$", "$"]]);
    }
}
