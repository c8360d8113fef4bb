//! Choices: flags > environment > `.env` files > borrowed keys > defaults, resolved once, each with its origin.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::transcript::Usage;

/// The process environment and the places that depend on it, handed in by the door.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// Every variable, also those that are not UTF-8.
    pub variables: BTreeMap<OsString, OsString>,
    /// The current directory.
    pub current_dir: PathBuf,
    /// The real path of the running executable.
    pub executable: PathBuf,
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The process environment.
    Process,
    /// A line of a `.env` file.
    File { path: PathBuf, line: usize },
    /// The `env` block of a settings file of Claude Code.
    Borrowed { path: PathBuf },
    /// flower's own default.
    Default,
}

/// All choices, resolved.
#[derive(Debug, Clone)]
pub struct Settings {}

/// Something worth telling the person, once. `key` names the text in the catalogue, never a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    pub key: &'static str,
    pub values: Vec<(&'static str, String)>,
}

/// A value that must not be shown. `Debug` and `Display` mask it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Hides a value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself, for a request's header only.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Without a trailing slash.
    pub base_url: String,
    pub auth: Auth,
    /// True where `FLOWER_GATE` named it (or the demo's own gate): step and role headers are sent.
    pub is_gate: bool,
    /// Lines `Name: value` of `ANTHROPIC_CUSTOM_HEADERS`.
    pub custom_headers: Vec<(String, String)>,
}

/// Windows and prices by model.
#[derive(Debug, Clone)]
pub struct ModelTable {}

impl ModelTable {
    /// The context window in tokens; 200,000 for a model that is not listed.
    pub fn window(&self, _model: &str) -> u64 {
        200_000
    }
    /// US dollars; nothing for a model that is not listed.
    pub fn cost(&self, _model: &str, _usage: &Usage) -> Option<f64> {
        None
    }
}
