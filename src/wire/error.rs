//! What can go wrong on the wire. Texts of servers are judged here, once, and nowhere above.

use std::sync::LazyLock;
use std::time::Duration;

use regex::Regex;

use super::reset::time_to_reset;
use crate::transcript::{RawObject, Usage};

/// Kinds of failure, as far as the wire can tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The client cannot be made: a header, an address or a proxy is not usable.
    Setup,
    /// 401.
    Credentials,
    /// 403, or a failure that the server says must not be tried again.
    Refused,
    /// 404.
    NotFound,
    /// 400 and what else is wrong with the request.
    BadRequest,
    /// The conversation is longer than the model's window, or larger than a request may be (413).
    Overflow,
    /// Thinking blocks that the request repeats are not taken: made elsewhere, changed, or unsigned.
    Thinking,
    /// No credit, or a spending limit.
    NoCredit,
    /// 429.
    RateLimited,
    /// 529, or an `overloaded_error` inside a stream that began with 200.
    Overloaded,
    /// 5xx, and the few 4xx that mean "again".
    Server,
    /// No connection, or one that broke.
    Network,
    /// Nothing came for too long.
    Timeout,
    /// The answer is not what the Messages API sends.
    Protocol,
}

/// What was paid for before a stream broke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partial {
    /// The model that was answering.
    pub model: String,
    /// Tokens as far as they were reported.
    pub usage: Usage,
}

/// A request that got no whole reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct WireError {
    /// What kind of failure.
    pub failure: Failure,
    /// The HTTP status, where there was one; nothing for an error inside a stream.
    pub status: Option<u16>,
    /// The API's `error.type`.
    pub error_type: Option<String>,
    /// One sentence for the person, never with a key.
    pub message: String,
    /// When the server says to come back.
    pub retry_after: Option<Duration>,
    /// `x-should-retry`.
    pub should_retry: Option<bool>,
    /// Tokens that a broken stream had already reported.
    pub partial: Option<Box<Partial>>,
}

impl WireError {
    /// A failure without an answer of the server.
    pub fn new(failure: Failure, message: impl Into<String>) -> Self {
        Self {
            failure,
            status: None,
            error_type: None,
            message: message.into(),
            retry_after: None,
            should_retry: None,
            partial: None,
        }
    }

    /// An HTTP answer that is not a success. Headers are added by [`WireError::with_hints`].
    pub fn from_answer(status: u16, body: &str) -> Self {
        let (error_type, text) = read_error(body);
        let mut error = Self::new(judge(Some(status), error_type.as_deref(), &text), "");
        error.message = match (&error_type, text.is_empty()) {
            (Some(kind), false) => {
                format!("the model endpoint answered {status} ({kind}): {text}")
            }
            (None, false) => format!("the model endpoint answered {status}: {text}"),
            (Some(kind), true) => format!("the model endpoint answered {status} ({kind})"),
            (None, true) => format!("the model endpoint answered {status}"),
        };
        error.status = Some(status);
        error.error_type = error_type;
        error
    }

    /// An error that came as an event of a stream, or as the body of a 200.
    pub fn from_event(data: &str) -> Self {
        let (error_type, text) = read_error(data);
        let kind = error_type.as_deref().unwrap_or("error");
        let message = format!("the model endpoint broke off its reply ({kind}): {text}");
        let mut error = Self::new(judge(None, error_type.as_deref(), &text), message);
        error.error_type = error_type;
        error.retry_after = error.reset_in_words();
        error
    }

    /// When a usage limit ends, where only the sentence says so.
    fn reset_in_words(&self) -> Option<Duration> {
        let limited = self.failure == Failure::RateLimited;
        let local = jiff::tz::TimeZone::system();
        limited.then(|| time_to_reset(&self.message, jiff::Timestamp::now(), &local)).flatten()
    }

