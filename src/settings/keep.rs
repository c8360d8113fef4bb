//! Writing choices into the user's own `.env`: what else stands in it stays as it is, byte for byte.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::Settings;
use super::grammar::{assignment, parse, split};
use super::source::LONGEST;
use crate::disk::{self, Care};

/// The first line of a new file.
const HEAD: &str = "# Written by `flower setup`. It holds a secret: do not commit it.\n";

const MARK: char = '\u{feff}';

/// What is to be in the file, and what is not.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// Keys and their values.
    pub set: Vec<(&'static str, String)>,
    /// Keys that go.
    pub remove: Vec<&'static str>,
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// Neither HOME nor XDG_CONFIG_HOME says where.
    #[error("there is no folder for it: neither HOME nor XDG_CONFIG_HOME is set")]
    NoHome,
    /// What is there is no text, and would be lost.
    #[error("{0}: is not UTF-8 text; put it aside first")]
    Undecodable(PathBuf),
    /// The system refuses.
    #[error("{path}: {source}")]
    System {
        /// The file.
        path: PathBuf,
        /// What it says.
        source: io::Error,
    },
}

impl Settings {
    /// The user's own `.env`; nothing without a home.
    pub fn user_file(&self) -> Option<PathBuf> {
        Some(self.config_dir()?.join(".env"))
    }

    /// Writes a change into the user's own `.env`, readable for nobody else from its first byte on. These
    /// settings stay as they are: they were resolved before.
    ///
    /// # Errors
    /// See [`KeepError`]; then what was there is still there.
    pub fn keep(&self, change: &Change) -> Result<PathBuf, KeepError> {
        let path = self.user_file().ok_or(KeepError::NoHome)?;
        let failed = |source| KeepError::System { path: path.clone(), source };
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        }
        let old = match disk::read(&path, LONGEST) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(failed(error)),
        };
        let old = String::from_utf8(old).map_err(|_| KeepError::Undecodable(path.clone()))?;
        write(&path, &merge(&old, change)).map_err(failed)?;
        Ok(path)
    }
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    disk::replace(path, text.as_bytes(), Care::Private)
}

/// True for a value that is read from the file exactly as it is: no white space or quotes at its ends, one
/// line, nothing that ends a line anywhere.
pub fn can_hold(value: &str) -> bool {
    parse(format!("K={value}\n").as_bytes()).is_ok_and(|parsed| {
        matches!(parsed.lines.as_slice(), [line] if line.key == "K" && line.value == value)
    })
}

