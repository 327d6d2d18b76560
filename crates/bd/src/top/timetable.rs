//! The timetable of the agents: one line each, the past on the left of now and the leases on the right.

use beads_core::Timestamp;
use beads_engine::request::LocalClock;

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;

/// The longest past that is shown.
const LONGEST_MS: u64 = 24 * HOUR_MS;

/// How far the axis reaches beyond now, at least and at most.
const AHEAD_MS: (u64, u64) = (HOUR_MS / 2, 3 * HOUR_MS);

/// What a label needs: its five characters, and a space.
const LABEL: usize = 6;

/// What the characters mean, as the line below the timetable says it.
pub const LEGEND: &str = "= closed  : close  # in hand  ~ no note  x no sign  ? not known  - lease  | now";

/// What an agent did in a span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// It worked on a bead that it then closed.
    Closed,
    /// It holds a bead.
    Held,
    /// It holds a bead and gives signs of life, but writes nothing.
    NoNote,
    /// It holds a bead and gives no sign of life.
    NoSign,
    /// It holds a bead, as far as is known.
    NotKnown,
}

impl Mark {
    fn symbol(self) -> char {
        match self {
            Self::Closed => '=',
            Self::Held => '#',
            Self::NoNote => '~',
            Self::NoSign => 'x',
            Self::NotKnown => '?',
        }
    }
}

/// A span of time. Without an end it lasts until now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub mark: Mark,
    pub from_ms: u64,
    pub to_ms: Option<u64>,
}

/// Which time each column stands for.
#[derive(Debug, Clone, Copy)]
pub struct Axis {
    from_ms: u64,
    to_ms: u64,
    now_ms: u64,
    width: usize,
}

impl Axis {
    /// Returns an axis from the local hour of `since_ms` until the last of the leases ends.
    pub fn new(
        (since_ms, now_ms): (u64, u64),
        leases: impl Iterator<Item = u64>,
        clock: &LocalClock,
        width: usize,
    ) -> Self {
        let last = leases.max().unwrap_or(now_ms).saturating_sub(now_ms);
        let ahead = (last + last / 8).clamp(AHEAD_MS.0, AHEAD_MS.1);
        let from = since_ms.max(now_ms.saturating_sub(LONGEST_MS)).min(now_ms.saturating_sub(HOUR_MS));
        let from_ms = Timestamp::from_ms(from).map_or(from, |from| clock.hour_of(from));
        Self { from_ms, to_ms: now_ms + ahead, now_ms, width }
    }

    /// Returns the column of a time.
    fn column(&self, ms: u64) -> usize {
        let (span, since) = (self.to_ms - self.from_ms, ms.saturating_sub(self.from_ms));
        let column = u128::from(since) * self.width as u128 / u128::from(span.max(1));
        usize::try_from(column).unwrap_or(usize::MAX).min(self.width.saturating_sub(1))
    }

    /// Returns the hours above the timetable.
    pub fn labels(&self, clock: &LocalClock) -> String {
        let hours = (self.to_ms - self.from_ms) / HOUR_MS + 1;
        let most = (self.width / LABEL).max(1) as u64;
        let apart = [1, 2, 3, 4, 6, 8, 12].into_iter().find(|apart| hours / apart <= most).unwrap_or(24);
        let now = self.column(self.now_ms);
        let mut line = vec![' '; self.width];
        let mut at_ms = self.from_ms;
        while at_ms < self.to_ms {
            let column = self.column(at_ms);
            let is_free = column.abs_diff(now) >= LABEL - 1 && column + LABEL - 1 <= self.width;
            if let (true, Ok(time)) = (is_free, Timestamp::from_ms(at_ms)) {
                let text: Vec<char> = clock.time_of_day(time).chars().collect();
                line[column..column + text.len()].copy_from_slice(&text);
            }
            at_ms += apart * HOUR_MS;
        }
        line.into_iter().collect()
    }

    /// Returns the line of an agent.
    pub fn strip(&self, spans: &[Span], lease_ms: Option<u64>) -> String {
        if self.width == 0 {
            return String::new();
        }
        let mut line = vec![' '; self.width];
        let now = self.column(self.now_ms);
        for span in spans {
            let to_ms = span.to_ms.unwrap_or(self.now_ms);
            if to_ms < self.from_ms || span.from_ms > self.now_ms {
                continue;
            }
            let (from, to) = (self.column(span.from_ms), self.column(to_ms));
            line[from..=to].fill(span.mark.symbol());
            if span.mark == Mark::Closed {
                line[to] = ':';
            }
        }
        if let Some(end) = lease_ms.filter(|end| *end > self.now_ms) {
            line[now..=self.column(end)].fill('-');
        }
        line[now] = '|';
        line.into_iter().collect()
    }

    /// Returns how many of these times each column has: a digit, or `+` above nine.
    pub fn counts(&self, times: impl Iterator<Item = u64>) -> String {
        if self.width == 0 {
            return String::new();
        }
        let mut counts = vec![0_u32; self.width];
        for at_ms in times.filter(|at| (self.from_ms..=self.now_ms).contains(at)) {
            counts[self.column(at_ms)] += 1;
        }
        let symbol = |count: &u32| match count {
            0 => '.',
            1..=9 => char::from_digit(*count, 10).unwrap_or('+'),
            _ => '+',
        };
        let now = self.column(self.now_ms);
        counts
            .iter()
            .enumerate()
            .map(|(column, count)| if column > now { ' ' } else { symbol(count) })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use beads_engine::request::Zone;

    use super::*;

    /// 2026-11-17, 07:42:00 UTC.
    const NOW: u64 = 1_794_901_320_000;

    fn clock() -> LocalClock {
        LocalClock { now_ms: NOW, zone: Zone::from("UTC".to_owned()) }
    }

    fn ago(minutes: u64) -> u64 {
        NOW - minutes * MINUTE_MS
    }

    #[test]
    fn a_line_shows_closed_beads_the_one_in_hand_and_the_lease() {
        let axis = Axis::new((ago(9 * 60 + 12), NOW), [NOW + 49 * MINUTE_MS].into_iter(), &clock(), 48);
        let closed = Span { mark: Mark::Closed, from_ms: ago(420), to_ms: Some(ago(140)) };
        let held = Span { mark: Mark::Held, from_ms: ago(98), to_ms: Some(ago(71)) };
        let silent = Span { mark: Mark::NoSign, from_ms: ago(71), to_ms: None };
        let line = axis.strip(&[closed, held, silent], Some(NOW + 49 * MINUTE_MS));
        assert_eq!(line, "            =====================:  ##xxxxx|----");
        // 08:00 has no place beside now.
        assert_eq!(axis.labels(&clock()), "22:00    00:00    02:00    04:00    06:00       ");
        let counts = axis.counts([ago(140), ago(141), ago(5)].into_iter());
        assert_eq!(counts.trim_end(), ".................................2.........1");
    }

    #[test]
    fn every_width_and_time_can_be_drawn() {
        for width in [0, 1, 2, 7, 24, 72] {
            for (since, lease) in [(0, u64::MAX / 16), (NOW, NOW), (NOW + HOUR_MS, 0), (ago(30), NOW + 1)] {
                let axis = Axis::new((since, NOW), [lease].into_iter(), &clock(), width);
                let span = Span { mark: Mark::Held, from_ms: since, to_ms: None };
                assert_eq!(axis.strip(&[span], Some(lease)).chars().count(), width);
                assert_eq!(axis.labels(&clock()).chars().count(), width);
            }
        }
    }
}
