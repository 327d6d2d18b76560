//! The event log for watchers, derived from the journal and from merges.
//!
//! Its files `events.<n>` are named after their first event and consist of frames, as the journal does. Each
//! frame states up to which position of the journal and which commit of the ref the log is complete. Later
//! events are derived again when the store is opened, in the same order and with the same numbers. So the log
//! only has to be written before the journal is trimmed, and a crash at any point neither loses nor repeats
//! an event.

use std::collections::VecDeque;
use std::sync::Arc;

use beads_core::Event;
use serde::{Deserialize, Serialize};

use crate::cursor::Cursor;
use crate::disk::{Disk, DiskFile};
use crate::event_log_copy::EventLogCopy;
use crate::log_file::{Frames, LogFile, io, line, lines, numbers};
use crate::repository::CommitId;
use crate::{Error, Result};

const NAME: &str = "events.";

/// A file above this size is followed by a new one.
const FILE_BYTES: u64 = 1024 * 1024;

/// How many files are kept: tens of thousands of events, a few dozen megabytes at most.
const MAX_FILES: usize = 16;

/// How many events stay in memory, so that watchers that keep up never cause a read. Beyond it the log is
/// written.
const MAX_RECENT: usize = 8_192;

/// How many events are examined for one answer.
const MAX_SCAN: usize = 4_096;

/// An event with its number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Logged {
    /// The number of the event in its log, from 1.
    pub seq: u64,
    /// The position of the journal when it happened.
    pub position: u64,
    /// The event.
    #[serde(flatten)]
    pub event: Event,
}

/// Some events, and where to continue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventBatch {
    /// The events, each with the cursor after it.
    pub events: Vec<(Cursor, Logged)>,
    /// Where to continue.
    pub cursor: Cursor,
    /// Whether more events may follow the cursor already.
    pub more: bool,
}

/// The first line of a frame: how far the log is complete.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Covered {
    /// The name of the log.
    pub(crate) log: String,
    /// The journal's position.
    pub(crate) position: u64,
    /// The commit of the ref.
    pub(crate) commit: Option<CommitId>,
    /// The number of the last event.
    pub(crate) end: u64,
}

/// The event log of a replica.
#[derive(Debug)]
pub(crate) struct EventLog<F> {
    /// What the files state, or will state before anything depends on it; `None` before the first event.
    covered: Option<Covered>,
    /// The first events of the files, oldest first.
    files: Vec<u64>,
    file: Option<LogFile<F>>,
    end: u64,
    /// The last event that can be derived again from the journal or the ref.
    durable: u64,
    /// Shared with the copies of the log.
    recent: VecDeque<Arc<Logged>>,
}

impl<F: DiskFile> EventLog<F> {
    /// Reads how far the log is complete. Changes nothing on disk.
    ///
    /// A damaged log counts as none: a new one begins, and cursors into the old one expire.
    pub(crate) fn open<D: Disk<File = F>>(disk: &D) -> Result<Self> {
        let mut log = Self::none();
        log.files = numbers(disk, NAME)?;
        while let Some(first) = log.files.last().copied() {
            let name = file_name(first);
            let bytes = disk.read(&name).map_err(|error| io(disk, "read", &name, error))?;
            let frames = Frames::read(&bytes);
            let Ok(covered) = covered_by(&frames) else {
                log.files.clear();
                break;
            };
            let Some(covered) = covered else {
                // The writer died while it started this file.
                log.files.pop();
                continue;
            };
            log.file = Some(LogFile::open(disk, &name, frames.end, frames.payloads.len() as u64)?);
            (log.end, log.durable) = (covered.end, covered.end);
            log.covered = Some(covered);
            break;
        }
        Ok(log)
    }

    /// Returns how far the log is complete, or `None` if there is no log.
    pub(crate) fn covered(&self) -> Option<&Covered> {
        self.covered.as_ref()
    }

    fn none() -> Self {
        Self { covered: None, files: Vec::new(), file: None, end: 0, durable: 0, recent: VecDeque::new() }
    }

    /// Drops the log, because the events between its end and now cannot be derived any more.
    pub(crate) fn abandon(&mut self) {
        *self = Self::none();
    }

    /// Starts a log in memory if there is none, before its first event.
    pub(crate) fn begin(&mut self, log: impl FnOnce() -> String, position: u64, commit: Option<&CommitId>) {
        if self.covered.is_none() {
            self.covered = Some(Covered { log: log(), position, commit: commit.cloned(), end: 0 });
        }
    }

