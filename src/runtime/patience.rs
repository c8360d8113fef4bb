//! Which failures are outlived, and how long is waited for better times.

use std::time::Duration;

use rand::RngExt;

use crate::engine::{Fault, Remedy};

/// A server's wish to be left alone is followed this far; what is longer is the end of a usage limit.
const LONGEST_ASKED: Duration = Duration::from_secs(3600);
/// The end of a usage limit is waited for if it is no further away: a week and a day.
const LONGEST_RESET: Duration = Duration::from_secs(8 * 24 * 3600);

/// How a step lives through failures (core.md N-1, N-5).
///
/// ```
/// use flower::runtime::Resilience;
/// let patient = Resilience { max_attempts: 10, ..Resilience::default() };
/// assert!(patient.enabled && patient.wait_for_reset);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resilience {
    /// False: the first failure is the last.
    pub enabled: bool,
    /// Attempts in a row without a reply of the model, the first included. 6
    pub max_attempts: u32,
    /// The first wait; it doubles with each failure. 4 s
    pub base: Duration,
    /// The longest wait between attempts that flower chooses itself. 120 s
    pub longest: Duration,
    /// How long the endpoint may take to open its port. 5 s
    pub probe_timeout: Duration,
    /// Between two looks at an endpoint that cannot be reached. 15 s
    pub probe_interval: Duration,
    /// The longest wait for an endpoint that cannot be reached or is overloaded. 60 min
    pub max_offline: Duration,
    /// A failure that cannot be understood is tried again like one that passes.
    pub retry_unknown: bool,
    /// The end of a usage limit is waited for, where the server names it.
    pub wait_for_reset: bool,
}

impl Default for Resilience {
    fn default() -> Self {
        Self {
            enabled: true,
            max_attempts: 6,
            base: Duration::from_secs(4),
            longest: Duration::from_secs(120),
            probe_timeout: Duration::from_secs(5),
            probe_interval: Duration::from_secs(15),
            max_offline: Duration::from_secs(3600),
            retry_unknown: true,
            wait_for_reset: true,
        }
    }
}

impl Resilience {
    /// The wait after the `failures`th failure in a row (from 1), `since` the first of them; nothing where
    /// trying again does not help, or patience is at its end.
    pub fn pause(&self, fault: &Fault, failures: u32, since: Duration) -> Option<Duration> {
        let Remedy::Retry { after } = fault.remedy() else { return None };
        if !self.enabled || (*fault == Fault::Protocol && !self.retry_unknown) {
            return None;
        }
        let asked = after.unwrap_or_default();
        if asked > LONGEST_ASKED {
            let in_reach = since.saturating_add(asked) <= LONGEST_RESET;
            // Not all at once in the first second after it.
            return (self.wait_for_reset && in_reach).then(|| asked + spread(self.base));
        }
        let own = if failures < self.max_attempts {
            doubled(self.base, failures - 1).min(self.longest)
        } else if is_crowded(fault) && since < self.max_offline {
            // A crowd goes away, though not in minutes: 30 s, then up to five minutes.
            let parked = doubled(self.base * 15 / 2, failures - self.max_attempts);
            parked.min(self.longest * 5 / 2)
        } else {
            return None;
        };
        Some(spread(own).max(asked))
    }
}

/// Others are being served meanwhile: waiting helps, however long it takes.
fn is_crowded(fault: &Fault) -> bool {
    matches!(fault, Fault::Overloaded { .. } | Fault::RateLimited { .. })
}

fn doubled(first: Duration, times: u32) -> Duration {
    first.saturating_mul(1 << times.min(16))
}

/// A quarter more or less, so that many runs do not come back at the same moment.
fn spread(wait: Duration) -> Duration {
    wait.mul_f64(rand::rng().random_range(0.75..1.25))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OVERLOADED: Fault = Fault::Overloaded { retry_after: None };

    fn seconds(fault: &Fault, failures: u32, since: u64) -> Option<f64> {
        let pause = Resilience::default().pause(fault, failures, Duration::from_secs(since));
        pause.map(|pause| pause.as_secs_f64())
    }

    #[test]
    fn waits_double_up_to_the_longest() {
        for (failures, low, high) in [(1, 3.0, 5.0), (2, 6.0, 10.0), (5, 48.0, 80.0)] {
            let wait = seconds(&Fault::Network, failures, 0).unwrap();
            assert!((low..high).contains(&wait), "{failures}: {wait}");
        }
        let patient = Resilience { max_attempts: 20, ..Resilience::default() };
        let wait = patient.pause(&Fault::Network, 9, Duration::ZERO).unwrap().as_secs_f64();
        assert!((90.0..150.0).contains(&wait), "{wait}");
    }

    #[test]
    fn the_last_attempt_is_the_last_except_in_a_crowd() {
        assert_eq!(seconds(&Fault::Network, 6, 0), None);
        for (failures, low, high) in [(6, 22.0, 38.0), (7, 45.0, 75.0), (30, 225.0, 375.0)] {
            let wait = seconds(&OVERLOADED, failures, 600).unwrap();
            assert!((low..high).contains(&wait), "{failures}: {wait}");
        }
        assert_eq!(seconds(&OVERLOADED, 30, 3600), None, "not for ever");
    }

    #[test]
    fn the_server_is_heeded() {
        let limited =
            |seconds| Fault::RateLimited { retry_after: Some(Duration::from_secs(seconds)) };
        assert_eq!(seconds(&limited(30), 1, 0), Some(30.0));
        let until_tomorrow = seconds(&limited(20 * 3600), 1, 0).unwrap();
        assert!(until_tomorrow > 72_000.0 && until_tomorrow < 72_006.0);
        assert_eq!(seconds(&limited(30 * 24 * 3600), 1, 0), None, "too far away");
        assert_eq!(seconds(&limited(6 * 24 * 3600), 2, 3 * 24 * 3600), None, "moved on and on");
        let hasty = Resilience { wait_for_reset: false, ..Resilience::default() };
        assert_eq!(hasty.pause(&limited(20 * 3600), 1, Duration::ZERO), None);
    }

    #[test]
    fn what_does_not_pass_is_not_tried_again() {
        assert_eq!(seconds(&Fault::Credentials, 1, 0), None);
        assert_eq!(seconds(&Fault::Limit(crate::engine::Limit::Turns), 1, 0), None);
        let strict = Resilience { retry_unknown: false, ..Resilience::default() };
        assert_eq!(strict.pause(&Fault::Protocol, 1, Duration::ZERO), None);
        let off = Resilience { enabled: false, ..Resilience::default() };
        assert_eq!(off.pause(&Fault::Network, 1, Duration::ZERO), None);
    }

    proptest::proptest! {
        #[test]
        fn every_wait_has_a_limit(failures in 1u32.., since in 0u64..u64::MAX / 2, asked in 0u64..) {
            let fault = Fault::Overloaded { retry_after: Some(Duration::from_secs(asked)) };
            let pause = Resilience::default().pause(&fault, failures, Duration::from_secs(since));
            if let Some(pause) = pause {
                proptest::prop_assert!(pause <= LONGEST_RESET + Duration::from_secs(5));
            }
        }
    }
}
