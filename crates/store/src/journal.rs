//! The journal: everything that happened since the last commit of the sync ref.
//!
//! It is a directory of segments named `journal.<n>`. Each is filled with zeros in advance, so that a sync
//! writes data and no metadata. A segment begins with a [`Header`] frame; every further frame holds the
//! records that one sync made durable. A checkpoint starts a new segment and removes the older ones once
//! the ref holds everything in them.

use std::io;

use beads_core::planted::{Bug, is_planted};

use crate::disk::{Disk, DiskFile};
use crate::frame::{self, Found};
use crate::journal_copy::{JournalCopy, SegmentRead, read_segment};
use crate::repository::CommitId;
use crate::{Error, Header, Record, Result};

/// The newest segment version that this program reads and writes. A segment has the format version that
/// the store had when the segment was started, so a record never uses fields newer than its segment.
pub(crate) const VERSION: u32 = 3;

/// The oldest segment version.
pub(crate) const FIRST_VERSION: u32 = 1;
pub(crate) const NAME: &str = "journal.";

/// How many bytes are filled with zeros at a time.
const FILL_BYTES: u64 = 256 * 1024;

/// The content of a journal: the header of its last segment and all records that are still in it.
#[derive(Debug, Default)]
pub struct Recovered {
    /// The header of the last segment, or `None` for a journal that was never started.
    pub header: Option<Header>,
    /// The records of all segments, oldest first.
    pub records: Vec<Record>,
    /// The commit that the last record was based on, if there was one.
    pub base_commit: Option<CommitId>,
    /// All commits that any of the records was based on, as far as recorded.
    pub(crate) base_commits: Vec<CommitId>,
    /// Whether an incomplete frame was cut off at the end. It belonged to a batch that was never
    /// acknowledged.
    pub torn: bool,
}

/// The writer of a journal. Only the lock holder may have one.
#[derive(Debug)]
pub struct Journal<D: Disk> {
    disk: D,
    segment: Option<Segment<D::File>>,
    /// Segments before the one being written, oldest first.
    older: Vec<u64>,
    /// The version of the segment being written.
    version: u32,
    failed: Option<String>,
}

#[derive(Debug)]
struct Segment<F> {
    number: u64,
    file: F,
    next_frame: u64,
    end: u64,
    /// How far the file has been written, with frames or zeros.
    filled: u64,
    /// Whether remains of an unacknowledged batch may follow `end`.
    torn: bool,
    /// The offset and bytes of the last frame, if it was recovered rather than written by this process.
    recovered_frame: Option<(u64, Vec<u8>)>,
}

impl<D: Disk> Journal<D> {
    /// Reads all segments. Changes nothing on disk.
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
            // It has no header, so it holds nothing and its number can be used again.
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

    /// Copies the bytes on disk without parsing them.
    pub fn copy(&self) -> Result<JournalCopy> {
        let numbers = self.older.iter().copied().chain(self.segment.iter().map(|segment| segment.number));
        let segment = |number| {
            let name = segment_name(number);
            let bytes = self.disk.read(&name).map_err(|error| self.io("read", &name, error))?;
            Ok((self.disk.describe(&name), bytes))
        };
        Ok(JournalCopy { segments: numbers.map(segment).collect::<Result<_>>()?, unsynced: Vec::new() })
    }

