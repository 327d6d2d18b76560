//! How long a replica leaves the remote to others. One ref takes one push per round trip, whoever wins: who pushes more
//! often than its share only makes others lose their races. So each replica spreads its exchanges until most of them
//! take one or two rounds, and comes closer again when it has the remote to itself.

/// No contention makes anybody wait longer than this.
const MAX_SPREAD_MS: u64 = 20_000;

/// What contention was like lately, as the mean pause between two exchanges of this replica.
#[derive(Debug, Clone, Default)]
pub struct Pace {
    spread_ms: u64,
}

impl Pace {
    /// Takes note of an exchange that took `rounds` races, and `elapsed_ms` for all of them.
    pub fn exchanged(&mut self, rounds: u32, elapsed_ms: u64) {
        let rounds = u64::from(rounds.max(1));
        self.spread_ms = if rounds == 1 {
            self.spread_ms * 3 / 4
        } else {
            // Half of the rounds is how many times too many replicas were at it.
            let least = self.spread_ms.max(elapsed_ms / rounds);
            (least * rounds.min(4) / 2).max(least).min(MAX_SPREAD_MS)
        };
    }

    /// How long to wait before the next exchange. Replicas that met once must not meet again, so it is never the same.
    pub fn pause_ms(&self, random: u64) -> u64 {
        self.spread_ms / 2 + random % (self.spread_ms + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alone_nobody_waits() {
        let mut pace = Pace::default();
        pace.exchanged(1, 600);
        assert_eq!(pace.pause_ms(u64::MAX), 0);
    }

    #[test]
    fn the_more_races_are_lost_the_longer_the_pause_up_to_a_bound() {
        let mut pace = Pace::default();
        pace.exchanged(4, 2_400);
        let first = pace.pause_ms(0);
        assert_eq!(first, 600, "half of twice a round");
        pace.exchanged(6, 3_600);
        assert!(pace.pause_ms(0) > first);
        (0..20).for_each(|_| pace.exchanged(10, 6_000));
        assert_eq!(pace.pause_ms(0), MAX_SPREAD_MS / 2);
    }

    #[test]
    fn quiet_brings_it_back() {
        let mut pace = Pace::default();
        (0..20).for_each(|_| pace.exchanged(10, 6_000));
        (0..60).for_each(|_| pace.exchanged(1, 600));
        assert_eq!(pace.pause_ms(u64::MAX), 0);
    }
}
