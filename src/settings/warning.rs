//! Something worth telling the person, once: a key of the catalogue and what fills its gaps.

use crate::language::Language;

/// A remark about the settings. It names places and keys, never a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The text's key in the catalogue.
    pub key: &'static str,
    /// What fills the text's placeholders.
    pub values: Vec<(&'static str, String)>,
}

impl Warning {
    /// A warning with its values, made fit for a terminal.
    pub fn new(key: &'static str, values: &[(&'static str, &str)]) -> Self {
        let values = values.iter().map(|(name, value)| (*name, printable(value))).collect();
        Self { key, values }
    }

    /// The sentence.
    pub fn text(&self, language: Language) -> String {
        let values: Vec<(&str, &str)> =
            self.values.iter().map(|(name, value)| (*name, value.as_str())).collect();
        language.text(self.key, &values)
    }
}

/// The text with control characters written out.
///
/// Keys and values come from files of strangers; shown as they are they could draw on the terminal,
/// also by turning the direction of writing.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if c.is_control() || turns {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_written_out() {
        assert_eq!(printable("a\u{1b}[2Jb\n\u{202e}ü 值"), "a\\u{1b}[2Jb\\n\\u{202e}ü 值");
    }
}
