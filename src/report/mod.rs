//! Hindsight: what stored conversations look like to people, and what is wrong with them.
//!
//! A [`Conversation`] is the readable form of a transcript; terminal, Markdown and HTML are drawn from it.
//! Every text in it went through [`Tidy`], so that nothing drawn holds a secret or a control character.

mod conversation;
mod digest;
mod health;
mod html;
mod markdown;
mod plain;
mod prose;
mod tidy;

pub use conversation::{About, Agent, Call, Conversation, Field, Outcome, Part, Said};
pub use digest::Digest;
pub use health::{Examined, Finding, examine};
pub use html::html;
pub use markdown::markdown;
pub use plain::plain;
pub use tidy::Tidy;

/// The longest text of a tool that a page shows, in characters; what is longer is cut in the middle.
const LONGEST: usize = 16_000;

/// A text of a tool, where it is too long for a page: its beginning, how many characters are left out, and
/// its end.
fn cut(text: &str) -> Option<(&str, usize, &str)> {
    const END: usize = LONGEST / 4;
    let count = text.chars().count();
    if count <= LONGEST {
        return None;
    }
    let place = |index: usize| text.char_indices().nth(index).map_or(text.len(), |(at, _)| at);
    Some((&text[..place(LONGEST - END)], count - LONGEST, &text[place(count - END)..]))
}

/// The notes that these parts begin with. Programs write many at once, which few want to read.
fn notes(parts: &[Part]) -> Vec<(&str, &str)> {
    parts
        .iter()
        .map_while(|part| match &part.said {
            Said::Note(kind, text) => Some((kind.as_str(), text.as_str())),
            _ => None,
        })
        .collect()
}

/// 512 B, 5.4 KB, 12.0 MB.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1000 => format!("{bytes} B"),
        1000..1_000_000 => format!("{}.{} KB", bytes / 1000, bytes % 1000 / 100),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

/// The time of day here, of a time in ISO 8601; what is no time stays as it is.
pub fn clock(time: &str) -> String {
    local(time).map_or_else(|| time.to_owned(), |time| time.strftime("%H:%M:%S").to_string())
}

/// Date and time of day here; what is no time stays as it is.
fn day(time: &str) -> String {
    local(time).map_or_else(|| time.to_owned(), |time| time.strftime("%Y-%m-%d %H:%M").to_string())
}

fn local(time: &str) -> Option<jiff::ZonedDateTime> {
    let time: jiff::Timestamp = time.parse().ok()?;
    Some(time.to_zoned_datetime(jiff::tz::TimeZone::system()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        let sizes = [0, 999, 1000, 5923, 999_999, 1_000_000, 12_345_678].map(size);
        assert_eq!(sizes, ["0 B", "999 B", "1.0 KB", "5.9 KB", "999.9 KB", "1.0 MB", "12.3 MB"]);
    }

    #[test]
    fn a_long_text_keeps_its_ends() {
        assert_eq!(cut(&"é".repeat(LONGEST)), None);
        let text = "é".repeat(LONGEST) + "ab";
        let (start, left_out, end) = cut(&text).unwrap();
        assert_eq!((start.chars().count(), left_out, end.chars().count()), (12_000, 2, 4_000));
        assert!(end.ends_with("ab"));
    }
}
