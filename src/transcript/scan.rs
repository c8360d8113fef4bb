//! One strict pass over JSON text: finds where things stand without building anything.

use std::ops::Range;

/// A place in an entry's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// From one byte to before another.
    pub fn new(start: usize, end: usize) -> Self {
        // Texts of four gigabytes and more are refused before anything is scanned.
        let small = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Self { start: small(start), end: small(end) }
    }

    /// The first byte.
    pub fn start(self) -> usize {
        self.start as usize
    }

    /// One past the last byte.
    pub fn end(self) -> usize {
        self.end as usize
    }

    /// How many bytes.
    pub fn len(self) -> usize {
        self.end().saturating_sub(self.start())
    }

    /// True where nothing stands there: what was looked for is missing.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// For slicing.
    pub fn range(self) -> Range<usize> {
        self.start()..self.end()
    }
}

/// Where the text is not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed {
    pub(super) at: usize,
}

type Scan<T> = Result<T, Malformed>;

/// Reads a text from front to back.
pub(super) struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    /// Half of a surrogate pair was passed.
    pub(super) half: bool,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text: text.as_bytes(), at: 0, half: false }
    }

    /// The next byte that is not space, which is not passed.
    pub(super) fn peek(&mut self) -> Scan<u8> {
        while let Some(byte) = self.text.get(self.at) {
            match byte {
                b' ' | b'\n' | b'\r' | b'\t' => self.at += 1,
                byte => return Ok(*byte),
            }
        }
        self.fail()
    }

    /// Nothing but space is left.
    pub(super) fn end(&mut self) -> Scan<()> {
        match self.peek() {
            Ok(_) => self.fail(),
            Err(_) => Ok(()),
        }
    }

    /// An object; `field` is given each key's literal and must pass the value.
    pub(super) fn object(
        &mut self,
        mut field: impl FnMut(&mut Self, Span) -> Scan<()>,
    ) -> Scan<Span> {
        let start = self.take(b'{')?;
        if self.peek()? == b'}' {
            self.at += 1;
            return Ok(Span::new(start, self.at));
        }
        loop {
            let key = self.string()?;
            self.take(b':')?;
            field(self, key)?;
            if self.goes_on(b'}')? {
                return Ok(Span::new(start, self.at));
            }
        }
    }

    /// An array; `item` must pass one value.
    pub(super) fn array(&mut self, mut item: impl FnMut(&mut Self) -> Scan<()>) -> Scan<Span> {
        let start = self.take(b'[')?;
        if self.peek()? == b']' {
            self.at += 1;
            return Ok(Span::new(start, self.at));
        }
        loop {
            item(self)?;
            if self.goes_on(b']')? {
                return Ok(Span::new(start, self.at));
            }
        }
    }

    /// True at the end of a list, false behind a comma.
    fn goes_on(&mut self, close: u8) -> Scan<bool> {
        match self.peek()? {
            b',' => {
                self.at += 1;
                Ok(false)
            }
            byte if byte == close => {
                self.at += 1;
                Ok(true)
            }
            _ => self.fail(),
        }
    }

    /// Any value. Deep nesting needs no stack.
    pub(super) fn value(&mut self) -> Scan<Span> {
        self.peek()?;
        let start = self.at;
        let mut open = Vec::new();
        loop {
            let closed = match self.peek()? {
                b'{' => {
                    self.at += 1;
                    if self.peek()? == b'}' {
                        self.at += 1;
                        true
                    } else {
                        self.string()?;
                        self.take(b':')?;
                        open.push(b'}');
                        false
                    }
                }
                b'[' => {
                    self.at += 1;
                    if self.peek()? == b']' {
                        self.at += 1;
                        true
                    } else {
                        open.push(b']');
                        false
                    }
                }
                b'"' => self.string().map(|_| true)?,
                b't' => self.word(b"true")?,
                b'f' => self.word(b"false")?,
                b'n' => self.word(b"null")?,
                _ => self.number()?,
            };
            if !closed {
                continue;
            }
            while let Some(close) = open.last().copied() {
                if !self.goes_on(close)? {
                    if close == b'}' {
                        self.string()?;
                        self.take(b':')?;
                    }
                    break;
                }
                open.pop();
            }
            if open.is_empty() {
                return Ok(Span::new(start, self.at));
            }
        }
    }

    /// A string's literal, with its quotes.
    pub(super) fn string(&mut self) -> Scan<Span> {
        let start = self.take(b'"')?;
        // The first half of a pair that the next escape may complete.
        let mut high = false;
        loop {
            let from = self.at;
            self.at = plain(self.text, self.at);
            if high && self.at != from {
                (high, self.half) = (false, true);
            }
            match self.text.get(self.at) {
                Some(b'"') => {
                    self.half |= high;
                    self.at += 1;
                    return Ok(Span::new(start, self.at));
                }
                Some(b'\\') => match self.text.get(self.at + 1) {
                    Some(b'u') => {
                        let unit = self.unit()?;
                        let low = (0xDC00..=0xDFFF).contains(&unit);
                        self.half |= high != low;
                        high = (0xD800..=0xDBFF).contains(&unit);
                        self.at += 6;
                    }
                    Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                        self.half |= std::mem::take(&mut high);
                        self.at += 2;
                    }
                    _ => return self.fail(),
                },
                _ => return self.fail(),
            }
        }
    }

    /// The four digits behind `\u`.
    fn unit(&self) -> Scan<u32> {
        let digits = self.text.get(self.at + 2..self.at + 6).unwrap_or_default();
        let value = digits.iter().try_fold(0, |value, digit| {
            char::from(*digit).to_digit(16).map(|digit| value * 16 + digit)
        });
        value.filter(|_| digits.len() == 4).ok_or(Malformed { at: self.at })
    }

    fn take(&mut self, byte: u8) -> Scan<usize> {
        if self.peek()? != byte {
            return self.fail();
        }
        self.at += 1;
        Ok(self.at - 1)
    }

    fn word(&mut self, word: &[u8]) -> Scan<bool> {
        if self.text[self.at..].starts_with(word) {
            self.at += word.len();
            Ok(true)
        } else {
            self.fail()
        }
    }

    fn number(&mut self) -> Scan<bool> {
        self.skip(b"-");
        if !self.skip(b"0") {
            self.digits()?;
        }
        if self.skip(b".") {
            self.digits()?;
        }
        if self.skip(b"eE") {
            self.skip(b"+-");
            self.digits()?;
        }
        Ok(true)
    }

    fn skip(&mut self, any: &[u8]) -> bool {
        let there = self.text.get(self.at).is_some_and(|byte| any.contains(byte));
        self.at += usize::from(there);
        there
    }

    fn digits(&mut self) -> Scan<()> {
        let start = self.at;
        while self.text.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        if self.at == start { self.fail() } else { Ok(()) }
    }

    fn fail<T>(&self) -> Scan<T> {
        Err(Malformed { at: self.at })
    }
}