    /// Adds what the headers say. A server that asks not to be tried again is obeyed, except where it
    /// only means "not before the time I gave".
    pub fn with_hints(mut self, retry_after: Option<Duration>, should_retry: Option<bool>) -> Self {
        self.retry_after = retry_after.or_else(|| self.reset_in_words());
        self.should_retry = should_retry;
        match (should_retry, self.failure) {
            (Some(false), Failure::Server | Failure::Overloaded) => self.failure = Failure::Refused,
            (Some(true), Failure::BadRequest) => self.failure = Failure::Server,
            _ => {}
        }
        self
    }

    /// Replaces secrets that a server may have echoed.
    pub(super) fn without(mut self, secrets: &[String]) -> Self {
        for secret in secrets {
            self.message = self.message.replace(secret, "***");
            // A long message is cut, and the cut may go through the secret.
            let cut = self.message.strip_suffix('…').and_then(|kept| {
                let starts = secret.char_indices().map(|(at, _)| &secret[..at]).rev();
                starts.filter(|start| start.len() >= 4).find_map(|start| kept.strip_suffix(start))
            });
            if let Some(kept) = cut {
                self.message = format!("{kept}***…");
            }
        }
        self
    }
}

/// core.md H-18, with the wordings that its golden data names as missing; gateways have their own.
static OVERFLOW: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        &[
            r"(?:prompt|input) (?:is )?too long",
            r"prompt exceeds max(?:imum)? length",
            r"context[ _-]?(?:length|window)[ _-]?(?:was )?exceeded",
            r"context window limit",
            r"maximum (?:context|model) length",
            r"exceed(?:s|ed|ing)? (?:the )?(?:model'?s )?(?:maximum )?(?:context (?:window|limit|length)|model token limit)",
            r"too many total text bytes",
            r"input length and `?max_tokens`? exceed",
            r"range of input length should be",
            r"上下文长度(?:限制|超过)|输入 ?token ?超限",
            r"длина контекста|запрос слишком длинный",
            r"longueur du contexte dépasse",
            r"プロンプトが長すぎ",
        ]
        .join("|"),
    )
});

/// Refusals of thinking blocks come for ever with the same request: "Invalid `signature` in `thinking`
/// block", "thinking blocks in the latest assistant message cannot be modified".
static THINKING: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"invalid `?signature`?.{0,30}thinking|thinking`?.{0,90}(?:signature|cannot be modified)|signature.{0,60}(?:another|different) (?:conversation|model)",
    )
});

static NO_CREDIT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"credit balance|out of (?:usage |extra )?credits?|insufficient[ _](?:quota|credits?|funds|balance)|(?:quota|budget) (?:has been )?exceeded|exceeded your (?:current )?quota|exceed(?:s|ed)? (?:the|your|its) budget|spend(?:ing)?[ -](?:limit|cap)|reached your specified .{0,20}usage limits|billing (?:details|issue|problem|hard)|payment required",
    )
});

fn pattern(text: &str) -> Regex {
    Regex::new(&format!("(?i){text}")).expect("the pattern is a constant that tests compile")
}

/// The one place where words of a server decide something.
fn judge(status: Option<u16>, error_type: Option<&str>, text: &str) -> Failure {
    let kind = error_type.unwrap_or_default();
    if matches!(status, None | Some(400 | 413 | 422)) && OVERFLOW.is_match(text) {
        return Failure::Overflow;
    }
    if matches!(status, None | Some(400)) && THINKING.is_match(text) {
        return Failure::Thinking;
    }
    if matches!(status, None | Some(400 | 402 | 403 | 429))
        && (kind == "billing_error" || status == Some(402) || NO_CREDIT.is_match(text))
    {
        return Failure::NoCredit;
    }
    match status {
        Some(401) => Failure::Credentials,
        Some(403) => Failure::Refused,
        Some(404) => Failure::NotFound,
        Some(429) => Failure::RateLimited,
        Some(529) => Failure::Overloaded,
        // Only a shorter conversation helps.
        Some(413) => Failure::Overflow,
        Some(408 | 409 | 425) => Failure::Server,
        // Proxies in front of the API sometimes send the API's 529 on as another 5xx.
        Some(500..) if kind == "overloaded_error" => Failure::Overloaded,
        Some(500..) => Failure::Server,
        Some(400..) => Failure::BadRequest,
        Some(_) => Failure::Protocol,
        None => match kind {
            "overloaded_error" => Failure::Overloaded,
            "rate_limit_error" => Failure::RateLimited,
            "authentication_error" => Failure::Credentials,
            "permission_error" => Failure::Refused,
            "not_found_error" => Failure::NotFound,
            "request_too_large" => Failure::Overflow,
            "invalid_request_error" => Failure::BadRequest,
            "timeout_error" => Failure::Timeout,
            // `api_error` and kinds that do not exist yet: the stream had begun, so the request was good.
            _ => Failure::Server,
        },
    }
}

