//! Where requests go and with which credentials.

use std::path::PathBuf;

use crate::language::Language;

use super::Settings;
use super::secret::{Secret, mask, show, without_login};
use super::warning::printable;

/// Used where no address is set.
pub const DEFAULT_BASE_URL: &str = "https://api.anthropic.com";

/// How to authenticate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Auth {
    /// `x-api-key`
    ApiKey(Secret),
    /// `authorization: Bearer`
    Bearer(Secret),
    /// None: the endpoint is a gate that adds its own.
    None,
}

/// Where requests go.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Without a trailing slash.
    pub base_url: String,
    /// The credentials.
    pub auth: Auth,
    /// True where `FLOWER_GATE` named it (or the demo's own gate): step and role headers are sent.
    pub is_gate: bool,
    /// Lines `Name: value` of `ANTHROPIC_CUSTOM_HEADERS`.
    pub custom_headers: Vec<(String, String)>,
}

/// Header values and logins in the address are secrets too.
impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.custom_headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Endpoint")
            .field("base_url", &without_login(&self.base_url))
            .field("auth", &self.auth)
            .field("is_gate", &self.is_gate)
            .field("custom_headers", &names)
            .finish()
    }
}

/// Neither key nor token is set anywhere.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text(Language::English))]
pub struct MissingCredentials {
    /// The user's file, the one that `flower setup` writes.
    pub global: PathBuf,
}

impl MissingCredentials {
    /// Exactly four lines (core.md E-6).
    pub fn text(&self, language: Language) -> String {
        let path = printable(&self.global.display().to_string());
        language.text("settings.missing_credentials", &[("path", &path)])
    }
}

impl Settings {
    /// Where requests go. With `FLOWER_GATE` no credentials are needed and none are sent; else
    /// `ANTHROPIC_API_KEY` wins over `ANTHROPIC_AUTH_TOKEN`.
    pub fn endpoint(&self) -> Result<Endpoint, MissingCredentials> {
        let custom_headers = self
            .non_empty("ANTHROPIC_CUSTOM_HEADERS")
            .map_or_else(Vec::new, |text| read_headers(text).0);
        if let Some(gate) = self.non_empty("FLOWER_GATE") {
            let base_url = gate.trim_end_matches('/').to_owned();
            return Ok(Endpoint { base_url, auth: Auth::None, is_gate: true, custom_headers });
        }
        let auth =
            match (self.non_empty("ANTHROPIC_API_KEY"), self.non_empty("ANTHROPIC_AUTH_TOKEN")) {
                (Some(key), _) => Auth::ApiKey(Secret::new(key)),
                (None, Some(token)) => Auth::Bearer(Secret::new(token)),
                (None, None) => return Err(self.missing_credentials()),
            };
        let base_url = self.non_empty("ANTHROPIC_BASE_URL").unwrap_or(DEFAULT_BASE_URL);
        let base_url = base_url.trim_end_matches('/').to_owned();
        Ok(Endpoint { base_url, auth, is_gate: false, custom_headers })
    }

    fn missing_credentials(&self) -> MissingCredentials {
        let usual = || PathBuf::from("~/.config/flower/.env");
        MissingCredentials { global: self.user_file().unwrap_or_else(usual) }
    }

    /// The nine keys that are set, secrets masked, and the address in any case (core.md E-40).
    pub fn describe(&self, language: Language) -> Vec<(&'static str, String)> {
        let mut rows = Vec::new();
        for key in super::known::CREDENTIAL_KEYS {
            if let Some(value) = self.non_empty(key) {
                let secret = key.contains("TOKEN") || key.contains("KEY");
                let text = if secret { mask(value, language) } else { show(key, value, language) };
                rows.push((key, text));
            }
        }
        if self.non_empty("ANTHROPIC_BASE_URL").is_none() {
            let text = language.text("settings.default_value", &[("value", DEFAULT_BASE_URL)]);
            rows.push(("ANTHROPIC_BASE_URL", text));
        }
        rows
    }
}

/// Reads lines `Name: value`. Also how many lines are no header and left out.
pub(super) fn read_headers(text: &str) -> (Vec<(String, String)>, usize) {
    let (mut headers, mut bad) = (Vec::new(), 0);
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match line.split_once(':') {
            Some((name, value)) if is_header(name.trim(), value.trim()) => {
                headers.push((name.trim().to_owned(), value.trim().to_owned()));
            }
            _ => bad += 1,
        }
    }
    (headers, bad)
}

fn is_header(name: &str, value: &str) -> bool {
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    !name.is_empty()
        && name.chars().all(token)
        && !value.chars().any(|c| c.is_control() && c != '\t')
}

#[cfg(test)]
mod tests {
    use super::super::tests::Home;
    use super::*;

    #[test]
    fn the_key_wins_over_the_token_and_the_slash_goes() {
        let home = Home::new().with("ANTHROPIC_AUTH_TOKEN", "t");
        assert_eq!(home.resolve().endpoint().unwrap().auth, Auth::Bearer(Secret::new("t")));
        let home =
            home.with("ANTHROPIC_API_KEY", "k").with("ANTHROPIC_BASE_URL", "https://gw/v1//");
        let endpoint = home.resolve().endpoint().unwrap();
        assert_eq!(endpoint.auth, Auth::ApiKey(Secret::new("k")));
        assert_eq!(endpoint.base_url, "https://gw/v1");
        assert!(!endpoint.is_gate);
    }

    #[test]
    fn a_gate_needs_no_credentials_and_gets_none() {
        let home =
            Home::new().with("FLOWER_GATE", "http://127.0.0.1:9/").with("ANTHROPIC_API_KEY", "k");
        let endpoint = home.resolve().endpoint().unwrap();
        assert_eq!((endpoint.base_url.as_str(), endpoint.is_gate), ("http://127.0.0.1:9", true));
        assert_eq!(endpoint.auth, Auth::None);
    }

    #[test]
    fn missing_credentials_say_so_in_four_lines() {
        let home = Home::new();
        let error = home.resolve().endpoint().unwrap_err();
        for language in Language::ALL {
            let text = error.text(language);
            assert_eq!(text.lines().count(), 4, "{text}");
            for word in [
                "ANTHROPIC_API_KEY",
                "ANTHROPIC_AUTH_TOKEN",
                "flower setup",
                ".config/flower/.env",
                "export",
                "settings.json",
            ] {
                assert!(text.contains(word), "{word}: {text}");
            }
        }
        assert_eq!(error.to_string(), error.text(Language::English));
    }

    #[test]
    fn headers_are_lines_and_never_shown() {
        let text = "X-Team: blue\n\nX-Auth:  Bearer canary \nbroken\nbad name: x\n";
        let (headers, bad) = read_headers(text);
        assert_eq!(headers[1], ("X-Auth".to_owned(), "Bearer canary".to_owned()));
        assert_eq!((headers.len(), bad), (2, 2));
        let home = Home::new()
            .with("ANTHROPIC_CUSTOM_HEADERS", text)
            .with("ANTHROPIC_BASE_URL", "https://u:canary@h")
            .with("ANTHROPIC_API_KEY", "canary");
        let debug = format!("{:?} {:?}", home.resolve().endpoint().unwrap(), home.resolve());
        assert!(!debug.contains("canary"), "{debug}");
    }
}
