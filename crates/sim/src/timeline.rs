//! Virtual time for many threads. One thread runs at a time: the one with the earliest wake-up time. So the
//! real, blocking code of many machines runs together in a deterministic order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A clock shared by several threads.
#[derive(Debug)]
pub struct Timeline {
    schedule: Mutex<Schedule>,
    wakeups: Vec<Condvar>,
}

#[derive(Debug)]
struct Schedule {
    now_ms: u64,
    due: BinaryHeap<Reverse<(u64, usize)>>,
    running: Option<usize>,
}

impl Timeline {
    /// Returns a timeline for this many threads. All wake up at time 0 and begin with [`enter`](Self::enter).
    pub fn new(threads: usize) -> Self {
        let mut schedule = Schedule { now_ms: 0, due: BinaryHeap::new(), running: None };
        schedule.due.extend((0..threads).map(|thread| Reverse((0, thread))));
        let timeline =
            Self { schedule: Mutex::new(schedule), wakeups: (0..threads).map(|_| Condvar::new()).collect() };
        timeline.run_next(&mut timeline.schedule());
        timeline
    }

    /// Returns the current time.
    pub fn now_ms(&self) -> u64 {
        self.schedule().now_ms
    }

    /// Waits until the thread may run for the first time.
    pub fn enter(&self, thread: usize) {
        self.wait(thread, self.schedule());
    }

    /// Lets the other threads run until that time.
    pub fn sleep_until(&self, thread: usize, at_ms: u64) {
        let mut schedule = self.schedule();
        let at_ms = at_ms.max(schedule.now_ms);
        schedule.due.push(Reverse((at_ms, thread)));
        self.run_next(&mut schedule);
        self.wait(thread, schedule);
    }

    /// Ends the thread.
    pub fn leave(&self) {
        self.run_next(&mut self.schedule());
    }

    fn run_next(&self, schedule: &mut Schedule) {
        schedule.running = None;
        if let Some(Reverse((at_ms, thread))) = schedule.due.pop() {
            (schedule.now_ms, schedule.running) = (at_ms, Some(thread));
            self.wakeups[thread].notify_one();
        }
    }

    fn wait(&self, thread: usize, mut schedule: MutexGuard<'_, Schedule>) {
        while schedule.running != Some(thread) {
            schedule = self.wakeups[thread].wait(schedule).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn schedule(&self) -> MutexGuard<'_, Schedule> {
        self.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
