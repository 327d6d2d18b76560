//! Times as people and programs give them, the same on every interface.

use beads_core::Timestamp;
use jiff::tz::TimeZone;

/// Reads a time. One without offset or zone is meant in this process's time zone.
pub fn read(text: &str) -> beads_core::Result<Timestamp> {
    Timestamp::read(text, &TimeZone::system(), jiff::tz::db())
}

/// Whether what [`read`] makes of a text may depend on this process's time zone.
pub fn is_local(text: &str) -> bool {
    let utc = |zone: &TimeZone| Timestamp::read(text, zone, jiff::tz::db()).ok();
    utc(&TimeZone::UTC) != utc(&TimeZone::fixed(jiff::tz::offset(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_date_time_without_offset_depends_on_the_zone() {
        for local in ["2026-11-20T14:30:00", "2026-11-20 14:30"] {
            assert!(is_local(local), "{local}");
        }
        for fixed in ["2026-11-20", "2026-11-20T14:30:00Z", "2026-11-20T14:30-01:00", "+2d", "3d", "a title"]
        {
            assert!(!is_local(fixed), "{fixed}");
        }
    }
}
