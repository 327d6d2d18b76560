//! Wall-clock times.

use jiff::fmt::temporal::{Pieces, PiecesOffset};
use jiff::tz::{TimeZone, TimeZoneDatabase};
use serde::{Deserialize, Serialize};

use crate::limits::MAX_MS;
use crate::{Error, Result, Stamp};

/// Milliseconds since 1970, before the year 2100. Stored as an integer, shown as RFC 3339 with milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct Timestamp(u64);

impl Timestamp {
    /// Returns the time `ms` milliseconds after 1970. Fails if it is not before the year 2100.
    pub fn from_ms(ms: u64) -> Result<Self> {
        if ms >= MAX_MS {
            return Err(Error::invalid("time", format!("{ms} ms is not before the year 2100")));
        }
        Ok(Self(ms))
    }

    /// Returns the milliseconds since 1970.
    pub fn ms(self) -> u64 {
        self.0
    }

    /// Formats milliseconds since 1970. Returns an empty string if the number is not a valid time.
    pub fn text_of(ms: u64) -> String {
        Self::from_ms(ms).map(|time| time.to_string()).unwrap_or_default()
    }

    /// Parses a time as people write it: RFC 3339 with any offset, a time with a zone from `zones` in
    /// brackets, a date-time in the time zone `local`, or a date, which means its first moment in UTC.
    pub fn read(text: &str, local: &TimeZone, zones: &TimeZoneDatabase) -> Result<Self> {
        let unreadable = || {
            let expected = "RFC 3339, a local date-time, a time with a zone in brackets, or a date";
            Error::invalid("time", format!("{text:?} is not a time: expected {expected}"))
        };
        let time = moment(text, local, zones).ok_or_else(unreadable)?;
        Self::from_instant(time, text)
    }

    /// Truncates to milliseconds.
    fn from_instant(time: jiff::Timestamp, text: &str) -> Result<Self> {
        let ms = u64::try_from(time.as_millisecond())
            .map_err(|_| Error::invalid("time", format!("{text:?} is before 1970")))?;
        Self::from_ms(ms).map_err(|_| Error::invalid("time", format!("{text:?} is not before the year 2100")))
    }
}

/// Parses the whole text as a time.
pub(crate) fn moment(text: &str, local: &TimeZone, zones: &TimeZoneDatabase) -> Option<jiff::Timestamp> {
    let pieces = Pieces::parse(text).ok()?;
    let offset = pieces.to_numeric_offset();
    let zone = match pieces.to_time_zone_with(zones) {
        Ok(zone) => zone,
        // The offset is enough.
        Err(_) if offset.is_some() => None,
        Err(_) => return None,
    };
    let Some(time) = pieces.time() else {
        let zone = zone.unwrap_or(TimeZone::UTC);
        return pieces.date().to_zoned(zone).ok().filter(|_| offset.is_none()).map(|first| first.timestamp());
    };
    let wall = pieces.date().to_datetime(time);
    match (offset, zone) {
        (None, zone) => zone.as_ref().unwrap_or(local).to_ambiguous_timestamp(wall).compatible().ok(),
        (Some(offset), None) => offset.to_timestamp(wall).ok(),
        (Some(offset), Some(zone)) => {
            let is_utc = matches!(pieces.offset(), Some(PiecesOffset::Zulu));
            let time = offset.to_timestamp(wall).ok()?;
            // Reject an offset that the zone does not have at that time.
            (is_utc || zone.to_offset(time) == offset).then_some(time)
        }
    }
}

impl TryFrom<u64> for Timestamp {
    type Error = Error;

    fn try_from(ms: u64) -> Result<Self> {
        Self::from_ms(ms)
    }
}

impl From<Timestamp> for u64 {
    fn from(time: Timestamp) -> Self {
        time.0
    }
}

impl From<Stamp> for Timestamp {
    fn from(stamp: Stamp) -> Self {
        Self(stamp.ms())
    }
}

impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ms = i64::try_from(self.0).map_err(|_| std::fmt::Error)?;
        let time = jiff::Timestamp::from_millisecond(ms).map_err(|_| std::fmt::Error)?;
        write_rfc3339(time, f)
    }
}

/// Writes RFC 3339 in UTC with milliseconds, which is how all times are shown.
pub fn write_rfc3339(time: jiff::Timestamp, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
    write!(f, "{time:.3}")
}

/// Parses RFC 3339 with any offset and any precision, and truncates to milliseconds.
impl std::str::FromStr for Timestamp {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let time: jiff::Timestamp =
            text.parse().map_err(|_| Error::invalid("time", format!("{text:?} is not an RFC 3339 time")))?;
        Self::from_instant(time, text)
    }
}

/// Serializes a time as RFC 3339, as in the public schema. The files have integers.
pub(crate) mod rfc3339 {
    use super::Timestamp;

    #[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
    pub fn serialize<S: serde::Serializer>(time: &Timestamp, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(time)
    }
}

/// Like [`rfc3339`], for an optional time.
pub(crate) mod rfc3339_option {
    use super::Timestamp;

    pub fn serialize<S: serde::Serializer>(time: &Option<Timestamp>, s: S) -> Result<S::Ok, S::Error> {
        match time {
            Some(time) => s.collect_str(time),
            None => s.serialize_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn always_shows_milliseconds() {
        assert_eq!(Timestamp::from_ms(1_702_234_567_890).unwrap().to_string(), "2023-12-10T18:56:07.890Z");
        assert_eq!(Timestamp::from_ms(0).unwrap().to_string(), "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn parses_offsets_and_nanoseconds() {
        let time: Timestamp = "2025-11-02T21:58:07.295058999-08:00".parse().unwrap();
        assert_eq!(time.to_string(), "2025-11-03T05:58:07.295Z");
        assert!("yesterday".parse::<Timestamp>().is_err());
        assert!("1969-01-01T00:00:00Z".parse::<Timestamp>().is_err());
    }
}
