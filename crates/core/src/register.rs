//! Last-writer-wins registers.

use std::cmp::Ordering;

use crate::Mark;
use crate::planted::{Bug, is_planted};

/// A value and the mark of the write that set it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Register<T> {
    /// The mark of the last write.
    pub mark: Mark,
    /// The value.
    pub value: T,
}

impl<T: Clone + PartialEq> Register<T> {
    /// Returns a register with this value.
    pub fn new(mark: Mark, value: T) -> Self {
        Self { mark, value }
    }

    /// Keeps the later of two writes. Replicas with different tags cannot write two values with the same
    /// mark, but files may contain them; then the greater canonical bytes win.
    pub(crate) fn join(&mut self, other: &Self, bytes: impl Fn(&T) -> Vec<u8>) {
        let other_wins = match other.mark.cmp(&self.mark) {
            Ordering::Greater => true,
            Ordering::Less => false,
            Ordering::Equal => other.value != self.value && bytes(&other.value) > bytes(&self.value),
        };
        if other_wins || is_planted(Bug::JoinTakesTheirs) {
            self.clone_from(other);
        }
    }
}
