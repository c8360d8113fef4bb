//! What a failure means where a text is all that there is: the error of a child process, of a proxy.

use std::sync::LazyLock;

use regex::Regex;

/// What a text of failure means for trying again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Trying again does not help: key, money, request, certificate.
    Fatal,
    /// It passes: network, overload, rate limit, a failing server.
    Transient,
    /// The text does not tell.
    Unknown,
}

/// Reads a text of failure (core.md N-2). A status decides before words do, and a status that opens the
/// text before any other number; ports and amounts are no statuses.
///
/// ```
/// use flower::wire::{Class, classify};
/// assert_eq!(classify("API Error: 529 Overloaded"), Class::Transient);
/// assert_eq!(classify("401 Unauthorized"), Class::Fatal);
/// assert_eq!(classify("something happened"), Class::Unknown);
/// ```
pub fn classify(text: &str) -> Class {
    let opening = OPENING.captures(text).map(|found| found[1].to_owned());
    if let Some(class) = opening.as_deref().and_then(by_status) {
        return class;
    }
    if CERTIFICATE.is_match(text) {
        return Class::Fatal;
    }
    let bare = AMOUNT.replace_all(text, " ");
    let statuses: Vec<Class> =
        NUMBER.find_iter(&bare).filter_map(|found| by_status(found.as_str())).collect();
    for class in [Class::Fatal, Class::Transient] {
        if statuses.contains(&class) {
            return class;
        }
    }
    if FATAL.is_match(text) {
        Class::Fatal
    } else if TRANSIENT.is_match(text) {
        Class::Transient
    } else {
        Class::Unknown
    }
}

fn by_status(number: &str) -> Option<Class> {
    match number.parse().ok()? {
        408 | 425 | 429 | 500..=504 | 520..=530 => Some(Class::Transient),
        400..=404 | 405 | 407 | 413 | 422 => Some(Class::Fatal),
        _ => None,
    }
}

/// A status at the beginning, behind words that only announce it.
static OPENING: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^\W*(?:(?:api|http(?:/[\d.]+)?|error|status|code)\b\W*)*(\d{3})\b"));

/// Numbers that are no statuses: ports, times, sizes.
static AMOUNT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r":\d+\b|\b\d+ ?(?:ms|millis\w*|s|sec\w*|min\w*|bytes?|[kmg]i?b)\b"));

static NUMBER: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b\d{3}\b"));

/// No connection becomes trusted by asking again.
static CERTIFICATE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(&[r"self[-_ ]signed", "certificate", r"cert_\w+", "wrong version number"].join("|"))
});

static FATAL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        &[
            r"(?:invalid|incorrect).?(?:x.)?api.?key",
            "authentication",
            "unauthorized",
            "forbidden",
            r"please run /login",
            r"(?:security )?token included in the request is invalid",
            r"permission denied|access denied",
            r"organization has been disabled",
            "invalid_request|bad request|validationexception",
            r"credit balance|billing_error|payment required",
            "quota exceeded",
            "budget",
            "max_turns",
            "request_too_large",
            r"model.not.found",
            "invalid url",
            "clinotfound",
            r"余额不足|额度已用尽|未提供令牌|令牌已过期|无效的令牌|模型不存在|没有权限|认证失败",
            r"недействительный ключ|недостаточно средств|доступ запрещ[её]н|ошибка авторизации",
            r"ungültiger api|clé api invalide|clave de api no válida|認証エラー",
        ]
        .join("|"),
    )
});

static TRANSIENT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        &[
            // Names of socket errors.
            r"\be(?:notfound|ai_again|connreset|connrefused|connaborted|timedout|pipe|hostunreach|hostdown|netdown|netunreach|servfail)\b",
            r"err_(?:internet_disconnected|name_not_resolved|connection_\w+|network_\w+|stream_premature_close|http2_\w+)|err_socket|err_connect",
            r"socket hang up|socket (?:was )?disconnected|socket connection was closed|other side closed|failedtoopensocket",
            r"connection (?:error|refused|reset|aborted|termination)|connecterror|unable to connect|can't reach the api server|disconnected before|server disconnected",
            r"fetch failed|network error|name resolution",
            r"premature close|unexpected eof|incompleteread|stream (?:ended|closed)|streamerrorexception|\bgoaway\b|^(?:typeerror: )?terminated$",
            r"disconnect/reset before headers",
            // Words of servers.
            r"overloaded|rate.?limit|too many (?:requests|tokens)|rate exceeded|throttling|resource.?(?:has been )?exhausted",
            r"time-?out|timed out",
            r"temporarily unavailable|service ?(?:is )?(?:currently )?unavailable|serviceunavailable|internal ?server ?(?:error|exception)",
            r"稍后再试|过于频繁|内部错误|网络错误|超时|不可用|负载已饱和",
            r"ошибка сети|время ожидания|временно недоступ",
            r"zeitüberschreitung|vorübergehend|délai d'attente|tiempo de espera|temporariamente|リクエストが多すぎ|연결할 수 없",
        ]
        .join("|"),
    )
});

fn pattern(text: &str) -> Regex {
    Regex::new(&format!("(?i){text}")).expect("the pattern is a constant that tests compile")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_golden_texts_are_classified() {
        for line in include_str!("../../tests/fixtures/classify.jsonl").lines() {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            let want = row.get("want").unwrap_or(&row["class"]).as_str().unwrap();
            let got = match classify(row["text"].as_str().unwrap_or_default()) {
                Class::Fatal => "fatal",
                Class::Transient => "transient",
                Class::Unknown => "unknown",
            };
            assert_eq!(got, want, "{line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in ".*") {
            let _ = classify(&text);
        }
    }
}
