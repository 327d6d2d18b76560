//! The journal: the truth between two commits of the ref.
//!
//! A directory of segments `journal.<n>`, each zero-filled ahead so that a sync moves data and no metadata. Segments
//! begin with a [`Header`] frame; every further frame holds the records that one sync made durable. A checkpoint
//! starts a new segment and, once the ref holds everything, removes the older ones.

use std::io;

use beads_core::planted::{Bug, is_planted};

use crate::disk::{Disk, DiskFile};
use crate::frame::{self, Found};
use crate::journal_copy::{JournalCopy, SegmentRead, read_segment};
use crate::repository::CommitId;
use crate::{Error, Header, Record, Result};

/// The newest version of segments that this program reads and writes. It is the format version of the store when the
/// segment was started: a record with a later field never stands in an earlier segment.
pub(crate) const VERSION: u32 = 2;

/// The version of segments without anything that came later.
pub(crate) const FIRST_VERSION: u32 = 1;
pub(crate) const NAME: &str = "journal.";

/// How much is zero-filled at a time.
const FILL_BYTES: u64 = 256 * 1024;

/// What a journal says: the header of its last segment and all records that are still in it.
#[derive(Debug, Default)]
pub struct Recovered {
    pub header: Option<Header>,
    pub records: Vec<Record>,
    /// The commit that the last of the records was made upon, if there was one.
    pub ground: Option<CommitId>,
    /// All commits that any of them was made upon, as far as is noted.
    pub grounds: Vec<CommitId>,
    /// Something was cut off at the end: a batch that was never acknowledged.
    pub torn: bool,
}

/// The writing end. Only the holder of the lock may have one.
#[derive(Debug)]
pub struct Journal<D: Disk> {
    disk: D,
    segment: Option<Segment<D::File>>,
    /// Segments before the one being written, oldest first.
    older: Vec<u64>,
    /// Of the segment being written.
    version: u32,
    failed: Option<String>,
}

#[derive(Debug)]
struct Segment<F> {
    number: u64,
    file: F,
    next_frame: u64,
    end: u64,
    /// Up to here the file has been written, with frames or zeros.
    filled: u64,
    /// Behind `end` there may be remains of a batch that was never acknowledged.
    torn: bool,
    /// Where the last frame starts and what it is, when it was recovered and not written here.
    unsettled: Option<(u64, Vec<u8>)>,
}

impl<D: Disk> Journal<D> {
    /// Reads everything back. Changes nothing on disk.
    pub fn recover(disk: D) -> Result<(Self, Recovered)> {
        let mut journal =
            Self { disk, segment: None, older: Vec::new(), version: FIRST_VERSION, failed: None };
        let mut recovered = Recovered::default();
        let mut segments = Vec::new();
        for number in journal.segment_numbers()? {
            let name = segment_name(number);
            let bytes = journal.disk.read(&name).map_err(|error| journal.io("read", &name, error))?;
            segments.push((number, name, bytes));
        }
        if is_unfinished_rotation(&segments) {
            // It holds nothing, and its number can be used again.
            segments.pop();
            recovered.torn = true;
        }
        let last = segments.last().map(|(number, ..)| *number);
        for (number, name, bytes) in segments {
            let is_last = Some(number) == last;
            let read = read_segment(&journal.disk.describe(&name), &bytes, is_last, &mut recovered)?;
            if is_last {
                journal.segment = Some(journal.open_segment(number, &name, &bytes, &read)?);
            } else {
                journal.older.push(number);
            }
            recovered.torn |= read.torn;
        }
        journal.version = recovered.header.as_ref().map_or(FIRST_VERSION, |header| header.version);
        Ok((journal, recovered))
    }

    /// Copies what is on the disk now, without reading into it.
    pub fn copy(&self) -> Result<JournalCopy> {
        let numbers = self.older.iter().copied().chain(self.segment.iter().map(|segment| segment.number));
        let segment = |number| {
            let name = segment_name(number);
            let bytes = self.disk.read(&name).map_err(|error| self.io("read", &name, error))?;
            Ok((self.disk.describe(&name), bytes))
        };
        Ok(JournalCopy { segments: numbers.map(segment).collect::<Result<_>>()?, unsynced: Vec::new() })
    }

    /// The position up to which the disk holds mutations, read again; `None` for a journal that was never started.
    pub fn tail(&self) -> Result<Option<u64>> {
        let recovered = self.copy()?.recover()?;
        let announced = recovered.header.map(|header| header.position);
        Ok(recovered.records.last().map(|record| record.position).or(announced))
    }

