//! Which path is answered how, and how a rule becomes an answer.

use std::time::Duration;

use bytes::Bytes;
use hyper::{HeaderMap, Method};
use serde_json::{Value, json};

use super::base64;
use super::cassette::{Chunk, Refusal, Reply, Reset};
use super::play::{Answer, Beat, Disturbance};
use super::reply::{Message, event};
use super::request::Asked;
use super::script::{Kind, Script, Serving};

/// A request whose body has been read.
#[derive(Debug)]
pub(super) struct Question<'a> {
    pub(super) method: &'a Method,
    pub(super) path: &'a str,
    pub(super) headers: &'a HeaderMap,
    pub(super) body: &'a Bytes,
    /// The body as JSON, where it is.
    pub(super) json: Option<&'a Value>,
    /// Goes back in the header `request-id` and in errors.
    pub(super) id: &'a str,
}

/// An answer and what the log says about it.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) answer: Answer,
    /// The rule that served.
    pub(super) rule: Option<String>,
    /// Why none did, where one should have.
    pub(super) failure: Option<String>,
}

/// Answers one request.
pub(super) fn answer(script: &Script, question: &Question) -> Outcome {
    let path = question.path.trim_end_matches('/');
    match (question.method, path) {
        (&Method::POST, "/v1/messages") => message(script, question),
        (&Method::POST, "/v1/messages/count_tokens") => count(script, question),
        (_, "/v1/messages" | "/v1/messages/count_tokens") => {
            refuse(question, 405, "this path is for POST requests")
        }
        (_, "/healthz") => small(json!({"status": "ok"})),
        (_, "/v1/models") => small(models(script)),
        _ => match path.strip_prefix("/v1/models/") {
            Some(id) => small(model(id)),
            None => small(json!({})),
        },
    }
}

/// An error that the gate itself gives.
pub(super) fn refuse(question: &Question, status: u16, message: &str) -> Outcome {
    Outcome { answer: error(question.id, status, None, message), ..Outcome::default() }
}

fn message(script: &Script, question: &Question) -> Outcome {
    let body = match check(question) {
        Ok(body) => body,
        Err(message) => return refuse(question, 400, &message),
    };
    let asked = Asked::read(question.headers, body);
    match script.choose(Kind::Message, &asked) {
        Ok(serving) => Outcome {
            answer: serve(script, &serving, &asked, question.id),
            rule: Some(serving.rule.name.clone()),
            failure: None,
        },
        Err(failure) => {
            // 403 is what no client tries again; a 5xx would be repeated for minutes.
            let mut answer = error(question.id, 403, None, &failure);
            answer.headers.push(("x-should-retry".to_owned(), "false".to_owned()));
            Outcome { answer, rule: None, failure: Some(failure) }
        }
    }
}

fn count(script: &Script, question: &Question) -> Outcome {
    let body = match check(question) {
        Ok(body) => body,
        Err(message) => return refuse(question, 400, &message),
    };
    let asked = Asked::read(question.headers, body);
    match script.choose(Kind::Count, &asked) {
        Ok(serving) => {
            let body = json!({"input_tokens": serving.rule.count_tokens});
            let beats = vec![Beat::Send(Bytes::from(body.to_string()))];
            let answer = paced(&serving, question.id, begin(200, question.id, false), beats);
            Outcome { answer, rule: Some(serving.rule.name.clone()), failure: None }
        }
        // Four bytes are about one token.
        Err(_) => small(json!({"input_tokens": question.body.len().div_ceil(4)})),
    }
}

/// The least that a request must have to be one.
fn check<'a>(question: &Question<'a>) -> Result<&'a Value, String> {
    let body = question.json.ok_or("the request body is not valid JSON")?;
    if !body.is_object() {
        return Err("the request body is not an object".to_owned());
    }
    if !body["model"].is_string() {
        return Err("model: field required".to_owned());
    }
    match body["messages"].as_array() {
        None => Err("messages: field required".to_owned()),
        Some(messages) if messages.is_empty() => {
            Err("messages: at least one message is required".to_owned())
        }
        Some(_) => Ok(body),
    }
}

