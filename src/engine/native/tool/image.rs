//! Pictures: recognised by their first bytes, handed to the model as a content block.

use serde_json::{Value, json};

/// The largest file that is shown: encoded it is 5 MiB, the most that the Messages API takes.
pub(super) const MAX_BYTES: u64 = 5 * 1024 * 1024 / 4 * 3;

/// The media type of a picture that models can see; nothing for other content.
pub(super) fn media_type(start: &[u8]) -> Option<&'static str> {
    match start {
        [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// The content block of a picture.
pub(super) fn block(media_type: &str, bytes: &[u8]) -> Value {
    json!({
        "type": "image",
        "source": {"type": "base64", "media_type": media_type, "data": encode(bytes)},
    })
}

/// Base64 with padding (RFC 4648, section 4).
fn encode(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= chunk.len() { letter as char } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_standard_hold() {
        let cases = ["", "f", "fo", "foo", "foob", "fooba", "foobar"];
        let encoded = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
        assert_eq!(cases.map(|case| encode(case.as_bytes())), encoded);
        assert_eq!(encode(&[0xfb, 0xff, 0xfe]), "+//+");
    }

    #[test]
    fn pictures_are_known_by_their_first_bytes() {
        assert_eq!(media_type(b"GIF89a.."), Some("image/gif"));
        assert_eq!(media_type(b"RIFF1234WEBPVP8 "), Some("image/webp"));
        assert_eq!(media_type(b"\xff\xd8\xff\xe0"), Some("image/jpeg"));
        assert_eq!(media_type(b"\x89PNG\r\n\x1a\n"), Some("image/png"));
        assert_eq!(media_type(b"RIFF1234WAVE"), None);
        assert_eq!(media_type(b""), None);
    }
}
