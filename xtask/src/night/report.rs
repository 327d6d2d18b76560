//! The report of a night.

use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};

use super::agent::{End, Shift};

/// Counts over all agents. Times are agent time in seconds.
#[derive(Debug, Default, PartialEq)]
pub struct Report {
    beads: usize,
    closed: usize,
    /// Beads that agents of two machines worked on at the same time.
    doubled: usize,
    /// Beads that were closed more than once.
    finished_twice: usize,
    lost: usize,
    died: usize,
    released: usize,
    worked_s: f64,
    /// Time spent on beads that another machine worked on at the same time.
    wasted_s: f64,
}

impl Report {
    pub fn of(shifts: &[Shift], closed: &[String]) -> Self {
        let mut by_bead: BTreeMap<&str, Vec<&Shift>> = BTreeMap::new();
        for shift in shifts {
            by_bead.entry(&shift.bead).or_default().push(shift);
        }
        let count = |end: End| shifts.iter().filter(|shift| shift.end == end).count();
        let mut report = Self {
            beads: by_bead.len(),
            closed: closed.len(),
            lost: count(End::Lost),
            died: count(End::Died),
            released: count(End::Released),
            worked_s: shifts.iter().map(seconds).sum(),
            ..Self::default()
        };
        for shifts in by_bead.values() {
            let wasted = wasted(shifts);
            report.doubled += usize::from(wasted > 0.0);
            report.wasted_s += wasted;
            let finished = shifts.iter().filter(|shift| shift.end == End::Closed).count();
            report.finished_twice += usize::from(finished > 1);
        }
        report
    }
}

fn seconds(shift: &Shift) -> f64 {
    shift.ended.duration_since(shift.began).as_secs_f64()
}

/// Returns the time of all shifts, except the longest, that overlap with one of another machine.
fn wasted(shifts: &[&Shift]) -> f64 {
    let overlaps = |one: &Shift, other: &Shift| {
        one.machine != other.machine && one.began < other.ended && other.began < one.ended
    };
    let doubled = shifts.iter().filter(|one| shifts.iter().any(|other| overlaps(one, other)));
    let times: Vec<f64> = doubled.map(|shift| seconds(shift)).collect();
    times.iter().sum::<f64>() - times.iter().copied().fold(0.0, f64::max)
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let share = if self.worked_s > 0.0 { 100.0 * self.wasted_s / self.worked_s } else { 0.0 };
        write!(
            f,
            "{} beads worked on, {} closed; {} on two machines at once, {} finished twice, {share:.0} % of {:.0} s wasted; \
             {} claims lost, {} agents died, {} beads released",
            self.beads,
            self.closed,
            self.doubled,
            self.finished_twice,
            self.worked_s,
            self.lost,
            self.died,
            self.released
        )
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn work_on_two_machines_at_once_is_counted_as_wasted() {
        let start = Instant::now();
        let shift = |machine, from: u64, to: u64, end| Shift {
            bead: "bd-1".to_owned(),
            machine,
            began: start + Duration::from_secs(from),
            ended: start + Duration::from_secs(to),
            end,
        };
        let shifts =
            [shift(0, 0, 10, End::Closed), shift(1, 8, 12, End::Closed), shift(0, 12, 15, End::Lost)];
        let report = Report::of(&shifts, &["bd-1".to_owned()]);
        assert_eq!((report.beads, report.doubled, report.finished_twice, report.lost), (1, 1, 1, 1));
        assert!((report.wasted_s - 4.0).abs() < 1e-9 && (report.worked_s - 17.0).abs() < 1e-9);
    }
}
