//! The hybrid clock. Every new stamp is later than everything its write overwrites, even if another machine's
//! clock is years ahead, and no two replicas mint the same stamp.

use crate::limits::{COUNTER_STEP, MAX_DRIFT_MS, MAX_MS};
use crate::planted::{Bug, is_planted};
use crate::{Error, Result, Stamp};

/// A clock that mints stamps. The low 16 bits of each counter are the replica's tag, so two machines cannot
/// mint the same stamp even if their agents share an actor name.
#[derive(Debug, Clone)]
pub struct Clock {
    last: Stamp,
    tag: u16,
    leases_ahead_ms: i64,
}

impl Clock {
    /// Returns a clock that continues after `last`, the last stamp that this replica minted.
    pub fn new(last: Stamp, tag: u16) -> Self {
        Self { last, tag, leases_ahead_ms: 0 }
    }

    /// Returns the tag of the replica.
    pub fn tag(&self) -> u16 {
        self.tag
    }

    /// Returns how far the clock that judges leases is ahead of the wall clock. Without a hub they are the same.
    pub fn leases_ahead_ms(&self) -> i64 {
        self.leases_ahead_ms
    }

    /// Sets how far the clock that judges leases is ahead of the wall clock.
    pub fn set_leases_ahead_ms(&mut self, ahead_ms: i64) {
        self.leases_ahead_ms = ahead_ms;
    }

    /// Returns the last stamp that was minted or observed.
    pub fn last(&self) -> Stamp {
        self.last
    }

    /// Returns a stamp that is later than the clock's last stamp and than every stamp in `overwritten`.
    ///
    /// If a stamp in `overwritten` is so far ahead of the wall clock that it must come from a broken clock,
    /// the new stamp is later than that one, but the clock does not advance to it. So the write wins, and all
    /// other writes keep to the wall clock (`docs/adr/0014-stamps-from-the-future-are-not-followed.md`). The
    /// clock never goes back, because it might mint the same stamp twice.
    pub fn mint(&mut self, wall_ms: u64, overwritten: impl IntoIterator<Item = Stamp>) -> Result<Stamp> {
        let wall = Stamp::decode(wall_ms.min(MAX_MS - 1), u32::from(self.tag))?;
        let own = self.above(wall, [self.last])?;
        let stamp = self.above(own, overwritten)?;
        if stamp == own || is_sane(stamp, wall_ms) || is_planted(Bug::FutureStampFollowed) {
            self.last = stamp;
        }
        Ok(stamp)
    }

    /// Returns `stamp`, or the first stamp with our tag that is later than all of `seen`.
    fn above(&self, mut stamp: Stamp, seen: impl IntoIterator<Item = Stamp>) -> Result<Stamp> {
        for seen in seen {
            if seen != Stamp::ZERO && !self.is_overlooked(seen) {
                stamp = stamp.max(self.after(seen)?);
            }
        }
        Ok(stamp)
    }

    /// Advances the clock to a stamp from another replica, unless it is so far ahead that it must come from a
    /// broken clock.
    pub fn observe(&mut self, seen: Stamp, wall_ms: u64) {
        if is_sane(seen, wall_ms) {
            self.last = self.last.max(seen);
        }
    }

    /// Returns `false`, except when a bug is planted.
    #[inline]
    fn is_overlooked(&self, seen: Stamp) -> bool {
        is_planted(if seen == self.last { Bug::ClockGoesBack } else { Bug::OverwriteNotBeaten })
    }

    /// Returns the first stamp with our tag that is later than `seen`.
    fn after(&self, seen: Stamp) -> Result<Stamp> {
        let step = seen.counter() / COUNTER_STEP + 1;
        let next = match step.checked_mul(COUNTER_STEP) {
            Some(base) => Stamp::decode(seen.ms(), base + u32::from(self.tag)),
            None => Stamp::decode(seen.ms() + 1, u32::from(self.tag)),
        };
        next.map_err(|_| Error::ClockExhausted)
    }
}

