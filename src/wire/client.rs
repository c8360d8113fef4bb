//! The HTTP client of the Messages API: one request, one whole reply, or a typed failure.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Response, Url};

use super::error::{Failure, WireError};
use super::frame::{LONGEST_REPLY, endless, frames};
use super::reply::{Assembly, Reply};
use super::request::Request;
use super::retry::retry_after;
use super::route::{self, Proxies};
use crate::settings::{Auth, Endpoint};

/// An error's body is read no further than this.
const LONGEST_ERROR: usize = 64 * 1024;

/// How long the end of a body is waited for once the message is complete.
const DRAIN: Duration = Duration::from_millis(250);

/// How the client behaves.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// From the first byte sent until the headers of the answer have come.
    pub header_deadline: Duration,
    /// Longest silence inside a body; comments and pings end it.
    pub idle_limit: Duration,
    /// Proxies, as the settings have them.
    pub proxies: Proxies,
    /// More certificates to trust (PEM), such as those of a company's proxy.
    pub ca_file: Option<PathBuf>,
}

impl Default for ClientOptions {
    /// Generous: a limit that is too short makes the model write the same reply again and again.
    fn default() -> Self {
        Self {
            header_deadline: Duration::from_secs(300),
            idle_limit: Duration::from_secs(300),
            proxies: Proxies::default(),
            ca_file: None,
        }
    }
}

/// Who asks; told only to a gate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caller {
    /// The step's name; what follows a `#` is left out.
    pub step: String,
    /// The role.
    pub role: String,
    /// A subagent's id and kind.
    pub agent: Option<(String, String)>,
}

/// Speaks with one endpoint.
pub struct Client {
    url: Url,
    headers: HeaderMap,
    is_gate: bool,
    options: ClientOptions,
    /// Never to be shown.
    secrets: Vec<String>,
    http: Mutex<reqwest::Client>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Everything in it may hold a secret.
        f.write_str("Client")
    }
}

