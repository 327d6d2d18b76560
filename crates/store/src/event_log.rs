//! The event log: what watchers read, derived from the journal and from merges.
//!
//! Files `events.<n>`, named after the first event in them and made of the journal's frames. Each frame says up to
//! which position of the journal and which commit of the ref the log is complete; what lies beyond is derived again
//! when the store is opened, in the same order and with the same numbers. So the log is written only before the journal
//! is trimmed, and a crash at any point loses no event and tells none twice.

use std::collections::VecDeque;

use beads_core::Event;
use serde::{Deserialize, Serialize};

use crate::disk::{Disk, DiskFile};
use crate::log_file::{Frames, LogFile, io, line, lines, numbers};
use crate::repository::CommitId;
use crate::{Error, Result};

const NAME: &str = "events.";

/// A file that has grown past this is followed by a new one.
const FILE_BYTES: u64 = 1024 * 1024;

/// How many files are kept: some tens of thousands of events, a few dozen megabytes at most.
const MAX_FILES: usize = 16;

/// Events kept in memory, so that watchers who keep up never cause a read; past it the log is written.
const MAX_RECENT: usize = 8_192;

/// How many events are looked at for one answer.
const MAX_SCAN: usize = 4_096;

/// A place between two events: behind event `seq` of the log `log`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Cursor {
    log: String,
    seq: u64,
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.log.is_empty() { write!(f, "{}", self.seq) } else { write!(f, "{}-{}", self.log, self.seq) }
    }
}

/// `0` is the beginning of whatever log there is, and too old like any other once the first events are gone.
impl std::str::FromStr for Cursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bad = || Error::BadCursor(text.to_owned());
        let (log, seq) = text.rsplit_once('-').unwrap_or(("", text));
        let seq = seq.parse().map_err(|_| bad())?;
        if (log.is_empty() && seq != 0) || !log.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(bad());
        }
        Ok(Self { log: log.to_owned(), seq })
    }
}

impl TryFrom<String> for Cursor {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Cursor> for String {
    fn from(cursor: Cursor) -> Self {
        cursor.to_string()
    }
}

/// An event in its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Logged {
    pub seq: u64,
    /// Where the journal stood when it happened.
    pub position: u64,
    #[serde(flatten)]
    pub event: Event,
}

/// Some events, and where to go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventBatch {
    pub events: Vec<(Cursor, Logged)>,
    pub cursor: Cursor,
    /// There may be more behind the cursor already.
    pub more: bool,
}

/// What a frame of the log says before its events.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Covered {
    pub log: String,
    pub position: u64,
    pub commit: Option<CommitId>,
    /// The last event.
    pub end: u64,
}

#[derive(Debug)]
pub struct EventLog<F> {
    /// What the files say, or will say before anything relies on it; `None` before anything happened.
    covered: Option<Covered>,
    /// First events of the files, oldest first.
    files: Vec<u64>,
    file: Option<LogFile<F>>,
    end: u64,
    /// The last event that the journal or the ref can tell again.
    durable: u64,
    recent: VecDeque<Logged>,
}