/// The next byte from `at` on that means something in a string: quote, backslash, control character.
///
/// Most bytes of a transcript are plain text in strings, so they are looked at eight at a time.
fn plain(text: &[u8], mut at: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGHS;
    while let Some(eight) = text.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()) {
        let word = u64::from_le_bytes(eight);
        // The lowest mark is exact; a carry can only make false ones above it.
        let marks = zero(word ^ (ONES * u64::from(b'"')))
            | zero(word ^ (ONES * u64::from(b'\\')))
            | (word.wrapping_sub(ONES * 0x20) & !word & HIGHS);
        if marks != 0 {
            return at + (marks.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    let special = |byte: &u8| *byte == b'"' || *byte == b'\\' || *byte < 0x20;
    let rest = text.get(at..).unwrap_or_default();
    at + rest.iter().position(special).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn whole(text: &str) -> Scan<bool> {
        let mut scanner = Scanner::new(text);
        scanner.value()?;
        scanner.end()?;
        Ok(scanner.half)
    }

    #[test]
    fn what_json_is_and_is_not() {
        for good in [
            "null",
            " [1, -0.5e+3 ,\"a\\u00e9\\n\"] ",
            "{}",
            "[]",
            "{\"a\":{\"b\":[[],{}]},\"c\":0}",
            "\"0123456789 plain text of some length \\\\\"",
        ] {
            assert_eq!(whole(good), Ok(false), "{good}");
        }
        for bad in [
            "",
            "nul",
            "[1,]",
            "{\"a\"}",
            "{\"a\":1,}",
            "{,}",
            "\"a",
            "\"\\q\"",
            "\"\\u12g4\"",
            "01",
            "1.",
            "-",
            "1e",
            "\"a\nb\"",
            "[1}",
            "1 2",
            "{\"a\":1]",
            "\"12345678\u{1}\"",
            "]",
            "\"\\u12",
        ] {
            assert!(whole(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn halves_of_pairs_are_noticed() {
        for (text, half) in [
            (r#""\ud83d\ude00""#, false),
            (r#""\ud83d""#, true),
            (r#""\ud83d \ude00""#, true),
            (r#""\ude00""#, true),
            (r#""\ud83d\ud83d\ude00""#, true),
            (r#""\ud83d\n""#, true),
            (r#""\\ud83d""#, false),
            (r#"{"\ud83d":1}"#, true),
        ] {
            assert_eq!(whole(text), Ok(half), "{text}");
        }
    }

    #[test]
    fn depth_is_no_danger() {
        let deep = "[".repeat(1_000_000);
        assert!(whole(&deep).is_err());
        let deep = format!("{deep}{}", "]".repeat(1_000_000));
        assert_eq!(whole(&deep), Ok(false));
    }

    proptest! {
        #[test]
        fn it_agrees_with_another_reader(text in "[\\[\\]{}:,\"\\\\ 0-9eE.+\\-a-fnrtu\u{1}é]{0,24}") {
            let theirs = serde_json::from_str::<&serde_json::value::RawValue>(&text).is_ok();
            prop_assert_eq!(whole(&text).is_ok(), theirs);
        }

        #[test]
        fn what_another_writer_wrote_is_read(text in ".{0,40}", number: f64) {
            let json = serde_json::json!({ text.clone(): [number, text.as_str(), null, true] });
            prop_assert_eq!(whole(&json.to_string()), Ok(false));
        }
    }
}
