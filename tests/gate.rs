//! The gate over real sockets: bytes of a stream, breakage, refusals, the log.
#![allow(clippy::unwrap_used)] // Also in what the tests share, which the lint takes for more than a test.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use flower::gate::{Cassette, Gate, GateError, GateOptions, Running};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

async fn gate(rules: &str) -> Running {
    start(rules, None).await
}

async fn start(rules: &str, log: Option<std::path::PathBuf>) -> Running {
    let text = format!(
        "format: flower-cassette/1\ndefaults: {{model: demo-1, usage: {{input_tokens: 9, output_tokens: 4}}}}\nrules:\n{rules}"
    );
    let cassette = Cassette::parse(&text).unwrap();
    let listen = "127.0.0.1:0".parse().unwrap();
    Gate::start(GateOptions { listen, cassette, log }).await.unwrap()
}

fn body(stream: bool) -> Value {
    json!({"model": "m", "max_tokens": 10, "stream": stream,
        "messages": [{"role": "user", "content": "hi"}]})
}

/// Sends raw bytes and reads until the end; what was read, and how it ended.
async fn exchange(gate: &Running, request: &[u8]) -> (String, Option<ErrorKind>) {
    let mut socket = TcpStream::connect(gate.address()).await.unwrap();
    socket.write_all(request).await.unwrap();
    let mut bytes = Vec::new();
    let end = socket.read_to_end(&mut bytes).await.err().map(|error| error.kind());
    (String::from_utf8(bytes).unwrap(), end)
}

fn post(path: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nhost: gate\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

async fn ask(gate: &Running, stream: bool) -> (String, Option<ErrorKind>) {
    exchange(gate, &post("/v1/messages?beta=true", "", &body(stream).to_string())).await
}

/// Head and body, with chunked framing taken off.
fn parts(answer: &str) -> (String, String) {
    let (head, mut rest) = answer.split_once("\r\n\r\n").unwrap();
    if !head.contains("transfer-encoding: chunked") {
        return (head.to_owned(), rest.to_owned());
    }
    let mut body = String::new();
    while let Some((length, after)) = rest.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).unwrap();
        if length == 0 || after.len() < length {
            break;
        }
        body.push_str(&after[..length]);
        rest = after[length..].strip_prefix("\r\n").unwrap_or_default();
    }
    (head.to_owned(), body)
}

#[tokio::test]
async fn a_stream_has_every_event_of_the_messages_api() {
    let gate = gate(
        "  - {name: a, reply: {thinking: Hm., text: Hello there from here, tools: [{name: Bash, input: {command: ls -l /}}]}}\n",
    )
    .await;
    let (answer, end) = ask(&gate, true).await;
    assert_eq!(end, None);
    let (head, body) = parts(&answer);
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    assert!(head.contains("content-type: text/event-stream") && head.contains("request-id: req_"));
    insta::assert_snapshot!(body);
}

#[tokio::test]
async fn without_stream_the_answer_is_one_json_text() {
    let gate = gate("  - {name: a, reply: {text: Hello}}\n").await;
    let (head, body) = parts(&ask(&gate, false).await.0);
    assert!(head.contains("content-type: application/json") && head.contains("content-length"));
    let message: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(message["content"], json!([{"type": "text", "text": "Hello"}]));
    assert_eq!(message["stop_reason"], "end_turn");
    assert_eq!(message["model"], "demo-1");
    assert_eq!(message["usage"]["cache_read_input_tokens"], 0);
}

#[tokio::test]
async fn a_reset_is_a_reset_at_each_of_the_three_places() {
    let gate = gate(
        "  - {name: before, reset: before}
  - {name: headers, reset: headers, reply: {text: Hello}}
  - {name: mid, reset: mid, reply: {text: Hello}}
",
    )
    .await;
    let (answer, end) = ask(&gate, true).await;
    assert_eq!((answer.as_str(), end), ("", Some(ErrorKind::ConnectionReset)));
    let (answer, end) = ask(&gate, true).await;
    assert_eq!(end, Some(ErrorKind::ConnectionReset));
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("\r\n\r\n"), "{answer}");
    let (answer, end) = ask(&gate, true).await;
    assert_eq!(end, Some(ErrorKind::ConnectionReset));
    let body = parts(&answer).1;
    assert!(body.contains("message_start") && !body.contains("message_stop"), "{body}");
    assert!(gate.failures().is_empty());
}

#[tokio::test]
async fn delay_and_stall_take_their_time_and_pings_fill_it() {
    let gate = gate(
        "  - {name: slow, delay_ms: 60, reply: {text: Hello}}
  - {name: stalls, stall_ms: 100, ping_every_ms: 30, reply: {text: Hello}}
",
    )
    .await;
    let begun = Instant::now();
    ask(&gate, false).await;
    assert!(begun.elapsed() >= Duration::from_millis(60));
    let begun = Instant::now();
    let body = parts(&ask(&gate, true).await.0).1;
    assert!(begun.elapsed() >= Duration::from_millis(100));
    // One is part of every stream.
    assert_eq!(body.matches("event: ping").count(), 1 + 3, "{body}");
    assert!(body.ends_with("data: {\"type\":\"message_stop\"}\n\n"));
}

#[tokio::test]
async fn an_error_event_ends_a_stream_and_is_an_http_error_without_one() {
    let gate = gate(
        "  - {name: a, times: 2, reply: {text: Hello}, sse_error: {type: overloaded_error, message: Overloaded}}\n",
    )
    .await;
    let body = parts(&ask(&gate, true).await.0).1;
    let (_, last) = body.trim_end().rsplit_once("event: error\ndata: ").unwrap();
    let error: Value = serde_json::from_str(last).unwrap();
    assert_eq!(error["error"], json!({"type": "overloaded_error", "message": "Overloaded"}));
    assert!(body.contains("message_start") && !body.contains("message_stop"));
    assert!(ask(&gate, false).await.0.starts_with("HTTP/1.1 529"));
}

