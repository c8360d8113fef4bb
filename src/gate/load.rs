//! Reads a cassette from YAML, with limits, and the files that stand beside it.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path};

use serde::Deserialize;
use serde_saphyr::options::DuplicateKeyPolicy;
use serde_saphyr::{Error, Spanned};

use super::cassette::{Cassette, Defaults, Rule};
use super::error::GateError;
use super::validate;

/// Bytes of a cassette and of each file beside it: recordings are large, mistakes are larger.
const MAX_BYTES: u64 = 64 << 20;

/// The file as it stands, with the place of each rule.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a cassette: format, about, defaults, rules")]
struct Sheet {
    format: String,
    about: Option<String>,
    #[serde(default)]
    defaults: Defaults,
    rules: Vec<Spanned<Rule>>,
}

impl Cassette {
    /// The only format there is.
    pub const FORMAT: &'static str = "flower-cassette/1";

    /// Reads and checks a file and the files beside it that it names.
    ///
    /// # Errors
    ///
    /// [`GateError::Unreadable`] and [`GateError::Invalid`].
    pub fn load(path: &Path) -> Result<Self, GateError> {
        let text = read_limited(path)
            .map_err(|source| GateError::Unreadable { path: path.to_owned(), source })?;
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        read(&text, Some(folder))
            .map_err(|message| GateError::Invalid { name: path.display().to_string(), message })
    }

    /// Reads and checks a text; it must not name files, because there is nothing to be beside.
    ///
    /// # Errors
    ///
    /// [`GateError::Invalid`].
    pub fn parse(text: &str) -> Result<Self, GateError> {
        read(text, None).map_err(|message| GateError::Invalid { name: "text".to_owned(), message })
    }
}

fn read(text: &str, folder: Option<&Path>) -> Result<Cassette, String> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_total_scalar_bytes: MAX_BYTES as usize,
            max_documents: 1,
            max_depth: 64,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        strict_booleans: true,
        with_snippet: false,
    };
    let sheet: Sheet =
        serde_saphyr::from_str_with_options(text, options).map_err(|error| say(&error))?;
    let rules = sheet.rules.into_iter().map(|spanned| {
        let line = spanned.referenced.line();
        let mut rule = Rule { line, ..spanned.value };
        if rule.name.trim().is_empty() {
            rule.name = format!("line {line}");
        }
        rule
    });
    let mut cassette = Cassette {
        format: sheet.format,
        about: sheet.about,
        defaults: sheet.defaults,
        rules: rules.collect(),
    };
    validate::check(&cassette)?;
    for rule in &mut cassette.rules {
        fetch(rule, folder)?;
    }
    Ok(cassette)
}

/// One line: where, and what.
fn say(error: &Error) -> String {
    let text = error.without_snippet().to_string();
    let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some(place) = error.location()
        && !text.contains(&format!("line {}", place.line()))
    {
        text = format!("line {}, column {}: {text}", place.line(), place.column());
    }
    text
}

/// Puts the text of `text_file` where `text` would stand.
fn fetch(rule: &mut Rule, folder: Option<&Path>) -> Result<(), String> {
    let Some(reply) = &mut rule.reply else { return Ok(()) };
    let Some(name) = &reply.text_file else { return Ok(()) };
    let complain = |why: String| {
        format!("line {}: rule \"{}\": text_file {name}: {why}", rule.line, rule.name)
    };
    let folder = folder.ok_or_else(|| complain("there is no file to be beside".to_owned()))?;
    let text = beside(folder, Path::new(name)).map_err(|error| complain(error.to_string()))?;
    reply.text = Some(text);
    Ok(())
}

/// Reads a file under `folder`; a path or a link that leads out of it is refused.
fn beside(folder: &Path, name: &Path) -> io::Result<String> {
    let outside = || io::Error::other("leads out of the cassette's folder");
    let plain = |part: Component| matches!(part, Component::Normal(_) | Component::CurDir);
    if !name.components().all(plain) {
        return Err(outside());
    }
    let root = folder.canonicalize()?;
    let path = root.join(name).canonicalize()?;
    if !path.starts_with(&root) {
        return Err(outside());
    }
    read_limited(&path)
}

