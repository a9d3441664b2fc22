//! Dates as people write them into files.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;

/// `2025-01-15`, what comes after it does not matter.
const DAY_BYTES: usize = 10;

/// Seconds since 1970 have fewer digits for a long time to come; these are milliseconds.
const SECONDS_MAX: u64 = 100_000_000_000;

/// A moment, or the beginning of a day; without a place, in UTC.
pub(super) fn date(text: &str) -> Option<Timestamp> {
    let text = text.trim().trim_matches(['"', '\'', '[', ']', '(', ')', '*', '_', ' ']);
    let moment = text.parse::<Timestamp>().ok();
    let civil = || text.parse::<DateTime>().ok().and_then(utc);
    let day = || text.get(..DAY_BYTES).and_then(|day| day.parse::<DateTime>().ok()).and_then(utc);
    moment.or_else(civil).or_else(day)
}

pub(super) fn date_of_number(number: i64) -> Option<Timestamp> {
    let moment = if number.unsigned_abs() < SECONDS_MAX {
        Timestamp::from_second(number)
    } else {
        Timestamp::from_millisecond(number)
    };
    moment.ok()
}

fn utc(civil: DateTime) -> Option<Timestamp> {
    Offset::UTC.to_timestamp(civil).ok()
}

#[cfg(test)]
mod tests {
    use super::{date, date_of_number};

    #[test]
    fn dates_in_many_spellings() {
        for (text, expected) in [
            ("2026-01-15T10:00:00Z", Some("2026-01-15T10:00:00Z")),
            ("2026-01-15T10:00:00+02:00", Some("2026-01-15T08:00:00Z")),
            ("2026-01-15T10:00:00", Some("2026-01-15T10:00:00Z")),
            ("2026-01-15", Some("2026-01-15T00:00:00Z")),
            (" [2026-01-15] we decided", Some("2026-01-15T00:00:00Z")),
            ("\"2026-01-15\"", Some("2026-01-15T00:00:00Z")),
            ("15 January", None),
            ("2026-13-45", None),
            ("", None),
            ("ééééééé", None),
        ] {
            assert_eq!(date(text).map(|date| date.to_string()).as_deref(), expected, "{text}");
        }
        for (number, expected) in [(1_768_471_200, "2026-01-15T10:00:00Z"), (1_768_471_200_000, "2026-01-15T10:00:00Z")]
        {
            assert_eq!(date_of_number(number).unwrap().to_string(), expected);
        }
        assert_eq!(date_of_number(i64::MAX), None);
    }
}
