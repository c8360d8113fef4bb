//! How long to wait before trying again.

use std::time::Duration;

use rand::RngExt;

use crate::engine::Remedy;

/// How often and how long (core.md N-1, N-5).
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// Attempts, the first included.
    pub max_attempts: u32,
    /// The first wait; it doubles with each attempt.
    pub base: Duration,
    /// The longest wait that flower chooses itself.
    pub longest: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { max_attempts: 6, base: Duration::from_secs(4), longest: Duration::from_secs(120) }
    }
}

impl Patience {
    /// The wait after attempt `attempt` (from 1), or nothing where trying again does not help.
    ///
    /// A time named by the server counts if it is longer, but no longer than an hour: a wait has a limit.
    pub fn wait(&self, remedy: &Remedy, attempt: u32) -> Option<Duration> {
        const LONGEST_ASKED: Duration = Duration::from_secs(3600);
        let Remedy::Retry { after } = remedy else { return None };
        if attempt >= self.max_attempts {
            return None;
        }
        let doubled = self.base.saturating_mul(1 << (attempt - 1).min(16));
        let spread: f64 = rand::rng().random_range(0.75..1.25);
        let own = doubled.min(self.longest).mul_f64(spread);
        Some(own.max(after.unwrap_or_default().min(LONGEST_ASKED)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_heed_the_server() {
        let patience = Patience { max_attempts: 20, ..Patience::default() };
        let wait = |attempt, after| {
            patience.wait(&Remedy::Retry { after }, attempt).unwrap().as_secs_f64()
        };
        for (attempt, low, high) in
            [(1, 3.0, 5.0), (2, 6.0, 10.0), (5, 48.0, 80.0), (9, 90.0, 150.0)]
        {
            let seconds = wait(attempt, None);
            assert!((low..high).contains(&seconds), "{attempt}: {seconds}");
        }
        assert_eq!(wait(1, Some(Duration::from_secs(30))), 30.0);
        assert_eq!(wait(1, Some(Duration::from_secs(999_999))), 3600.0);
    }

    #[test]
    fn the_last_attempt_is_the_last() {
        let patience = Patience::default();
        assert!(patience.wait(&Remedy::Retry { after: None }, 6).is_none());
        assert!(patience.wait(&Remedy::Stop, 1).is_none());
    }
}
