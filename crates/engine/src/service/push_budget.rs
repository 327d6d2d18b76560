//! Limits how often this machine pushes to a server that it shares with others.

use std::time::{Duration, Instant};

use beads_store::PushBudget;

use super::Service;
use crate::render::PushBudgetStatus;

/// The default limit for a remote over a network: pushes per minute of all machines together.
const NETWORK_RATE: u32 = 6;

/// A machine that made a change within this time counts as active.
const ACTIVE_MS: u64 = 10 * 60 * 1000;

/// The push budget, whose times are relative to `began`.
#[derive(Debug)]
pub struct Pushes {
    budget: PushBudget,
    began: Instant,
    /// Whether the remote is reached over a network; false until that is known.
    over_network: bool,
}

impl Default for Pushes {
    fn default() -> Self {
        Self { budget: PushBudget::default(), began: Instant::now(), over_network: false }
    }
}

impl Pushes {
    fn at(&self, moment: Instant) -> Duration {
        moment.saturating_duration_since(self.began)
    }
}

impl Service {
    /// Returns the limit in pushes per minute of all machines together; `None` for no limit.
    fn push_rate(&self) -> Option<u32> {
        let rate = match self.config.get("sync.push_rate").unwrap_or_default() {
            "" => {
                if self.pushes.over_network {
                    NETWORK_RATE
                } else {
                    0
                }
            }
            set => set.parse().unwrap_or_default(),
        };
        (rate > 0).then_some(rate)
    }

    /// Returns until when the budget delays pushes, if there are changes to push.
    pub fn push_not_before(&self, now: Instant) -> Option<Instant> {
        let waits = self.replica.position() > self.sync_state.pushed_position;
        let next = self.pushes.budget.next(self.push_rate(), self.pushes.at(now)).filter(|_| waits)?;
        self.pushes.began.checked_add(next)
    }

    /// Records a push, whatever caused it.
    pub fn note_push(&mut self) {
        let now = self.pushes.at(Instant::now());
        self.pushes.budget.record_push(now);
    }

    /// Records whether the remote is reached over a network, and how many machines are active.
    pub(super) fn note_exchange(&mut self, over_network: bool, has_merged_changes: bool) {
        self.pushes.over_network = over_network;
        if has_merged_changes || self.pushes.budget.machines == 0 {
            let since_ms = self.replica.now_ms().saturating_sub(ACTIVE_MS);
            self.pushes.budget.machines = self.replica.catalog().active_replicas(since_ms).max(1);
        }
    }

    /// Returns whether another machine made a change within the last minutes.
    pub fn others_wrote_recently(&self) -> bool {
        self.pushes.budget.machines > 1
    }

    /// Describes the push budget for `bd status`.
    pub(super) fn push_budget_status(&self) -> Option<PushBudgetStatus> {
        let rate = self.push_rate()?;
        let now = Instant::now();
        let waits = self.push_not_before(now).map(|until| until.saturating_duration_since(now));
        Some(PushBudgetStatus {
            rate,
            machines: self.pushes.budget.machines.max(1),
            last_minute: self.pushes.budget.last_minute(self.pushes.at(now)),
            waits_ms: waits.map(super::millis),
        })
    }
}