fn read_limited(path: &Path) -> io::Result<String> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a file"));
    }
    let mut text = String::new();
    let read = file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if read as u64 > MAX_BYTES {
        return Err(io::Error::other("larger than 64 MiB"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "format: flower-cassette/1\nrules:\n";

    fn complaint(rules: &str) -> String {
        Cassette::parse(&format!("{HEAD}{rules}")).unwrap_err().to_string()
    }

    #[test]
    fn an_unknown_key_is_named_with_line_and_column() {
        let text = complaint("  - name: a\n    mach: {turn: 0}\n    reply: {text: x}\n");
        assert!(text.contains("line 4") && text.contains("column 5"), "{text}");
        assert!(text.contains("mach") && !text.contains('\n'), "{text}");
    }

    #[test]
    fn what_the_types_refuse_has_a_line() {
        for (line, word) in [
            ("times: 0", "zero"),
            ("times: -1", "invalid u32"),
            ("delay_ms: -5", "invalid u64"),
            ("reset: later", "later"),
            ("match: {last_user_contains: /(/}", "regular expression"),
            ("match: {agent: \"\"}", "agent"),
            ("name: b", "uplicate"),
        ] {
            let text = complaint(&format!("  - name: a\n    reply: {{text: x}}\n    {line}\n"));
            assert!(text.contains("line 5") && text.contains(word), "{line}: {text}");
        }
    }

    #[test]
    fn a_rule_knows_its_line() {
        let text = format!(
            "{HEAD}  - name: a\n    reply: {{text: x}}\n  - name: b\n    reply: {{text: y}}\n"
        );
        let lines: Vec<u64> =
            Cassette::parse(&text).unwrap().rules.iter().map(|rule| rule.line).collect();
        assert_eq!(lines, [3, 5]);
    }

    #[test]
    fn a_text_may_stand_in_a_file_beside_the_cassette_and_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        std::fs::create_dir(&home).unwrap();
        std::fs::write(home.join("long.txt"), "long words").unwrap();
        std::fs::write(folder.path().join("secret.txt"), "secret").unwrap();
        std::os::unix::fs::symlink("../secret.txt", home.join("link.txt")).unwrap();
        let load = |name: &str| {
            let path = home.join("cassette.yaml");
            let text = format!("{HEAD}  - name: a\n    reply: {{text_file: {name}}}\n");
            std::fs::write(&path, text).unwrap();
            Cassette::load(&path)
        };
        let reply = load("./long.txt").unwrap().rules.remove(0).reply.unwrap();
        assert_eq!(reply.text.as_deref(), Some("long words"));
        for name in ["../secret.txt", "link.txt", "/etc/hostname"] {
            let text = load(name).unwrap_err().to_string();
            assert!(text.contains("leads out"), "{text}");
        }
        assert!(load("none.txt").unwrap_err().to_string().contains("line 3"));
    }

    #[test]
    fn words_that_old_yaml_takes_for_booleans_stay_words() {
        let text = format!(
            "{HEAD}  - name: a\n    reply: {{tools: [{{name: T, input: {{a: no, b: 1, c: true}}}}]}}\n"
        );
        let cassette = Cassette::parse(&text).unwrap();
        let input = &cassette.rules[0].reply.as_ref().unwrap().tools[0].input;
        let want = serde_json::json!({"a": "no", "b": 1, "c": true});
        assert_eq!(serde_json::Value::Object(input.clone()), want);
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in ".*") {
            let _ = Cassette::parse(&text);
        }

        #[test]
        fn no_rule_panics(text in "[ a-z0-9:{}\\[\\],\"'|>&*!/$\n-]{0,120}") {
            let _ = Cassette::parse(&format!("{HEAD}  - name: a\n    {text}"));
        }
    }
}
