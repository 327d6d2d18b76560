//! A limit on how often a machine pushes to a shared server. Hosting services publish limits; GitHub
//! recommends at most 6 pushes per minute and repository. Times are durations since any fixed moment.

use std::collections::VecDeque;
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

/// How many pushes are remembered; more than any rate needs.
const MAX_KEPT: usize = 1_000;

/// The recent pushes of this machine, and how many machines share the rate.
#[derive(Debug, Default)]
pub struct PushBudget {
    pushes: VecDeque<Duration>,
    /// The number of machines that pushed recently, including this one.
    pub machines: usize,
}

impl PushBudget {
    /// Returns a budget shared by this many machines.
    pub fn among(machines: usize) -> Self {
        Self { machines, ..Self::default() }
    }

    /// Returns how many pushes are allowed in which period, for a rate that all machines share.
    pub fn share(&self, rate: u32) -> (usize, Duration) {
        let machines = u32::try_from(self.machines.max(1)).unwrap_or(u32::MAX);
        let pushes = (rate / machines).max(1);
        (pushes as usize, MINUTE.saturating_mul(machines).saturating_mul(pushes) / rate.max(1))
    }

    /// Returns when the next automatic push may happen; `None` means now.
    pub fn next(&self, rate: Option<u32>, now: Duration) -> Option<Duration> {
        let (pushes, window) = self.share(rate?);
        let recent = self.since(now, window);
        let last = *self.pushes.back()?;
        let due = if recent >= pushes {
            self.pushes[self.pushes.len() - pushes] + window
        } else if recent * 2 >= pushes {
            // The second half is spread out, so that the next push need not wait for the whole period.
            last + window / u32::try_from(pushes).unwrap_or(u32::MAX)
        } else {
            return None;
        };
        (due > now).then_some(due)
    }

    /// Records a push.
    pub fn record_push(&mut self, now: Duration) {
        self.pushes.push_back(now);
        while self.pushes.len() > MAX_KEPT {
            self.pushes.pop_front();
        }
    }

    /// Returns the number of pushes within the last minute.
    pub fn last_minute(&self, now: Duration) -> usize {
        self.since(now, MINUTE)
    }

    fn since(&self, now: Duration, window: Duration) -> usize {
        let begin = now.checked_sub(window);
        self.pushes.iter().rev().take_while(|at| begin.is_none_or(|begin| **at > begin)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(pushes: &[u64], machines: usize, rate: Option<u32>) -> Option<Duration> {
        let pushes: VecDeque<Duration> = pushes.iter().copied().map(Duration::from_secs).collect();
        let now = pushes.iter().max().copied().unwrap_or_default();
        PushBudget { pushes, machines }.next(rate, now)
    }

    #[test]
    fn the_rate_is_kept_within_every_minute() {
        assert_eq!(after(&[], 1, Some(6)), None);
        assert_eq!(after(&[0, 1], 1, Some(6)), None, "a few at once are fine");
        assert_eq!(after(&[0, 1, 2], 1, Some(6)), Some(Duration::from_secs(12)), "then they are spread");
        assert_eq!(after(&[0, 1, 2, 3, 4, 5], 1, Some(6)), Some(Duration::from_secs(60)));
        assert_eq!(after(&[0; 100], 1, None), None);
    }

    #[test]
    fn machines_share_the_rate() {
        assert_eq!(
            after(&[0, 1], 3, Some(6)),
            Some(Duration::from_secs(60)),
            "two a minute for each of three"
        );
        assert_eq!(
            after(&[0], 12, Some(6)),
            Some(Duration::from_secs(120)),
            "one in two minutes for each of twelve"
        );
    }
}
