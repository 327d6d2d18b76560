//! Parses the segments of a journal or a copy of them. Parsing a copy does not block the journal's writer.

use crate::frame::{self, Found};
use crate::journal::{FIRST_VERSION, Recovered, VERSION};
use crate::{Error, Header, Record, Result};

/// An unparsed copy of the journal.
#[derive(Debug, Default)]
pub struct JournalCopy {
    /// The segments with their file names, oldest first.
    pub(crate) segments: Vec<(String, Vec<u8>)>,
    /// Records that were not written yet.
    pub(crate) unsynced: Vec<Record>,
}

impl JournalCopy {
    /// Returns the mutations that the ref does not hold yet, and perhaps a few that it does, oldest first.
    pub fn records(self) -> Result<Vec<Record>> {
        let mut records = self.recover()?.records;
        records.extend(self.unsynced);
        Ok(records)
    }

    pub(crate) fn recover(&self) -> Result<Recovered> {
        let mut recovered = Recovered::default();
        for (index, (file, bytes)) in self.segments.iter().enumerate() {
            read_segment(file, bytes, index + 1 == self.segments.len(), &mut recovered)?;
        }
        Ok(recovered)
    }
}

/// How far a segment could be read.
#[derive(Debug, Default)]
pub(crate) struct SegmentRead {
    pub frames: u64,
    pub last_frame: usize,
    pub end: usize,
    pub torn: bool,
}

/// Parses one segment and appends its content to `recovered`. Only the last segment may end in a torn frame.
pub(crate) fn read_segment(
    file: &str,
    bytes: &[u8],
    is_last: bool,
    recovered: &mut Recovered,
) -> Result<SegmentRead> {
    let damaged = |offset, reason: String| Error::JournalDamaged { file: file.to_owned(), offset, reason };
    let mut read = SegmentRead::default();
    loop {
        let offset = read.end;
        match frame::find(bytes, offset) {
            Found::Frame { number, payload, end } => {
                if number != read.frames {
                    let due = read.frames;
                    return Err(damaged(offset, format!("frame {number} where {due} should be")));
                }
                take_frame(number, payload, recovered).map_err(|reason| damaged(offset, reason))?;
                (read.last_frame, read.end, read.frames) = (offset, end, number + 1);
            }
            Found::Bad { good_later: Some(later) } => {
                return Err(damaged(offset, format!("a bad frame before a good one at byte {later}")));
            }
            // Writing only stopped in the last segment, so only that one may end in a torn frame.
            Found::Bad { good_later: None } if !is_last => {
                return Err(damaged(offset, "a bad frame, and a later segment exists".into()));
            }
            _ if read.frames == 0 => return Err(damaged(0, "the segment has no header".into())),
            found => {
                read.torn = matches!(found, Found::Bad { .. });
                return Ok(read);
            }
        }
    }
}

fn take_frame(number: u64, payload: &[u8], recovered: &mut Recovered) -> Result<(), String> {
    if number == 0 {
        let header: Header = serde_json::from_slice(payload).map_err(|error| error.to_string())?;
        if !(FIRST_VERSION..=VERSION).contains(&header.version) {
            return Err(format!("journal version {}: upgrade bd", header.version));
        }
        // The previous segment may have lost all its records, so its header counts too.
        let recorded = recovered.records.last().map(|record| record.position);
        let announced = recovered.header.as_ref().map(|before| before.position);
        if let Some(before) = recorded.max(announced)
            && before != header.position
        {
            return Err(format!("records {} to {} are missing", before + 1, header.position));
        }
        recovered.base_commit.clone_from(&header.base_commit);
        recovered.base_commits.extend(header.base_commit.clone());
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
        if record.base_commit.is_some() {
            recovered.base_commit.clone_from(&record.base_commit);
            recovered.base_commits.extend(record.base_commit.clone());
        }
        recovered.records.push(record);
    }
    Ok(())
}
