//! A text to look for, or a `/regex/`.

use regex::Regex;
use serde::Deserialize;

/// Holds for a text that contains it; between slashes it is a regular expression.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub struct Pattern {
    source: String,
    regex: Option<Regex>,
}

impl Pattern {
    /// True where `text` contains it.
    pub fn holds(&self, text: &str) -> bool {
        match &self.regex {
            Some(regex) => regex.is_match(text),
            None => text.contains(&self.source),
        }
    }

    /// As it was written.
    pub fn source(&self) -> &str {
        &self.source
    }
}

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(source: String) -> Result<Self, String> {
        if source.is_empty() {
            return Err("an empty text to look for would hold for anything".to_owned());
        }
        let expression = source.strip_prefix('/').and_then(|rest| rest.strip_suffix('/'));
        let regex = match expression {
            Some("") | None => None,
            Some(expression) => Some(Regex::new(expression).map_err(|error| {
                // The first lines of a syntax error draw the expression; the last one says why.
                let text = error.to_string();
                let why = text.lines().last().unwrap_or_default().trim();
                format!("{source} is not a regular expression ({why})")
            })?),
        };
        Ok(Self { source, regex })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(source: &str) -> Pattern {
        Pattern::try_from(source.to_owned()).unwrap()
    }

    #[test]
    fn plain_text_is_looked_for_as_it_is() {
        assert!(pattern("a.c").holds("xa.cx"));
        assert!(!pattern("a.c").holds("abc"));
    }

    #[test]
    fn slashes_make_a_regular_expression() {
        assert!(pattern("/a.c$/").holds("xabc"));
        assert!(!pattern("/a.c$/").holds("abcx"));
    }

    #[test]
    fn a_lone_slash_and_two_slashes_are_plain_text() {
        assert!(pattern("/").holds("a/b"));
        assert!(!pattern("//").holds("a/b"));
    }

    #[test]
    fn a_broken_expression_and_an_empty_text_are_refused() {
        let error = Pattern::try_from("/(/".to_owned()).unwrap_err();
        assert!(error.contains("unclosed group"), "{error}");
        assert!(!error.contains('\n'), "{error}");
        assert!(Pattern::try_from(String::new()).is_err());
    }
}