impl Client {
    /// Prepares for an endpoint; nothing is sent.
    ///
    /// # Errors
    /// [`Failure::Setup`]: an address, header, proxy or certificate file that cannot be used.
    pub fn new(endpoint: &Endpoint, options: ClientOptions) -> Result<Self, WireError> {
        let address = format!("{}/v1/messages", endpoint.base_url.trim_end_matches('/'));
        let url: Url = address.parse().map_err(|_| {
            setup(
                "the endpoint's address (ANTHROPIC_BASE_URL, FLOWER_GATE) is not a URL".to_owned(),
            )
        })?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(setup(format!(
                "the endpoint's address must begin with http:// or https://, not {}:",
                url.scheme()
            )));
        }
        let http = route::build(&url, &options.proxies, options.ca_file.as_ref())?;
        let headers = fixed_headers(endpoint)?;
        Ok(Self {
            headers,
            is_gate: endpoint.is_gate,
            options,
            secrets: secrets(endpoint, &url),
            url,
            http: Mutex::new(http),
        })
    }

    /// Sends a request and waits for the whole reply. Dropping the future ends the request.
    ///
    /// # Errors
    /// See [`Failure`]. Nothing is tried twice here.
    pub async fn ask(&self, request: &Request<'_>, caller: &Caller) -> Result<Reply, WireError> {
        let answer = self.exchange(request.body()?, caller).await;
        answer.map_err(|error| {
            if matches!(error.failure, Failure::Network | Failure::Timeout) {
                self.renew();
            }
            error.without(&self.secrets)
        })
    }

    async fn exchange(&self, body: String, caller: &Caller) -> Result<Reply, WireError> {
        let mut headers = self.headers.clone();
        if self.is_gate {
            tell_caller(&mut headers, caller);
        }
        let http = self.http.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let send = http.post(self.url.clone()).headers(headers).body(body).send();
        let limit = self.options.header_deadline;
        let response = match tokio::time::timeout(limit, send).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(self.not_reached(&error)),
            Err(_) => {
                return Err(WireError::new(
                    Failure::Timeout,
                    format!("the model endpoint did not begin to answer within {limit:?}"),
                ));
            }
        };
        if !response.status().is_success() {
            return Err(self.refused(response).await);
        }
        let request_id = header(&response, "request-id").map(str::to_owned);
        let mut reply = match header(&response, CONTENT_TYPE.as_str()) {
            Some(kind) if kind.contains("json") => Reply::parse(&self.whole(response).await?)?,
            Some(kind) if !kind.contains("event-stream") => {
                return Err(WireError::new(
                    Failure::Protocol,
                    format!(
                        "the model endpoint answered with {kind}, not with a reply of the Messages API"
                    ),
                ));
            }
            _ => self.stream(response).await?,
        };
        reply.request_id = request_id;
        Ok(reply)
    }

    async fn stream(&self, response: Response) -> Result<Reply, WireError> {
        let body = response.bytes_stream().map(|part| part.map_err(|e| route::describe(&e)));
        let mut events = std::pin::pin!(frames(body, self.options.idle_limit));
        let mut assembly = Assembly::default();
        while let Some(event) = events.next().await {
            let taken = event.and_then(|frame| assembly.take(&frame));
            if let Err(mut error) = taken {
                error.partial = assembly.partial().map(Box::new);
                return Err(error);
            }
            if assembly.is_done() {
                // A body that was read to its end leaves the connection fit for the next request.
                let rest = async { while events.next().await.is_some() {} };
                let _ = tokio::time::timeout(DRAIN, rest).await;
                break;
            }
        }
        let partial = assembly.partial();
        assembly.finish().map_err(|mut error| {
            error.partial = partial.map(Box::new);
            error
        })
    }

    /// A body in one piece, under the same watch.
    async fn whole(&self, response: Response) -> Result<String, WireError> {
        let limit = self.options.idle_limit;
        let mut body = Vec::new();
        let mut parts = response.bytes_stream();
        loop {
            match tokio::time::timeout(limit, parts.next()).await {
                Ok(None) => break,
                Ok(Some(Ok(part))) if body.len() + part.len() > LONGEST_REPLY => {
                    return Err(endless());
                }
                Ok(Some(Ok(part))) => body.extend_from_slice(&part),
                Ok(Some(Err(error))) => return Err(super::frame::lost(&route::describe(&error))),
                Err(_) => {
                    return Err(WireError::new(
                        Failure::Timeout,
                        format!("the model endpoint sent nothing for {limit:?}"),
                    ));
                }
            }
        }
        String::from_utf8(body).map_err(|_| {
            WireError::new(Failure::Protocol, "the model endpoint sent a reply that is not UTF-8")
        })
    }

    async fn refused(&self, response: Response) -> WireError {
        let status = response.status().as_u16();
        let wait = retry_after(response.headers(), jiff::Timestamp::now());
        let again = match header(&response, "x-should-retry") {
            Some("true") => Some(true),
            Some("false") => Some(false),
            _ => None,
        };
        let mut body = Vec::new();
        let mut parts = response.bytes_stream();
        // The status is known; a body that does not come must not hide it.
        while let Ok(Some(Ok(part))) =
            tokio::time::timeout(self.options.idle_limit.min(Duration::from_secs(10)), parts.next())
                .await
        {
            body.extend_from_slice(&part);
            if body.len() > LONGEST_ERROR {
                break;
            }
        }
        let body = String::from_utf8_lossy(&body);
        WireError::from_answer(status, &body).with_hints(wait, again)
    }

    fn not_reached(&self, error: &reqwest::Error) -> WireError {
        let host = self.url.host_str().unwrap_or_default();
        let port = self.url.port_or_known_default().unwrap_or_default();
        let failure = if error.is_builder() { Failure::Setup } else { Failure::Network };
        let reason = route::describe(error);
        WireError::new(failure, format!("{host}:{port} cannot be reached: {reason}"))
    }

    /// A pool that broke may hold more connections that nobody answers on; the next request starts afresh.
    fn renew(&self) {
        let ca_file = self.options.ca_file.as_ref();
        if let Ok(fresh) = route::build(&self.url, &self.options.proxies, ca_file) {
            *self.http.lock().unwrap_or_else(PoisonError::into_inner) = fresh;
        }
    }
}

