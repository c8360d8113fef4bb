//! The log of a gate: one JSON line for each request, without secrets.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use hyper::HeaderMap;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::route::{Outcome, Question};

/// An open log; each line is written whole, before its answer leaves.
#[derive(Debug)]
pub(super) struct Journal(Mutex<File>);

impl Journal {
    /// Appends to `path`; a new file is for its owner only, because it holds conversations.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
        Ok(Self(Mutex::new(file)))
    }

    pub(super) fn write(
        &self,
        question: &Question,
        query: Option<&str>,
        outcome: &Outcome,
    ) -> io::Result<()> {
        let body = match question.json {
            Some(json) => json.clone(),
            None if question.body.is_empty() => Value::Null,
            None => Value::String(String::from_utf8_lossy(question.body).into_owned()),
        };
        let answer = &outcome.answer;
        let line = json!({
            "time": Timestamp::now().to_string(),
            "id": question.id,
            "method": question.method.as_str(),
            "path": question.path,
            "query": query.map(mask_query),
            "headers": mask_headers(question.headers),
            "body": body,
            "rule": outcome.rule,
            "failure": outcome.failure,
            // A connection that is reset instead of an answer has no status.
            "status": (!answer.resets_at_once).then_some(answer.status),
        });
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(format!("{line}\n").as_bytes())?;
        file.flush()
    }
}

const MASK: &str = "***";

/// True for names whose values let someone in.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('_', "-");
    let words = ["authorization", "api-key", "apikey", "cookie", "token", "secret", "password"];
    name == "key" || words.iter().any(|word| name.contains(word))
}

fn mask_headers(headers: &HeaderMap) -> Map<String, Value> {
    let mut out = Map::new();
    for name in headers.keys() {
        let values = headers.get_all(name).iter();
        let values: Vec<_> =
            values.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect();
        let text = if is_secret(name.as_str()) { MASK.to_owned() } else { values.join(", ") };
        out.insert(name.to_string(), Value::String(text));
    }
    out
}

fn mask_query(query: &str) -> String {
    let mask = |pair: &str| match pair.split_once('=') {
        Some((name, _)) if is_secret(name) => format!("{name}={MASK}"),
        _ => pair.to_owned(),
    };
    query.split('&').map(mask).collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lets_someone_in_is_masked() {
        let mut headers = HeaderMap::new();
        for name in
            ["authorization", "x-api-key", "cookie", "proxy-authorization", "x-flower-token"]
        {
            headers.insert(name, "canary".parse().unwrap());
        }
        headers.append("accept", "a".parse().unwrap());
        headers.append("accept", "b".parse().unwrap());
        let text = Value::Object(mask_headers(&headers)).to_string();
        assert!(!text.contains("canary"), "{text}");
        assert!(text.contains(r#""accept":"a, b""#), "{text}");
        assert_eq!(
            mask_query("beta=true&api_key=canary&key=canary"),
            "beta=true&api_key=***&key=***"
        );
    }
}
