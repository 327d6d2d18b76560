//! Decides whether a daemon grew, from samples over time.

use std::fmt;

/// The number of events that a daemon keeps in memory, `MAX_RECENT` of the store's event log. Until then its
/// memory grows legitimately.
pub const RING: u64 = 8_192;

/// How many samples a verdict needs after that. At one every five seconds this is two minutes, as long as
/// receipts are kept.
const MIN_SAMPLES: usize = 24;

/// How much memory may grow from the second to the last quarter of the samples: this much, plus a tenth.
const SLACK_KB: u64 = 1024;
/// The same for open files.
const SLACK_FILES: usize = 8;

/// The resources of a daemon at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// The process id.
    pub pid: u64,
    /// Resident memory.
    pub memory_kb: u64,
    /// Open files.
    pub files: usize,
    /// Events so far, of both machines.
    pub events: u64,
}

/// The result of a soak run.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The daemon was replaced during the run.
    Died,
    /// Too few samples after the ring was full to check memory.
    TooShort { counted: usize, events: u64 },
    /// Memory and files stayed flat.
    Flat(Growth),
    /// Memory or files grew.
    Grew(Growth),
}

/// The medians of each quarter of the samples.
#[derive(Debug, PartialEq, Eq)]
pub struct Growth {
    /// Resident memory.
    pub memory_kb: [u64; 4],
    /// Open files.
    pub files: [usize; 4],
    /// Events from the middle of the second quarter to the middle of the last.
    pub events: u64,
}

impl Verdict {
    /// Judges a series of samples.
    pub fn of(samples: &[Sample]) -> Self {
        if samples.iter().any(|sample| sample.pid != samples[0].pid) {
            return Self::Died;
        }
        // Events only grow, so the relevant samples are at the end.
        let counted: Vec<Sample> = samples.iter().copied().filter(|sample| sample.events >= RING).collect();
        if counted.len() < MIN_SAMPLES {
            let events = samples.last().map_or(0, |sample| sample.events);
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
    fn of(samples: &[Sample]) -> Self {
        let quarter = |number: usize| &samples[samples.len() * number / 4..samples.len() * (number + 1) / 4];
        let middle = |number: usize| quarter(number)[quarter(number).len() / 2].events;
        Self {
            memory_kb: [0, 1, 2, 3]
                .map(|number| median(quarter(number).iter().map(|sample| sample.memory_kb))),
            files: [0, 1, 2, 3].map(|number| median(quarter(number).iter().map(|sample| sample.files))),
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

    /// Returns samples of a daemon with 128 events between two of them, so that the ring is full at sample
    /// 64.
    fn samples(number: usize, memory_kb: impl Fn(usize) -> u64) -> Vec<Sample> {
        let sample =
            |at| Sample { pid: 7, memory_kb: memory_kb(at), files: 18, events: at as u64 * (RING / 64) };
        (0..number).map(sample).collect()
    }

    /// Regression: the ring fills up and everything stays constant afterwards.
    #[test]
    fn a_filling_ring_is_not_growth() {
        let filling = samples(128, |at| 10_000 + 200 * at.min(64) as u64);
        let Verdict::Flat(growth) = Verdict::of(&filling) else { panic!("{:?}", Verdict::of(&filling)) };
        assert_eq!((growth.memory_kb, growth.events), ([22_800; 4], 32 * (RING / 64)));
    }

    #[test]
    fn growth_after_the_ring_is_full_is_reported() {
        let growing = samples(192, |at| 10_000 + 50 * at as u64);
        let Verdict::Grew(growth) = Verdict::of(&growing) else { panic!("{:?}", Verdict::of(&growing)) };
        assert_eq!(growth.memory_kb[3] - growth.memory_kb[1], 50 * 64);
        let mut files = samples(192, |_| 10_000);
        files[160..].iter_mut().for_each(|sample| sample.files += SLACK_FILES);
        assert!(matches!(Verdict::of(&files), Verdict::Flat(_)));
        files[160..].iter_mut().for_each(|sample| sample.files += 1);
        assert!(matches!(Verdict::of(&files), Verdict::Grew(_)));
    }

    #[test]
    fn the_slack_is_a_megabyte_and_a_tenth() {
        let by = |kb: u64| samples(192, move |at| if at < 160 { 20_000 } else { 20_000 + kb });
        assert!(matches!(Verdict::of(&by(1_024 + 2_000)), Verdict::Flat(_)));
        assert!(matches!(Verdict::of(&by(1_024 + 2_001)), Verdict::Grew(_)));
    }

    /// However much it grew, memory says nothing before the ring is full.
    #[test]
    fn a_run_that_is_too_short_is_not_judged() {
        let short = samples(64 + MIN_SAMPLES - 1, |at| 1_000 * at as u64);
        let last = 64 + MIN_SAMPLES as u64 - 2;
        assert_eq!(
            Verdict::of(&short),
            Verdict::TooShort { counted: MIN_SAMPLES - 1, events: last * (RING / 64) }
        );
        assert!(matches!(Verdict::of(&samples(64 + MIN_SAMPLES, |at| 1_000 * at as u64)), Verdict::Grew(_)));
        assert_eq!(Verdict::of(&[]), Verdict::TooShort { counted: 0, events: 0 });
    }

    #[test]
    fn a_replaced_daemon_is_reported() {
        let mut another = samples(192, |_| 10_000);
        another[191].pid = 8;
        assert_eq!(Verdict::of(&another), Verdict::Died);
        another.truncate(2);
        another[1].pid = 8;
        assert_eq!(Verdict::of(&another), Verdict::Died, "even in a short run");
    }
}