/// The first line that sets a key counts when the file is read, so it is the one that is changed; later ones
/// go, since they may hold an older secret.
fn merge(text: &str, change: &Change) -> String {
    let (mark, body) = match text.strip_prefix(MARK) {
        Some(body) => (&text[..MARK.len_utf8()], body),
        None => ("", text),
    };
    let mut left: Vec<(&str, &str)> =
        change.set.iter().map(|(key, value)| (*key, value.as_str())).collect();
    let mut out = mark.to_owned();
    if body.is_empty() {
        out.push_str(HEAD);
    }
    let pieces = split(body);
    for (index, piece) in pieces.iter().enumerate() {
        let end = pieces.get(index + 1).map_or(body.len(), |next| next.start);
        let whole = &body[piece.start..end];
        let key = assignment(piece.text).map_or("", |(key, _)| key);
        if let Some(place) = left.iter().position(|(wanted, _)| *wanted == key) {
            let (key, value) = left.remove(place);
            let line_end = &whole[piece.text.len()..];
            out.push_str(&format!("{key}={value}{line_end}"));
        } else if !change.remove.contains(&key) && !change.set.iter().any(|(set, _)| *set == key) {
            out.push_str(whole);
        }
    }
    for (key, value) in left {
        if !out.is_empty() && !out.ends_with(['\n', '\r']) && out != mark {
            out.push('\n');
        }
        out.push_str(&format!("{key}={value}\n"));
    }
    out
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use proptest::prelude::*;

    use super::super::tests::Home;
    use super::*;

    fn change(set: &[(&'static str, &str)], remove: &[&'static str]) -> Change {
        let set = set.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
        Change { set, remove: remove.to_vec() }
    }

    #[test]
    fn other_keys_comments_and_order_stay() {
        let old = "# mine\r\nA=1\n\nTOKEN = old \r\n# between\nB='2'\nTOKEN=older\nGONE=x\nC=3";
        let new = merge(old, &change(&[("TOKEN", "new"), ("MORE", "m")], &["GONE"]));
        assert_eq!(new, "# mine\r\nA=1\n\nTOKEN=new\r\n# between\nB='2'\nC=3\nMORE=m\n");
    }

    #[test]
    fn a_new_file_says_what_it_is() {
        assert_eq!(merge("", &change(&[("A", "1")], &[])), format!("{HEAD}A=1\n"));
    }

    #[test]
    fn what_the_grammar_cannot_hold_is_known() {
        for good in ["sk-ant-1", "", "a b", "a=b#c", "a'b", "$x\\n", "https://h/v1"] {
            assert!(can_hold(good), "{good:?}");
        }
        for bad in
            [" a", "a ", "'a'", "a\"", "a\nb", "a\rb", "a\0b", "a\u{2028}b", "a\u{b}b", "\u{a0}a"]
        {
            assert!(!can_hold(bad), "{bad:?}");
        }
    }

    #[test]
    fn the_file_is_private_and_counts_at_once() {
        let home = Home::new();
        home.global("OTHER=1\n");
        let path = home.resolve().keep(&change(&[("ANTHROPIC_API_KEY", "sk-ant-1")], &[])).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "OTHER=1\nANTHROPIC_API_KEY=sk-ant-1\n");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(home.resolve().get("ANTHROPIC_API_KEY"), Some("sk-ant-1"));
    }

    #[test]
    fn a_file_that_is_no_text_is_not_replaced() {
        let home = Home::new();
        let settings = home.resolve();
        let path = settings.user_file().unwrap();
        fs::write(&path, b"A=\xff").unwrap();
        assert!(matches!(
            settings.keep(&change(&[("A", "1")], &[])),
            Err(KeepError::Undecodable(_))
        ));
        assert_eq!(fs::read(&path).unwrap(), b"A=\xff");
    }

    /// Lines as people write them, and others.
    fn file() -> impl Strategy<Value = String> {
        let line = prop_oneof![
            "[ \t]?(A|B|SET|GONE|# SET|export SET)[ ]?=[ ]?['\"]?[a-z$ =#]{0,6}['\"]?",
            "\\PC{0,12}",
        ];
        let end =
            prop_oneof![Just("\n"), Just("\r\n"), Just("\r"), Just("\u{2028}"), Just("\u{b}")];
        (any::<bool>(), prop::collection::vec((line, end), 0..12), any::<bool>()).prop_map(
            |(mark, lines, last)| {
                let mut text = if mark { MARK.to_string() } else { String::new() };
                text.extend(lines.into_iter().map(|(line, end)| line + end));
                if last { text + "A=last" } else { text }
            },
        )
    }

    proptest! {
        #[test]
        fn what_was_set_is_read_and_nothing_else_changes(old in file(), value in "\\PC{0,12}") {
            prop_assume!(can_hold(&value));
            let new = merge(&old, &change(&[("SET", &value)], &["GONE"]));
            let pairs = |text: &str| -> Vec<(String, String)> {
                let lines = parse(text.as_bytes()).unwrap().lines;
                lines.into_iter().map(|line| (line.key, line.value)).collect()
            };
            let (before, after) = (pairs(&old), pairs(&new));
            let set: Vec<_> = after.iter().filter(|(key, _)| key == "SET").collect();
            prop_assert_eq!(set, [&("SET".to_owned(), value)]);
            prop_assert!(!after.iter().any(|(key, _)| key == "GONE"));
            let others = |pairs: Vec<(String, String)>| -> Vec<(String, String)> {
                pairs.into_iter().filter(|(key, _)| key != "SET" && key != "GONE").collect()
            };
            prop_assert_eq!(others(before), others(after));
            let again = merge(&new, &change(&[], &[]));
            prop_assert_eq!(again, new);
        }
    }
}
