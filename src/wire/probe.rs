//! Does the endpoint take these credentials and know this model? One small request, judged (core.md 1.4).

use std::time::Duration;

use super::client::{Caller, Client, ClientOptions};
use super::error::{Failure, WireError};
use super::request::{Request, Role, WireMessage};
use crate::settings::Endpoint;
use crate::transcript::Block;

/// Longest wait for an answer. A run waits longer; here a person does.
const PATIENCE: Duration = Duration::from_secs(20);

/// More than one: some models answer a request for a single token very slowly.
const TOKENS: u32 = 16;

/// What of a 400 says that the model is unknown. The bare word "model" stands in many other complaints.
const UNKNOWN: [&str; 6] =
    ["not_found", "not found", "does not exist", "unknown model", "no such model", "invalid model"];

/// What came of it. The reason is a sentence, never with a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probe {
    /// It answers, or complains about something that a probe cannot tell.
    Fine,
    /// It does not take the credentials.
    Rejected(String),
    /// It knows no such model or path, or the address is none.
    Misconfigured(String),
    /// It cannot be asked now.
    Unreachable(String),
}

/// Asks.
pub async fn probe(endpoint: &Endpoint, options: ClientOptions, model: &str) -> Probe {
    let options = ClientOptions { header_deadline: PATIENCE, idle_limit: PATIENCE, ..options };
    let asked = async {
        let client = Client::new(endpoint, options)?;
        let words = Block::text("hi");
        let request = Request {
            model,
            max_tokens: TOKENS,
            system: &[],
            tools: &[],
            messages: vec![WireMessage { role: Role::User, blocks: vec![&words] }],
            effort: None,
        };
        client.ask(&request, &Caller::default()).await
    };
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(Ok(_)) => Probe::Fine,
        Ok(Err(error)) => judge(&error),
        Err(_) => Probe::Unreachable(format!("no answer within {} seconds", PATIENCE.as_secs())),
    }
}

fn judge(error: &WireError) -> Probe {
    let reason = error.message.clone();
    let names_model = || {
        let text = reason.to_lowercase();
        UNKNOWN.iter().any(|words| text.contains(words))
    };
    match (error.status, error.failure) {
        (Some(401 | 403), _) => Probe::Rejected(reason),
        (Some(404), _) => Probe::Misconfigured(reason),
        (Some(400), _) if names_model() => Probe::Misconfigured(reason),
        (Some(500..), _) => Probe::Unreachable(reason),
        (Some(_), _) => Probe::Fine,
        (None, Failure::Setup | Failure::NotFound) => Probe::Misconfigured(reason),
        (None, Failure::Credentials | Failure::Refused) => Probe::Rejected(reason),
        (None, Failure::Network | Failure::Timeout) => Probe::Unreachable(reason),
        (
            None,
            Failure::BadRequest
            | Failure::Overflow
            | Failure::Thinking
            | Failure::NoCredit
            | Failure::RateLimited
            | Failure::Overloaded
            | Failure::Server
            | Failure::Protocol,
        ) => Probe::Fine,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kind(error: &WireError) -> &'static str {
        match judge(error) {
            Probe::Fine => "fine",
            Probe::Rejected(_) => "rejected",
            Probe::Misconfigured(_) => "misconfigured",
            Probe::Unreachable(_) => "unreachable",
        }
    }

    #[test]
    fn every_row_of_the_table() {
        for (status, body, expected) in [
            (401, "", "rejected"),
            (403, "no", "rejected"),
            (404, "", "misconfigured"),
            (400, "the model Does Not Exist", "misconfigured"),
            (400, "Unknown model x", "misconfigured"),
            (400, r#"{"error":{"type":"not_found_error","message":"m"}}"#, "misconfigured"),
            (400, "this model needs a larger budget", "fine"),
            (402, "", "fine"),
            (413, "", "fine"),
            (422, "not found", "fine"),
            (429, "", "fine"),
            (500, "", "unreachable"),
            (529, "", "unreachable"),
        ] {
            assert_eq!(kind(&WireError::from_answer(status, body)), expected, "{status} {body}");
        }
        for (failure, expected) in [
            (Failure::Network, "unreachable"),
            (Failure::Timeout, "unreachable"),
            (Failure::Setup, "misconfigured"),
            (Failure::Protocol, "fine"),
        ] {
            assert_eq!(kind(&WireError::new(failure, "x")), expected, "{failure:?}");
        }
    }

    proptest! {
        #[test]
        fn only_a_clear_no_stops_a_run(status in 400u16..600, body in "\\PC{0,80}") {
            let stops = matches!(kind(&WireError::from_answer(status, &body)), "rejected" | "misconfigured");
            prop_assert!(!stops || matches!(status, 400 | 401 | 403 | 404));
        }
    }
}