#[tokio::test]
async fn an_error_has_its_status_type_and_headers() {
    let gate = gate(
        "  - {name: a, error: {status: 529, type: overloaded_error, message: Overloaded, headers: {retry-after: \"1\"}}}\n",
    )
    .await;
    let (head, body) = parts(&ask(&gate, true).await.0);
    assert!(head.starts_with("HTTP/1.1 529") && head.contains("retry-after: 1"), "{head}");
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["error"], json!({"type": "overloaded_error", "message": "Overloaded"}));
}

#[tokio::test]
async fn raw_chunks_come_as_they_were_written() {
    let gate = gate(
        "  - {name: a, reply: {chunks: [{bytes: \"event: x\\n\"}, {after_ms: 40, bytes: \"data: 1\\n\\n\"}, {base64: Zm9v}]}}\n",
    )
    .await;
    let begun = Instant::now();
    let (answer, _) = ask(&gate, true).await;
    assert!(begun.elapsed() >= Duration::from_millis(40));
    assert_eq!(parts(&answer).1, "event: x\ndata: 1\n\nfoo");
}

#[tokio::test]
async fn a_request_that_no_rule_matches_fails_loudly() {
    let gate = gate("  - {name: a, match: {turn: 5}, reply: {text: x}}\n").await;
    let (head, body) = parts(&ask(&gate, true).await.0);
    assert!(head.starts_with("HTTP/1.1 403") && head.contains("x-should-retry: false"), "{head}");
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["error"]["type"], "permission_error");
    let message = body["error"]["message"].as_str().unwrap();
    assert!(message.contains("rule 1 \"a\"") && message.contains("its turn is 5"), "{message}");
    assert_eq!(gate.failures(), [message]);
    assert_eq!(gate.unused_rules(), ["a"]);
}

#[tokio::test]
async fn the_log_has_every_request_and_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("gate.jsonl");
    let gate = start("  - {name: a, reply: {text: x}}\n", Some(log.clone())).await;
    let secrets = "authorization: Bearer canary\r\nx-api-key: canary\r\ncookie: a=canary\r\nx-flower-step: work#round2\r\n";
    exchange(&gate, &post("/v1/messages?api_key=canary", secrets, &body(true).to_string())).await;
    exchange(&gate, &post("/v1/messages", "", &body(true).to_string())).await;
    exchange(&gate, &post("/v1/messages", "", "not json")).await;
    exchange(&gate, b"HEAD / HTTP/1.1\r\nhost: gate\r\nconnection: close\r\n\r\n").await;
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(!text.contains("canary"), "{text}");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let seen: Vec<_> = lines.iter().map(|line| (line["status"].as_u64(), &line["rule"])).collect();
    let a = json!("a");
    let null = Value::Null;
    assert_eq!(seen, [(Some(200), &a), (Some(403), &null), (Some(400), &null), (Some(200), &null)]);
    assert_eq!(lines[0]["headers"]["x-flower-step"], "work#round2");
    assert_eq!(lines[0]["headers"]["x-api-key"], "***");
    assert_eq!(lines[0]["body"], body(true));
    assert_eq!(lines[2]["body"], "not json");
    assert_eq!(lines[3]["method"], "HEAD");
    assert_eq!(gate.failures().len(), 1);
}

#[tokio::test]
async fn a_port_in_use_is_one_clear_sentence_and_a_stopped_gate_frees_it() {
    let first = gate("  - {name: a, stall_ms: 3600000, reply: {text: x}}\n").await;
    let listen = first.address();
    let cassette = first_rule_resets();
    let options = |cassette| GateOptions { listen, cassette, log: None };
    let error = Gate::start(options(cassette.clone())).await.unwrap_err();
    assert!(matches!(error, GateError::InUse(_)), "{error}");
    assert!(!error.to_string().contains('\n'));
    // A stream that would go on for an hour does not hold up the end.
    let mut open = TcpStream::connect(listen).await.unwrap();
    open.write_all(&post("/v1/messages", "", &body(true).to_string())).await.unwrap();
    let mut start = [0; 12];
    open.read_exact(&mut start).await.unwrap();
    first.stop().await;
    Gate::start(options(cassette)).await.unwrap().stop().await;
}

fn first_rule_resets() -> Cassette {
    Cassette::parse("format: flower-cassette/1\nrules: [{name: a, reset: before}]").unwrap()
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused() {
    let gate = gate("  - {name: a, reply: {text: x}}\n").await;
    let large =
        format!("POST /v1/messages HTTP/1.1\r\nhost: gate\r\ncontent-length: {}\r\n\r\n", 70 << 20);
    let mut socket = TcpStream::connect(gate.address()).await.unwrap();
    socket.write_all(large.as_bytes()).await.unwrap();
    let piece = vec![b' '; 1 << 20];
    // The gate may close before all has been sent.
    for _ in 0..66 {
        if socket.write_all(&piece).await.is_err() {
            break;
        }
    }
    let mut start = [0; 12];
    socket.read_exact(&mut start).await.unwrap();
    assert_eq!(&start, b"HTTP/1.1 413");
}

#[tokio::test]
async fn the_example_cassette_is_valid() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/cassette/basic.yaml");
    let cassette = Cassette::load(path.as_ref()).unwrap();
    assert_eq!(cassette.rules.len(), 4);
}
