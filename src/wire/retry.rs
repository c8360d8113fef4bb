//! When a server says to come back.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::HeaderMap;

/// Reads `retry-after-ms`, then `retry-after` (seconds or an HTTP date), then the reset time of a usage
/// limit, which stands as seconds since 1970. A time that has passed is zero; nonsense is nothing.
pub fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |name: &str| text(name)?.parse::<f64>().ok();
    if let Some(wait) = number("retry-after-ms").and_then(|ms| seconds(ms / 1000.0)) {
        return Some(wait);
    }
    if let Some(wait) = number("retry-after").and_then(seconds) {
        return Some(wait);
    }
    if let Some(date) = text("retry-after").and_then(http_date) {
        return Some(until(date, now));
    }
    let reset: i64 = text("anthropic-ratelimit-unified-reset")?.parse().ok()?;
    Some(until(Timestamp::from_second(reset).ok()?, now))
}

fn seconds(value: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(value.max(0.0)).ok()
}

pub(super) fn http_date(text: &str) -> Option<Timestamp> {
    jiff::fmt::rfc2822::parse(text).ok().map(|date| date.timestamp())
}

fn until(date: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(date.duration_since(now)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&'static str, &str)]) -> Option<Duration> {
        let headers = pairs.iter().map(|(name, value)| {
            (reqwest::header::HeaderName::from_static(name), value.parse().unwrap())
        });
        let now: Timestamp = "2015-10-21T07:27:50Z".parse().unwrap();
        retry_after(&headers.collect(), now)
    }

    #[test]
    fn all_forms_are_read() {
        assert_eq!(read(&[("retry-after", "7")]), Some(Duration::from_secs(7)));
        assert_eq!(read(&[("retry-after", "0.5")]), Some(Duration::from_millis(500)));
        assert_eq!(
            read(&[("retry-after", "7"), ("retry-after-ms", "1500")]),
            Some(Duration::from_millis(1500))
        );
        assert_eq!(
            read(&[("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT")]),
            Some(Duration::from_secs(10))
        );
        assert_eq!(
            read(&[("anthropic-ratelimit-unified-reset", "1445412500")]),
            Some(Duration::from_secs(30))
        );
    }

    #[test]
    fn nonsense_and_the_past_do_no_harm() {
        assert_eq!(read(&[]), None);
        assert_eq!(read(&[("retry-after", "soon")]), None);
        assert_eq!(read(&[("retry-after", "1e300")]), None);
        assert_eq!(read(&[("retry-after", "nan")]), Some(Duration::ZERO));
        assert_eq!(read(&[("retry-after", "-3")]), Some(Duration::ZERO));
        assert_eq!(read(&[("retry-after", "Wed, 21 Oct 2015 07:00:00 GMT")]), Some(Duration::ZERO));
    }
}
