//! Framing: from bytes to server-sent events. The watchdog looks at bytes, so comments and pings are life.

use std::time::Duration;

use bytes::Bytes;
use eventsource_stream::{EventStreamError, Eventsource};
use futures_util::stream::{Stream, StreamExt, unfold};

use super::error::{Failure, WireError};

/// A reply that is longer than this is a fault of the server; it would only fill the memory.
pub(super) const LONGEST_REPLY: usize = 256 * 1024 * 1024;

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Its name; `message` where the server gave none.
    pub event: String,
    /// Its data, lines joined by newlines.
    pub data: String,
}

/// Cuts a body into events. Where nothing at all comes for `idle_limit`, the stream ends with
/// [`Failure::Timeout`]; a broken body with [`Failure::Network`].
pub fn frames<S, E>(
    body: S,
    idle_limit: Duration,
) -> impl Stream<Item = Result<Frame, WireError>> + Send
where
    S: Stream<Item = Result<Bytes, E>> + Send + 'static,
    E: std::fmt::Display + Send + 'static,
{
    watch(body, idle_limit).eventsource().map(|event| match event {
        Ok(event) => Ok(Frame { event: event.event, data: event.data }),
        Err(EventStreamError::Transport(error)) => Err(error),
        Err(EventStreamError::Utf8(_)) => Err(WireError::new(
            Failure::Protocol,
            "the model endpoint sent a stream that is not UTF-8",
        )),
        Err(EventStreamError::Parser(_)) => Err(WireError::new(
            Failure::Protocol,
            "the model endpoint sent a stream that is not made of events",
        )),
    })
}

/// The same bytes, guarded; after an error nothing more comes.
fn watch<S, E>(body: S, idle_limit: Duration) -> impl Stream<Item = Result<Bytes, WireError>> + Send
where
    S: Stream<Item = Result<Bytes, E>> + Send + 'static,
    E: std::fmt::Display + Send + 'static,
{
    let start = Some((Box::pin(body), 0usize));
    Box::pin(unfold(start, move |state| async move {
        let (mut body, seen) = state?;
        match tokio::time::timeout(idle_limit, body.next()).await {
            Ok(None) => None,
            Ok(Some(Ok(bytes))) => {
                let seen = seen + bytes.len();
                if seen > LONGEST_REPLY {
                    return Some((Err(endless()), None));
                }
                Some((Ok(bytes), Some((body, seen))))
            }
            Ok(Some(Err(error))) => Some((Err(lost(&error.to_string())), None)),
            Err(_) => Some((Err(silent(idle_limit)), None)),
        }
    }))
}

/// The connection broke before the reply was whole.
pub(super) fn lost(reason: &str) -> WireError {
    WireError::new(
        Failure::Network,
        format!("the connection to the model endpoint was lost in the middle of a reply: {reason}"),
    )
}

pub(super) fn endless() -> WireError {
    WireError::new(Failure::Protocol, "the model endpoint sent a reply without an end")
}

fn silent(limit: Duration) -> WireError {
    WireError::new(
        Failure::Timeout,
        format!("the model endpoint fell silent in the middle of a reply: nothing for {limit:?}"),
    )
}

#[cfg(test)]
mod tests {
    use futures_util::stream::iter;

    use super::*;

    type Item = Result<Bytes, std::io::Error>;

    async fn read(chunks: Vec<Vec<u8>>) -> Vec<Result<Frame, WireError>> {
        let items: Vec<Item> = chunks.into_iter().map(|chunk| Ok(Bytes::from(chunk))).collect();
        Box::pin(frames(iter(items), Duration::from_secs(5))).collect().await
    }

    fn frame(event: &str, data: &str) -> Result<Frame, WireError> {
        Ok(Frame { event: event.into(), data: data.into() })
    }

    #[tokio::test]
    async fn events_are_found_wherever_the_bytes_are_cut() {
        let text = ": hello\nevent: a\ndata: {\"x\":\"ü😀\"}\n\ndata: 1\r\ndata: 2\r\n\r\n";
        let want = vec![frame("a", "{\"x\":\"ü😀\"}"), frame("message", "1\n2")];
        assert_eq!(read(vec![text.into()]).await, want);
        let bytes = text.bytes().map(|byte| vec![byte]).collect();
        assert_eq!(read(bytes).await, want);
    }

    #[tokio::test]
    async fn a_broken_body_is_a_lost_network() {
        let items: Vec<Item> =
            vec![Ok(Bytes::from("data: 1\n\n")), Err(std::io::Error::other("reset"))];
        let got: Vec<_> = Box::pin(frames(iter(items), Duration::from_secs(5))).collect().await;
        assert_eq!(got[0], frame("message", "1"));
        assert_eq!(got[1].as_ref().unwrap_err().failure, Failure::Network);
        assert_eq!(got.len(), 2);
    }

    #[tokio::test]
    async fn comments_are_life_and_silence_is_not() {
        const LIMIT: Duration = Duration::from_millis(500);
        let comments = unfold(0, |count| async move {
            if count == 15 {
                std::future::pending::<()>().await;
            }
            tokio::time::sleep(LIMIT / 10).await;
            Some((Ok::<_, std::io::Error>(Bytes::from(": still here\n")), count + 1))
        });
        let start = std::time::Instant::now();
        let got: Vec<_> = Box::pin(frames(comments, LIMIT)).collect().await;
        assert_eq!(got.len(), 1);
        assert_eq!(got[0].as_ref().unwrap_err().failure, Failure::Timeout);
        assert!(start.elapsed() >= LIMIT * 2, "{:?}", start.elapsed());
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_panic(chunks: Vec<Vec<u8>>) {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            runtime.block_on(read(chunks));
        }
    }
}
