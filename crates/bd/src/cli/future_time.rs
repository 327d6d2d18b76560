//! Future times, for `--due` and `--defer`.

use beads_core::Timestamp;
use beads_engine::config::parse_duration;

use crate::moment;

/// Parses a time as [`moment::read`] does, or a time from now such as `+2d`.
pub fn future_time(text: &str) -> Result<Timestamp, String> {
    let Some(span) = text.strip_prefix('+') else {
        // An age such as `3d` is in the past, so it is rejected.
        return moment::read(text).map_err(|error| format!("{error}, or a time from now such as +2d"));
    };
    let span = parse_duration(span).map_err(|failure| failure.message)?;
    let now = beads_store::World::now_ms(&beads_store::RealWorld);
    let ms = now.saturating_add(u64::try_from(span.as_millis()).unwrap_or(u64::MAX));
    Timestamp::from_ms(ms).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_dates_and_spans_are_parsed() {
        assert_eq!(future_time("2030-02-01").unwrap().to_string(), "2030-02-01T00:00:00.000Z");
        assert_eq!(future_time("2030-02-01T12:00:00+02:00").unwrap().to_string(), "2030-02-01T10:00:00.000Z");
        let (day, week) = (future_time("+1d").unwrap(), future_time("+1w").unwrap());
        let six_days = 6 * 24 * 60 * 60 * 1000;
        assert!(week.ms() - day.ms() >= six_days && week.ms() - day.ms() < six_days + 3_600_000);
        for bad in ["3d", "soon", "+", "+x", "", "+9999y"] {
            assert!(future_time(bad).is_err(), "{bad}");
        }
    }
}
