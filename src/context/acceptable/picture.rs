//! What the API demands of pictures: kind, bytes and size.

use serde_json::Value;

use super::{Demand, Findings};

const LONGEST_SIDE: u32 = 8000;
/// Of the base64 text: 5 MiB.
const LONGEST_DATA: usize = 5 * 1024 * 1024;

pub(super) fn check(source: &Value, at: usize, findings: &mut Findings) {
    let kind = source["type"].as_str().unwrap_or_default();
    let text = |name: &str| source[name].as_str().unwrap_or_default();
    match kind {
        "url" => {
            let linked = ["http://", "https://"].iter().any(|start| text("url").starts_with(start));
            findings.demand(linked, Demand::ImageSource, at, "no link");
        }
        "file" => {
            findings.demand(!text("file_id").is_empty(), Demand::ImageSource, at, "no file");
        }
        "base64" => check_data(text("media_type"), text("data"), at, findings),
        other => findings.add(Demand::ImageSource, at, format!("a source of type {other:?}")),
    }
}

fn check_data(media_type: &str, data: &str, at: usize, findings: &mut Findings) {
    let known = ["image/jpeg", "image/png", "image/gif", "image/webp"].contains(&media_type);
    findings.demand(known, Demand::ImageSource, at, media_type);
    findings.demand(data.len() <= LONGEST_DATA, Demand::ImageSize, at, "more than 5 MB");
    let Some(bytes) = decode(data) else {
        return findings.add(Demand::ImageSource, at, "no base64");
    };
    match picture(&bytes) {
        None => findings.add(Demand::ImageBytes, at, "no picture"),
        Some((kind, ..)) if kind != media_type => {
            findings.add(Demand::ImageBytes, at, format!("{kind} given out as {media_type}"));
        }
        Some((_, 0, _) | (_, _, 0)) => findings.add(Demand::ImageBytes, at, "without extent"),
        Some((_, width, height)) => findings.demand(
            width.max(height) <= LONGEST_SIDE,
            Demand::ImageDimensions,
            at,
            &format!("{width}x{height}"),
        ),
    }
}

/// Width and height of a picture that is sent along.
pub(super) fn dimensions_of(source: &Value) -> Option<(u32, u32)> {
    let (_, width, height) = picture(&decode(source["data"].as_str()?)?)?;
    Some((width, height))
}

/// Standard base64 as the API reads it: padded, without white space; nothing where it is broken or empty.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    if text.is_empty() || !text.len().is_multiple_of(4) {
        return None;
    }
    let digits = text.trim_end_matches('=');
    if text.len() - digits.len() > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held) = (0u32, 0);
    for digit in digits.bytes() {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(value)) & 0xffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    Some(bytes)
}

/// Media type, width and height, as far as the head of the file tells them.
fn picture(bytes: &[u8]) -> Option<(&'static str, u32, u32)> {
    let big = |at: usize, length: usize| number(bytes.get(at..at + length)?.iter());
    let little = |at: usize, length: usize| number(bytes.get(at..at + length)?.iter().rev());
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        let header = bytes.get(12..16)? == b"IHDR";
        return header.then_some(("image/png", big(16, 4)?, big(20, 4)?));
    }
    if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
        return Some(("image/gif", little(6, 2)?, little(8, 2)?));
    }
    if bytes.starts_with(b"RIFF") && bytes.get(8..12)? == b"WEBP" {
        let (width, height) = match bytes.get(12..16)? {
            b"VP8 " if bytes.get(23..26)? == b"\x9d\x01\x2a" => {
                (little(26, 2)? & 0x3fff, little(28, 2)? & 0x3fff)
            }
            b"VP8L" if *bytes.get(20)? == 0x2f => {
                let bits = little(21, 4)?;
                ((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1)
            }
            b"VP8X" => (little(24, 3)? + 1, little(27, 3)? + 1),
            _ => return None,
        };
        return Some(("image/webp", width, height));
    }
    if !bytes.starts_with(b"\xff\xd8\xff") {
        return None;
    }
    let mut at = 2;
    loop {
        if *bytes.get(at)? != 0xff {
            return None;
        }
        match *bytes.get(at + 1)? {
            0xff => at += 1,
            0x01 | 0xd0..=0xd8 => at += 2,
            // Start of a frame; the others in this range are tables.
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                return Some(("image/jpeg", big(at + 7, 2)?, big(at + 5, 2)?));
            }
            // The picture itself, or its end, before any frame was announced.
            0xd9 | 0xda => return None,
            _ => at += 2 + usize::try_from(big(at + 2, 2)?).ok()?,
        }
    }
}

fn number<'a>(bytes: impl Iterator<Item = &'a u8>) -> Option<u32> {
    Some(bytes.fold(0, |number, byte| number << 8 | u32::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read_strictly() {
        for (text, want) in [("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYmFy", "foobar")]
        {
            assert_eq!(decode(text).unwrap(), want.as_bytes());
        }
        assert_eq!(decode("+/+/").unwrap(), [0xfb, 0xff, 0xbf]);
        for text in ["", "Zg", "Zm9v\n", "Z===", "Zm=v", "Zm9_"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }

    #[test]
    fn each_kind_tells_its_size() {
        let png = [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(), &[0, 0, 0x1f, 0x41, 0, 0, 0, 10]];
        assert_eq!(picture(&png.concat()), Some(("image/png", 8001, 10)));
        assert_eq!(picture(b"GIF89a\x02\x01\x03\0"), Some(("image/gif", 258, 3)));
        let jpeg = b"\xff\xd8\xff\xe0\0\x04JF\xff\xc2\0\x11\x08\x01\x02\x03\x04";
        assert_eq!(picture(jpeg), Some(("image/jpeg", 0x304, 0x102)));
        let lossy = b"RIFF....WEBPVP8 ........\x9d\x01\x2a\x40\x01\xf0\0";
        assert_eq!(picture(&lossy[..]).map(|(kind, ..)| kind), None);
        let lossy = b"RIFF....WEBPVP8 .......\x9d\x01\x2a\x40\x01\xf0\0";
        assert_eq!(picture(&lossy[..]), Some(("image/webp", 320, 240)));
        let lossless = b"RIFF....WEBPVP8L....\x2f\x3f\x41\x3b\0";
        assert_eq!(picture(&lossless[..]), Some(("image/webp", 320, 238)));
        let extended = b"RIFF....WEBPVP8X........\x3f\x01\0\xef\0\0";
        assert_eq!(picture(&extended[..]), Some(("image/webp", 320, 240)));
    }

    #[test]
    fn what_ends_too_soon_is_no_picture() {
        for bytes in [
            b"\x89PNG\r\n\x1a\n".as_slice(),
            b"<html>",
            b"\xff\xd8\xff\xe0\0\x10JFIF",
            b"\xff\xd8\xff\xd9",
            b"GIF89a",
            b"RIFF....WEBPVP8 ",
            b"....ftypheic",
        ] {
            assert_eq!(picture(bytes), None);
        }
    }
}