fn serve(script: &Script, serving: &Serving, asked: &Asked, id: &str) -> Answer {
    let rule = serving.rule;
    let stream = asked.conversation.stream;
    if let Some(refusal) = &rule.error {
        let answer = refusal_answer(refusal, id);
        let beats = answer.beats.clone();
        return paced(serving, id, answer, beats);
    }
    if let (Some(failure), false) = (&rule.sse_error, stream) {
        let answer = error(id, status_of(&failure.kind), Some(&failure.kind), &failure.message);
        let beats = answer.beats.clone();
        return paced(serving, id, answer, beats);
    }
    let beats = rule.reply.as_ref().map(|reply| beats(script, serving, reply, asked));
    paced(serving, id, begin(200, id, stream), beats.unwrap_or_default())
}

fn beats(script: &Script, serving: &Serving, reply: &Reply, asked: &Asked) -> Vec<Beat> {
    if !reply.chunks.is_empty() {
        return reply.chunks.iter().flat_map(chunk).collect();
    }
    let defaults = &script.cassette().defaults;
    let message = Message::of(serving, reply, asked, (&defaults.model, defaults.usage));
    match asked.conversation.stream {
        true => message.to_events().into_iter().map(Beat::Send).collect(),
        false => vec![Beat::Send(message.to_json())],
    }
}

fn chunk(chunk: &Chunk) -> Vec<Beat> {
    let decoded = chunk.base64.as_deref().and_then(base64::decode);
    let bytes = match (&chunk.bytes, decoded) {
        (Some(text), _) => Bytes::from(text.clone()),
        (None, decoded) => Bytes::from(decoded.unwrap_or_default()),
    };
    let wait = (chunk.after_ms > 0).then(|| Beat::Wait(Duration::from_millis(chunk.after_ms)));
    wait.into_iter().chain([Beat::Send(bytes)]).collect()
}

/// Adds what a rule says about time and breakage.
fn paced(serving: &Serving, id: &str, mut answer: Answer, beats: Vec<Beat>) -> Answer {
    let rule = serving.rule;
    let streams = answer.headers.iter().any(|(_, value)| value.starts_with("text/event-stream"));
    let last_words = rule
        .sse_error
        .as_ref()
        .filter(|_| streams)
        .map(|failure| event("error", &error_body(id, &failure.kind, &failure.message)));
    let stall = rule.stall_ms.map(Duration::from_millis);
    answer.beats = Disturbance { stall, reset: rule.reset, last_words }.disturb(beats);
    answer.delay = Duration::from_millis(rule.delay_ms.unwrap_or(0));
    answer.resets_at_once = rule.reset == Some(Reset::Before);
    // Outside a stream a ping would be rubbish in the middle of a JSON text.
    answer.ping = rule.ping_every_ms.filter(|_| streams).map(|ms| Duration::from_millis(ms.get()));
    answer
}

fn refusal_answer(refusal: &Refusal, id: &str) -> Answer {
    let mut answer = error(id, refusal.status, refusal.kind.as_deref(), &refusal.message);
    for (name, value) in &refusal.headers {
        answer.headers.push((name.clone(), value.clone()));
    }
    answer
}

fn begin(status: u16, id: &str, streams: bool) -> Answer {
    let mut headers = vec![("request-id".to_owned(), id.to_owned())];
    let kind = if streams { "text/event-stream; charset=utf-8" } else { "application/json" };
    headers.push(("content-type".to_owned(), kind.to_owned()));
    if streams {
        headers.push(("cache-control".to_owned(), "no-cache".to_owned()));
    }
    Answer { status, headers, ..Answer::default() }
}

fn error(id: &str, status: u16, kind: Option<&str>, message: &str) -> Answer {
    let body = error_body(id, kind.unwrap_or_else(|| kind_of(status)), message);
    let mut answer = begin(status, id, false);
    answer.beats = vec![Beat::Send(Bytes::from(body.to_string()))];
    answer
}

fn error_body(id: &str, kind: &str, message: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": id})
}

/// Error types of the Messages API by status, after its documentation of errors.
const KINDS: [(u16, &str); 10] = [
    (400, "invalid_request_error"),
    (401, "authentication_error"),
    (402, "billing_error"),
    (403, "permission_error"),
    (404, "not_found_error"),
    (413, "request_too_large"),
    (429, "rate_limit_error"),
    (500, "api_error"),
    (504, "timeout_error"),
    (529, "overloaded_error"),
];

