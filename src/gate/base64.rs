//! Reads base64, in which a cassette keeps bytes that are no text.

/// Standard alphabet, padding optional, white space ignored; nothing where the text is broken.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let compact: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let padding = compact.iter().rev().take_while(|&&byte| byte == b'=').count();
    let digits = &compact[..compact.len() - padding];
    if padding > 2 || digits.len() % 4 == 1 || (padding > 0 && !compact.len().is_multiple_of(4)) {
        return None;
    }
    let mut out = Vec::with_capacity(digits.len() * 3 / 4);
    for group in digits.chunks(4) {
        let mut bits = 0u32;
        for &digit in group {
            bits = bits << 6 | value(digit)?;
        }
        bits <<= 6 * (4 - group.len());
        out.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    Some(out)
}

fn value(digit: u8) -> Option<u32> {
    let value = match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_is_read() {
        for (text, want) in
            [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg", "foob")]
        {
            assert_eq!(decode(text).unwrap(), want.as_bytes());
        }
        assert_eq!(decode("/+8=\n").unwrap(), [0xff, 0xef]);
    }

    #[test]
    fn broken_text_is_nothing() {
        for text in ["A", "A===", "Zg=", "Z g=!", "=Zg="] {
            assert_eq!(decode(text), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in ".*") {
            let _ = decode(&text);
        }
    }
}
