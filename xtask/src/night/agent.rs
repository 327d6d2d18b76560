//! An agent that claims a bead, works on it for a while, and finishes it, gives it back, or dies.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use beads_sim::Dice;

use super::machine::Machine;

/// How an agent works.
#[derive(Debug, Clone, Copy)]
pub struct Habits {
    pub shortest_ms: u64,
    pub longest_ms: u64,
    /// Percent of beads that are given back, and of those that their agent dies over.
    pub gives_back: u64,
    pub dies: u64,
    /// Leaves when there is nothing to claim.
    pub leaves: bool,
}

impl Habits {
    pub fn of_a_night() -> Self {
        Self { shortest_ms: 2_000, longest_ms: 9_000, gives_back: 5, dies: 5, leaves: false }
    }

    pub fn of_a_drain(work_ms: u64) -> Self {
        Self { shortest_ms: work_ms, longest_ms: work_ms, gives_back: 0, dies: 0, leaves: true }
    }
}

/// How work on a bead ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Closed,
    GivenBack,
    Died,
    /// The claim was over when the agent wanted to write.
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

pub struct Agent<'a> {
    pub machine: &'a Machine,
    pub number: usize,
    pub name: String,
    pub dice: Dice,
    pub habits: Habits,
}

impl Agent<'_> {
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
            let end = self.on(bead, fence);
            let shift =
                Shift { bead: bead.to_owned(), machine: self.number, began, ended: Instant::now(), end };
            if let Ok(mut shifts) = shifts.lock() {
                shifts.push(shift);
            }
        }
    }

    fn on(&mut self, bead: &str, fence: &str) -> End {
        let span = self.habits.longest_ms - self.habits.shortest_ms + 1;
        let work = Duration::from_millis(self.habits.shortest_ms + self.dice.below(span));
        std::thread::sleep(work / 2);
        if !self.does(&["note", "add", bead, "half done", "--fence", fence]) {
            return End::Lost;
        }
        std::thread::sleep(work / 2);
        if self.dice.chance(self.habits.dies) {
            return End::Died;
        }
        let (args, end): (&[&str], End) = if self.dice.chance(self.habits.gives_back) {
            (&["unclaim", bead, "--fence", fence], End::GivenBack)
        } else {
            (&["close", bead, "--fence", fence], End::Closed)
        };
        if self.does(args) { end } else { End::Lost }
    }

    fn does(&self, args: &[&str]) -> bool {
        self.machine.ask(&self.name, args)["error"].is_null()
    }
}
