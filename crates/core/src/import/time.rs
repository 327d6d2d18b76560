//! Reads times of other trackers: RFC 3339 with any offset and precision, milliseconds, or `[ms, counter]`.

use jiff::tz::{TimeZone, TimeZoneDatabase};
use serde_json::Value;

use crate::limits::COUNTER_STEP;
use crate::timestamp::moment;
use crate::{Actor, Mark, Stamp, Timestamp};

/// The value of a time field.
pub(super) enum Time {
    At(Stamp),
    /// A time before 1970, such as Go's zero time. It means that there is none.
    Never,
    Unreadable,
}

/// Reads a time as a stamp with tag 0, which no replica uses.
pub(super) fn read(value: &Value) -> Time {
    match value {
        Value::String(text) if text.is_empty() => Time::Never,
        Value::String(text) => read_text(text),
        Value::Number(ms) => ms.as_u64().and_then(|ms| at(ms, 0)).map_or(Time::Unreadable, Time::At),
        Value::Array(parts) => match parts.as_slice() {
            [ms, counter] => pair(ms, counter).map_or(Time::Unreadable, Time::At),
            _ => Time::Unreadable,
        },
        _ => Time::Unreadable,
    }
}

fn read_text(text: &str) -> Time {
    // Old databases have times such as `2025-01-02 03:04:05`, in UTC. The time zone and the zone database of
    // this machine are not used, because a file must mean the same on every machine.
    let parsed = moment(text, &TimeZone::UTC, &TimeZoneDatabase::none());
    match parsed.map(jiff::Timestamp::as_millisecond) {
        Some(ms) if ms < 0 => Time::Never,
        Some(ms) => u64::try_from(ms).ok().and_then(|ms| at(ms, 0)).map_or(Time::Unreadable, Time::At),
        None => Time::Unreadable,
    }
}

/// Reads a stamp of another clock. Its counter keeps its order, and the tag is 0.
fn pair(ms: &Value, counter: &Value) -> Option<Stamp> {
    at(ms.as_u64()?, counter.as_u64()?)
}

fn at(ms: u64, counter: u64) -> Option<Stamp> {
    let steps = u32::try_from(counter.min(0xffff)).ok()?;
    Stamp::decode(ms, steps * COUNTER_STEP).ok()
}

/// Reads `[[ms, counter], "actor"]`.
pub(super) fn read_mark(value: &Value) -> Option<Mark> {
    let [stamp, by] = value.as_array()?.as_slice() else { return None };
    let Time::At(at) = read(stamp) else { return None };
    Some(Mark::new(at, by.as_str()?.parse::<Actor>().ok()?))
}

/// Returns the next stamp with tag 0.
pub(super) fn after(stamp: Stamp) -> Stamp {
    let later = match stamp.counter().checked_add(COUNTER_STEP) {
        Some(counter) => Stamp::decode(stamp.ms(), counter),
        None => Stamp::decode(stamp.ms() + 1, 0),
    };
    later.unwrap_or(stamp)
}

/// Returns the `defer_until` of a bead that is deferred without a date.
pub(crate) fn far_future() -> Timestamp {
    Timestamp::from_ms(crate::limits::MAX_MS - 1).expect("the last millisecond of the format")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_spelling_of_a_moment_is_the_same_stamp() {
        let ms = 1_762_149_487_295;
        for value in [
            json!("2025-11-02T21:58:07.295058-08:00"),
            json!("2025-11-03T05:58:07.295058999Z"),
            json!("2025-11-03 05:58:07.295"),
            json!("2025-11-03T00:58:07.295-05:00[America/New_York]"),
            json!(ms),
            json!([ms, 0]),
        ] {
            let Time::At(stamp) = read(&value) else { panic!("{value}") };
            assert_eq!((stamp.ms(), stamp.counter()), (ms, 0), "{value}");
        }
    }

    #[test]
    fn zero_times_mean_never_and_other_values_are_unreadable() {
        assert!(matches!(read(&json!("0001-01-01T00:00:00Z")), Time::Never));
        for value in [
            json!("soon"),
            json!("2025-11-03T00:58[America/New_York]"),
            json!("2345-01-01T00:00:00Z"),
            json!(-1),
            json!([1]),
            json!({}),
            json!(true),
        ] {
            assert!(matches!(read(&value), Time::Unreadable), "{value}");
        }
    }

    #[test]
    fn counters_keep_their_order_and_tag_0() {
        let stamp = |counter: u64| match read(&json!([5, counter])) {
            Time::At(stamp) => stamp,
            _ => panic!("{counter}"),
        };
        assert!(stamp(2) > stamp(1) && stamp(u64::MAX) > stamp(2));
        assert_eq!(stamp(7).counter() % COUNTER_STEP, 0);
        assert!(after(stamp(u64::MAX)) > stamp(u64::MAX));
        assert_eq!(after(stamp(u64::MAX)).counter() % COUNTER_STEP, 0);
    }
}
