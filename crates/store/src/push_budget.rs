//! How often a machine pushes to a server that others share. Hosting services publish what they tolerate; GitHub recommends at
//! most 6 pushes a minute for one repository. Moments are times since any fixed one.

use std::collections::VecDeque;
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

/// More than any rate needs to know.
const MAX_KEPT: usize = 1_000;

/// The pushes of this machine, and among how many it shares.
#[derive(Debug, Default)]
pub struct PushBudget {
    pushes: VecDeque<Duration>,
    /// Machines that wrote lately, this one among them.
    pub machines: usize,
}

impl PushBudget {
    pub fn among(machines: usize) -> Self {
        Self { machines, ..Self::default() }
    }

    /// How many pushes fit into which time, for a rate that all machines share.
    pub fn share(&self, rate: u32) -> (usize, Duration) {
        let machines = u32::try_from(self.machines.max(1)).unwrap_or(u32::MAX);
        let pushes = (rate / machines).max(1);
        (pushes as usize, MINUTE.saturating_mul(machines).saturating_mul(pushes) / rate.max(1))
    }

    /// When the next push may be made that nobody asked for; `None`: at once.
    pub fn next(&self, rate: Option<u32>, now: Duration) -> Option<Duration> {
        let (pushes, window) = self.share(rate?);
        let recent = self.since(now, window);
        let last = *self.pushes.back()?;
        let due = if recent >= pushes {
            self.pushes[self.pushes.len() - pushes] + window
        } else if recent * 2 >= pushes {
            // The second half is spread, so that what comes next need not wait for the whole time.
            last + window / u32::try_from(pushes).unwrap_or(u32::MAX)
        } else {
            return None;
        };
        (due > now).then_some(due)
    }

    pub fn pushed(&mut self, now: Duration) {
        self.pushes.push_back(now);
        while self.pushes.len() > MAX_KEPT {
            self.pushes.pop_front();
        }
    }

    /// How many pushes were made within the last minute.
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