/// Returns whether a stamp is ahead of the wall clock by no more than normal clock drift.
pub fn is_sane(stamp: Stamp, wall_ms: u64) -> bool {
    stamp.ms() <= wall_ms.saturating_add(MAX_DRIFT_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(ms: u64, counter: u32) -> Stamp {
        Stamp::decode(ms, counter).unwrap()
    }

    #[test]
    fn follows_the_wall_clock_and_never_goes_back() {
        let mut clock = Clock::new(Stamp::ZERO, 7);
        assert_eq!(clock.mint(100, []).unwrap(), stamp(100, 7));
        assert_eq!(clock.mint(100, []).unwrap(), stamp(100, 65_536 + 7));
        assert_eq!(clock.mint(50, []).unwrap(), stamp(100, 2 * 65_536 + 7));
        assert_eq!(clock.mint(101, []).unwrap(), stamp(101, 7));
    }

    #[test]
    fn a_stamp_is_later_than_the_write_it_overwrites() {
        let mut clock = Clock::new(Stamp::ZERO, 7);
        assert_eq!(clock.mint(100, [stamp(900, 9)]).unwrap(), stamp(900, 65_536 + 7));
        assert!(clock.mint(100, []).unwrap() > stamp(900, 65_536 + 7), "the clock follows its own stamps");
    }

    #[test]
    fn a_stamp_from_the_future_is_beaten_and_not_followed() {
        let five_years = 5 * 365 * 24 * 60 * 60 * 1000;
        let mut clock = Clock::new(Stamp::ZERO, 7);
        let poisoned = stamp(five_years, 9);
        let over = clock.mint(100, [poisoned]).unwrap();
        assert!(over > poisoned, "a write to a poisoned bead wins");
        assert_eq!(clock.mint(100, []).unwrap(), stamp(100, 7), "every other write keeps the wall clock");
        assert!(clock.mint(101, [over]).unwrap() > over, "the next write to the same bead wins too");
        assert_eq!(clock.last(), stamp(100, 7));
    }

    #[test]
    fn the_clock_never_goes_back_when_the_wall_clock_does() {
        let five_years = 5 * 365 * 24 * 60 * 60 * 1000;
        let mut clock = Clock::new(Stamp::ZERO, 7);
        assert_eq!(clock.mint(five_years, []).unwrap(), stamp(five_years, 7));
        let next = clock.mint(100, []).unwrap();
        assert!(next > stamp(five_years, 7), "the wall clock was set back");
        assert!(clock.mint(five_years, []).unwrap() > next, "no stamp is minted twice");
    }

    #[test]
    fn a_stamp_at_the_limit_affects_only_its_bead() {
        let mut clock = Clock::new(Stamp::ZERO, 7);
        let last = stamp(MAX_MS - 1, u32::MAX);
        assert_eq!(clock.mint(100, [last]), Err(Error::ClockExhausted));
        assert_eq!(clock.mint(100, []).unwrap(), stamp(100, 7));
        // Three writes near the limit used to brick the store.
        let near = stamp(MAX_MS - 1, u32::MAX - 2 * COUNTER_STEP);
        let mut over = near;
        while let Ok(next) = clock.mint(100, [over]) {
            over = next;
        }
        assert_eq!(clock.mint(101, []).unwrap(), stamp(101, 7));
    }

    #[test]
    fn the_counter_carries_into_the_milliseconds() {
        let mut clock = Clock::new(stamp(100, u32::MAX), 7);
        assert_eq!(clock.mint(100, []).unwrap(), stamp(101, 7));
    }

    #[test]
    fn observe_ignores_a_broken_clock() {
        let mut clock = Clock::new(Stamp::ZERO, 7);
        clock.observe(stamp(100 + MAX_DRIFT_MS + 1, 0), 100);
        assert_eq!(clock.mint(100, []).unwrap(), stamp(100, 7));
        clock.observe(stamp(5_000, 3), 100);
        assert_eq!(clock.mint(100, []).unwrap(), stamp(5_000, 65_536 + 7));
    }

    #[test]
    fn the_last_stamp_does_not_wrap_around() {
        let mut clock = Clock::new(stamp(MAX_MS - 1, u32::MAX), 7);
        assert_eq!(clock.mint(MAX_MS - 1, []), Err(Error::ClockExhausted));
    }
}
