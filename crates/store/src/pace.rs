//! Back-off between exchanges. One ref takes one push per round trip, no matter who wins; a replica that
//! pushes more often than its share only makes others lose races. So each replica spaces out its exchanges
//! until most of them take one or two rounds, and comes back faster when it has the remote to itself.

/// The longest mean pause.
const MAX_SPREAD_MS: u64 = 20_000;

/// The recent contention, as the mean pause between two exchanges of this replica.
#[derive(Debug, Clone, Default)]
pub struct Pace {
    spread_ms: u64,
}

impl Pace {
    /// Adjusts the pause after an exchange that took `rounds` races and `elapsed_ms` in total.
    pub fn record_exchange(&mut self, rounds: u32, elapsed_ms: u64) {
        let rounds = u64::from(rounds.max(1));
        self.spread_ms = if rounds == 1 {
            self.spread_ms * 3 / 4
        } else {
            // Half of the rounds estimates by which factor there were too many replicas.
            let least = self.spread_ms.max(elapsed_ms / rounds);
            (least * rounds.min(4) / 2).max(least).min(MAX_SPREAD_MS)
        };
    }

    /// Returns how long to wait before the next exchange. It is random, so that replicas that collided once
    /// do not collide again.
    pub fn pause_ms(&self, random: u64) -> u64 {
        self.spread_ms / 2 + random % (self.spread_ms + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_alone_does_not_wait() {
        let mut pace = Pace::default();
        pace.record_exchange(1, 600);
        assert_eq!(pace.pause_ms(u64::MAX), 0);
    }

    #[test]
    fn the_more_races_are_lost_the_longer_the_pause_up_to_a_bound() {
        let mut pace = Pace::default();
        pace.record_exchange(4, 2_400);
        let first = pace.pause_ms(0);
        assert_eq!(first, 600, "half of twice a round");
        pace.record_exchange(6, 3_600);
        assert!(pace.pause_ms(0) > first);
        (0..20).for_each(|_| pace.record_exchange(10, 6_000));
        assert_eq!(pace.pause_ms(0), MAX_SPREAD_MS / 2);
    }

    #[test]
    fn the_pause_shrinks_without_contention() {
        let mut pace = Pace::default();
        (0..20).for_each(|_| pace.record_exchange(10, 6_000));
        (0..60).for_each(|_| pace.record_exchange(1, 600));
        assert_eq!(pace.pause_ms(u64::MAX), 0);
    }
}
