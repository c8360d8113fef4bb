//! Images and documents: what the API would refuse, told from their first bytes.

use crate::transcript::RawObject;

/// The largest side of an image, in pixels.
const LONGEST_SIDE: u32 = 8000;

/// The same where a request has more than one image. The API's own documents speak of more than twenty;
/// reports of refused requests name fewer, so the stricter reading is taken.
const LONGEST_SIDE_OF_MANY: u32 = 2000;

/// The most characters of base64 of one image.
const LARGEST: usize = 5 * 1024 * 1024;

/// The most characters of base64 of one document: a request has 32 MB in all.
const LARGEST_DOCUMENT: usize = 24 * 1024 * 1024;

/// What is wrong with an image or a document.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It cannot be sent; why, in a few words.
    Unusable(String),
    /// It is another kind of image than it says; the right `source`.
    Mislabelled(String),
}

/// Judges the `source` of an image; `many` says that it is not the only one.
pub(super) fn image(source: &str, many: bool) -> Result<(), Fault> {
    let unusable = |why: &str| Err(Fault::Unusable(why.to_owned()));
    let Ok(fields) = RawObject::parse(source) else { return unusable("no source") };
    match fields.string("type").as_deref() {
        Some("base64") => {}
        other => return elsewhere(&fields, other),
    }
    let Some(data) = fields.string("data") else { return unusable("no data") };
    if data.is_empty() {
        return unusable("0 bytes");
    }
    if data.len() > LARGEST {
        return unusable("larger than 5 MB");
    }
    let Some(bytes) = decode(&data) else { return unusable("not base64") };
    let Some((kind, size)) = look(&bytes) else { return unusable(name_of(&bytes)) };
    let Some((width, height)) = size.filter(|(width, height)| *width > 0 && *height > 0) else {
        return unusable("damaged");
    };
    let longest = if many { LONGEST_SIDE_OF_MANY } else { LONGEST_SIDE };
    if width.max(height) > longest {
        return Err(Fault::Unusable(format!("{width}×{height} pixels")));
    }
    if fields.string("media_type").as_deref() == Some(kind) {
        return Ok(());
    }
    let right = format!("\"{kind}\"");
    match crate::transcript::splice_field(source, "media_type", &right) {
        Ok(source) => Err(Fault::Mislabelled(source)),
        Err(_) => unusable("no source"),
    }
}

/// Judges the `source` of a document.
pub(super) fn document(source: &str) -> Result<(), Fault> {
    let unusable = |why: &str| Err(Fault::Unusable(why.to_owned()));
    let Ok(fields) = RawObject::parse(source) else { return unusable("no source") };
    let data = fields.string("data").unwrap_or_default();
    match fields.string("type").as_deref() {
        Some("base64") => {
            if data.len() > LARGEST_DOCUMENT {
                return unusable("too large");
            }
            let is_pdf = fields.string("media_type").as_deref() == Some("application/pdf");
            match decode(&data) {
                _ if data.is_empty() => unusable("0 bytes"),
                Some(bytes) if is_pdf && bytes.starts_with(b"%PDF") => Ok(()),
                Some(_) => unusable("not a PDF"),
                None => unusable("not base64"),
            }
        }
        Some("text") if data.trim().is_empty() => unusable("0 bytes"),
        Some("text") if fields.string("media_type").as_deref() != Some("text/plain") => {
            unusable("not plain text")
        }
        Some("text") => Ok(()),
        Some("content") if fields.get("content").is_some_and(|content| content.len() > 2) => Ok(()),
        other => elsewhere(&fields, other),
    }
}

/// Sources that the API fetches itself.
fn elsewhere(fields: &RawObject<'_>, kind: Option<&str>) -> Result<(), Fault> {
    let string = |name| fields.string(name).unwrap_or_default();
    let is_link = |url: String| url.starts_with("http://") || url.starts_with("https://");
    match kind {
        Some("url") if is_link(string("url")) => Ok(()),
        Some("file") if !string("file_id").is_empty() => Ok(()),
        _ => Err(Fault::Unusable("no source".to_owned())),
    }
}

type Size = Option<(u32, u32)>;

/// The media type, and width and height where they can be found.
fn look(bytes: &[u8]) -> Option<(&'static str, Size)> {
    let number = |at: usize, big: bool, length: usize| {
        let part = bytes.get(at..at + length)?;
        let join = |value: u32, byte: &u8| value << 8 | u32::from(*byte);
        Some(if big { part.iter().fold(0, join) } else { part.iter().rev().fold(0, join) })
    };
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        let header = bytes.get(12..16) == Some(b"IHDR");
        let size = number(16, true, 4).zip(number(20, true, 4)).filter(|_| header);
        Some(("image/png", size))
    } else if bytes.starts_with(b"\xff\xd8\xff") {
        Some(("image/jpeg", jpeg_size(bytes)))
    } else if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
        Some(("image/gif", number(6, false, 2).zip(number(8, false, 2))))
    } else if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        let size = match bytes.get(12..16) {
            Some(b"VP8 ") => number(26, false, 2)
                .zip(number(28, false, 2))
                .map(|(width, height)| (width & 0x3fff, height & 0x3fff)),
            Some(b"VP8L") => {
                number(21, false, 4).map(|bits| ((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
            }
            Some(b"VP8X") => number(24, false, 3)
                .zip(number(27, false, 3))
                .map(|(width, height)| (width + 1, height + 1)),
            _ => None,
        };
        Some(("image/webp", size))
    } else {
        None
    }
}

/// From the frame header, which stands behind segments of any length.
fn jpeg_size(bytes: &[u8]) -> Size {
    let mut at = 2;
    loop {
        while *bytes.get(at)? == 0xff && *bytes.get(at + 1)? == 0xff {
            at += 1;
        }
        let (mark, kind) = (*bytes.get(at)?, *bytes.get(at + 1)?);
        if mark != 0xff {
            return None;
        }
        let pair =
            |at: usize| Some(u32::from(*bytes.get(at)?) << 8 | u32::from(*bytes.get(at + 1)?));
        match kind {
            0x01 | 0xd0..=0xd8 => at += 2,
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                return Some((pair(at + 7)?, pair(at + 5)?));
            }
            _ => at += 2 + pair(at + 2)?.max(2) as usize,
        }
    }
}