    fn open_segment(
        &self,
        number: u64,
        name: &str,
        bytes: &[u8],
        read: &SegmentRead,
    ) -> Result<Segment<D::File>> {
        let file = self.disk.open(name).map_err(|error| self.io("open", name, error))?;
        let last_frame = bytes[read.last_frame..read.end].to_vec();
        Ok(Segment {
            number,
            file,
            next_frame: read.frames,
            end: read.end as u64,
            filled: bytes.len() as u64,
            torn: read.torn,
            unsettled: Some((read.last_frame as u64, last_frame)),
        })
    }

    /// Makes records durable in one frame with one sync; only what is too large for a frame takes several. After a failure nothing more is written: the disk may hold
    /// anything from nothing to all of it, and only opening the store again can tell.
    pub fn append(&mut self, records: &[Record]) -> Result<()> {
        if let Some(reason) = &self.failed {
            return Err(Error::JournalFailed(reason.clone()));
        }
        let payloads = payloads(records, frame::MAX_PAYLOAD_BYTES).map_err(|reason| self.fail(reason))?;
        self.settle()?;
        for payload in payloads {
            let segment = self.segment.as_mut().expect("a journal is started before it is written");
            segment.append(&payload).map_err(|error| self.fail(error.to_string()))?;
        }
        Ok(())
    }

    /// Makes sure that what was recovered stays, and nothing else. It may have been read from the system's cache alone:
    /// its writer died before the sync, or the sync failed, after which a cache may take lost pages for written ones.
    /// So the last frame is written once more, a torn tail is cleared, and all is synced before anything relies on it.
    fn settle(&mut self) -> Result<()> {
        let Some(segment) = &mut self.segment else { return Ok(()) };
        match segment.settle().and_then(|settled| if settled { self.disk.sync_directory() } else { Ok(()) }) {
            Ok(()) => segment.unsettled = None,
            Err(error) => return Err(self.fail(error.to_string())),
        }
        Ok(())
    }

    /// Starts a new segment; from now on records go there. After a failure the old one is still in use.
    pub fn rotate(&mut self, header: &Header) -> Result<()> {
        if let Some(reason) = &self.failed {
            return Err(Error::JournalFailed(reason.clone()));
        }
        self.settle()?;
        let numbers = self.segment.iter().map(|segment| segment.number).chain(self.older.iter().copied());
        let number = numbers.max().map_or(1, |last| last + 1);
        let name = segment_name(number);
        let payload = serde_json::to_vec(header).map_err(|error| self.fail(error.to_string()))?;
        let start = || -> io::Result<Segment<D::File>> {
            let mut segment = Segment::new(number, self.disk.create(&name)?);
            segment.append(&payload)?;
            if !is_planted(Bug::RotationWithoutDirectorySync) {
                self.disk.sync_directory()?;
            }
            Ok(segment)
        };
        match start() {
            Ok(segment) => {
                self.older.extend(self.segment.replace(segment).map(|old| old.number));
                self.version = header.version;
                Ok(())
            }
            Err(error) => {
                self.take_back(&name);
                Err(self.io("start", &name, error))
            }
        }
    }

    /// Removes a segment that could not be started. Should its header stay, the records that now go on in the segment
    /// before it would contradict it; so without the removal nothing more may be written.
    fn take_back(&mut self, name: &str) {
        let removed = self.remove(name).and_then(|()| self.disk.sync_directory());
        if let Err(error) = removed {
            self.failed = Some(error.to_string());
        }
    }