    /// Reads the journal again and returns the position of its last mutation, or `None` for a journal that
    /// was never started.
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
            recovered_frame: Some((read.last_frame as u64, last_frame)),
        })
    }

    /// Makes records durable in one frame with one sync. Records that exceed the size of a frame take
    /// several.
    ///
    /// After a failure nothing more is written: the disk may hold none, some or all of the records, and only
    /// opening the store again shows which.
    pub fn append(&mut self, records: &[Record]) -> Result<()> {
        if let Some(reason) = &self.failed {
            return Err(Error::JournalFailed(reason.clone()));
        }
        let payloads = payloads(records, frame::MAX_PAYLOAD_BYTES).map_err(|reason| self.fail(reason))?;
        self.make_recovered_durable()?;
        for payload in payloads {
            let segment = self.segment.as_mut().expect("a journal is started before it is written");
            segment.append(&payload).map_err(|error| self.fail(error.to_string()))?;
        }
        Ok(())
    }

    /// Makes the recovered records durable before anything builds on them.
    ///
    /// They may have been read from the system's cache only: the writer may have died before its sync, or the
    /// sync failed, after which the cache may treat lost pages as written. So the last frame is written once
    /// more, a torn tail is cleared, and the file is synced.
    fn make_recovered_durable(&mut self) -> Result<()> {
        let Some(segment) = &mut self.segment else { return Ok(()) };
        match segment
            .make_recovered_durable()
            .and_then(|done| if done { self.disk.sync_directory() } else { Ok(()) })
        {
            Ok(()) => segment.recovered_frame = None,
            Err(error) => return Err(self.fail(error.to_string())),
        }
        Ok(())
    }

    /// Starts a new segment, to which further records go. After a failure the old one stays in use.
    pub fn rotate(&mut self, header: &Header) -> Result<()> {
        if let Some(reason) = &self.failed {
            return Err(Error::JournalFailed(reason.clone()));
        }
        self.make_recovered_durable()?;
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
                self.discard_segment(&name);
                Err(self.io("start", &name, error))
            }
        }
    }

    /// Removes a segment that could not be started. If its header stayed, it would contradict the records
    /// that now go to the previous segment; so if the removal fails, nothing more may be written.
    fn discard_segment(&mut self, name: &str) {
        let removed = self.remove(name).and_then(|()| self.disk.sync_directory());
        if let Err(error) = removed {
            self.failed = Some(error.to_string());
        }
    }

    /// Removes a file. Succeeds if it is already gone.
    fn remove(&self, name: &str) -> io::Result<()> {
        match self.disk.remove(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    /// Returns the disk that holds the segments.
    pub fn disk(&self) -> &D {
        &self.disk
    }

    /// Returns whether records of this format version can be appended without [`rotate`](Self::rotate) first.
    pub fn accepts_version(&self, version: u32) -> bool {
        self.segment.is_some() && self.version >= version
    }

    /// Returns the number of the segment being written. Older ones can go once the ref holds their records.
    pub(crate) fn current_segment(&self) -> u64 {
        self.segment.as_ref().map_or(0, |segment| segment.number)
    }

    /// Returns how many bytes were written since the last rotation.
    pub fn bytes(&self) -> u64 {
        self.segment.as_ref().map_or(0, |segment| segment.end)
    }

    /// Removes the segments before `number`, whose records the ref holds.
    ///
    /// They are removed one by one, oldest first: a gap that a crash leaves in the middle would look like
    /// lost records.
    pub fn trim_before(&mut self, number: u64) -> Result<()> {
        while let Some(oldest) = self.older.first().copied().filter(|oldest| *oldest < number) {
            self.make_recovered_durable()?;
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

/// Encodes the records as lines, in as few frames as possible.
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

/// Returns whether the last segment is the result of a crash during its start: it has no header, and the
/// segment before it still exists, unless it is the very first. A segment that was ever the only one had its
/// header synced long before.
fn is_unfinished_rotation(segments: &[(u64, String, Vec<u8>)]) -> bool {
    let Some(((number, _, bytes), earlier)) = segments.split_last() else { return false };
    let nothing_good = matches!(frame::find(bytes, 0), Found::End | Found::Bad { good_later: None });
    nothing_good && (*number == 1 || earlier.last().is_some_and(|(before, ..)| before + 1 == *number))
}

impl<F: DiskFile> Segment<F> {
    fn new(number: u64, file: F) -> Self {
        Self { number, file, next_frame: 0, end: 0, filled: 0, torn: false, recovered_frame: None }
    }

    /// Rewrites and syncs the recovered part. Returns false if nothing was recovered.
    fn make_recovered_durable(&mut self) -> io::Result<bool> {
        let Some((offset, frame)) = &self.recovered_frame else { return Ok(false) };
        self.file.write_at(frame, *offset)?;
        // Even if no torn frame is visible: the zeros may be in the cache only, left by a failed sync.
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
    fn records_that_exceed_a_frame_take_several_and_no_record_is_split() {
        let record = |position| Record {
            position,
            at_ms: 0,
            by: "ann".parse().unwrap(),
            delta: Default::default(),
            request: None,
            step: Default::default(),
            base_commit: None,
        };
        let records: Vec<_> = (1..=9).map(record).collect();
        let one = serde_json::to_vec(&records[0]).unwrap().len() + 1;
        let frames = payloads(&records, 2 * one).unwrap();
        assert_eq!(frames.len(), 5);
        assert!(frames.iter().all(|frame| frame.len() <= 2 * one && frame.ends_with(b"\n")));
        assert_eq!(payloads(&records, usize::MAX).unwrap(), [frames.concat()]);
        assert!(payloads(&records, one - 1).is_err(), "a record that could not be read again is not written");
    }
}
