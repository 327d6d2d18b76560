//! Reads a copy of the event log. Reading it does not block the log's writer.

use std::sync::Arc;

use beads_core::Event;

use crate::cursor::Cursor;
use crate::disk::Disk;
use crate::event_log::{Logged, events_in, file_name};

/// The files of the event log by name, and the events that are in memory.
#[derive(Debug, Clone, Default)]
pub struct EventLogCopy {
    /// The numbers of the first events of the files, oldest first.
    pub(crate) files: Vec<u64>,
    pub(crate) recent: Vec<Arc<Logged>>,
    /// After the last event.
    pub(crate) cursor: Cursor,
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
    /// Returns the cursor after the last event.
    pub fn cursor(&self) -> &Cursor {
        &self.cursor
    }

    /// Reads the log. Unreadable events, and files that were removed meanwhile, leave a gap.
    pub fn read<D: Disk>(&self, disk: &D) -> PastEvents {
        self.read_from(disk, 1)
    }

    /// Reads the events after a cursor, or all of them if the cursor belongs to another log.
    pub fn read_since<D: Disk>(&self, disk: &D, since: &Cursor) -> PastEvents {
        let is_known = since.log == self.cursor.log;
        self.read_from(disk, if is_known { since.seq + 1 } else { 1 })
    }

    /// Reads the events from a number on.
    fn read_from<D: Disk>(&self, disk: &D, start: u64) -> PastEvents {
        let in_memory = self.recent.first().map_or(self.cursor.seq + 1, |first| first.seq);
        let mut next = self.files.first().copied().unwrap_or(in_memory).max(start);
        let mut past = PastEvents { events: Vec::new(), without_gap: true };
        for (index, first) in self.files.iter().enumerate() {
            let end = self.files.get(index + 1).copied().unwrap_or(in_memory).min(in_memory);
            if end <= next {
                continue;
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
        let recent = self.recent.iter().filter(|logged| logged.seq >= start);
        past.events.extend(recent.map(|logged| logged.event.clone()));
        past
    }
}
