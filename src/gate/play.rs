//! Plays an answer: when each byte leaves, and when the connection breaks.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use tokio::sync::Notify;

use super::cassette::Reset;
use super::reply;

/// A body as hyper wants it.
pub(super) type Body = UnsyncBoxBody<Bytes, Infallible>;

/// One thing that happens while a body is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Beat {
    Send(Bytes),
    Wait(Duration),
    /// Breaks the connection; nothing after it is reached.
    Reset,
}

/// A whole answer: how it begins and what happens then.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    /// Before the first byte.
    pub(super) delay: Duration,
    /// Instead of the first byte.
    pub(super) resets_at_once: bool,
    pub(super) beats: Vec<Beat>,
    pub(super) ping: Option<Duration>,
}

/// What disturbs a body in its middle.
#[derive(Debug, Clone, Default)]
pub(super) struct Disturbance {
    pub(super) stall: Option<Duration>,
    pub(super) reset: Option<Reset>,
    /// Sent in place of the second half.
    pub(super) last_words: Option<Bytes>,
}

impl Disturbance {
    /// Puts itself into the middle of `beats`. A lone piece is cut in two, so that there is a middle.
    pub(super) fn disturb(self, mut beats: Vec<Beat>) -> Vec<Beat> {
        if self.reset == Some(Reset::Headers) {
            return vec![Beat::Reset];
        }
        let cuts = self.reset == Some(Reset::Mid);
        if self.stall.is_none() && !cuts && self.last_words.is_none() {
            return beats;
        }
        if let [Beat::Send(bytes)] = beats.as_slice() {
            let mut first = bytes.clone();
            let second = first.split_off(first.len() / 2);
            beats = vec![Beat::Send(first), Beat::Send(second)];
        }
        let rest = beats.split_off(beats.len() / 2);
        beats.extend(self.stall.map(Beat::Wait));
        match (cuts, self.last_words) {
            (false, None) => beats.extend(rest),
            (false, Some(words)) => beats.push(Beat::Send(words)),
            (true, words) => {
                beats.extend(words.map(Beat::Send));
                beats.push(Beat::Reset);
            }
        }
        beats
    }
}

struct Player {
    beats: VecDeque<Beat>,
    ping: Option<Duration>,
    reset: Arc<Notify>,
}

/// The body that plays these beats; a reset is announced to the connection through `reset`.
pub(super) fn body(beats: Vec<Beat>, ping: Option<Duration>, reset: Arc<Notify>) -> Body {
    // A body that is there at once gets a length; anything else is sent in chunks.
    match beats.as_slice() {
        [] => return Full::new(Bytes::new()).boxed_unsync(),
        [Beat::Send(bytes)] => return Full::new(bytes.clone()).boxed_unsync(),
        _ => {}
    }
    let player = Player { beats: beats.into(), ping, reset };
    let frames = stream::unfold(player, |mut player| async move {
        let bytes = player.next().await?;
        Some((bytes, player))
    });
    StreamBody::new(frames.map(|bytes| Ok(Frame::data(bytes)))).boxed_unsync()
}

impl Player {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            match self.beats.pop_front()? {
                Beat::Send(bytes) if bytes.is_empty() => {}
                Beat::Send(bytes) => return Some(bytes),
                Beat::Wait(time) => match self.ping.filter(|ping| *ping < time) {
                    Some(ping) => {
                        tokio::time::sleep(ping).await;
                        self.beats.push_front(Beat::Wait(time - ping));
                        return Some(reply::ping());
                    }
                    None => tokio::time::sleep(time).await,
                },
                Beat::Reset => {
                    // The connection writes out what it has before it looks at this.
                    self.reset.notify_one();
                    std::future::pending::<()>().await;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn send(text: &'static str) -> Beat {
        Beat::Send(Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn what_disturbs_stands_in_the_middle() {
        let stall = Some(Duration::from_millis(5));
        let wait = Beat::Wait(Duration::from_millis(5));
        let four = || vec![send("a"), send("b"), send("c"), send("d")];
        let calm = Disturbance::default().disturb(four());
        assert_eq!(calm, four());
        let stalled = Disturbance { stall, ..Default::default() }.disturb(four());
        assert_eq!(stalled, [send("a"), send("b"), wait.clone(), send("c"), send("d")]);
        let broken =
            Disturbance { stall, reset: Some(Reset::Mid), last_words: None }.disturb(four());
        assert_eq!(broken, [send("a"), send("b"), wait, Beat::Reset]);
        let words = Some(Bytes::from_static(b"!"));
        let failed = Disturbance { last_words: words, ..Default::default() }.disturb(four());
        assert_eq!(failed, [send("a"), send("b"), send("!")]);
    }

    #[test]
    fn a_lone_piece_is_cut_and_headers_leave_nothing() {
        let mid = Disturbance { reset: Some(Reset::Mid), ..Default::default() };
        assert_eq!(mid.disturb(vec![send("abcd")]), [send("ab"), Beat::Reset]);
        let headers = Disturbance { reset: Some(Reset::Headers), ..Default::default() };
        assert_eq!(headers.disturb(vec![send("abcd")]), [Beat::Reset]);
    }

    #[tokio::test]
    async fn a_wait_is_filled_with_pings() {
        let beats = vec![send("a"), Beat::Wait(Duration::from_millis(25)), send("b")];
        let body = body(beats, Some(Duration::from_millis(10)), Arc::new(Notify::new()));
        let bytes = body.collect().await.unwrap().to_bytes();
        let ping = "event: ping\ndata: {\"type\":\"ping\"}\n\n";
        assert_eq!(bytes, format!("a{ping}{ping}b"));
    }
}
