//! Last writer wins, one register per field.

use std::cmp::Ordering;

use crate::Mark;

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
        #[cfg(feature = "planted")]
        let other_wins = other_wins || crate::planted::is_planted(crate::planted::Bug::JoinTakesTheirs);
        if other_wins {
            self.clone_from(other);
        }
    }
}
