//! When a conversation is full, and what is known about the size of a model's window.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::disk::{self, Care};

/// A conversation never ends before this size: a handoff must have something to hand over.
const SMALLEST: u64 = 10_000;
/// The person is warned so many tokens before.
const WARNING: u64 = 20_000;

/// When a step moves to a fresh session (core.md H-1).
///
/// ```
/// use flower::runtime::HandoffPolicy;
/// let policy = HandoffPolicy { window: 200_000, ..HandoffPolicy::default() };
/// assert_eq!(policy.at(), 150_000);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandoffPolicy {
    /// False: a full conversation is an error.
    pub enabled: bool,
    /// The model's window in tokens. 200,000
    pub window: u64,
    /// Tokens that stay free; 0 means a quarter of the window, at least 50,000.
    pub headroom: u64,
    /// Sessions that one step may use up. 8
    pub max_generations: usize,
    /// Where a window that proved smaller is remembered; nothing where it is not.
    pub calibration: Option<Calibration>,
}

impl Default for HandoffPolicy {
    fn default() -> Self {
        Self { enabled: true, window: 200_000, headroom: 0, max_generations: 8, calibration: None }
    }
}

impl HandoffPolicy {
    /// From how many tokens on a conversation is full.
    pub fn at(&self) -> u64 {
        let room = match self.headroom {
            0 => (self.window / 4).max(50_000),
            room => room,
        };
        self.window.saturating_sub(room).max(SMALLEST)
    }

    /// From how many tokens on that is announced.
    pub fn warn_at(&self) -> u64 {
        self.at().saturating_sub(WARNING).max(1000)
    }
}

/// The file in which windows are remembered that proved smaller than they were said to be: a JSON object
/// with a number of tokens for each `address|model` (core.md H-21).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Calibration {
    file: PathBuf,
    key: String,
}

impl Calibration {
    /// For one endpoint (nothing for the usual one) and one model, in the user's folder.
    pub fn new(folder: &Path, base_url: Option<&str>, model: &str) -> Self {
        let address = base_url.unwrap_or("default");
        Self { file: folder.join(".windows"), key: format!("{address}|{model}") }
    }

    /// The window as it was last found out.
    pub fn window(&self) -> Option<u64> {
        self.read().get(&self.key)?.as_u64().filter(|window| *window > 0)
    }

    /// Remembers that a conversation of this size was too long. As well as it goes: a file that cannot be
    /// read is begun anew, one that cannot be written stays.
    pub fn remember(&self, context: u64) {
        if context == 0 || self.window().is_some_and(|known| known <= context) {
            return;
        }
        let mut windows = self.read();
        windows.insert(self.key.clone(), context.into());
        let text = Value::Object(windows).to_string();
        if let Some(folder) = self.file.parent() {
            let _ = std::fs::create_dir_all(folder);
        }
        let _ = disk::replace(&self.file, text.as_bytes(), Care::Work);
    }

    fn read(&self) -> Map<String, Value> {
        let text = disk::read(&self.file, 1 << 20).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_stays_free_but_never_less_than_a_reply_needs() {
        let at =
            |window, headroom| HandoffPolicy { window, headroom, ..HandoffPolicy::default() }.at();
        assert_eq!(at(200_000, 0), 150_000);
        assert_eq!(at(1_000_000, 0), 750_000);
        assert_eq!(at(1_000_000, 50_000), 950_000);
        assert_eq!(at(40_000, 25_000), 15_000);
        assert_eq!(at(20_000, 0), 10_000);
        assert_eq!(HandoffPolicy::default().warn_at(), 130_000);
    }

    #[test]
    fn a_window_is_remembered_for_its_endpoint_and_model_and_only_shrinks() {
        let folder = tempfile::tempdir().unwrap();
        let own = Calibration::new(folder.path(), None, "m");
        let other = Calibration::new(folder.path(), Some("http://gate"), "m");
        assert_eq!(own.window(), None);
        own.remember(174_000);
        own.remember(180_000);
        own.remember(0);
        other.remember(90_000);
        assert_eq!((own.window(), other.window()), (Some(174_000), Some(90_000)));
        std::fs::write(folder.path().join(".windows"), "nonsense").unwrap();
        assert_eq!(own.window(), None);
        own.remember(1);
        assert_eq!(own.window(), Some(1));
    }
}
