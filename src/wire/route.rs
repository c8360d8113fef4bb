//! The way to the endpoint: proxies that the settings name, certificates, keep-alive.

use std::path::PathBuf;
use std::sync::Once;
use std::time::Duration;

use hyper_util::client::proxy::matcher::Matcher;
use reqwest::{Certificate, NoProxy, Proxy, Url, redirect};

use super::error::{Failure, WireError};
use super::resolve::Resolver;

/// Proxies as the settings hold them. The process environment is not looked at: values may come from
/// `.env` files. The loopback is never reached through a proxy.
#[derive(Clone, Default)]
pub struct Proxies {
    /// `HTTPS_PROXY`, for endpoints with `https`.
    pub https: Option<String>,
    /// `HTTP_PROXY`, for endpoints with `http`.
    pub http: Option<String>,
    /// `ALL_PROXY`, where the other two are missing.
    pub all: Option<String>,
    /// `NO_PROXY`: names, domains, addresses and networks, separated by commas; `*` for everything.
    pub none: Option<String>,
}

impl std::fmt::Debug for Proxies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A proxy's address may hold a password.
        f.write_str("Proxies")
    }
}

impl Proxies {
    /// The host that a request to this address really goes to first, as an address; the same exceptions
    /// hold as for requests.
    pub(super) fn way_to(&self, url: &Url) -> Option<String> {
        let proxy = self.address_for(url)?;
        let matcher = Matcher::builder().all(proxy.to_owned()).no(self.exceptions()).build();
        let intercepted = matcher.intercept(&url.as_str().parse().ok()?)?;
        Some(intercepted.uri().to_string())
    }

    /// The proxy for this address, if any.
    fn address_for(&self, url: &Url) -> Option<&str> {
        let special = if url.scheme() == "https" { &self.https } else { &self.http };
        let chosen = special.as_deref().filter(|value| !value.trim().is_empty());
        chosen.or(self.all.as_deref()).map(str::trim).filter(|value| !value.is_empty())
    }

    /// What is reached without a proxy.
    fn exceptions(&self) -> String {
        let own = "localhost,.localhost,127.0.0.0/8,::1";
        match self.none.as_deref().map(str::trim) {
            None | Some("") => own.to_owned(),
            Some(list) => format!("{list},{own}"),
        }
    }
}

/// Builds the connection pool for one address.
pub(super) fn build(
    url: &Url,
    proxies: &Proxies,
    ca_file: Option<&PathBuf>,
) -> Result<reqwest::Client, WireError> {
    install_crypto();
    let proxy = match proxies.address_for(url) {
        Some(address) => Some(
            Proxy::all(address)
                // The address may hold a password, so it is not repeated.
                .map_err(|_| setup("the proxy in HTTPS_PROXY, HTTP_PROXY or ALL_PROXY is not an address that flower can use".to_owned()))?
                .no_proxy(NoProxy::from_string(&proxies.exceptions())),
        ),
        None => None,
    };
    let encrypted = url.scheme() == "https"
        || proxies.address_for(url).is_some_and(|address| address.starts_with("https:"));
    let start = || {
        let builder = reqwest::Client::builder()
            .no_proxy()
            .dns_resolver(Resolver)
            .user_agent(concat!("flower/", env!("CARGO_PKG_VERSION")))
            // A redirect would carry the key to another host.
            .redirect(redirect::Policy::none())
            .connect_timeout(Duration::from_secs(30))
            .tcp_keepalive(Duration::from_secs(30))
            .tcp_keepalive_interval(Duration::from_secs(10))
            .tcp_keepalive_retries(3)
            .http2_keep_alive_interval(Duration::from_secs(20))
            .http2_keep_alive_timeout(Duration::from_secs(20))
            .pool_idle_timeout(Duration::from_secs(60));
        match proxy.clone() {
            Some(proxy) => builder.proxy(proxy),
            None => builder,
        }
    };
    if !encrypted {
        // Nothing to verify: an image without a certificate bundle must still reach its gate.
        return start().tls_certs_only([]).build().map_err(|error| setup(describe(&error)));
    }
    let extra = match ca_file {
        Some(path) => read_certificates(path)?,
        None => Vec::new(),
    };
    let own = start().tls_certs_merge(extra.clone()).build();
    own.or_else(|_| start().tls_certs_only(bundled().chain(extra)).build())
        .map_err(|error| setup(describe(&error)))
}

/// The roots that travel with flower, for a system that has none.
fn bundled() -> impl Iterator<Item = Certificate> {
    webpki_root_certs::TLS_SERVER_ROOT_CERTS
        .iter()
        .filter_map(|certificate| Certificate::from_der(certificate).ok())
}

fn read_certificates(path: &PathBuf) -> Result<Vec<Certificate>, WireError> {
    let shown = path.display();
    let text = std::fs::read(path)
        .map_err(|error| setup(format!("the certificate file {shown} cannot be read: {error}")))?;
    Certificate::from_pem_bundle(&text)
        .map_err(|_| setup(format!("the certificate file {shown} holds no PEM certificates")))
}

/// TLS needs a provider for the process; a second one is refused, which is as good.
fn install_crypto() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

fn setup(message: String) -> WireError {
    WireError::new(Failure::Setup, message)
}

/// An error with its causes: reqwest's own text is only "error sending request".
pub(super) fn describe(error: &reqwest::Error) -> String {
    let mut parts = Vec::new();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        let text = inner.to_string();
        if !parts.contains(&text) {
            parts.push(text);
        }
        cause = inner.source();
    }
    if parts.is_empty() { error.to_string() } else { parts.join(": ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        text.parse().unwrap()
    }

    #[test]
    fn the_scheme_picks_the_proxy() {
        let proxies = Proxies {
            https: Some("http://secure:1".into()),
            http: Some(" ".into()),
            all: Some("http://all:3".into()),
            none: Some("example.com".into()),
        };
        assert_eq!(proxies.address_for(&url("https://a")), Some("http://secure:1"));
        assert_eq!(proxies.address_for(&url("http://a")), Some("http://all:3"));
        assert_eq!(Proxies::default().address_for(&url("http://a")), None);
        assert!(proxies.exceptions().starts_with("example.com,localhost,"));
    }

    #[test]
    fn clients_can_be_built_for_both_schemes() {
        for address in ["http://localhost:1", "https://example.com"] {
            build(&url(address), &Proxies::default(), None).unwrap();
        }
        assert!(bundled().count() > 50);
    }

    #[test]
    fn a_missing_certificate_file_is_named() {
        let path = PathBuf::from("/nowhere/ca.pem");
        let error =
            build(&url("https://example.com"), &Proxies::default(), Some(&path)).unwrap_err();
        assert!(error.message.contains("/nowhere/ca.pem"), "{error}");
    }
}