    /// Makes the files state the journal's position and the ref's commit before the journal is written.
    /// Otherwise opening the store again would miss the first record, or report a merge after later records.
    pub(crate) fn prepare<D: Disk<File = F>>(
        &mut self,
        disk: &D,
        position: u64,
        commit: Option<&CommitId>,
    ) -> Result<()> {
        let Some(covered) = &self.covered else { return Ok(()) };
        if self.file.is_some() && covered.commit.as_ref() == commit {
            return Ok(());
        }
        let log = covered.log.clone();
        self.write(disk, Covered { log, position, commit: commit.cloned(), end: self.durable })
    }

    /// Marks all events so far as derivable from the journal or the ref.
    pub(crate) fn mark_durable(&mut self) {
        self.durable = self.end;
    }

    /// Removes the files of a log that could not be used.
    fn clear<D: Disk<File = F>>(&self, disk: &D) -> Result<()> {
        for number in numbers(disk, NAME)? {
            let name = file_name(number);
            disk.remove(&name).map_err(|error| io(disk, "remove", &name, error))?;
        }
        Ok(())
    }

    /// Adds events that happened at a position of the journal.
    pub(crate) fn push(&mut self, position: u64, events: Vec<Event>) {
        if self.covered.is_none() {
            return;
        }
        for event in events {
            self.end += 1;
            self.recent.push_back(Arc::new(Logged { seq: self.end, position, event }));
        }
    }

    /// Returns whether too many events are in memory only.
    pub(crate) fn is_full(&self) -> bool {
        self.end - self.written() > MAX_RECENT as u64
    }

    fn written(&self) -> u64 {
        self.covered.as_ref().map_or(0, |covered| covered.end)
    }

    /// Writes all events: the log is then complete up to this position and commit.
    pub(crate) fn flush<D: Disk<File = F>>(
        &mut self,
        disk: &D,
        position: u64,
        commit: Option<CommitId>,
    ) -> Result<()> {
        let changed = |old: &&Covered| old.commit != commit || old.end != self.end || self.file.is_none();
        let Some(old) = self.covered.as_ref().filter(changed) else { return Ok(()) };
        let covered = Covered { log: old.log.clone(), position, commit, end: self.end };
        self.write(disk, covered)
    }

    /// Appends a frame with the events up to `covered.end`, in a new file if the last one is large.
    fn write<D: Disk<File = F>>(&mut self, disk: &D, covered: Covered) -> Result<()> {
        if self.file.is_none() {
            self.clear(disk)?;
        }
        let first = self.written() + 1;
        let unwritten = first..=covered.end;
        let mut payload = line(&covered)?;
        for event in self.recent.iter().filter(|logged| unwritten.contains(&logged.seq)) {
            payload.extend(line(event.as_ref())?);
        }
        match &mut self.file {
            Some(file) if file.bytes <= FILE_BYTES || unwritten.is_empty() => {
                file.append(&payload).map_err(|error| io(disk, "write", NAME, error))?;
            }
            _ => {
                self.file = Some(LogFile::create(disk, &file_name(first), &payload)?);
                self.files.push(first);
            }
        }
        // Here and not in a caller: under constant writes only `prepare` gets here.
        while self.recent.len() > MAX_RECENT && self.recent.front().is_some_and(|one| one.seq <= covered.end)
        {
            self.recent.pop_front();
        }
        self.covered = Some(covered);
        while self.files.len() > MAX_FILES {
            let oldest = file_name(self.files.remove(0));
            disk.remove(&oldest).map_err(|error| io(disk, "remove", &oldest, error))?;
        }
        Ok(())
    }

    /// Copies the log, to be read in another thread.
    pub(crate) fn copy(&self) -> EventLogCopy {
        EventLogCopy {
            files: self.files.clone(),
            recent: self.recent.iter().cloned().collect(),
            cursor: self.cursor(),
        }
    }

    /// Returns the cursor of the next event.
    pub(crate) fn cursor(&self) -> Cursor {
        self.at(self.end)
    }

    fn at(&self, seq: u64) -> Cursor {
        Cursor { log: self.covered.as_ref().map(|covered| covered.log.clone()).unwrap_or_default(), seq }
    }

