//! Parsing of times as people write them.

use beads_core::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase, offset};
use proptest::prelude::*;

/// Returns the days since 1970 of a Gregorian date, computed without a library.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn read(text: &str, hours: i8) -> Option<u64> {
    let zone = TimeZone::fixed(offset(hours));
    Timestamp::read(text, &zone, &TimeZoneDatabase::none()).ok().map(Timestamp::ms)
}

proptest! {
    /// In every spelling, the time of day and the offset are parsed to the millisecond.
    #[test]
    fn all_parts_of_a_time_are_parsed(
        (year, month, day) in (1971_i64..2099, 1_i64..=12, 1_i64..=28),
        (hour, minute, second, milli) in (0_i64..24, 0_i64..60, 0_i64..60, 0_i64..1000),
        (offset_hours, offset_minutes, west) in (0_i64..=23, 0_i64..60, any::<bool>()),
        local in -12_i8..=14,
        space in any::<bool>(),
    ) {
        let between = if space { ' ' } else { 'T' };
        let wall = format!("{year}-{month:02}-{day:02}{between}{hour:02}:{minute:02}:{second:02}.{milli:03}");
        let utc = ((days(year, month, day) * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + milli;
        let shifted = |minutes: i64| u64::try_from(utc - minutes * 60_000).ok();
        prop_assert_eq!(read(&wall, local), shifted(i64::from(local) * 60));
        prop_assert_eq!(read(&format!("{wall}Z"), local), shifted(0));
        let minutes = (offset_hours * 60 + offset_minutes) * if west { -1 } else { 1 };
        let sign = if west { '-' } else { '+' };
        let with_offset = format!("{wall}{sign}{offset_hours:02}:{offset_minutes:02}");
        prop_assert_eq!(read(&with_offset, local), shifted(minutes));
        // An unknown zone is ignored if there is an offset, and rejected otherwise.
        prop_assert_eq!(read(&format!("{with_offset}[Nowhere/City]"), local), shifted(minutes));
        prop_assert_eq!(read(&format!("{wall}[Nowhere/City]"), local), None);
        // A date is its first moment in UTC, regardless of the local time zone.
        let date = format!("{year}-{month:02}-{day:02}");
        prop_assert_eq!(read(&date, local), u64::try_from(days(year, month, day) * 86_400_000).ok());
        // No part of the text is ignored.
        for rubbish in [format!("{wall}x"), format!("{wall} tomorrow"), format!("{date}Z"), format!("{date}T")] {
            prop_assert_eq!(read(&rubbish, local), None, "{}", rubbish);
        }
    }

    #[test]
    fn parsing_never_panics(text in "[0-9TZ:+. \\[\\]a-z/-]{0,40}") {
        let _ = read(&text, 0);
    }
}

#[test]
fn times_out_of_range_are_rejected_with_a_reason() {
    let error = |text| {
        let read = Timestamp::read(text, &TimeZone::UTC, &TimeZoneDatabase::none());
        read.unwrap_err().to_string()
    };
    assert!(error("2099-12-31T23:59:59-01:00").contains("before the year 2100"));
    assert!(error("1969-12-31T23:59:59").contains("before 1970"));
    assert!(error("soon").contains("RFC 3339"));
}
