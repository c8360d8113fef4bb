//! What a git index says, without what git remembers about the files on disk.
//!
//! `git status` writes the index anew when only times on disk have changed; that is no change of the
//! repository. Format: gitformat-index(5), versions 2 to 4.

use sha2::{Digest, Sha256};

/// Bytes of an entry before the object's name: times, device, inode, mode, owner, size.
const STAT: usize = 40;
const MODE: std::ops::Range<usize> = 24..28;

/// A hash over mode, object, flags and path of every entry; nothing where the file is not understood.
pub(super) fn meaning(bytes: &[u8]) -> Option<[u8; 32]> {
    // The length of an object's name is not in the file; the wrong one does not come out even.
    [20, 32].into_iter().find_map(|length| entries(bytes, length))
}

fn entries(bytes: &[u8], name_length: usize) -> Option<[u8; 32]> {
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let version = number(4)?;
    if !bytes.starts_with(b"DIRC") || !(2..=4).contains(&version) {
        return None;
    }
    let body = bytes.get(..bytes.len().checked_sub(name_length)?)?;
    let mut hasher = Sha256::new();
    let mut at = 12;
    for _ in 0..number(8)? {
        let entry = body.get(at..)?;
        let flags_at = STAT + name_length;
        let flags = entry.get(flags_at..flags_at + 2)?;
        let extended = flags[0] & 0x40 != 0;
        let path_at = flags_at + if extended { 4 } else { 2 };
        // In version 4 a path begins with how much of the one before it is dropped; that number and the
        // rest stand for the path, as all entries are hashed in order.
        let skipped = if version == 4 { varint_length(entry.get(path_at..)?)? } else { 0 };
        let path = entry.get(path_at + skipped..)?;
        let end = path_at + skipped + path.iter().position(|byte| *byte == 0)?;
        hasher.update(&entry[MODE]);
        hasher.update(&entry[STAT..end + 1]);
        at += if version == 4 { end + 1 } else { (end + 8) & !7 };
    }
    // What follows are extensions, each a name of four letters and a length; all are caches.
    while at < body.len() {
        if !body.get(at..at + 4)?.iter().all(u8::is_ascii_alphabetic) {
            return None;
        }
        at = at.checked_add(8)?.checked_add(number(at + 4)? as usize)?;
    }
    (at == body.len()).then(|| hasher.finalize().into())
}

fn varint_length(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| byte & 0x80 == 0).map(|last| last + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn index(time: u8, mode: u8, path: &str) -> Vec<u8> {
        let mut bytes = b"DIRC\0\0\0\x02\0\0\0\x01".to_vec();
        let mut entry = vec![time; STAT];
        entry[MODE].copy_from_slice(&[0, 0, 0x81, mode]);
        entry.extend([7; 20]);
        entry.extend([0, path.len() as u8]);
        entry.extend(path.as_bytes());
        let padded = (entry.len() + 8) & !7;
        entry.resize(padded, 0);
        bytes.extend(entry);
        bytes.extend(b"TREE\0\0\0\x01x");
        bytes.extend([9; 20]);
        bytes
    }

    #[test]
    fn times_do_not_count_but_modes_and_paths_do() {
        let first = meaning(&index(1, 0xa4, "abc"));
        assert!(first.is_some());
        assert_eq!(first, meaning(&index(2, 0xa4, "abc")));
        assert_ne!(first, meaning(&index(1, 0xed, "abc")));
        assert_ne!(first, meaning(&index(1, 0xa4, "abd")));
    }

    #[test]
    fn what_is_not_understood_has_no_meaning() {
        assert_eq!(meaning(b""), None);
        assert_eq!(meaning(b"DIRC\0\0\0\x09\0\0\0\0"), None);
        let whole = index(1, 1, "abcd");
        assert_eq!(meaning(&whole[..60]), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(tail in proptest::collection::vec(any::<u8>(), 0..200), version in 2_u8..5) {
            let mut bytes = vec![b'D', b'I', b'R', b'C', 0, 0, 0, version, 0, 0, 0, 2];
            bytes.extend(tail);
            let _ = meaning(&bytes);
        }
    }
}
