//! The names that flower knows, in one table: what `config` lists, and the waits with their defaults.

use std::time::Duration;

/// The keys that are borrowed, described, and kept from tools (core.md E-7; the order is part of it).
pub const CREDENTIAL_KEYS: [&str; 9] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_MODEL",
    "ANTHROPIC_DEFAULT_OPUS_MODEL",
    "ANTHROPIC_DEFAULT_SONNET_MODEL",
    "ANTHROPIC_DEFAULT_HAIKU_MODEL",
    "CLAUDE_CODE_SUBAGENT_MODEL",
    "CLAUDE_CODE_EFFORT_LEVEL",
];

/// flower's own names that are no waits. An empty value is no value.
pub const OWN_KEYS: [&str; 13] = [
    "ANTHROPIC_CUSTOM_HEADERS",
    "FLOWER_ENV",
    "FLOWER_GATE",
    "FLOWER_ENGINE",
    "FLOWER_CLAUDE",
    "FLOWER_NOTIFY",
    "FLOWER_LANG",
    "FLOWER_WINDOW",
    "FLOWER_PARALLEL",
    "FLOWER_NO_PROBE",
    "FLOWER_NO_UPDATE",
    "FLOWER_NO_HANDOVER",
    "FLOWER_TRUST_PROJECT",
];

/// A wait that a person may change: seconds, decimal.
#[derive(Debug, Clone, Copy)]
pub struct Wait {
    /// Its variable.
    pub key: &'static str,
    /// Seconds, where nothing usable is set.
    pub default: u64,
    /// False where zero would mean to turn in circles without a pause.
    pub may_be_zero: bool,
}

/// All waits.
pub const WAITS: [Wait; 6] = [
    Wait { key: "FLOWER_RETRY_BASE", default: 4, may_be_zero: true },
    Wait { key: "FLOWER_RETRY_MAX", default: 120, may_be_zero: true },
    Wait { key: "FLOWER_PROBE_INTERVAL", default: 15, may_be_zero: false },
    Wait { key: "FLOWER_PROBE_TIMEOUT", default: 5, may_be_zero: false },
    Wait { key: "FLOWER_MAX_OFFLINE", default: 3600, may_be_zero: true },
    Wait { key: "FLOWER_ASK_TIMEOUT", default: 1800, may_be_zero: true },
];

/// Ten years: long enough for every use, and short enough to be added to any clock.
const LONGEST: f64 = 315_360_000.0;

impl Wait {
    /// The wait of this name.
    pub fn find(key: &str) -> Option<Self> {
        WAITS.into_iter().find(|wait| wait.key == key)
    }

    /// Reads seconds; nothing for what is no number, negative, endless, or zero where that is not allowed.
    pub fn read(self, text: &str) -> Option<Duration> {
        let text = text.trim();
        if !text.chars().all(|c| c.is_ascii_digit() || c == '.') {
            return None;
        }
        let seconds: f64 = text.parse().ok()?;
        let duration = Duration::try_from_secs_f64(seconds).ok()?;
        (seconds <= LONGEST && (self.may_be_zero || !duration.is_zero())).then_some(duration)
    }
}

/// True for a key that flower knows.
pub fn is_known(key: &str) -> bool {
    CREDENTIAL_KEYS.contains(&key) || OWN_KEYS.contains(&key) || Wait::find(key).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_read_strictly() {
        let base = Wait::find("FLOWER_RETRY_BASE").unwrap();
        assert_eq!(base.read("0.05"), Some(Duration::from_millis(50)));
        assert_eq!(base.read("0"), Some(Duration::ZERO));
        for bad in ["", "-1", "inf", "NaN", "1e3", "4s", "999999999999", "1.2.3", "."] {
            assert_eq!(base.read(bad), None, "{bad}");
        }
        assert_eq!(Wait::find("FLOWER_PROBE_INTERVAL").unwrap().read("0.0"), None);
    }
}
