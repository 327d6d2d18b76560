//! The journal: the truth between two commits of the ref.
//!
//! A directory of segments `journal.<n>`, each zero-filled ahead so that a sync moves data and no metadata. Segments
//! begin with a [`Header`] frame; every further frame holds the records that one sync made durable. A checkpoint
//! starts a new segment and, once the ref holds everything, removes the older ones.

use std::io;

use crate::disk::{Disk, DiskFile};
use crate::frame::{self, Found};
use crate::{Error, Header, Record, Result};

pub(crate) const VERSION: u32 = 1;
pub(crate) const NAME: &str = "journal.";

/// How much is zero-filled at a time.
const FILL_BYTES: u64 = 256 * 1024;

/// What a journal says: the header of its last segment and all records that are still in it.
#[derive(Debug, Default)]
pub struct Recovered {
    pub header: Option<Header>,
    pub records: Vec<Record>,
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
}

impl<D: Disk> Journal<D> {
    /// Reads everything back. Changes nothing on disk.
    pub fn recover(disk: D) -> Result<(Self, Recovered)> {
        let mut journal = Self { disk, segment: None, older: Vec::new(), failed: None };
        let mut recovered = Recovered::default();
        let numbers = journal.segment_numbers()?;
        let last = numbers.last().copied();
        for number in numbers {
            let name = segment_name(number);
            let bytes = journal.disk.read(&name).map_err(|error| journal.io("read", &name, error))?;
            let read = journal.read_segment(&name, &bytes, Some(number) == last, &mut recovered)?;
            if let Some((end, next_frame)) = read {
                if let Some(previous) = journal.segment.take() {
                    journal.older.push(previous.number);
                }
                let file = journal.disk.open(&name).map_err(|error| journal.io("open", &name, error))?;
                let (end, filled) = (end as u64, bytes.len() as u64);
                journal.segment =
                    Some(Segment { number, file, next_frame, end, filled, torn: recovered.torn });
            } else {
                // Created but never synced: it holds nothing and its number can be used again.
                recovered.torn = true;
            }
        }
        Ok((journal, recovered))
    }

    /// The end of what is good and the number of the next frame; `None` for a last segment without a header.
    fn read_segment(
        &self,
        name: &str,
        bytes: &[u8],
        is_last: bool,
        recovered: &mut Recovered,
    ) -> Result<Option<(usize, u64)>> {
        let damaged =
            |offset, reason: String| Error::JournalDamaged { file: self.disk.describe(name), offset, reason };
        let (mut offset, mut expected) = (0, 0);
        loop {
            match frame::find(bytes, offset) {
                Found::Frame { number, payload, end } => {
                    if number != expected {
                        return Err(damaged(offset, format!("frame {number} where {expected} should be")));
                    }
                    self.take_frame(number, payload, recovered).map_err(|reason| damaged(offset, reason))?;
                    (offset, expected) = (end, expected + 1);
                }
                Found::Bad { good_later: Some(later) } => {
                    return Err(damaged(offset, format!("a bad frame before a good one at byte {later}")));
                }
                // A bad end is only believable where writing stopped: in the last segment.
                Found::Bad { good_later: None } if !is_last => {
                    return Err(damaged(offset, "a bad frame, and a later segment exists".into()));
                }
                found => {
                    recovered.torn |= matches!(found, Found::Bad { .. });
                    if expected == 0 && !is_last {
                        return Err(damaged(0, "the segment has no header".into()));
                    }
                    return Ok((expected > 0).then_some((offset, expected)));
                }
            }
        }
    }

