//! Real time, and the clocks of each machine.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use beads_store::{SteadyClock, Uptime};

use crate::world::SimWorld;

/// Real time. Wall clocks advance with it, each with its own error.
#[derive(Debug, Clone)]
pub struct Time {
    now_ms: Rc<Cell<u64>>,
    walls: Rc<RefCell<Vec<SimWorld>>>,
}

impl Time {
    /// Returns time 0.
    pub fn new() -> Self {
        Self { now_ms: Rc::default(), walls: Rc::default() }
    }

    /// Adds a wall clock, which advances with this time.
    pub fn add_wall_clock(&self, wall: SimWorld) {
        self.walls.borrow_mut().push(wall);
    }

    /// Returns the current time.
    pub fn now_ms(&self) -> u64 {
        self.now_ms.get()
    }

    /// Lets time pass.
    pub fn pass(&self, ms: u64) {
        self.now_ms.set(self.now_ms.get() + ms);
        for wall in self.walls.borrow().iter() {
            wall.jump(i64::try_from(ms).unwrap_or(0));
        }
    }
}

/// A machine's clock for leases. It starts at an arbitrary value, runs evenly, and gets a new name after each
/// boot.
#[derive(Debug, Clone)]
pub struct LeaseClock {
    time: Time,
    started_ms: Rc<Cell<u64>>,
    starts: Rc<Cell<u64>>,
    /// How long it stopped while the machine slept. A real one never does.
    paused_ms: Rc<Cell<u64>>,
}

impl LeaseClock {
    /// Returns a clock that is ahead by some time.
    pub fn new(time: Time, ahead_ms: u64) -> Self {
        let started_ms = Rc::new(Cell::new(0));
        started_ms.set(time.now_ms.get().wrapping_sub(ahead_ms));
        Self { time, started_ms, starts: Rc::default(), paused_ms: Rc::default() }
    }

    /// Reboots the machine.
    pub fn restart(&self) {
        self.starts.set(self.starts.get() + 1);
        self.started_ms.set(self.time.now_ms.get());
        self.paused_ms.set(0);
    }

    /// Hides some elapsed time from the clock.
    pub fn pause(&self, ms: u64) {
        self.paused_ms.set(self.paused_ms.get() + ms);
    }
}

impl SteadyClock for LeaseClock {
    fn now(&self) -> Uptime {
        let ms =
            self.time.now_ms.get().wrapping_sub(self.started_ms.get()).saturating_sub(self.paused_ms.get());
        Uptime::new(&self.starts.get().to_string(), ms)
    }
}
