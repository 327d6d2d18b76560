//! Time: one that passes for all, and what the clocks of each machine make of it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use beads_store::{Steady, Uptime};

use crate::world::SimWorld;

/// The time that really passes. Wall clocks run with it, each with its own error.
#[derive(Debug, Clone)]
pub struct Time {
    now_ms: Rc<Cell<u64>>,
    walls: Rc<RefCell<Vec<SimWorld>>>,
}

impl Time {
    pub fn new() -> Self {
        Self { now_ms: Rc::default(), walls: Rc::default() }
    }

    pub fn add_wall(&self, wall: SimWorld) {
        self.walls.borrow_mut().push(wall);
    }

    pub fn now_ms(&self) -> u64 {
        self.now_ms.get()
    }

    pub fn pass(&self, ms: u64) {
        self.now_ms.set(self.now_ms.get() + ms);
        for wall in self.walls.borrow().iter() {
            wall.jump(i64::try_from(ms).unwrap_or(0));
        }
    }
}

/// The clock of a machine for leases. It begins somewhere, runs evenly, and has a new name after each start.
#[derive(Debug, Clone)]
pub struct LeaseClock {
    time: Time,
    started_ms: Rc<Cell<u64>>,
    starts: Rc<Cell<u64>>,
    /// How long it stood still while the machine slept. A real one never does.
    stood_ms: Rc<Cell<u64>>,
}

impl LeaseClock {
    pub fn new(time: Time, ahead_ms: u64) -> Self {
        let started_ms = Rc::new(Cell::new(0));
        started_ms.set(time.now_ms.get().wrapping_sub(ahead_ms));
        Self { time, started_ms, starts: Rc::default(), stood_ms: Rc::default() }
    }

    /// The machine is started anew.
    pub fn restart(&self) {
        self.starts.set(self.starts.get() + 1);
        self.started_ms.set(self.time.now_ms.get());
        self.stood_ms.set(0);
    }

    /// The clock does not notice that so much time has passed.
    pub fn stand_still(&self, ms: u64) {
        self.stood_ms.set(self.stood_ms.get() + ms);
    }
}

impl Steady for LeaseClock {
    fn now(&self) -> Uptime {
        let ms =
            self.time.now_ms.get().wrapping_sub(self.started_ms.get()).saturating_sub(self.stood_ms.get());
        Uptime::new(&self.starts.get().to_string(), ms)
    }
}
