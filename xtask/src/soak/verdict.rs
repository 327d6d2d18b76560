//! Whether a daemon grew, from looks at it over time.

use std::fmt;

/// Events that a daemon keeps in memory, `MAX_RECENT` of the store's event log. Until so many have happened it grows by
/// right, and what it has then says nothing about what it will have.
pub const RING: u64 = 8_192;

/// Looks that a verdict on memory needs after that: at one in five seconds two minutes, as long as receipts are kept.
const MIN_LOOKS: usize = 24;

/// What a daemon may have more in the last quarter of the looks that count than in the second: this many kB and a tenth.
const SLACK_KB: u64 = 1024;
const SLACK_FILES: usize = 8;

/// What a daemon has at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    pub pid: u64,
    pub memory_kb: u64,
    pub files: usize,
    /// Events that it has told by then, of both machines.
    pub events: u64,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is not the same daemon in the end as in the beginning.
    Died,
    /// So few looks came after the ring was full that nothing can be said about memory.
    TooShort {
        counted: usize,
        events: u64,
    },
    Flat(Growth),
    Grew(Growth),
}

/// Medians of the quarters of the looks that count.
#[derive(Debug, PartialEq, Eq)]
pub struct Growth {
    pub memory_kb: [u64; 4],
    pub files: [usize; 4],
    /// Events from the middle of the second quarter to that of the last.
    pub events: u64,
}

impl Verdict {
    pub fn of(looks: &[Look]) -> Self {
        if looks.iter().any(|look| look.pid != looks[0].pid) {
            return Self::Died;
        }
        // Events only grow, so what counts is the end of the looks.
        let counted: Vec<Look> = looks.iter().copied().filter(|look| look.events >= RING).collect();
        if counted.len() < MIN_LOOKS {
            let events = looks.last().map_or(0, |look| look.events);
            return Self::TooShort { counted: counted.len(), events };
        }
        let growth = Growth::of(&counted);
        if growth.kb() > SLACK_KB + growth.memory_kb[1] / 10
            || growth.files[3] > growth.files[1] + SLACK_FILES
        {
            Self::Grew(growth)
        } else {
            Self::Flat(growth)
        }
    }
}

impl Growth {
    fn of(looks: &[Look]) -> Self {
        let quarter = |number: usize| &looks[looks.len() * number / 4..looks.len() * (number + 1) / 4];
        let middle = |number: usize| quarter(number)[quarter(number).len() / 2].events;
        Self {
            memory_kb: [0, 1, 2, 3].map(|number| median(quarter(number).iter().map(|look| look.memory_kb))),
            files: [0, 1, 2, 3].map(|number| median(quarter(number).iter().map(|look| look.files))),
            events: middle(3) - middle(1),
        }
    }

    fn kb(&self) -> u64 {
        self.memory_kb[3].saturating_sub(self.memory_kb[1])
    }
}

impl fmt::Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { memory_kb, files, events } = self;
        let grown = self.kb();
        writeln!(
            f,
            "since {RING} events, medians of the quarters: memory {memory_kb:?} kB, files {files:?}"
        )?;
        let each = grown * 1024 / (*events).max(1);
        write!(f, "from the second to the last: {grown} kB more over {events} events, {each} bytes each")
    }
}

fn median<T: Ord + Copy + Default>(values: impl Iterator<Item = T>) -> T {
    let mut values: Vec<T> = values.collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks at a daemon that tells 128 events between two of them, so that the ring is full at look 64.
    fn looks(number: usize, memory_kb: impl Fn(usize) -> u64) -> Vec<Look> {
        let look = |at| Look { pid: 7, memory_kb: memory_kb(at), files: 18, events: at as u64 * (RING / 64) };
        (0..number).map(look).collect()
    }

    /// The ring fills up and everything stays after that: this was called a growth before.
    #[test]
    fn a_ring_that_fills_up_is_no_growth() {
        let filling = looks(128, |at| 10_000 + 200 * at.min(64) as u64);
        let Verdict::Flat(growth) = Verdict::of(&filling) else { panic!("{:?}", Verdict::of(&filling)) };
        assert_eq!((growth.memory_kb, growth.events), ([22_800; 4], 32 * (RING / 64)));
    }

    #[test]
    fn who_goes_on_growing_behind_the_full_ring_grew() {
        let growing = looks(192, |at| 10_000 + 50 * at as u64);
        let Verdict::Grew(growth) = Verdict::of(&growing) else { panic!("{:?}", Verdict::of(&growing)) };
        assert_eq!(growth.memory_kb[3] - growth.memory_kb[1], 50 * 64);
        let mut files = looks(192, |_| 10_000);
        files[160..].iter_mut().for_each(|look| look.files += SLACK_FILES);
        assert!(matches!(Verdict::of(&files), Verdict::Flat(_)));
        files[160..].iter_mut().for_each(|look| look.files += 1);
        assert!(matches!(Verdict::of(&files), Verdict::Grew(_)));
    }

    #[test]
    fn the_slack_is_a_megabyte_and_a_tenth() {
        let by = |kb: u64| looks(192, move |at| if at < 160 { 20_000 } else { 20_000 + kb });
        assert!(matches!(Verdict::of(&by(1_024 + 2_000)), Verdict::Flat(_)));
        assert!(matches!(Verdict::of(&by(1_024 + 2_001)), Verdict::Grew(_)));
    }

    /// However much it grew: nobody knows what it has once the ring is full.
    #[test]
    fn a_run_that_is_too_short_is_not_judged() {
        let short = looks(64 + MIN_LOOKS - 1, |at| 1_000 * at as u64);
        let told = 64 + MIN_LOOKS as u64 - 2;
        assert_eq!(
            Verdict::of(&short),
            Verdict::TooShort { counted: MIN_LOOKS - 1, events: told * (RING / 64) }
        );
        assert!(matches!(Verdict::of(&looks(64 + MIN_LOOKS, |at| 1_000 * at as u64)), Verdict::Grew(_)));
        assert_eq!(Verdict::of(&[]), Verdict::TooShort { counted: 0, events: 0 });
    }

    #[test]
    fn another_daemon_in_the_end_is_never_flat() {
        let mut another = looks(192, |_| 10_000);
        another[191].pid = 8;
        assert_eq!(Verdict::of(&another), Verdict::Died);
        another.truncate(2);
        another[1].pid = 8;
        assert_eq!(Verdict::of(&another), Verdict::Died, "a short run too");
    }
}