    /// A file that is gone already is removed.
    fn remove(&self, name: &str) -> io::Result<()> {
        match self.disk.remove(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    pub fn disk(&self) -> &D {
        &self.disk
    }

    /// Whether records of this format version can be appended without [`rotate`](Self::rotate) first.
    pub fn takes(&self, version: u32) -> bool {
        self.segment.is_some() && self.version >= version
    }

    /// The segment being written; all before it can go once the ref holds what they say.
    pub fn current_segment(&self) -> u64 {
        self.segment.as_ref().map_or(0, |segment| segment.number)
    }

    /// Bytes since the last rotation.
    pub fn bytes(&self) -> u64 {
        self.segment.as_ref().map_or(0, |segment| segment.end)
    }

    /// Removes the segments before `number`: the ref holds all they say. They go one by one, oldest first, because a
    /// gap that a crash leaves in the middle would look like lost records.
    pub fn trim_before(&mut self, number: u64) -> Result<()> {
        while let Some(oldest) = self.older.first().copied().filter(|oldest| *oldest < number) {
            self.settle()?;
            let name = segment_name(oldest);
            let removed = self.remove(&name).and_then(|()| self.disk.sync_directory());
            removed.map_err(|error| self.io("remove", &name, error))?;
            self.older.remove(0);
        }
        Ok(())
    }

    fn segment_numbers(&self) -> Result<Vec<u64>> {
        let names = self.disk.names().map_err(|error| self.io("list", NAME, error))?;
        let mut numbers: Vec<u64> =
            names.iter().filter_map(|name| name.strip_prefix(NAME)?.parse().ok()).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    fn fail(&mut self, reason: String) -> Error {
        self.failed = Some(reason.clone());
        Error::JournalFailed(reason)
    }

    fn io(&self, action: &'static str, name: &str, source: io::Error) -> Error {
        Error::Io { action, path: self.disk.describe(name).into(), source }
    }
}

/// The records as lines, in as few frames as they fit into.
fn payloads(records: &[Record], limit: usize) -> Result<Vec<Vec<u8>>, String> {
    let mut payloads = vec![Vec::with_capacity(records.len() * 512)];
    for record in records {
        let payload = payloads.last_mut().expect("never empty");
        let start = payload.len();
        serde_json::to_writer(&mut *payload, record).map_err(|error| error.to_string())?;
        payload.push(b'\n');
        if payload.len() > limit && start > 0 {
            let line = payload.split_off(start);
            payloads.push(line);
        }
        if payloads.last().is_some_and(|payload| payload.len() > limit) {
            return Err(format!("record {} is larger than a frame", record.position));
        }
    }
    Ok(payloads)
}

/// Whether the last segment is what a crash while starting it leaves: no header, and the segment before it still
/// there, unless it was the very first. A segment that ever stood alone had its header synced long before.
fn is_unfinished_rotation(segments: &[(u64, String, Vec<u8>)]) -> bool {
    let Some(((number, _, bytes), earlier)) = segments.split_last() else { return false };
    let nothing_good = matches!(frame::find(bytes, 0), Found::End | Found::Bad { good_later: None });
    nothing_good && (*number == 1 || earlier.last().is_some_and(|(before, ..)| before + 1 == *number))
}

impl<F: DiskFile> Segment<F> {
    fn new(number: u64, file: F) -> Self {
        Self { number, file, next_frame: 0, end: 0, filled: 0, torn: false, unsettled: None }
    }

    /// Whether there was something to settle.
    fn settle(&mut self) -> io::Result<bool> {
        let Some((offset, frame)) = &self.unsettled else { return Ok(false) };
        self.file.write_at(frame, *offset)?;
        // Even where nothing is torn to see: the zeros may be in the cache alone, left by a sync that failed.
        self.write_zeros(self.end, self.filled)?;
        self.file.sync()?;
        self.torn = false;
        Ok(true)
    }

    fn write_zeros(&self, from: u64, to: u64) -> io::Result<()> {
        let length = usize::try_from(to.saturating_sub(from)).unwrap_or(0);
        if length == 0 { Ok(()) } else { self.file.write_at(&vec![0; length], from) }
    }

    fn append(&mut self, payload: &[u8]) -> io::Result<()> {
        let frame = frame::encode(self.next_frame, payload);
        let end = self.end + frame.len() as u64;
        let wanted = end.next_multiple_of(FILL_BYTES).max(self.filled);
        self.write_zeros(self.filled, wanted)?;
        self.filled = wanted;
        self.file.write_at(&frame, self.end)?;
        if !is_planted(Bug::ReplyBeforeSync) {
            self.file.sync()?;
        }
        self.end = end;
        self.next_frame += 1;
        Ok(())
    }
}

fn segment_name(number: u64) -> String {
    format!("{NAME}{number:012}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_large_for_a_frame_takes_several_and_a_record_never_splits() {
        let record = |position| Record {
            position,
            at_ms: 0,
            by: "ann".parse().unwrap(),
            delta: Default::default(),
            request: None,
            ground: None,
        };
        let records: Vec<_> = (1..=9).map(record).collect();
        let one = serde_json::to_vec(&records[0]).unwrap().len() + 1;
        let frames = payloads(&records, 2 * one).unwrap();
        assert_eq!(frames.len(), 5);
        assert!(frames.iter().all(|frame| frame.len() <= 2 * one && frame.ends_with(b"\n")));
        assert_eq!(payloads(&records, usize::MAX).unwrap(), [frames.concat()]);
        assert!(payloads(&records, one - 1).is_err(), "what could not be read again is not written");
    }
}
