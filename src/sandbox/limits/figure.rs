//! Figures in the files of control groups. Pure; what cannot be read is no figure.

/// From here on a number stands for "no limit": the older groups write the largest that they can hold.
const ENDLESS: u64 = 1 << 60;

/// A number; nothing for `max`, for `-1`, and for one that stands for no limit.
pub(super) fn number(text: &str) -> Option<u64> {
    text.trim().parse().ok().filter(|number| *number < ENDLESS)
}

/// The number behind a name, in lines of `name number`.
pub(super) fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| number(line.strip_prefix(name)?.strip_prefix(' ')?))
}

/// Processors, from the microseconds of each period that may be used.
pub(super) fn quota(quota: &str, period: &str) -> Option<f64> {
    let (quota, period) = (number(quota)?, number(period)?);
    (quota > 0 && period > 0).then_some(quota as f64 / period as f64)
}

/// Bytes behind a name, in lines of `name: number kB`.
pub(super) fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    number(line.trim().strip_suffix("kB")?)?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_for_no_limit_are_no_number() {
        for text in
            ["max\n", "-1\n", "9223372036854771712\n", "18446744073709551615", "", "1 2", "x"]
        {
            assert_eq!(number(text), None, "{text}");
        }
        assert_eq!(number("67108864\n"), Some(67_108_864));
    }

    #[test]
    fn counters_are_found_by_their_whole_name() {
        let events = "low 0\nhigh 0\nmax 211\noom 3\noom_kill 2\noom_group_kill 1\n";
        assert_eq!(field(events, "oom_kill"), Some(2));
        assert_eq!(field(events, "oom"), Some(3));
        assert_eq!(field("oom_kill_disable 0\nunder_oom 0\noom_kill 5\n", "oom_kill"), Some(5));
        assert_eq!(field("", "max"), None);
    }

    #[test]
    fn a_quota_is_a_part_of_its_period() {
        assert_eq!(quota("150000\n", "100000\n"), Some(1.5));
        assert_eq!(quota("max", "100000"), None);
        assert_eq!(quota("-1", "100000"), None);
        assert_eq!(quota("1", "0"), None);
    }

    #[test]
    fn the_memory_of_the_machine_is_given_in_kilobytes() {
        let text = "MemTotal:       24684524 kB\nMemFree:        20494144 kB\n";
        assert_eq!(kibibytes(text, "MemTotal"), Some(24_684_524 * 1024));
        assert_eq!(kibibytes(text, "Mem"), None);
        assert_eq!(kibibytes("MemTotal: many kB", "MemTotal"), None);
    }

    proptest! {
        #[test]
        fn anything_is_read_without_a_panic(text in "\\PC*", name in "[a-z_]{0,8}", other in "\\PC*") {
            let _ = (number(&text), field(&text, &name), quota(&text, &other), kibibytes(&text, &name));
        }

        #[test]
        fn what_is_written_is_read(value in 0..ENDLESS, before in "[a-z]{1,5} [0-9]{1,5}\n") {
            prop_assert_eq!(field(&format!("{before}oom_kill {value}\n"), "oom_kill"), Some(value));
        }
    }
}
