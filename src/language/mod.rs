//! Tongue: what flower says to people, by key, in English, Chinese and Russian.
//!
//! One JSON file a language; a test compares them: same keys, same placeholders.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A language that flower speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Language {
    /// English, the default.
    #[default]
    English,
    /// Chinese.
    Chinese,
    /// Russian.
    Russian,
}

type Catalogue = BTreeMap<String, BTreeMap<String, String>>;

static ENGLISH: LazyLock<Catalogue> = LazyLock::new(|| read(include_str!("en.json")));
static CHINESE: LazyLock<Catalogue> = LazyLock::new(|| read(include_str!("zh.json")));
static RUSSIAN: LazyLock<Catalogue> = LazyLock::new(|| read(include_str!("ru.json")));

fn read(text: &str) -> Catalogue {
    // A test reads all three, so a broken file never leaves the workshop.
    serde_json::from_str(text).unwrap_or_default()
}

impl Language {
    /// All of them.
    pub const ALL: [Language; 3] = [Language::English, Language::Chinese, Language::Russian];

    /// `en`, `zh`, `ru`.
    pub fn code(self) -> &'static str {
        match self {
            Language::English => "en",
            Language::Chinese => "zh",
            Language::Russian => "ru",
        }
    }

    /// Reads a code or locale name: `zh`, `zh_CN.UTF-8`, `ru-RU`; nothing for other languages.
    pub fn from_code(code: &str) -> Option<Self> {
        let prefix = code.split(['_', '-', '.', '@']).next().unwrap_or_default();
        Self::ALL.into_iter().find(|language| language.code().eq_ignore_ascii_case(prefix))
    }

    /// The text of `section.key` with `{name}` placeholders filled in.
    ///
    /// A key that is missing comes back as itself, so that a defect is seen and nothing is lost.
    pub fn text(self, key: &str, values: &[(&str, &str)]) -> String {
        let Some(text) = self.find(key) else {
            return key.to_owned();
        };
        fill(text, values)
    }

    fn find(self, key: &str) -> Option<&'static str> {
        let catalogue: &'static Catalogue = match self {
            Language::English => &ENGLISH,
            Language::Chinese => &CHINESE,
            Language::Russian => &RUSSIAN,
        };
        let (section, name) = key.split_once('.')?;
        catalogue.get(section)?.get(name).map(String::as_str)
    }
}

/// Puts values in one pass, so that a value that looks like a placeholder stays as it is.
fn fill(text: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('{') {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let found = rest.find('}').and_then(|end| {
            let (_, value) = values.iter().find(|(name, _)| *name == &rest[1..end])?;
            Some((end, value))
        });
        match found {
            Some((end, value)) => {
                out.push_str(value);
                rest = &rest[end + 1..];
            }
            None => {
                out.push('{');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn placeholders(text: &str) -> BTreeSet<&str> {
        text.split('{')
            .skip(1)
            .filter_map(|part| part.split_once('}').map(|(name, _)| name))
            .collect()
    }

    #[test]
    fn the_catalogues_have_the_same_keys_and_placeholders() {
        let english: Catalogue = serde_json::from_str(include_str!("en.json")).unwrap();
        for other in [include_str!("zh.json"), include_str!("ru.json")] {
            let other: Catalogue = serde_json::from_str(other).unwrap();
            assert_eq!(english.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
            for (section, texts) in &english {
                let theirs = &other[section];
                assert_eq!(
                    texts.keys().collect::<Vec<_>>(),
                    theirs.keys().collect::<Vec<_>>(),
                    "{section}"
                );
                for (key, text) in texts {
                    assert_eq!(placeholders(text), placeholders(&theirs[key]), "{section}.{key}");
                }
            }
        }
    }

    #[test]
    fn placeholders_are_filled_once() {
        assert_eq!(fill("{a} and {b}", &[("a", "{b}"), ("b", "x")]), "{b} and x");
        assert_eq!(fill("{unknown} {", &[]), "{unknown} {");
    }

    #[test]
    fn locale_names_are_understood() {
        assert_eq!(Language::from_code("zh_CN.UTF-8"), Some(Language::Chinese));
        assert_eq!(Language::from_code("C"), None);
    }
}