fn fixed_headers(endpoint: &Endpoint) -> Result<HeaderMap, WireError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
    let (name, value) = match &endpoint.auth {
        Auth::ApiKey(key) => (Some(HeaderName::from_static("x-api-key")), key.expose().to_owned()),
        Auth::Bearer(token) => (Some(AUTHORIZATION), format!("Bearer {}", token.expose())),
        Auth::None => (None, String::new()),
    };
    if let Some(name) = name {
        let mut value = HeaderValue::from_str(value.trim())
            .map_err(|_| setup("the key holds characters that no header may have".to_owned()))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    for (name, value) in &endpoint.custom_headers {
        let bad = || setup(format!("the header {name:?} of ANTHROPIC_CUSTOM_HEADERS is not valid"));
        let key = HeaderName::from_bytes(name.trim().as_bytes()).map_err(|_| bad())?;
        let mut value = HeaderValue::from_str(value.trim()).map_err(|_| bad())?;
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    Ok(headers)
}

/// What must not stand in a message, though a server may echo it.
fn secrets(endpoint: &Endpoint, url: &Url) -> Vec<String> {
    let key = match &endpoint.auth {
        Auth::ApiKey(key) | Auth::Bearer(key) => Some(key.expose()),
        Auth::None => None,
    };
    let custom = endpoint.custom_headers.iter().map(|(_, value)| value.as_str());
    // A server may echo `Bearer sk-…` without its first word.
    let parts = custom.clone().flat_map(str::split_whitespace).filter(|part| *part != "Bearer");
    // A short value is a word like `1`, and masking it would garble every message.
    let values = key.into_iter().chain(url.password()).chain(custom).chain(parts).map(str::trim);
    let mut secrets: Vec<String> =
        values.filter(|value| value.len() >= 6).map(str::to_owned).collect();
    // The longest first, so that none is masked in part only.
    secrets.sort_by_key(|value| std::cmp::Reverse(value.len()));
    secrets.dedup();
    secrets
}

fn tell_caller(headers: &mut HeaderMap, caller: &Caller) {
    let mut put = |name: &'static str, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    put("x-flower-step", &caller.step);
    put("x-flower-role", &caller.role);
    if let Some((id, kind)) = &caller.agent {
        put("x-claude-code-agent-id", id);
        put("x-flower-agent-type", kind);
    }
}

fn header<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
    response.headers().get(name)?.to_str().ok()
}

fn setup(message: String) -> WireError {
    WireError::new(Failure::Setup, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint() -> Endpoint {
        Endpoint {
            base_url: "http://localhost:1/".into(),
            auth: Auth::None,
            is_gate: false,
            custom_headers: Vec::new(),
        }
    }

    #[test]
    fn addresses_and_headers_that_cannot_work_are_said() {
        let make = |endpoint: &Endpoint| Client::new(endpoint, ClientOptions::default());
        assert_eq!(make(&endpoint()).unwrap().url.as_str(), "http://localhost:1/v1/messages");
        let bad = Endpoint { base_url: "nonsense".into(), ..endpoint() };
        assert_eq!(make(&bad).unwrap_err().failure, Failure::Setup);
        let bad = Endpoint { base_url: "ftp://x".into(), ..endpoint() };
        assert!(make(&bad).unwrap_err().message.contains("http://"));
        let custom = vec![("X Y".to_owned(), "secret".to_owned())];
        let error = make(&Endpoint { custom_headers: custom, ..endpoint() }).unwrap_err();
        assert!(error.message.contains("X Y") && !error.message.contains("secret"), "{error}");
    }

    #[test]
    fn a_key_is_masked_as_it_is_sent_and_without_its_scheme() {
        let masked = |endpoint: &Endpoint| secrets(endpoint, &"http://h".parse().unwrap());
        let auth = Auth::Bearer(crate::settings::Secret::new(" sk-canary-1\n".to_owned()));
        assert_eq!(masked(&Endpoint { auth, ..endpoint() }), ["sk-canary-1"]);
        let custom_headers = vec![("Authorization".to_owned(), "Bearer sk-canary-2".to_owned())];
        let all = masked(&Endpoint { custom_headers, ..endpoint() });
        assert!(all.contains(&"sk-canary-2".to_owned()), "{all:?}");
        assert!(!all.contains(&"Bearer".to_owned()), "{all:?}");
    }

    #[test]
    fn the_step_is_told_with_its_number() {
        let mut headers = HeaderMap::new();
        let caller = Caller {
            step: "work#round2".into(),
            role: "coordinator".into(),
            agent: Some(("a1".into(), "worker".into())),
        };
        tell_caller(&mut headers, &caller);
        assert_eq!(headers["x-flower-step"], "work#round2");
        assert_eq!(headers["x-claude-code-agent-id"], "a1");
        assert_eq!(headers["x-flower-agent-type"], "worker");
    }
}
