//! An agent that claims a bead, works on it for a while, and closes it, releases it, or dies.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use beads_sim::Dice;

use super::machine::Machine;

/// How an agent works.
#[derive(Debug, Clone, Copy)]
pub struct Habits {
    /// The shortest time for a bead.
    pub shortest_ms: u64,
    /// The longest time for a bead.
    pub longest_ms: u64,
    /// The percentage of beads that it releases.
    pub releases: u64,
    /// The percentage of beads during which it dies.
    pub dies: u64,
    /// Whether it stops when there is nothing to claim.
    pub leaves: bool,
}

impl Habits {
    pub fn for_night() -> Self {
        Self { shortest_ms: 2_000, longest_ms: 9_000, releases: 5, dies: 5, leaves: false }
    }

    pub fn for_drain(work_ms: u64) -> Self {
        Self { shortest_ms: work_ms, longest_ms: work_ms, releases: 0, dies: 0, leaves: true }
    }
}

/// How work on a bead ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Closed,
    Released,
    Died,
    /// The claim had ended when the agent tried to write.
    Lost,
}

/// One agent's work on one bead.
#[derive(Debug, Clone)]
pub struct Shift {
    pub bead: String,
    pub machine: usize,
    pub began: Instant,
    pub ended: Instant,
    pub end: End,
}

/// An agent on a machine.
pub struct Agent<'a> {
    pub machine: &'a Machine,
    pub number: usize,
    pub name: String,
    pub dice: Dice,
    pub habits: Habits,
}

impl Agent<'_> {
    /// Claims and works until the run is over.
    pub fn work(mut self, over: &AtomicBool, shifts: &Mutex<Vec<Shift>>) {
        while !over.load(Ordering::Relaxed) {
            let claimed = self.machine.ask(&self.name, &["claim", "--next", "--wait", "2s"]);
            let (Some(bead), Some(fence)) = (claimed["id"].as_str(), claimed["fence"].as_str()) else {
                if self.habits.leaves && claimed["error"]["code"] == "nothing_ready" {
                    return;
                }
                continue;
            };
            let began = Instant::now();
            let end = self.work_on(bead, fence);
            let shift =
                Shift { bead: bead.to_owned(), machine: self.number, began, ended: Instant::now(), end };
            if let Ok(mut shifts) = shifts.lock() {
                shifts.push(shift);
            }
        }
    }

    fn work_on(&mut self, bead: &str, fence: &str) -> End {
        let span = self.habits.longest_ms - self.habits.shortest_ms + 1;
        let work = Duration::from_millis(self.habits.shortest_ms + self.dice.below(span));
        std::thread::sleep(work / 2);
        if !self.succeeds(&["note", "add", bead, "half done", "--fence", fence]) {
            return End::Lost;
        }
        std::thread::sleep(work / 2);
        if self.dice.chance(self.habits.dies) {
            return End::Died;
        }
        let (args, end): (&[&str], End) = if self.dice.chance(self.habits.releases) {
            (&["unclaim", bead, "--fence", fence], End::Released)
        } else {
            (&["close", bead, "--fence", fence], End::Closed)
        };
        if self.succeeds(args) { end } else { End::Lost }
    }

    fn succeeds(&self, args: &[&str]) -> bool {
        self.machine.ask(&self.name, args)["error"].is_null()
    }
}