fn kind_of(status: u16) -> &'static str {
    let known = KINDS.iter().find(|(known, _)| *known == status);
    let other = if status < 500 { "invalid_request_error" } else { "api_error" };
    known.map_or(other, |(_, kind)| kind)
}

fn status_of(kind: &str) -> u16 {
    KINDS.iter().find(|(_, known)| *known == kind).map_or(500, |(status, _)| *status)
}

fn small(body: Value) -> Outcome {
    let answer = Answer {
        status: 200,
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        beats: vec![Beat::Send(Bytes::from(body.to_string()))],
        ..Answer::default()
    };
    Outcome { answer, ..Outcome::default() }
}

fn model(id: &str) -> Value {
    json!({"type": "model", "id": id, "display_name": id, "created_at": "2025-01-01T00:00:00Z"})
}

/// The models that the cassette speaks of.
fn models(script: &Script) -> Value {
    let cassette = script.cassette();
    let matched = cassette.rules.iter().filter_map(|rule| rule.when.model.as_deref());
    let mut ids: Vec<&str> =
        cassette.defaults.model.as_deref().into_iter().chain(matched).collect();
    ids.sort_unstable();
    ids.dedup();
    let data: Vec<Value> = ids.iter().map(|id| model(id)).collect();
    json!({"data": data, "has_more": false, "first_id": ids.first(), "last_id": ids.last()})
}

#[cfg(test)]
mod tests {
    use super::super::cassette::Cassette;
    use super::*;

    #[test]
    fn types_and_statuses_go_both_ways() {
        assert_eq!(kind_of(529), "overloaded_error");
        assert_eq!(kind_of(503), "api_error");
        assert_eq!(kind_of(418), "invalid_request_error");
        assert_eq!(status_of("overloaded_error"), 529);
        assert_eq!(status_of("strange_error"), 500);
    }

    fn ask(method: Method, path: &str, body: &str) -> (u16, String) {
        let rules = "format: flower-cassette/1\ndefaults: {model: demo-1}\nrules: [{name: r, reply: {text: x}}]";
        let script = Script::new(Cassette::parse(rules).unwrap());
        let body = Bytes::from(body.to_owned());
        let json = serde_json::from_slice(&body).ok();
        let (method, headers) = (&method, &HeaderMap::new());
        let question =
            Question { method, path, headers, body: &body, json: json.as_ref(), id: "req_1" };
        let outcome = answer(&script, &question);
        assert!(outcome.failure.is_none());
        let Some(Beat::Send(bytes)) = outcome.answer.beats.first() else { panic!("no body") };
        (outcome.answer.status, String::from_utf8(bytes.to_vec()).unwrap())
    }

    #[test]
    fn other_paths_get_small_answers() {
        assert_eq!(ask(Method::GET, "/", ""), (200, "{}".to_owned()));
        assert_eq!(ask(Method::GET, "/healthz", "").0, 200);
        assert!(ask(Method::GET, "/v1/models", "").1.contains("\"first_id\":\"demo-1\""));
        assert!(ask(Method::GET, "/v1/models/m-2", "").1.contains("\"id\":\"m-2\""));
        assert_eq!(ask(Method::GET, "/v1/messages", "").0, 405);
        assert_eq!(ask(Method::POST, "/api/event_logging", "[]"), (200, "{}".to_owned()));
    }

    #[test]
    fn a_body_that_is_no_request_is_refused() {
        for body in ["", "{", "[]", "{}", r#"{"model":"m"}"#, r#"{"model":"m","messages":[]}"#] {
            let (status, text) = ask(Method::POST, "/v1/messages", body);
            assert_eq!(status, 400, "{body}");
            assert!(text.contains("invalid_request_error"), "{text}");
        }
    }

    #[test]
    fn tokens_are_a_quarter_of_the_bytes_where_no_rule_says() {
        let body = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;
        let (_, text) = ask(Method::POST, "/v1/messages/count_tokens", body);
        assert_eq!(text, format!("{{\"input_tokens\":{}}}", body.len().div_ceil(4)));
    }
}