    /// Returns the events after a cursor that match `wanted`, at most `limit` of them.
    pub(crate) fn since<D: Disk<File = F>>(
        &self,
        disk: &D,
        since: &Cursor,
        limit: usize,
        wanted: impl Fn(&Event) -> bool,
    ) -> Result<EventBatch> {
        let newest = self.cursor();
        let known = since.log.is_empty() || since.log == newest.log;
        let oldest = self.files.first().map_or(0, |first| first - 1);
        if !known || since.seq < oldest {
            return Err(Error::CursorExpired {
                cursor: since.to_string(),
                oldest: self.at(oldest).to_string(),
            });
        }
        if since.seq > newest.seq {
            return Err(Error::CursorAhead { cursor: since.to_string(), newest: newest.to_string() });
        }
        let mut batch = EventBatch { events: Vec::new(), cursor: self.at(since.seq), more: false };
        let mut looked_at = 0;
        self.scan(disk, since.seq, |logged| {
            if batch.events.len() >= limit || looked_at >= MAX_SCAN {
                batch.more = true;
                return false;
            }
            looked_at += 1;
            batch.cursor = self.at(logged.seq);
            if wanted(&logged.event) {
                batch.events.push((batch.cursor.clone(), logged));
            }
            true
        })?;
        Ok(batch)
    }

    /// Passes the events after `seq` to `take` in order, until it returns false.
    fn scan<D: Disk<File = F>>(
        &self,
        disk: &D,
        seq: u64,
        mut take: impl FnMut(Logged) -> bool,
    ) -> Result<()> {
        let mut next = seq + 1;
        let in_memory = self.recent.front().map_or(self.end + 1, |first| first.seq);
        let start = self.files.partition_point(|first| *first <= next).saturating_sub(1);
        for (index, first) in self.files.iter().enumerate().skip(start) {
            if next >= in_memory {
                break;
            }
            let name = file_name(*first);
            let bytes = disk.read(&name).map_err(|error| io(disk, "read", &name, error))?;
            let events = events_in(&bytes);
            let due = self.files.get(index + 1).copied().unwrap_or(in_memory).min(in_memory);
            let behind = events.as_ref().and_then(|events| events.last()).map_or(*first, |last| last.seq + 1);
            let (Some(events), true) = (events, behind >= due) else {
                // Some events are unreadable, or lost with the end of a damaged file. They must not be
                // skipped silently.
                let (cursor, oldest) = (self.at(seq).to_string(), self.at(due - 1).to_string());
                return Err(Error::CursorExpired { cursor, oldest });
            };
            for logged in events {
                if logged.seq < next || logged.seq >= in_memory {
                    continue;
                }
                next = logged.seq + 1;
                if !take(logged) {
                    return Ok(());
                }
            }
        }
        for logged in self.recent.iter().filter(|logged| logged.seq >= next) {
            if !take(Logged::clone(logged)) {
                break;
            }
        }
        Ok(())
    }
}

/// Returns up to where a file states that the log is complete: `None` if the file was only just started, an
/// error if it is damaged. Does not parse the events, because a store is opened more often than old events
/// are read.
fn covered_by(frames: &Frames<'_>) -> std::result::Result<Option<Covered>, ()> {
    if frames.damaged {
        return Err(());
    }
    let covered = |payload: &&[u8]| serde_json::from_slice(lines(payload).next().ok_or(())?).map_err(drop);
    frames.payloads.iter().map(covered).next_back().transpose()
}

/// Returns the events of a file, or `None` if this program cannot read some of them.
pub(crate) fn events_in(bytes: &[u8]) -> Option<Vec<Logged>> {
    let frames = Frames::read(bytes);
    let events = frames.payloads.iter().flat_map(|payload| lines(payload).skip(1));
    events.map(|line| serde_json::from_slice(line).ok()).collect()
}

