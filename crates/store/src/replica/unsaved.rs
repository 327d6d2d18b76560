//! How much the ref does not hold yet.

use crate::Record;

/// The mutations that are in the journal but not yet on the ref.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unsaved {
    /// The number of mutations.
    pub records: u64,
    /// When the oldest of them was made, in milliseconds since 1970.
    pub oldest_ms: Option<u64>,
}

impl Unsaved {
    /// Counts records. A record that only stores the base commit has nothing to save.
    pub(super) fn add(&mut self, records: &[Record]) {
        let mut changes = records.iter().filter(|record| !record.delta.is_empty()).peekable();
        self.oldest_ms = self.oldest_ms.or_else(|| changes.peek().map(|record| record.at_ms));
        self.records += changes.count() as u64;
    }
}
