//! What is done to every text that leaves the store for people: no secrets, no controls.

use std::borrow::Cow;

use crate::transcript::{Entry, EntryError, decode_string};

use super::plain::plain;

/// What stands where a secret was.
const MASK: &str = "***";

/// With fewer characters, a value is as likely a word of the conversation as a secret in it.
const SHORTEST: usize = 6;

/// How the API's own keys begin; they are masked whosever they are.
const TOKEN: &str = "sk-ant-";

/// Knows the values that must not be shown.
#[derive(Default)]
pub struct Tidy {
    /// The longest first, so that a secret that holds another goes as a whole.
    secrets: Vec<String>,
}

impl std::fmt::Debug for Tidy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tidy({} secrets)", self.secrets.len())
    }
}

impl Tidy {
    /// With these values to hide. Values of fewer than six characters are not looked for.
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut secrets: Vec<String> = secrets
            .into_iter()
            .map(|secret| secret.trim().to_owned())
            .filter(|secret| secret.chars().count() >= SHORTEST)
            .collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.dedup();
        Self { secrets }
    }

    /// The text for people: printable, without secrets.
    pub fn text(&self, text: &str) -> String {
        // In this order: what a control character tore apart is whole again when it is looked for.
        self.mask(&plain(text)).into_owned()
    }

    /// An entry for other programs: byte for byte what is stored, but for strings that hold a secret.
    ///
    /// # Errors
    /// Never for an entry that was parsed; the type says it because the text is read again.
    pub fn entry(&self, entry: &Entry) -> Result<Entry, EntryError> {
        match self.json(entry.raw()) {
            Cow::Borrowed(_) => Ok(entry.clone()),
            Cow::Owned(text) => Entry::parse(text),
        }
    }

    /// JSON text with the secrets in its strings masked, however they are escaped there.
    pub fn json<'a>(&self, raw: &'a str) -> Cow<'a, str> {
        let mut out = String::new();
        let (mut copied, mut at) = (0, 0);
        while let Some(start) = raw[at..].find('"').map(|quote| at + quote) {
            let end = literal_end(raw, start);
            let literal = &raw[start..end];
            let decoded = match literal.contains('\\') {
                true => decode_string(literal).map(Cow::Owned),
                false => Some(Cow::Borrowed(literal.trim_matches('"'))),
            };
            if let Some(decoded) = decoded
                && let Cow::Owned(masked) = self.mask(&decoded)
            {
                out.push_str(&raw[copied..start]);
                out.push_str(&serde_json::Value::String(masked).to_string());
                copied = end;
            }
            at = end;
        }
        if copied == 0 {
            return Cow::Borrowed(raw);
        }
        out.push_str(&raw[copied..]);
        Cow::Owned(out)
    }

    fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut masked = Cow::Borrowed(text);
        for secret in &self.secrets {
            if masked.contains(secret.as_str()) {
                masked = Cow::Owned(masked.replace(secret.as_str(), MASK));
            }
        }
        match without_tokens(&masked) {
            Some(clean) => Cow::Owned(clean),
            None => masked,
        }
    }
}

/// Behind the literal that begins here; the end of the text where it has none.
fn literal_end(raw: &str, start: usize) -> usize {
    let bytes = raw.as_bytes();
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    raw.len()
}

/// The text with everything that looks like a key of the API masked; nothing where there is none.
fn without_tokens(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = text;
    let mut found = false;
    while let Some(start) = rest.find(TOKEN) {
        let behind = &rest[start + TOKEN.len()..];
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let length = behind.find(|c| !is_part(c)).unwrap_or(behind.len());
        out.push_str(&rest[..start]);
        // The mere beginning is a word that people write about keys.
        if length >= SHORTEST {
            found = true;
            out.push_str(MASK);
        } else {
            out.push_str(&rest[start..start + TOKEN.len() + length]);
        }
        rest = &behind[length..];
    }
    found.then(|| out + rest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tidy() -> Tidy {
        Tidy::new(["canary-1".to_owned(), "canary-12".into(), "a\"b\\c/d".into(), "short".into()])
    }

    #[test]
    fn known_values_and_keys_of_the_api_are_hidden() {
        for (text, expected) in [
            ("x canary-12 canary-1 y", "x *** *** y"),
            ("canary\u{1b}[0m-1", "***"),
            ("sk-ant-api03-abc_DEF.", "***."),
            ("keys begin with sk-ant- or sk-ant-x", "keys begin with sk-ant- or sk-ant-x"),
            ("in short", "in short"),
        ] {
            assert_eq!(tidy().text(text), expected);
        }
    }

    #[test]
    fn in_json_a_secret_is_found_however_it_is_escaped() {
        let json = |raw| tidy().json(raw).into_owned();
        let same = r#"{"a" : ["\ud83d", 1.50, "x\"y"], "u":"\u0041"}"#;
        assert!(matches!(tidy().json(same), Cow::Borrowed(text) if text == same));
        assert_eq!(json(r#"{"k":"\u0063anary-1!","\ud83d":2}"#), r#"{"k":"***!","\ud83d":2}"#);
        assert_eq!(json(r#"["a\"b\\c\/d","a\"b"]"#), r#"["***","a\"b"]"#);
        assert_eq!(json(r#"{"canary-12":1}"#), r#"{"***":1}"#);
    }

    proptest! {
        #[test]
        fn masked_json_stays_json_and_holds_no_secret(before in ".{0,12}", behind in ".{0,12}") {
            let value = serde_json::json!({"a": [format!("{before}canary-1{behind}")], "b": before});
            let raw = value.to_string();
            let masked = tidy().json(&raw).into_owned();
            prop_assert!(!masked.contains("canary-1"));
            prop_assert!(serde_json::from_str::<serde_json::Value>(&masked).is_ok());
        }

        #[test]
        fn broken_json_is_no_reason_to_panic(text in ".{0,40}") {
            let _ = tidy().json(&text);
        }
    }
}
