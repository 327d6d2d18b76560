//! How often this machine pushes to a server that others share. Hosting services publish what they tolerate; GitHub recommends
//! at most 6 pushes a minute for one repository.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::Service;
use crate::render::PushBudgetStatus;

/// Pushes a minute to a remote reached over a network, by all machines together.
const NETWORK_RATE: u32 = 6;

/// A machine that wrote within this time counts as active.
const ACTIVE_MS: u64 = 10 * 60 * 1000;

const MINUTE: Duration = Duration::from_secs(60);

/// The pushes of this machine, and how many it may make.
#[derive(Debug, Default)]
pub struct PushBudget {
    pushes: VecDeque<Instant>,
    /// Whether the remote is reached over a network, once that is known.
    over_network: bool,
    /// Machines that wrote lately, this one among them.
    machines: usize,
}

impl PushBudget {
    /// How many pushes fit into which time, for a rate that all machines share.
    fn share(&self, rate: u32) -> (usize, Duration) {
        let machines = u32::try_from(self.machines.max(1)).unwrap_or(u32::MAX);
        let pushes = (rate / machines).max(1);
        (pushes as usize, MINUTE.saturating_mul(machines).saturating_mul(pushes) / rate.max(1))
    }

    /// When the next push may be made that nobody asked for; `None`: at once.
    fn next(&self, rate: Option<u32>, now: Instant) -> Option<Instant> {
        let (pushes, window) = self.share(rate?);
        let begin = now.checked_sub(window);
        let recent = self.pushes.iter().rev().take_while(|at| begin.is_none_or(|begin| **at > begin)).count();
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

    pub fn pushed(&mut self, now: Instant) {
        self.pushes.push_back(now);
        while self.pushes.len() > 1_000 {
            self.pushes.pop_front();
        }
    }
}

impl Service {
    /// Pushes a minute by all machines together; `None` for as many as there are.
    fn push_rate(&self) -> Option<u32> {
        let rate = match self.config.get("sync.push_rate").unwrap_or_default() {
            "" => {
                if self.push_budget.over_network {
                    NETWORK_RATE
                } else {
                    0
                }
            }
            set => set.parse().unwrap_or_default(),
        };
        (rate > 0).then_some(rate)
    }

    /// Until when changes here wait for the budget, if there are any that the remote does not have.
    pub fn push_not_before(&self, now: Instant) -> Option<Instant> {
        let waits = self.replica.position() > self.sync_state.pushed_position;
        self.push_budget.next(self.push_rate(), now).filter(|_| waits)
    }

    /// Takes note of a push, whoever asked for it.
    pub fn note_push(&mut self) {
        self.push_budget.pushed(Instant::now());
    }

    /// Takes note of where the remote is, and of who wrote lately.
    pub(super) fn note_exchange(&mut self, over_network: bool, brought_something: bool) {
        self.push_budget.over_network = over_network;
        if brought_something || self.push_budget.machines == 0 {
            let since_ms = self.replica.now_ms().saturating_sub(ACTIVE_MS);
            self.push_budget.machines = self.replica.catalog().active_replicas(since_ms).max(1);
        }
    }

    /// Whether another machine wrote within the last minutes.
    pub fn is_in_company(&self) -> bool {
        self.push_budget.machines > 1
    }

    pub(super) fn push_budget_status(&self) -> Option<PushBudgetStatus> {
        let rate = self.push_rate()?;
        let now = Instant::now();
        let minute_ago = now.checked_sub(MINUTE);
        let is_recent = |at: &&Instant| minute_ago.is_none_or(|begin| **at > begin);
        let waits = self.push_not_before(now).map(|until| until.saturating_duration_since(now));
        Some(PushBudgetStatus {
            rate,
            machines: self.push_budget.machines.max(1),
            last_minute: self.push_budget.pushes.iter().filter(is_recent).count(),
            waits_ms: waits.map(super::millis),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(pushes: &[u64], machines: usize, rate: Option<u32>) -> Option<Duration> {
        let start = Instant::now();
        let at = |seconds: &u64| start + Duration::from_secs(*seconds);
        let budget = PushBudget { pushes: pushes.iter().map(at).collect(), over_network: true, machines };
        let now = pushes.iter().map(at).max().unwrap_or(start);
        budget.next(rate, now).map(|due| due - start)
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
