//! Last writer wins, one register per field.

use std::cmp::Ordering;

use crate::Mark;
use crate::planted::{Bug, is_planted};

/// A value and the mark of the write that set it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Register<T> {
    pub mark: Mark,
    pub value: T,
}

impl<T: Clone + PartialEq> Register<T> {
    pub fn new(mark: Mark, value: T) -> Self {
        Self { mark, value }
    }

    /// Takes the other write if it is later. Two different values under one mark cannot be minted by two replicas
    /// with different tags, but may be read from files: then the greater canonical bytes win.
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
