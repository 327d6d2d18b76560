//! Reads a copy of the event log. Reading it does not block the log's writer.

use beads_core::Event;

use crate::disk::Disk;
use crate::event_log::{Logged, events_in, file_name};

/// The files of the event log by name, and the events that are in memory.
#[derive(Debug, Clone, Default)]
pub struct EventLogCopy {
    /// The numbers of the first events of the files, oldest first.
    pub(crate) files: Vec<u64>,
    pub(crate) recent: Vec<Logged>,
    /// The number of the last event.
    pub(crate) end: u64,
}

/// The events that could be read.
#[derive(Debug, Default)]
pub struct PastEvents {
    /// The events, oldest first.
    pub events: Vec<Event>,
    /// Whether no event after the first one is missing.
    pub without_gap: bool,
}

impl EventLogCopy {
    /// Reads the log. Unreadable events, and files that were removed meanwhile, leave a gap.
    pub fn read<D: Disk>(&self, disk: &D) -> PastEvents {
        let in_memory = self.recent.first().map_or(self.end + 1, |first| first.seq);
        let mut next = self.files.first().copied().unwrap_or(in_memory);
        let mut past = PastEvents { events: Vec::new(), without_gap: true };
        for first in &self.files {
            if next >= in_memory {
                break;
            }
            let bytes = disk.read(&file_name(*first)).unwrap_or_default();
            let events = events_in(&bytes).unwrap_or_default();
            for logged in events.into_iter().filter(|one| one.seq < in_memory) {
                if logged.seq >= next {
                    past.without_gap &= logged.seq == next;
                    next = logged.seq + 1;
                    past.events.push(logged.event);
                }
            }
        }
        past.without_gap &= next >= in_memory;
        past.events.extend(self.recent.iter().map(|logged| logged.event.clone()));
        past
    }
}
