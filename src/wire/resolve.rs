//! Looking up host names: hickory first, which fails in milliseconds, then the system's own resolver.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use trust_dns_resolver as dns;

/// How long hickory may take for one question to one server.
const ONE_QUESTION: Duration = Duration::from_secs(3);

/// Resolves names for the client, and for whoever wants to know whether a host can be reached.
///
/// The resolver's configuration is read anew for each look-up: a run lasts for days, and the network may
/// change under it. Connections are kept, so that look-ups are rare.
#[derive(Debug, Clone, Copy, Default)]
pub struct Resolver;

impl Resolver {
    /// The addresses of a host, of both families, none of them twice.
    ///
    /// # Errors
    /// The system resolver's error, where neither knows the name.
    pub async fn look_up(host: &str) -> std::io::Result<Vec<IpAddr>> {
        if let Ok(address) = host.trim_matches(['[', ']']).parse() {
            return Ok(vec![address]);
        }
        if is_local(host) {
            return Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
        }
        match ask_hickory(host).await {
            Some(addresses) => Ok(addresses),
            None => ask_system(host).await,
        }
    }
}

/// `localhost` needs no server and no file (RFC 6761).
fn is_local(host: &str) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    host == "localhost" || host.ends_with(".localhost")
}

async fn ask_hickory(host: &str) -> Option<Vec<IpAddr>> {
    let mut builder = dns::Resolver::builder_tokio().ok()?;
    let options = builder.options_mut();
    options.ip_strategy = dns::config::LookupIpStrategy::Ipv4AndIpv6;
    options.timeout = ONE_QUESTION;
    let answer = builder.build().ok()?.lookup_ip(host).await.ok()?;
    let addresses = distinct(answer.iter());
    (!addresses.is_empty()).then_some(addresses)
}

async fn ask_system(host: &str) -> std::io::Result<Vec<IpAddr>> {
    let answer = tokio::net::lookup_host((host, 0)).await?;
    Ok(distinct(answer.map(|address| address.ip())))
}

fn distinct(addresses: impl Iterator<Item = IpAddr>) -> Vec<IpAddr> {
    let mut found = Vec::new();
    for address in addresses {
        if !found.contains(&address) {
            found.push(address);
        }
    }
    found
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let addresses = Resolver::look_up(name.as_str()).await?;
            // Port 0 is replaced by the port of the URL.
            let addresses: Addrs =
                Box::new(addresses.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn localhost_needs_no_server() {
        let addresses = Resolver::look_up("localhost").await.unwrap();
        assert_eq!(addresses[0], IpAddr::from(Ipv4Addr::LOCALHOST));
        assert!(is_local("api.LOCALHOST."));
        assert!(!is_local("localhost.example"));
    }

    #[tokio::test]
    async fn an_address_is_its_own_answer() {
        let addresses = Resolver::look_up("[::1]").await.unwrap();
        assert_eq!(addresses, [IpAddr::from(Ipv6Addr::LOCALHOST)]);
    }
}