pub(crate) fn file_name(first: u64) -> String {
    format!("{NAME}{first:012}")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a failing test may panic
mod tests {
    use super::*;
    use crate::RealDisk;

    /// Another version may have written them.
    #[test]
    fn unreadable_events_are_not_skipped_silently() {
        let directory = tempfile::tempdir().unwrap();
        let disk = RealDisk::new(directory.path());
        let payload =
            b"{\"log\":\"0a\",\"position\":2,\"commit\":null,\"end\":2}\n{\"seq\":1,\"type\":\"sung\"}\n";
        LogFile::create(&disk, &file_name(1), payload).unwrap();
        let mut log = EventLog::open(&disk).unwrap();
        let event: Event =
            serde_json::from_str(r#"{"type":"synced","at":"2026-01-01T00:00:00.000Z"}"#).unwrap();
        log.push(3, vec![event]);
        let since = |text: &str| log.since(&disk, &text.parse().unwrap(), 10, |_| true);
        let error = since("0").unwrap_err().to_string();
        assert!(error.contains("the oldest valid cursor is 0a-2"), "{error}");
        assert_eq!(since("0a-2").unwrap().events.len(), 1);
    }

    #[test]
    fn events_lost_with_the_end_of_a_damaged_file_are_not_skipped_silently() {
        let directory = tempfile::tempdir().unwrap();
        let disk = RealDisk::new(directory.path());
        let payload = |end: u64, seqs: &[u64]| {
            let event = |seq: &u64| {
                format!(
                    "{{\"seq\":{seq},\"position\":{seq},\"type\":\"synced\",\"at\":\"2026-01-01T00:00:00.000Z\"}}\n"
                )
            };
            let covered = format!("{{\"log\":\"0a\",\"position\":{end},\"commit\":null,\"end\":{end}}}\n");
            (covered + &seqs.iter().map(event).collect::<String>()).into_bytes()
        };
        let mut first = LogFile::create(&disk, &file_name(1), &payload(1, &[1])).unwrap();
        let whole = std::fs::metadata(directory.path().join(file_name(1))).unwrap().len();
        first.append(&payload(2, &[2])).unwrap();
        LogFile::create(&disk, &file_name(3), &payload(3, &[3])).unwrap();
        let read = || EventLog::open(&disk).unwrap().since(&disk, &"0".parse().unwrap(), 10, |_| true);
        assert_eq!(read().unwrap().events.len(), 3);
        for length in [whole, whole + 5] {
            let file =
                std::fs::File::options().write(true).open(directory.path().join(file_name(1))).unwrap();
            file.set_len(length).unwrap();
            let error = read().unwrap_err().to_string();
            assert!(error.contains("the oldest valid cursor is 0a-2"), "{error}");
        }
    }

    /// As in a daemon that is never idle: each checkpoint ends among writes, so that nothing is left to
    /// flush.
    #[test]
    fn events_in_the_files_do_not_stay_in_memory_forever() {
        const EVENTS: usize = 512;
        let directory = tempfile::tempdir().unwrap();
        let disk = RealDisk::new(directory.path());
        let mut log = EventLog::open(&disk).unwrap();
        log.begin(|| "0a".into(), 0, None);
        let event: Event =
            serde_json::from_str(r#"{"type":"synced","at":"2026-01-01T00:00:00.000Z"}"#).unwrap();
        let rounds = 3 * MAX_RECENT / EVENTS;
        for round in 1..=rounds {
            log.push(round as u64, vec![event.clone(); EVENTS]);
            log.mark_durable();
            let commit = format!("{round:040}");
            log.prepare(&disk, round as u64, Some(&commit)).unwrap();
            log.flush(&disk, round as u64, Some(commit)).unwrap();
            assert!(log.recent.len() <= MAX_RECENT, "{} in round {round}", log.recent.len());
        }
        let mut seen = Vec::new();
        log.scan(&disk, 0, |logged| {
            seen.push(logged.seq);
            true
        })
        .unwrap();
        let end = (rounds * EVENTS) as u64;
        assert!(seen.into_iter().eq(1..=end), "the files have the rest");
        let copy = log.copy();
        let in_memory = log.recent.front().unwrap().seq;
        for seq in [0, 1, EVENTS as u64, in_memory - 2, in_memory - 1, in_memory, end - 1, end] {
            let past = copy.read_since(&disk, &log.at(seq));
            assert_eq!((past.events.len() as u64, past.without_gap), (end - seq, true), "after {seq}");
        }
        let other = Cursor { log: "0b".into(), seq: 5 };
        assert_eq!(copy.read_since(&disk, &other).events.len() as u64, end, "a cursor of another log");
        // What is in memory needs no file.
        std::fs::remove_dir_all(directory.path()).unwrap();
        assert_eq!(copy.read_since(&disk, &log.at(in_memory)).events.len() as u64, end - in_memory);
        assert!(!copy.read(&disk).without_gap);
    }
}
