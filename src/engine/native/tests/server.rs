//! A server of the Messages API on loopback: answers in order, keeps the requests.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use http_body_util::{BodyExt, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

/// What the server does with one request.
#[derive(Clone)]
pub(super) enum Answer {
    /// A stream of these bytes, then its end.
    Events(String),
    /// The same, once so many requests are waiting.
    Together(usize, String),
    /// These bytes, then a broken connection.
    Reset(String),
    /// These bytes, then nothing.
    Stall(String),
    /// Not even headers.
    Silence,
    /// An error in one piece.
    Error(u16, String),
}

impl Answer {
    pub(super) fn blocks(blocks: &[Value]) -> Self {
        Self::Events(whole(blocks))
    }

    pub(super) fn error(status: u16, kind: &str, message: &str) -> Self {
        let body = json!({"type": "error", "error": {"type": kind, "message": message}});
        Self::Error(status, body.to_string())
    }
}

/// A request as it came.
#[derive(Clone)]
pub(super) struct Seen {
    headers: hyper::HeaderMap,
    pub(super) text: String,
    pub(super) body: Value,
}

impl Seen {
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }
}

struct State {
    answers: Mutex<VecDeque<Answer>>,
    seen: Mutex<Vec<Seen>>,
    barrier: Barrier,
}

pub(super) struct Server {
    port: u16,
    state: Arc<State>,
    tasks: JoinSet<()>,
}

impl Server {
    pub(super) async fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let width = answers.iter().find_map(|answer| match answer {
            Answer::Together(count, _) => Some(*count),
            _ => None,
        });
        let state = Arc::new(State {
            answers: Mutex::new(answers.into()),
            seen: Mutex::new(Vec::new()),
            barrier: Barrier::new(width.unwrap_or(1)),
        });
        let mut tasks = JoinSet::new();
        let shared = Arc::clone(&state);
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let shared = Arc::clone(&shared);
                let service = service_fn(move |request| answer(Arc::clone(&shared), request));
                connections.spawn(async move {
                    let connection = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service);
                    let _ = connection.await;
                });
            }
        });
        Self { port, state, tasks }
    }

    pub(super) fn url(&self) -> String {
        format!("http://localhost:{}", self.port)
    }

    pub(super) fn requests(&self) -> Vec<Seen> {
        self.state.seen.lock().unwrap().clone()
    }

    pub(super) async fn stop(mut self) {
        self.tasks.shutdown().await;
    }
}

type Body = UnsyncBoxBody<Bytes, std::io::Error>;

async fn answer(
    state: Arc<State>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let (parts, body) = request.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let body = serde_json::from_str(&text).unwrap();
    assert_eq!(parts.uri.path(), "/v1/messages");
    let next = {
        // Taken together, so that answers and requests keep the same order.
        let mut seen = state.seen.lock().unwrap();
        seen.push(Seen { headers: parts.headers, text, body });
        state.answers.lock().unwrap().pop_front()
    };
    let (text, end) = match next {
        None => (None, Err((403, String::new()))),
        Some(Answer::Error(status, text)) => (None, Err((status, text))),
        Some(Answer::Silence) => std::future::pending().await,
        Some(Answer::Events(text)) => (Some(text), Ok(End::Close)),
        Some(Answer::Together(_, text)) => {
            state.barrier.wait().await;
            (Some(text), Ok(End::Close))
        }
        Some(Answer::Reset(text)) => (Some(text), Ok(End::Break)),
        Some(Answer::Stall(text)) => (Some(text), Ok(End::Stall)),
    };
    let first = text.map(|text| Ok(Frame::data(Bytes::from(text))));
    let (status, kind, rest) = match end {
        Ok(End::Close) => (200, "text/event-stream", stream::empty().boxed()),
        Ok(End::Break) => {
            let broken = stream::once(async {
                // The first part has to be on its way before the connection breaks.
                tokio::time::sleep(Duration::from_millis(50)).await;
                Err(std::io::Error::other("broken"))
            });
            (200, "text/event-stream", broken.boxed())
        }
        Ok(End::Stall) => (200, "text/event-stream", stream::pending().boxed()),
        Err((status, text)) => {
            let whole = stream::iter([Ok(Frame::data(Bytes::from(text)))]);
            (status, "application/json", whole.boxed())
        }
    };
    let body = StreamBody::new(stream::iter(first).chain(rest)).boxed_unsync();
    let response = Response::builder()
        .status(status)
        .header("content-type", kind)
        .header("request-id", "req_1")
        .header("retry-after", "7");
    Ok(response.body(body).unwrap())
}

enum End {
    Close,
    Break,
    Stall,
}

fn event(data: &Value) -> String {
    event_text(data["type"].as_str().unwrap(), &data.to_string())
}

fn event_text(name: &str, data: &str) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

pub(super) fn begin() -> String {
    event(&json!({"type": "message_start", "message": {
        "id": format!("msg_{}", crate::transcript::new_id()), "type": "message", "role": "assistant",
        "model": "demo-1", "content": [], "stop_reason": null,
        "usage": {"input_tokens": 900, "output_tokens": 1},
    }}))
}

pub(super) fn raw_block(index: usize, block: &str) -> String {
    let data =
        format!(r#"{{"type":"content_block_start","index":{index},"content_block":{block}}}"#);
    event_text("content_block_start", &data)
        + &event(&json!({"type": "content_block_stop", "index": index}))
}

pub(super) fn block(index: usize, block: &Value) -> String {
    raw_block(index, &block.to_string())
}

/// A call of the human tool whose input is this text, already escaped once.
pub(super) fn cut_call(index: usize, id: &str, input: &str) -> String {
    let start = json!({"type": "tool_use", "id": id, "name": "mcp__human__ask", "input": {}});
    let start = json!({"type": "content_block_start", "index": index, "content_block": start});
    let delta = format!(
        r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"input_json_delta","partial_json":"{input}"}}}}"#
    );
    event(&start) + &event_text("content_block_delta", &delta)
}

pub(super) fn end(stop_reason: &str) -> String {
    event(&json!({
        "type": "message_delta", "delta": {"stop_reason": stop_reason}, "usage": {"output_tokens": 40},
    })) + &event(&json!({"type": "message_stop"}))
}

pub(super) fn overloaded() -> String {
    event_text(
        "error",
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
    )
}

pub(super) fn whole(blocks: &[Value]) -> String {
    let calls = blocks.iter().any(|block| block["type"] == "tool_use");
    let blocks = blocks.iter().enumerate().map(|(index, value)| block(index, value));
    let blocks: String = blocks.collect();
    begin() + &blocks + &end(if calls { "tool_use" } else { "end_turn" })
}
