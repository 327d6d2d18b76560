use beads_core::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::{Offset, TimeZone};
use serde::{Deserialize, Serialize};

/// The clock and the time zone of a reader, for local and relative times. The daemon may run in another zone.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalClock {
    /// The time of the request, in milliseconds since 1970.
    pub now_ms: u64,
    /// The time zone.
    pub zone: Zone,
}

/// A time zone. It is sent as an IANA name or a POSIX description. An unknown one is read as UTC.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Zone {
    name: String,
    zone: TimeZone,
}

impl Zone {
    /// Returns the time zone of this process.
    pub fn system() -> Self {
        let zone = TimeZone::system();
        let posix = || std::env::var("TZ").ok().filter(|text| TimeZone::posix(text).is_ok());
        let name = zone.iana_name().map(str::to_owned).or_else(posix);
        // A zone without a name, such as a copied /etc/localtime, is sent as its current offset.
        let name = name.unwrap_or_else(|| posix_name(zone.to_offset(jiff::Timestamp::now())));
        Self { name, zone }
    }
}

/// Returns the POSIX description of a fixed offset, in which the sign is reversed.
fn posix_name(offset: Offset) -> String {
    let seconds = offset.seconds();
    let (sign, reversed) = if seconds < 0 { ('-', '+') } else { ('+', '-') };
    let (hours, minutes) = (seconds.abs() / 3_600, seconds.abs() / 60 % 60);
    format!("<{sign}{hours:02}{minutes:02}>{reversed}{hours:02}:{minutes:02}")
}

impl From<String> for Zone {
    fn from(name: String) -> Self {
        let zone = TimeZone::get(&name).or_else(|_| TimeZone::posix(&name)).unwrap_or(TimeZone::UTC);
        Self { name, zone }
    }
}

impl From<Zone> for String {
    fn from(zone: Zone) -> Self {
        zone.name
    }
}

impl LocalClock {
    /// Formats a time in the past: how long ago it was within a day, and the local time before that.
    pub fn ago(&self, time: Timestamp) -> String {
        let Some(age) = self.now_ms.checked_sub(time.ms()) else { return self.moment(time) };
        match age / 1_000 {
            seconds @ 0..60 => format!("{seconds} s ago"),
            seconds @ 60..3_600 => format!("{} min ago", seconds / 60),
            seconds @ 3_600..86_400 => format!("{} h ago", seconds / 3_600),
            _ => self.moment(time),
        }
    }

    /// Formats a time after "since" or "until": the time of day, with the date unless it is today.
    pub fn at(&self, time: Timestamp) -> String {
        let (today, local) = (self.local(self.now_ms).date(), self.local(time.ms()));
        let is = |day: Result<Date, jiff::Error>| day.is_ok_and(|day| day == local.date());
        let format = match local.date() {
            day if day == today => "%H:%M",
            _ if is(today.tomorrow()) => "tomorrow %H:%M",
            _ if is(today.yesterday()) => "yesterday %H:%M",
            _ => return self.moment(time),
        };
        local.strftime(format).to_string()
    }

    /// Formats a time as local date and time of day.
    pub fn moment(&self, time: Timestamp) -> String {
        self.local(time.ms()).strftime("%Y-%m-%d %H:%M").to_string()
    }

    /// Formats a time as weekday, day, month and time of day.
    pub fn day(&self, time: Timestamp) -> String {
        self.local(time.ms()).strftime("%a %-d %b, %H:%M").to_string()
    }

    /// Formats the time of day, on whatever day.
    pub fn time_of_day(&self, time: Timestamp) -> String {
        self.local(time.ms()).strftime("%H:%M").to_string()
    }

    /// Returns when the local hour of a time began, in milliseconds since 1970.
    pub fn hour_of(&self, time: Timestamp) -> u64 {
        let local = self.local(time.ms());
        let seconds = u64::try_from(i64::from(local.minute()) * 60 + i64::from(local.second())).unwrap_or(0);
        (time.ms() - time.ms() % 1_000).saturating_sub(seconds * 1_000)
    }

    fn local(&self, ms: u64) -> DateTime {
        let ms = i64::try_from(ms).unwrap_or(i64::MAX);
        self.zone.zone.to_datetime(jiff::Timestamp::from_millisecond(ms).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn times_are_relative_within_a_day_and_local_otherwise() {
        let clock =
            LocalClock { now_ms: at("2026-11-20T19:30:00Z").ms(), zone: Zone::from("EST5".to_owned()) };
        assert_eq!(clock.ago(at("2026-11-20T19:29:48Z")), "12 s ago");
        assert_eq!(clock.ago(at("2026-11-20T19:26:59Z")), "3 min ago");
        assert_eq!(clock.ago(at("2026-11-20T10:00:00Z")), "9 h ago");
        assert_eq!(clock.ago(at("2026-11-18T02:00:00Z")), "2026-11-17 21:00");
        assert_eq!(clock.ago(at("2026-11-20T20:30:00Z")), "2026-11-20 15:30");
        assert_eq!(clock.at(at("2026-11-20T20:30:00Z")), "15:30");
        assert_eq!(clock.at(at("2026-11-21T20:30:00Z")), "tomorrow 15:30");
        assert_eq!(clock.at(at("2026-11-19T20:30:00Z")), "yesterday 15:30");
        assert_eq!(clock.at(at("2026-11-22T20:30:00Z")), "2026-11-22 15:30");
        assert_eq!(clock.day(at("2026-11-22T03:30:00Z")), "Sat 21 Nov, 22:30");
        assert_eq!(clock.time_of_day(at("2026-11-22T03:30:00Z")), "22:30");
        let half = LocalClock { zone: Zone::from("<+0530>-05:30".to_owned()), ..clock };
        assert_eq!(half.hour_of(at("2026-11-20T19:44:48.250Z")), at("2026-11-20T19:30:00Z").ms());
    }

    #[test]
    fn a_zone_is_sent_by_name_and_an_unknown_one_is_utc() {
        let time = at("2026-11-20T19:30:00Z");
        let shown = |name: &str| LocalClock { now_ms: 0, zone: name.to_owned().into() }.moment(time);
        assert_eq!(shown(&posix_name(jiff::tz::offset(-5))), "2026-11-20 14:30");
        assert_eq!(
            shown(&posix_name(Offset::from_seconds(5 * 3_600 + 30 * 60).unwrap())),
            "2026-11-21 01:00"
        );
        assert_eq!(shown("Nowhere/City"), "2026-11-20 19:30");
        let clock = LocalClock { now_ms: 1, zone: "EST5".to_owned().into() };
        assert_eq!(serde_json::to_string(&clock).unwrap(), r#"{"now_ms":1,"zone":"EST5"}"#);
    }
}
