//! Limits the processor time of background saves.
//!
//! A save writes the whole store, whatever changed. Under constant writes, a large store would be
//! saved all the time. So saves spend from a budget of processor time, and wait until it has been refilled.
//! Nothing is at risk meanwhile, because the journal is durable; other machines only see the changes later.

use std::time::{Duration, Instant};

/// The share of one processor that the budget is refilled with. Together with [`RESERVE`] this is 5 % of any
/// minute.
const SHARE: f64 = 0.04;

/// The most processor time that accumulates without saves.
const RESERVE: Duration = Duration::from_millis(600);

/// The longest wait for the budget, however expensive a save was.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(120);

/// The processor time that saves may still use.
#[derive(Debug, Default)]
pub(super) struct SaveBudget {
    /// When the budget will be, or was, refilled completely.
    full_at: Option<Instant>,
}

impl SaveBudget {
    /// Records the processor time of a save that ended at `now`.
    pub(super) fn spend(&mut self, time: Duration, now: Instant) {
        let missing = self.full_at.unwrap_or(now).saturating_duration_since(now) + time.div_f64(SHARE);
        self.full_at = Some(now + missing.min(RESERVE.div_f64(SHARE) + LONGEST_WAIT));
    }

    /// Returns the earliest time for the next background save.
    pub(super) fn allowed_at(&self) -> Option<Instant> {
        self.full_at?.checked_sub(RESERVE.div_f64(SHARE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Saves as often as the budget allows for ten minutes, and returns the processor time of the busiest
    /// minute and the longest pause.
    fn save_all_the_time(cost: Duration) -> (Duration, Duration) {
        let start = Instant::now();
        let (mut budget, mut now, mut saves) = (SaveBudget::default(), start, Vec::new());
        while now < start + Duration::from_secs(600) {
            now += cost;
            budget.spend(cost, now);
            saves.push(now);
            // A store is saved half a second after a change at the earliest.
            now = budget.allowed_at().unwrap().max(now + Duration::from_millis(500));
        }
        let in_minute =
            |from: &Instant| saves.iter().filter(|at| **at >= *from && **at < *from + 60 * SECOND).count();
        let busiest = saves.iter().map(in_minute).max().unwrap();
        let pause = saves.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
        (cost * u32::try_from(busiest).unwrap(), pause)
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn saves_use_at_most_5_percent_of_any_minute_and_the_last_save() {
        for ms in [1, 10, 50, 200, 1_000, 3_000] {
            let cost = Duration::from_millis(ms);
            let (busiest, pause) = save_all_the_time(cost);
            assert!(busiest <= 3 * SECOND + cost, "{ms} ms: {busiest:?} in one minute");
            assert!(pause <= cost.mul_f64(27.0).max(SECOND), "{ms} ms: paused for {pause:?}");
        }
    }

    #[test]
    fn cheap_saves_never_wait() {
        let (_, pause) = save_all_the_time(Duration::from_millis(15));
        assert!(pause < Duration::from_millis(600), "{pause:?}");
    }

    #[test]
    fn the_wait_is_bounded() {
        let (mut budget, now) = (SaveBudget::default(), Instant::now());
        budget.spend(3_600 * SECOND, now);
        assert_eq!(budget.allowed_at(), Some(now + LONGEST_WAIT));
    }
}
