//! Moments to come, for `--due` and `--defer`.

use beads_core::Timestamp;
use beads_engine::config::parse_duration;

use crate::moment;

/// A time as [`moment::read`] takes it, or a time from now such as `+2d`.
pub fn ahead(text: &str) -> Result<Timestamp, String> {
    let Some(span) = text.strip_prefix('+') else {
        // An age is not a time to come.
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
    fn times_dates_and_spans() {
        assert_eq!(ahead("2030-02-01").unwrap().to_string(), "2030-02-01T00:00:00.000Z");
        assert_eq!(ahead("2030-02-01T12:00:00+02:00").unwrap().to_string(), "2030-02-01T10:00:00.000Z");
        let (day, week) = (ahead("+1d").unwrap(), ahead("+1w").unwrap());
        let six_days = 6 * 24 * 60 * 60 * 1000;
        assert!(week.ms() - day.ms() >= six_days && week.ms() - day.ms() < six_days + 3_600_000);
        for bad in ["3d", "soon", "+", "+x", "", "+9999y"] {
            assert!(ahead(bad).is_err(), "{bad}");
        }
    }
}
