//! Virtual time for many threads. One runs at a time: the one whose moment comes first. So real, blocking code of many
//! machines runs together, in an order that depends on nothing but the moments.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
pub struct Timeline {
    moments: Mutex<Moments>,
    bells: Vec<Condvar>,
}

#[derive(Debug)]
struct Moments {
    now_ms: u64,
    due: BinaryHeap<Reverse<(u64, usize)>>,
    running: Option<usize>,
}

impl Timeline {
    /// For this many threads; each has its first moment at 0 and begins with [`enter`](Self::enter).
    pub fn new(threads: usize) -> Self {
        let mut moments = Moments { now_ms: 0, due: BinaryHeap::new(), running: None };
        moments.due.extend((0..threads).map(|thread| Reverse((0, thread))));
        let timeline =
            Self { moments: Mutex::new(moments), bells: (0..threads).map(|_| Condvar::new()).collect() };
        timeline.pass_on(&mut timeline.moments());
        timeline
    }

    pub fn now_ms(&self) -> u64 {
        self.moments().now_ms
    }

    /// Waits for the thread's first moment.
    pub fn enter(&self, thread: usize) {
        self.wait(thread, self.moments());
    }

    /// Lets the others run until that moment.
    pub fn sleep_until(&self, thread: usize, at_ms: u64) {
        let mut moments = self.moments();
        let at_ms = at_ms.max(moments.now_ms);
        moments.due.push(Reverse((at_ms, thread)));
        self.pass_on(&mut moments);
        self.wait(thread, moments);
    }

    /// The thread has no more moments.
    pub fn leave(&self) {
        self.pass_on(&mut self.moments());
    }

    fn pass_on(&self, moments: &mut Moments) {
        moments.running = None;
        if let Some(Reverse((at_ms, thread))) = moments.due.pop() {
            (moments.now_ms, moments.running) = (at_ms, Some(thread));
            self.bells[thread].notify_one();
        }
    }

    fn wait(&self, thread: usize, mut moments: MutexGuard<'_, Moments>) {
        while moments.running != Some(thread) {
            moments = self.bells[thread].wait(moments).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn moments(&self) -> MutexGuard<'_, Moments> {
        self.moments.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
