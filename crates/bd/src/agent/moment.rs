//! A point in time, to the millisecond.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A timestamp, written as RFC 3339 in UTC with exactly three fractional digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(Timestamp);

impl Moment {
    /// Reads the wall clock.
    pub fn now() -> Moment {
        Moment::truncate_to_millis(Timestamp::now())
    }

    fn truncate_to_millis(at: Timestamp) -> Moment {
        // Truncating a valid time cannot fail; the fallback is never used.
        Moment(Timestamp::from_millisecond(at.as_millisecond()).unwrap_or(at))
    }

    /// Adds minutes, saturating at the latest possible time.
    pub fn plus_minutes(self, minutes: i64) -> Moment {
        let ms = self.0.as_millisecond().saturating_add(minutes.saturating_mul(60_000));
        Moment(Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX))
    }

    /// Returns the whole minutes since `earlier`; 0 if that is in the future.
    pub fn minutes_since(self, earlier: Moment) -> i64 {
        (self.0.as_millisecond() - earlier.0.as_millisecond()).max(0) / 60_000
    }

    /// Formats the time for ids: `20260213_220001`.
    pub fn compact(self) -> String {
        self.0.strftime("%Y%m%d_%H%M%S").to_string()
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        beads_core::write_rfc3339(self.0, f)
    }
}

impl FromStr for Moment {
    type Err = jiff::Error;

    fn from_str(text: &str) -> Result<Moment, jiff::Error> {
        text.parse().map(Moment::truncate_to_millis)
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl JsonSchema for Moment {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Moment".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": "date-time"})
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Moment, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_three_fractional_digits() {
        let at = |s: &str| s.parse::<Moment>().unwrap().to_string();
        assert_eq!(at("2026-02-13T22:00:00Z"), "2026-02-13T22:00:00.000Z");
        assert_eq!(at("2026-02-13T23:00:00.1239+01:00"), "2026-02-13T22:00:00.123Z");
    }

    #[test]
    fn minutes() {
        let at: Moment = "2026-02-13T22:09:00Z".parse().unwrap();
        assert_eq!(at.plus_minutes(120).to_string(), "2026-02-14T00:09:00.000Z");
        assert_eq!(at.plus_minutes(120).minutes_since(at), 120);
        assert_eq!(at.minutes_since(at.plus_minutes(5)), 0);
        assert_eq!(at.compact(), "20260213_220900");
    }
}