/// `error.type` and `error.message`; of other bodies the beginning, as one line.
fn read_error(body: &str) -> (Option<String>, String) {
    let outer = RawObject::parse(body).unwrap_or_default();
    let inner =
        outer.get("error").and_then(|error| RawObject::parse(error).ok()).unwrap_or_default();
    let text = inner
        .string("message")
        .or_else(|| outer.string("error"))
        .or_else(|| outer.string("message"))
        .or_else(|| outer.string("detail"));
    let kind = inner.string("type").map(|kind| one_line(&kind, 60));
    (kind, one_line(text.as_deref().unwrap_or(body), 500))
}

/// Printable characters only, white space folded, at most `limit` characters.
fn one_line(text: &str, limit: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line: String = words.join(" ").chars().filter(|c| !c.is_control()).collect();
    match line.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, kind: &str, message: &str) -> WireError {
        let body =
            serde_json::json!({"type": "error", "error": {"type": kind, "message": message}});
        WireError::from_answer(status, &body.to_string())
    }

    #[test]
    fn statuses_are_told_apart() {
        for (status, failure) in [
            (400, Failure::BadRequest),
            (401, Failure::Credentials),
            (402, Failure::NoCredit),
            (403, Failure::Refused),
            (404, Failure::NotFound),
            (408, Failure::Server),
            (413, Failure::Overflow),
            (429, Failure::RateLimited),
            (500, Failure::Server),
            (503, Failure::Server),
            (529, Failure::Overloaded),
            (302, Failure::Protocol),
        ] {
            assert_eq!(answer(status, "x_error", "no").failure, failure, "{status}");
        }
    }

    #[test]
    fn the_sentence_has_status_type_and_words() {
        let error = answer(529, "overloaded_error", "Overloaded");
        assert_eq!(
            error.to_string(),
            "the model endpoint answered 529 (overloaded_error): Overloaded"
        );
        let page = WireError::from_answer(502, "<html>\n <h1>Bad\u{1b}[31m Gateway</h1>");
        assert_eq!(
            page.to_string(),
            "the model endpoint answered 502: <html> <h1>Bad[31m Gateway</h1>"
        );
    }

    #[test]
    fn words_for_too_long_are_understood() {
        for text in [
            "prompt is too long: 205012 tokens > 200000 maximum",
            "Prompt too long",
            "context_length_exceeded",
            "This model's maximum context length is 128000 tokens.",
            "Your input exceeds the context window of this model.",
            "exceeded the context window",
            "input length and `max_tokens` exceed context limit: 1 + 2 > 3",
        ] {
            let error = answer(400, "invalid_request_error", text);
            assert_eq!(error.failure, Failure::Overflow, "{text}");
        }
        let other = answer(400, "invalid_request_error", "messages: at least one is required");
        assert_eq!(other.failure, Failure::BadRequest);
        assert_eq!(
            answer(529, "overloaded_error", "prompt is too long").failure,
            Failure::Overloaded
        );
    }

    #[test]
    fn the_golden_wordings_are_told_apart() {
        for line in include_str!("../../tests/fixtures/overflow.jsonl").lines() {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            let want = row.get("want").unwrap_or(&row["overflow"]).as_bool().unwrap();
            let texts = row["texts"].as_array().unwrap().iter().filter_map(|text| text.as_str());
            let got = texts.map(|text| answer(400, "invalid_request_error", text).failure);
            assert_eq!(got.collect::<Vec<_>>().contains(&Failure::Overflow), want, "{line}");
        }
    }

    #[test]
    fn refused_thinking_is_told_from_other_bad_requests() {
        for text in [
            "messages.3.content.0: Invalid `signature` in `thinking` block",
            "messages.29.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.",
        ] {
            assert_eq!(
                answer(400, "invalid_request_error", text).failure,
                Failure::Thinking,
                "{text}"
            );
        }
        let text = "thinking.budget_tokens must be greater than or equal to 1024";
        assert_eq!(answer(400, "invalid_request_error", text).failure, Failure::BadRequest);
    }

    #[test]
    fn money_that_is_gone_is_not_waited_for() {
        for (status, text) in [
            (400, "Your credit balance is too low to access the Anthropic API."),
            (429, "You have reached your specified spend limit."),
            (400, "You have reached your specified API usage limits. You will regain access soon."),
            (429, "You exceeded your current quota, please check your plan"),
            (403, "this request would exceed the budget of this run: budget exceeded"),
        ] {
            assert_eq!(answer(status, "x_error", text).failure, Failure::NoCredit, "{text}");
        }
        let rate = answer(429, "rate_limit_error", "This request would exceed your rate limit");
        assert_eq!(rate.failure, Failure::RateLimited);
    }

    #[test]
    fn the_end_of_a_usage_limit_is_read_from_words_where_no_header_tells_it() {
        let words = "You've hit your session limit · resets 4:10am (UTC)";
        let error = answer(429, "rate_limit_error", words).with_hints(None, None);
        let wait = error.retry_after.unwrap();
        assert!(wait <= Duration::from_secs(24 * 3600), "{wait:?}");
        let told = Some(Duration::from_secs(7));
        assert_eq!(answer(429, "x", words).with_hints(told, None).retry_after, told);
        let other = answer(500, "api_error", "the counter resets 4am").with_hints(None, None);
        assert_eq!(other.retry_after, None);
    }

    #[test]
    fn an_error_inside_a_stream_is_typed() {
        let error = WireError::from_event(
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        );
        assert_eq!(error.failure, Failure::Overloaded);
        assert_eq!(error.status, None);
        assert_eq!(WireError::from_event("gibberish").failure, Failure::Server);
    }

    #[test]
    fn a_server_that_asks_not_to_be_tried_again_is_obeyed() {
        let error = answer(503, "api_error", "no").with_hints(None, Some(false));
        assert_eq!(error.failure, Failure::Refused);
        let error = answer(429, "rate_limit_error", "later").with_hints(None, Some(false));
        assert_eq!(error.failure, Failure::RateLimited);
    }

    #[test]
    fn a_request_that_is_too_large_needs_a_shorter_conversation() {
        let text = "Request exceeds the maximum allowed number of bytes.";
        assert_eq!(answer(413, "request_too_large", text).failure, Failure::Overflow);
        let page = WireError::from_answer(413, "<h1>413 Request Entity Too Large</h1>");
        assert_eq!(page.failure, Failure::Overflow);
    }

    #[test]
    fn a_key_that_the_cut_of_a_long_message_goes_through_is_masked() {
        let text = format!("{}sk-secret-123456 is not known", "x ".repeat(245));
        let error = answer(401, "authentication_error", &text);
        assert!(error.message.ends_with("sk-secret-…"), "{error}");
        let masked = error.without(&["sk-secret-123456".into()]);
        assert!(masked.message.ends_with(" x ***…"), "{masked}");
    }

    #[test]
    fn an_echoed_key_is_masked() {
        let error = answer(401, "authentication_error", "invalid x-api-key: sk-secret-1");
        let masked = error.without(&["sk-secret-1".into()]);
        assert!(!masked.message.contains("secret"), "{masked}");
    }
}
