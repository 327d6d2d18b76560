//! Whether this machine's clock can be right.

use std::time::{SystemTime, UNIX_EPOCH};

use beads_core::Timestamp;
use serde_json::Value;

use super::Examined;
use super::finding::{error, warning};

/// A clock before this time (2025-01-01) was never set.
const EARLIEST_MS: u64 = 1_735_689_600_000;

/// Reports a clock that was never set or was set back. Clocks of others that are ahead are findings of
/// `bd validate`.
pub fn check(examined: &Examined) -> Vec<Value> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let last_sync = examined.status["sync"]["last_success"].as_str().and_then(|text| text.parse().ok());
    findings(u64::try_from(now.as_millis()).unwrap_or(u64::MAX), last_sync)
}

fn findings(now_ms: u64, last_sync: Option<Timestamp>) -> Vec<Value> {
    const ADVICE: &str =
        "set the clock (timedatectl set-ntp true), because the later of two concurrent writes wins";
    let now = Timestamp::text_of(now_ms);
    if now_ms < EARLIEST_MS {
        return vec![error("clock_not_set", format!("this machine's clock says {now}; {ADVICE}"))];
    }
    match last_sync.filter(|last| last.to_string() > now) {
        Some(last) => vec![warning(
            "clock_set_back",
            format!("this machine's clock says {now}, but the last sync was at {last}; {ADVICE}"),
        )],
        None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unset_clock_and_one_that_went_back_are_reported() {
        let now_ms = EARLIEST_MS + 1_000;
        let at = |ms: u64| Timestamp::text_of(ms).parse::<Timestamp>().ok();
        assert!(findings(now_ms, at(now_ms)).is_empty());
        assert_eq!(findings(now_ms, at(now_ms + 1_000))[0]["code"], "clock_set_back");
        assert_eq!(findings(0, None)[0]["code"], "clock_not_set");
    }
}