impl<F: DiskFile> EventLog<F> {
    /// Reads how far the log is complete. Changes nothing on disk. A log that is damaged is as good as none: a new one
    /// begins, and cursors into the old one have expired.
    pub fn open<D: Disk<File = F>>(disk: &D) -> Result<Self> {
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
                // The file was being started when the writer died.
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

    pub fn covered(&self) -> Option<&Covered> {
        self.covered.as_ref()
    }

    fn none() -> Self {
        Self { covered: None, files: Vec::new(), file: None, end: 0, durable: 0, recent: VecDeque::new() }
    }

    /// Forgets everything: what happened between its end and now cannot be told any more.
    pub fn abandon(&mut self) {
        *self = Self::none();
    }

    /// Starts a log where there is none, in memory: the first thing is about to happen that it should tell.
    pub fn begin(&mut self, log: impl FnOnce() -> String, position: u64, commit: Option<&CommitId>) {
        if self.covered.is_none() {
            self.covered = Some(Covered { log: log(), position, commit: commit.cloned(), end: 0 });
        }
    }

    /// Before the journal goes on, the files must say where it stood and where the ref is. Else opening the store again
    /// would not tell of the first record, or would tell of a merge after what came later.
    pub fn prepare<D: Disk<File = F>>(
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

    /// What was pushed so far can be told again.
    pub fn settle(&mut self) {
        self.durable = self.end;
    }

    /// Removes what is left of a log that could not be used.
    fn clear<D: Disk<File = F>>(&self, disk: &D) -> Result<()> {
        for number in numbers(disk, NAME)? {
            let name = file_name(number);
            disk.remove(&name).map_err(|error| io(disk, "remove", &name, error))?;
        }
        Ok(())
    }

    pub fn push(&mut self, position: u64, events: Vec<Event>) {
        if self.covered.is_none() {
            return;
        }
        for event in events {
            self.end += 1;
            self.recent.push_back(Logged { seq: self.end, position, event });
        }
    }

    /// Whether so much has happened that it should not stay in memory alone.
    pub fn is_full(&self) -> bool {
        self.end - self.written() > MAX_RECENT as u64
    }

    fn written(&self) -> u64 {
        self.covered.as_ref().map_or(0, |covered| covered.end)
    }

    /// Makes everything so far durable: the log is complete up to this position and this commit.
    pub fn flush<D: Disk<File = F>>(
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

    /// Adds a frame with the events up to `covered.end`, in a new file when the last one is large.
    fn write<D: Disk<File = F>>(&mut self, disk: &D, covered: Covered) -> Result<()> {
        if self.file.is_none() {
            self.clear(disk)?;
        }
        let first = self.written() + 1;
        let unwritten = first..=covered.end;
        let mut payload = line(&covered)?;
        for event in self.recent.iter().filter(|logged| unwritten.contains(&logged.seq)) {
            payload.extend(line(event)?);
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
        // Here and not in one of the callers: while there is always somebody who writes, only `prepare` comes by.
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

    /// Where the next event will be.
    pub fn cursor(&self) -> Cursor {
        self.at(self.end)
    }

    fn at(&self, seq: u64) -> Cursor {
        Cursor { log: self.covered.as_ref().map(|covered| covered.log.clone()).unwrap_or_default(), seq }
    }

    /// Events behind a cursor that `wanted` says yes to, at most `limit` of them.
    pub fn since<D: Disk<File = F>>(
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

    /// Hands over the events behind `seq` in their order, as long as they are wanted.
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
                // Some cannot be read, or are gone with the end of a damaged file. Nobody passes over them unawares.
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
            if !take(logged.clone()) {
                break;
            }
        }
        Ok(())
    }
}

/// Up to where a file says the log is complete; `None` for one that was only begun, an error for one that is damaged. What
/// happened is not looked at: a store is opened more often than somebody asks for old events.
fn covered_by(frames: &Frames<'_>) -> std::result::Result<Option<Covered>, ()> {
    if frames.damaged {
        return Err(());
    }
    let covered = |payload: &&[u8]| serde_json::from_slice(lines(payload).next().ok_or(())?).map_err(drop);
    frames.payloads.iter().map(covered).next_back().transpose()
}

/// The events of a file; `None` when it has some that this program cannot read.
fn events_in(bytes: &[u8]) -> Option<Vec<Logged>> {
    let frames = Frames::read(bytes);
    let events = frames.payloads.iter().flat_map(|payload| lines(payload).skip(1));
    events.map(|line| serde_json::from_slice(line).ok()).collect()
}

fn file_name(first: u64) -> String {
    format!("{NAME}{first:012}")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test that cannot go on stops
mod tests {
    use super::*;
    use crate::RealDisk;

    /// They were written by another version, perhaps.
    #[test]
    fn events_that_cannot_be_read_are_not_passed_over_unawares() {
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
        let told = since("0").unwrap_err().to_string();
        assert!(told.contains("the oldest cursor is 0a-2"), "{told}");
        assert_eq!(since("0a-2").unwrap().events.len(), 1);
    }

    #[test]
    fn nor_are_those_that_are_gone_with_the_end_of_a_damaged_file() {
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
            let told = read().unwrap_err().to_string();
            assert!(told.contains("the oldest cursor is 0a-2"), "{told}");
        }
    }

    /// As it is in a daemon that is never at rest: each checkpoint ends among writes, so that nothing is left to flush.
    #[test]
    fn what_is_in_the_files_does_not_stay_in_memory_for_ever() {
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
            log.settle();
            let commit = format!("{round:040}");
            log.prepare(&disk, round as u64, Some(&commit)).unwrap();
            log.flush(&disk, round as u64, Some(commit)).unwrap();
            assert!(log.recent.len() <= MAX_RECENT, "{} in round {round}", log.recent.len());
        }
        let mut told = Vec::new();
        log.scan(&disk, 0, |logged| {
            told.push(logged.seq);
            true
        })
        .unwrap();
        assert!(told.into_iter().eq(1..=(rounds * EVENTS) as u64), "the files tell the rest");
    }
}
