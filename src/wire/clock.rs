//! What time it is at the endpoint: one request for nothing but headers, without credentials.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::DATE;

use super::client::ClientOptions;
use super::retry::http_date;
use super::route;
use crate::settings::Endpoint;

/// The time that the endpoint names in its answer; nothing where it gives none in time.
pub async fn clock(
    endpoint: &Endpoint,
    options: &ClientOptions,
    limit: Duration,
) -> Option<Timestamp> {
    let url = endpoint.base_url.parse().ok()?;
    let http = route::build(&url, &options.proxies, options.ca_file.as_ref()).ok()?;
    let answer = tokio::time::timeout(limit, http.head(url).send()).await.ok()?.ok()?;
    http_date(answer.headers().get(DATE)?.to_str().ok()?)
}
