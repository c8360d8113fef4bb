//! The tools that are built in. Placeholder with the signatures only; replaced at the merge.

use std::ffi::OsString;
use std::path::PathBuf;

use serde_json::Value;

/// A tool as the model is told about it.
#[derive(Debug, Clone)]
pub struct ToolDefinition {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// JSON Schema of the input.
    pub schema: Value,
}

/// What a call gave.
#[derive(Debug, Clone)]
pub struct ToolOutput {
    /// What the model reads: a string or an array of content blocks.
    pub content: Value,
    /// The call failed.
    pub is_error: bool,
    /// The tool's own output object.
    pub detail: Value,
}

/// Where the tools of one conversation work.
#[derive(Debug)]
pub struct Toolbox {}

impl Toolbox {
    /// Opens it.
    pub fn new(_workspace: PathBuf, _environment: Vec<(OsString, OsString)>) -> Self {
        Self {}
    }
}

/// The named tools, in that order; unknown names are left out.
pub fn definitions(_names: &[String]) -> Vec<ToolDefinition> {
    Vec::new()
}

/// Runs a call; nothing where there is no such tool.
pub async fn run(_toolbox: &Toolbox, _name: &str, _input: &Value) -> Option<ToolOutput> {
    None
}

/// True for tools that change nothing.
pub fn is_read_only(_name: &str) -> bool {
    false
}