    fn take_frame(&self, number: u64, payload: &[u8], recovered: &mut Recovered) -> Result<(), String> {
        if number == 0 {
            let header: Header = serde_json::from_slice(payload).map_err(|error| error.to_string())?;
            if header.version != VERSION {
                return Err(format!("journal version {}: upgrade bd", header.version));
            }
            let before = recovered.records.last().map(|record| record.position);
            if before.is_some_and(|before| before != header.position) {
                return Err(format!("records {before:?} to {} are missing", header.position));
            }
            recovered.header = Some(header);
            return Ok(());
        }
        let start = recovered.header.as_ref().map_or(0, |header| header.position);
        for line in payload.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let record: Record = serde_json::from_slice(line).map_err(|error| error.to_string())?;
            let due = recovered.records.last().map_or(start, |record| record.position) + 1;
            if record.position != due {
                return Err(format!("record {} where {due} should be", record.position));
            }
            recovered.records.push(record);
        }
        Ok(())
    }

    /// Makes records durable in one frame with one sync. After a failure nothing more is written: the disk may hold
    /// anything from nothing to all of it, and only opening the store again can tell.
    pub fn append(&mut self, records: &[Record]) -> Result<()> {
        if let Some(reason) = &self.failed {
            return Err(Error::JournalFailed(reason.clone()));
        }
        let mut payload = Vec::with_capacity(records.len() * 512);
        for record in records {
            serde_json::to_writer(&mut payload, record).map_err(|error| self.fail(error.to_string()))?;
            payload.push(b'\n');
        }
        let segment = self.segment.as_mut().expect("a journal is started before it is written");
        segment.append(&payload).map_err(|error| self.fail(error.to_string()))
    }

    /// Starts a new segment; from now on records go there.
    pub fn rotate(&mut self, header: &Header) -> Result<()> {
        if let Some(reason) = &self.failed {
            return Err(Error::JournalFailed(reason.clone()));
        }
        let numbers = self.segment.iter().map(|segment| segment.number).chain(self.older.iter().copied());
        let number = numbers.max().map_or(1, |last| last + 1);
        let name = segment_name(number);
        let payload = serde_json::to_vec(header).map_err(|error| self.fail(error.to_string()))?;
        let start = || -> io::Result<Segment<D::File>> {
            let file = self.disk.create(&name)?;
            let mut segment = Segment { number, file, next_frame: 0, end: 0, filled: 0, torn: false };
            segment.append(&payload)?;
            self.disk.sync_directory()?;
            Ok(segment)
        };
        match start() {
            Ok(segment) => self.older.extend(self.segment.replace(segment).map(|old| old.number)),
            // The segment in use is untouched, so writing may go on there.
            Err(error) => return Err(self.io("start", &name, error)),
        }
        Ok(())
    }

    /// Whether records can be appended without [`rotate`](Self::rotate) first.
    pub fn is_started(&self) -> bool {
        self.segment.is_some()
    }

    /// The segment being written; all before it can go once the ref holds what they say.
    pub fn current_segment(&self) -> u64 {
        self.segment.as_ref().map_or(0, |segment| segment.number)
    }

    /// Bytes since the last rotation.
    pub fn bytes(&self) -> u64 {
        self.segment.as_ref().map_or(0, |segment| segment.end)
    }

    /// Removes the segments before `number`: the ref holds all they say.
    pub fn trim_before(&mut self, number: u64) -> Result<()> {
        let (gone, kept): (Vec<u64>, Vec<u64>) = self.older.iter().partition(|older| **older < number);
        for old in gone {
            let name = segment_name(old);
            self.disk.remove(&name).map_err(|error| self.io("remove", &name, error))?;
        }
        self.older = kept;
        if self.segment.is_none() {
            return Ok(());
        }
        self.disk.sync_directory().map_err(|error| self.io("sync the directory of", NAME, error))
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

impl<F: DiskFile> Segment<F> {
    fn append(&mut self, payload: &[u8]) -> io::Result<()> {
        let frame = frame::encode(self.next_frame, payload);
        let end = self.end + frame.len() as u64;
        let wanted = end.next_multiple_of(FILL_BYTES).max(self.filled);
        let clean_from = if self.torn { self.end } else { self.filled };
        if wanted > clean_from {
            self.file.write_at(&vec![0; usize::try_from(wanted - clean_from).unwrap_or(0)], clean_from)?;
            (self.filled, self.torn) = (wanted, false);
        }
        self.file.write_at(&frame, self.end)?;
        self.file.sync()?;
        self.end = end;
        self.next_frame += 1;
        Ok(())
    }
}

fn segment_name(number: u64) -> String {
    format!("{NAME}{number:012}")
}
