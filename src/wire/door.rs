//! Can the endpoint be reached at all: a name that resolves and a port that opens; nothing is sent.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use reqwest::Url;
use tokio::net::TcpStream;

use super::resolve::Resolver;
use super::route::Proxies;

/// The first host on the way to the endpoint: the endpoint itself, or the proxy before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Door {
    host: String,
    port: u16,
}

impl Door {
    /// Where requests to this address go first (core.md N-6, N-10); nothing for what is no address.
    pub fn to(base_url: &str, proxies: &Proxies) -> Option<Self> {
        let url: Url = base_url.parse().ok()?;
        let first = match proxies.way_to(&url) {
            Some(proxy) => proxy.parse().ok()?,
            None => url,
        };
        let port = match first.scheme() {
            "socks5" | "socks5h" | "socks4" | "socks4a" => first.port().unwrap_or(1080),
            _ => first.port_or_known_default()?,
        };
        Some(Self { host: first.host_str()?.to_owned(), port })
    }

    /// True where one of the host's addresses, of either family, takes a connection in time. The
    /// connection is closed at once (core.md N-7).
    pub async fn opens(&self, limit: Duration) -> bool {
        let knock = async {
            let Ok(addresses) = Resolver::look_up(&self.host).await else { return false };
            let mut tries: FuturesUnordered<_> = addresses
                .into_iter()
                .map(|address| TcpStream::connect(SocketAddr::new(address, self.port)))
                .collect();
            while let Some(tried) = tries.next().await {
                if tried.is_ok() {
                    return true;
                }
            }
            false
        };
        tokio::time::timeout(limit, knock).await.unwrap_or(false)
    }
}

/// `host:port`
impl fmt::Display for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn door(url: &str, https_proxy: Option<&str>) -> String {
        let proxies = Proxies { https: https_proxy.map(str::to_owned), ..Proxies::default() };
        Door::to(url, &proxies).map(|door| door.to_string()).unwrap_or_default()
    }

    #[test]
    fn the_port_is_that_of_the_scheme_unless_it_is_written() {
        assert_eq!(door("https://api.anthropic.com", None), "api.anthropic.com:443");
        assert_eq!(door("http://10.0.0.5/x", None), "10.0.0.5:80");
        assert_eq!(door("http://[::1]:8080", None), "[::1]:8080");
        assert_eq!(door("nonsense", None), "");
    }

    #[test]
    fn behind_a_proxy_the_proxy_is_what_must_be_reached() {
        let url = "https://api.anthropic.com";
        assert_eq!(door(url, Some("http://u:p@proxy.corp:3128")), "proxy.corp:3128");
        assert_eq!(door(url, Some("proxy.corp:3128")), "proxy.corp:3128");
        assert_eq!(door(url, Some("socks5://10.0.0.1")), "10.0.0.1:1080");
        assert_eq!(door("https://localhost:9", Some("http://proxy.corp:3128")), "localhost:9");
    }

    #[tokio::test]
    async fn a_listener_opens_and_sees_no_byte_and_a_closed_port_does_not() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let open = Door { host: "127.0.0.1".into(), port: address.port() };
        assert!(open.opens(Duration::from_secs(5)).await);
        let (mut visitor, _) = listener.accept().await.unwrap();
        let mut said = Vec::new();
        tokio::io::AsyncReadExt::read_to_end(&mut visitor, &mut said).await.unwrap();
        assert!(said.is_empty());
        drop((visitor, listener));
        assert!(!open.opens(Duration::from_secs(5)).await);
    }

    #[tokio::test]
    async fn a_name_that_nobody_knows_is_no_door() {
        let nowhere = Door { host: "nowhere.invalid".into(), port: 443 };
        assert!(!nowhere.opens(Duration::from_secs(20)).await);
    }
}
