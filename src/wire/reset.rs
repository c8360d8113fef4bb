//! The time at which a usage limit ends, where only words tell it: "resets 3pm (Europe/Berlin)".

use std::sync::LazyLock;
use std::time::Duration;

use jiff::civil::{DateTime, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, ZonedDateTime};
use regex::{Captures, Regex};

/// How long until the time that the text names. Of a bare time the next one counts; a missing zone is
/// `local`. Only a text of failure is to be asked: prose may talk of limits, too.
pub(super) fn time_to_reset(text: &str, now: Timestamp, local: &TimeZone) -> Option<Duration> {
    let found = RESET.captures(text)?;
    let zone = match found.name("zone") {
        Some(name) => TimeZone::get(name.as_str().trim()).ok()?,
        None => local.clone(),
    };
    let now = now.to_zoned_datetime(zone);
    let when = named(&found, &now)?;
    Duration::try_from(when.timestamp().duration_since(now.timestamp())).ok()
}

/// The next moment that fits what was written.
fn named(found: &Captures<'_>, now: &ZonedDateTime) -> Option<ZonedDateTime> {
    let part = |name: &str| found.name(name).map(|part| part.as_str());
    let number = |name: &str| part(name).and_then(|text| text.parse::<i8>().ok());
    let hour = match (number("hour")?, part("half").map(str::to_ascii_lowercase).as_deref()) {
        (hour @ 1..=12, Some("am")) => hour % 12,
        (hour @ 1..=12, Some("pm")) => hour % 12 + 12,
        (hour @ 0..=23, None) => hour,
        _ => return None,
    };
    let at = |date: jiff::civil::Date| -> Option<ZonedDateTime> {
        let moment: DateTime = date.at(hour, number("minute").unwrap_or(0), 0, 0);
        moment.to_zoned_datetime(now.time_zone().clone()).ok()
    };
    if let (Some(month), Some(day)) = (part("month").and_then(month), number("day")) {
        let this_year = jiff::civil::Date::new(now.year(), month, day).ok().and_then(at)?;
        if this_year >= *now {
            return Some(this_year);
        }
        return jiff::civil::Date::new(now.year() + 1, month, day).ok().and_then(at);
    }
    let mut date = now.date();
    if let Some(weekday) = part("weekday").and_then(weekday) {
        while date.weekday() != weekday {
            date = date.tomorrow().ok()?;
        }
        let this_week = at(date)?;
        return if this_week >= *now {
            Some(this_week)
        } else {
            at(date.checked_add(7.days()).ok()?)
        };
    }
    let today = at(date)?;
    if today >= *now { Some(today) } else { at(date.tomorrow().ok()?) }
}

fn month(name: &str) -> Option<i8> {
    const NAMES: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let start = name.get(..3)?.to_ascii_lowercase();
    NAMES.iter().position(|known| *known == start).and_then(|index| i8::try_from(index + 1).ok())
}

fn weekday(name: &str) -> Option<Weekday> {
    const NAMES: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
    let start = name.get(..3)?.to_ascii_lowercase();
    let index = NAMES.iter().position(|known| *known == start)?;
    Weekday::from_monday_zero_offset(i8::try_from(index).ok()?).ok()
}

static RESET: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?ix)\breset(?:s|ting)?\b [\s:]* (?:at|on)? \s*
        (?: (?P<weekday>(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?) \b[\s,]*(?:at)?\s*
          | (?P<month>(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*)\.?\s+(?P<day>\d{1,2})\b[\s,]*(?:at)?\s* )?
        (?P<hour>\d{1,2}) (?: :(?P<minute>[0-5]\d) )? \s* (?P<half>[ap]m)?
        (?: \s* \( (?P<zone>[A-Za-z_+\-/0-9]+) \) )?",
    )
    .expect("the pattern is a constant that tests compile")
});

#[cfg(test)]
mod tests {
    use super::*;

    /// The time in UTC that is meant, seen from `now`.
    fn when(text: &str, now: &str) -> Option<String> {
        let now: Timestamp = now.parse().unwrap();
        let wait = time_to_reset(text, now, &TimeZone::UTC)?;
        Some((now + wait).to_string())
    }

    #[test]
    fn a_bare_time_is_the_next_one_in_its_zone() {
        let text = "You've hit your session limit · resets 4:10am (UTC)";
        assert_eq!(when(text, "2026-03-01T02:00:00Z").unwrap(), "2026-03-01T04:10:00Z");
        assert_eq!(when(text, "2026-03-01T05:00:00Z").unwrap(), "2026-03-02T04:10:00Z");
        let berlin = "limit reached; resets 3pm (Europe/Berlin)";
        assert_eq!(when(berlin, "2026-01-10T10:00:00Z").unwrap(), "2026-01-10T14:00:00Z");
        assert_eq!(when("resets at 12am", "2026-01-10T10:00:00Z").unwrap(), "2026-01-11T00:00:00Z");
    }

    #[test]
    fn the_clock_change_lies_between() {
        // Clocks go forward in the night: 3pm is an hour earlier in UTC than the day before.
        let text = "resets 3pm (Europe/Berlin)";
        assert_eq!(when(text, "2026-03-28T20:00:00Z").unwrap(), "2026-03-29T13:00:00Z");
    }

    #[test]
    fn days_and_dates_are_understood() {
        let monday = "Weekly limit reached ∙ resets Mon 9am";
        assert_eq!(when(monday, "2026-12-01T09:00:00Z").unwrap(), "2026-12-07T09:00:00Z");
        let date = "resets Jan 3, 9am (UTC)";
        assert_eq!(when(date, "2026-12-01T09:00:00Z").unwrap(), "2027-01-03T09:00:00Z");
    }

    #[test]
    fn what_names_no_time_is_nothing() {
        for text in
            ["rate limit reached", "resets soon", "resets 25pm", "resets 3pm (Nowhere/At_All)"]
        {
            assert_eq!(when(text, "2026-12-01T09:00:00Z"), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics_and_no_wait_is_longer_than_a_year(text in "resets? ?(Mon|Feb 29|Dec 31,)? ?[0-9]{1,2}(:[0-9]{2})?(am|pm)?|.*") {
            let now: Timestamp = "2026-12-01T09:00:00Z".parse().unwrap();
            if let Some(wait) = time_to_reset(&text, now, &TimeZone::UTC) {
                proptest::prop_assert!(wait <= Duration::from_secs(367 * 24 * 3600));
            }
        }
    }
}
