//! Parses times, in the same formats on every interface.

use beads_core::Timestamp;
use jiff::tz::TimeZone;

/// Parses a time. A time without an offset or zone is in this process's time zone.
pub fn read(text: &str) -> beads_core::Result<Timestamp> {
    Timestamp::read(text, &TimeZone::system(), jiff::tz::db())
}

/// Returns the beginning of a day in this process's time zone: 0 for today, 1 for yesterday.
pub fn midnight(days_ago: i64) -> Option<Timestamp> {
    let now = beads_store::World::now_ms(&beads_store::RealWorld);
    let now = jiff::Timestamp::from_millisecond(i64::try_from(now).ok()?).ok()?;
    let day = now.to_zoned(TimeZone::system()).start_of_day().ok()?;
    let day = day.checked_sub(jiff::Span::new().days(days_ago)).ok()?;
    Timestamp::from_ms(u64::try_from(day.timestamp().as_millisecond()).ok()?).ok()
}

/// The length of the shortest time that depends on a time zone.
const SHORTEST_LOCAL: usize = "20261120T14".len();

/// Returns whether the result of [`read`] depends on this process's time zone.
pub fn is_local(text: &str) -> bool {
    // Reading a time loads the database of time zones, which takes longer than the rest of a warm command, and most
    // arguments that begin with a digit are numbers, such as that of `--limit`.
    let may_have_time =
        text.len() >= SHORTEST_LOCAL && text.bytes().take(4).all(|byte| byte.is_ascii_digit());
    if !may_have_time {
        return false;
    }
    let utc = |zone: &TimeZone| Timestamp::read(text, zone, jiff::tz::db()).ok();
    utc(&TimeZone::UTC) != utc(&TimeZone::fixed(jiff::tz::offset(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_date_time_without_offset_depends_on_the_zone() {
        for local in ["2026-11-20T14:30:00", "2026-11-20 14:30", "2026-11-20T14"] {
            assert!(is_local(local), "{local}");
        }
        for fixed in
            ["2026-11-20", "2026-11-20T14:30:00Z", "2026-11-20T14:30-01:00", "+2d", "3d", "50", "a title"]
        {
            assert!(!is_local(fixed), "{fixed}");
        }
    }
}