/// What people call it, where it is something they send by mistake.
fn name_of(bytes: &[u8]) -> &'static str {
    let text = bytes.get(..64.min(bytes.len())).unwrap_or_default().to_ascii_lowercase();
    let begins = |with: &[u8]| text.trim_ascii_start().starts_with(with);
    match bytes.get(4..8) {
        Some(b"ftyp") => "HEIC or another format that models do not read",
        _ if begins(b"<!doctype") || begins(b"<html") => "a web page, not an image",
        _ if begins(b"<svg") || begins(b"<?xml") => "SVG",
        _ => "not an image",
    }
}

/// Bytes from base64 with padding; nothing where it is not exactly that.
fn decode(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    if !text.len().is_multiple_of(4) || text.len() - digits.len() > 2 {
        return None;
    }
    let mut out = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    let mut bits: u32 = 0;
    for (place, digit) in digits.bytes().enumerate() {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        let spare = match place % 4 {
            0 => continue,
            1 => 4,
            2 => 2,
            _ => 0,
        };
        out.push((bits >> spare & 0xff) as u8);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(kind: &str, bytes: &[u8]) -> String {
        const DIGITS: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut data = String::new();
        for part in bytes.chunks(3) {
            let bits = part.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte))
                << (8 * (3 - part.len()));
            for place in 0..4 {
                let digit = DIGITS[(bits >> (18 - 6 * place) & 63) as usize];
                data.push(if place > part.len() { '=' } else { char::from(digit) });
            }
        }
        format!(r#"{{"type":"base64","media_type":"{kind}","data":"{data}"}}"#)
    }

    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes
    }

    fn why(source: &str, many: bool) -> String {
        match image(source, many) {
            Err(Fault::Unusable(why)) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn sizes_are_read_from_every_format() {
        let jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xc0\0\x11\x08\x00\x14\x00\x1e\x03";
        let gif = b"GIF89a\x1e\0\x14\0";
        let lossy = b"RIFF....WEBPVP8 ....\0\0\0\x9d\x01\x2a\x1e\0\x14\0";
        let lossless = b"RIFF....WEBPVP8L....\x2f\x1d\xc0\x04\x00";
        let extended = b"RIFF....WEBPVP8X....\0\0\0\0\x1d\0\0\x13\0\0";
        for bytes in [jpeg.as_slice(), gif, lossy, lossless, extended, &png(30, 20)] {
            assert_eq!(look(bytes).unwrap().1, Some((30, 20)), "{bytes:?}");
        }
    }

    #[test]
    fn what_the_api_refuses_is_named() {
        assert_eq!(image(&source("image/png", &png(8000, 10)), false), Ok(()));
        assert_eq!(image(&source("image/png", &png(2000, 322)), true), Ok(()));
        assert_eq!(why(&source("image/png", &png(8001, 10)), false), "8001×10 pixels");
        assert_eq!(why(&source("image/png", &png(2162, 322)), true), "2162×322 pixels");
        assert_eq!(
            why(&source("image/png", b"<!DOCTYPE html>"), false),
            "a web page, not an image"
        );
        assert!(why(&source("image/heic", b"\0\0\0\x18ftypheic"), false).starts_with("HEIC"));
        assert_eq!(why(&source("image/png", b""), false), "0 bytes");
        assert_eq!(
            why(&source("image/jpeg", b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01"), false),
            "damaged"
        );
        assert_eq!(
            why(r#"{"type":"base64","media_type":"image/png","data":"a$=="}"#, false),
            "not base64"
        );
        assert_eq!(why(r#"{"type":"url","url":""}"#, false), "no source");
        assert_eq!(why("null", false), "no source");
        assert_eq!(image(r#"{"type":"url","url":"https://x/y.png"}"#, true), Ok(()));
    }

    #[test]
    fn a_wrong_label_is_put_right() {
        let Err(Fault::Mislabelled(right)) = image(&source("image/jpeg", &png(1, 1)), false) else {
            panic!("accepted");
        };
        assert_eq!(image(&right, false), Ok(()));
    }

    #[test]
    fn a_document_is_what_it_says() {
        assert_eq!(document(&source("application/pdf", b"%PDF-1.4")), Ok(()));
        assert!(document(&source("application/pdf", b"hello")).is_err());
        assert!(document(&source("application/pdf", b"")).is_err());
        assert_eq!(document(r#"{"type":"text","media_type":"text/plain","data":"x"}"#), Ok(()));
        assert!(document(r#"{"type":"text","media_type":"text/plain","data":""}"#).is_err());
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(0u8.., 0..64), start in 0usize..6) {
            let starts: [&[u8]; 6] =
                [b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a", b"RIFFxxxxWEBPVP8X", b"\0\0\0\0ftyp"];
            let all = [starts[start], &bytes].concat();
            let _ = image(&source("image/png", &all), true);
        }
    }
}
