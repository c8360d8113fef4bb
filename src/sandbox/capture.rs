//! What is kept of a stream: its beginning and its end, within a limit.

use std::collections::VecDeque;

use tokio::io::{AsyncRead, AsyncReadExt};

/// Keeps at most `limit` bytes of a stream: the first half and the last half.
#[derive(Debug)]
pub(super) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_limit: usize,
    tail_limit: usize,
    cut: u64,
}

impl Capture {
    pub(super) fn new(limit: usize) -> Self {
        let head_limit = limit / 2;
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            head_limit,
            tail_limit: limit - head_limit,
            cut: 0,
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let room = self.head_limit - self.head.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(self.tail_limit);
        self.tail.drain(..over);
        self.cut += over as u64;
    }

    /// What was kept, and how many bytes are missing behind the first half of the limit.
    pub(super) fn finish(mut self) -> (Vec<u8>, u64) {
        self.head.extend(self.tail);
        (self.head, self.cut)
    }

    /// Reads until the end; a failing read is an end, what came before it stays.
    pub(super) async fn read(&mut self, stream: Option<impl AsyncRead + Unpin>) {
        let Some(mut stream) = stream else { return };
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(count @ 1..) = stream.read(&mut buffer).await {
            self.push(&buffer[..count]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_kept_within_the_limit() {
        let mut capture = Capture::new(5);
        capture.push(b"ab");
        capture.push(b"cde");
        assert_eq!(capture.finish(), (b"abcde".to_vec(), 0));
    }

    #[test]
    fn the_middle_goes_first() {
        let mut capture = Capture::new(4);
        for part in [&b"abc"[..], b"defg", b"h"] {
            capture.push(part);
        }
        assert_eq!(capture.finish(), (b"abgh".to_vec(), 4));
    }

    #[test]
    fn a_limit_of_nothing_keeps_nothing() {
        let mut capture = Capture::new(0);
        capture.push(b"abc");
        assert_eq!(capture.finish(), (Vec::new(), 3));
    }
}
