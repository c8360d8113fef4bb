//! Token counts as the Messages API reports them.

use serde::{Deserialize, Serialize};

/// Tokens of one reply or a sum of several. A missing or null count is zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Usage {
    /// Input tokens that came neither from nor into the cache.
    #[serde(default, deserialize_with = "lenient")]
    pub input_tokens: u64,
    /// Tokens that the model wrote.
    #[serde(default, deserialize_with = "lenient")]
    pub output_tokens: u64,
    /// Input tokens written into the cache.
    #[serde(default, deserialize_with = "lenient")]
    pub cache_creation_input_tokens: u64,
    /// Input tokens read from the cache.
    #[serde(default, deserialize_with = "lenient")]
    pub cache_read_input_tokens: u64,
}

impl Usage {
    /// What the model had before it: all input, cached or not (core.md U-39).
    pub fn context(&self) -> u64 {
        self.input_tokens + self.cache_read_input_tokens + self.cache_creation_input_tokens
    }

    /// Adds another reply's counts.
    pub fn add(&mut self, other: &Usage) {
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.cache_creation_input_tokens += other.cache_creation_input_tokens;
        self.cache_read_input_tokens += other.cache_read_input_tokens;
    }
}

fn lenient<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(value.as_u64().unwrap_or(0))
}
