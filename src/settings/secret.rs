//! Values that must not be shown, and how they are shown all the same.

use crate::language::Language;

use super::warning::printable;

/// Secrets up to this many characters are masked whole: four letters of eight would be half of it.
const SHORT: usize = 8;

/// What stands where nothing may.
const MASK: &str = "***";

/// A value that must not be shown. `Debug` and `Display` mask it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself, for the one place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(MASK)
    }
}

impl std::fmt::Display for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(MASK)
    }
}

/// The first four characters of a long secret and its length; only the length of a short one.
pub fn mask(value: &str, language: Language) -> String {
    let count = value.chars().count();
    let start: String = if count > SHORT { value.chars().take(4).collect() } else { String::new() };
    let count = count.to_string();
    language.text("settings.masked", &[("start", &printable(&start)), ("count", &count)])
}

/// True where the name of a key says that its value is a secret.
pub fn is_secret(key: &str) -> bool {
    const WORDS: [&str; 9] = [
        "TOKEN",
        "KEY",
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "CREDENTIAL",
        "COOKIE",
        "HEADERS",
        "WEBHOOK",
    ];
    let key = key.to_ascii_uppercase();
    key.ends_with("AUTH") || WORDS.iter().any(|word| key.contains(word))
}

/// A value as it may be shown: masked if its key, or the value itself, looks like a secret; user and
/// password of an address masked always.
pub fn show(key: &str, value: &str, language: Language) -> String {
    if value.is_empty() {
        return String::new();
    }
    if is_secret(key) || value.contains("sk-ant-") || value.contains("-----BEGIN") {
        return mask(value, language);
    }
    printable(&without_login(value))
}

/// Replaces what stands between `://` and `@` of every address.
pub fn without_login(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (head, tail) = rest.split_at(at + 3);
        out.push_str(head);
        // A password may hold a slash that should have been escaped, so the last `@` before white space
        // counts, not the first.
        let end = tail.find(char::is_whitespace).unwrap_or(tail.len());
        rest = match tail[..end].rfind('@') {
            Some(login) => {
                out.push_str(MASK);
                &tail[login..]
            }
            None => tail,
        };
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_never_shows_itself() {
        let secret = Secret::new("canary");
        assert_eq!(format!("{secret} {secret:?} {:?}", Some(&secret)), "*** *** Some(***)");
        assert_eq!(secret.expose(), "canary");
    }

    #[test]
    fn a_short_secret_shows_only_its_length() {
        let language = Language::Chinese;
        assert_eq!(mask("12345678", language), "***(共 8 位)");
        assert_eq!(mask("123456789", language), "1234***(共 9 位)");
        assert_eq!(mask("钥匙钥匙钥匙钥匙钥", language), "钥匙钥匙***(共 9 位)");
    }

    #[test]
    fn logins_in_addresses_are_masked() {
        let show = |value| show("HTTPS_PROXY", value, Language::English);
        assert_eq!(show("http://u:p@h:1/x"), "http://***@h:1/x");
        assert_eq!(show("http://u:p/q@h:1"), "http://***@h:1");
        assert_eq!(show("http://h/a http://u@i"), "http://h/a http://***@i");
        assert!(!show("x # sk-ant-api-canary").contains("canary"));
    }
}
