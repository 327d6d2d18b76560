//! The journal cut at every byte and with every byte flipped: recovery returns a valid prefix of its records,
//! or an error that names the place.

use beads_core::{Delta, Prefix, PrefixRegister, Stamp};
use beads_store::{Error, Header, Journal, Record, Recovered, Result};

use crate::memory_disk::{Files, MemoryDisk};

/// The last position in each segment of the journal under test.
const SEGMENT_ENDS: [u64; 3] = [80, 150, 200];

/// How many of the zeros after the frames are kept: enough to be hit, few enough to be quick.
const KEPT_ZEROS: usize = 24;

fn stamp(number: u64) -> Stamp {
    Stamp::decode(number, 1).unwrap()
}

/// The smallest possible mutation, so that every byte of 200 of them can be damaged in seconds.
fn record(position: u64) -> Record {
    let prefix: Prefix = format!("p{position}").parse().unwrap();
    let chosen = PrefixRegister::chosen(prefix, stamp(position), "a".parse().unwrap());
    let delta = Delta { prefix: Some(chosen), ..Delta::default() };
    Record {
        position,
        at_ms: position,
        by: "a".parse().unwrap(),
        delta,
        request: None,
        step: Default::default(),
        base_commit: None,
    }
}

fn header(position: u64) -> Header {
    Header {
        version: 1,
        position,
        last: stamp(position),
        receipts: Vec::new(),
        last_operations: Default::default(),
        base_commit: None,
    }
}

fn recover(files: Files) -> (MemoryDisk, Result<(Journal<MemoryDisk>, Recovered)>) {
    let disk = MemoryDisk::holding(files);
    let recovered = Journal::recover(disk.clone());
    (disk, recovered)
}

fn positions(recovered: &Recovered) -> Vec<u64> {
    recovered.records.iter().map(|record| record.position).collect()
}

fn segment_name(index: usize) -> String {
    format!("journal.{:012}", index + 1)
}

/// Where a frame of a segment starts and ends, and the last position it holds.
#[derive(Debug, Clone, Copy)]
struct Frame {
    start: usize,
    end: usize,
    last: u64,
}

/// A journal of 200 records in three segments, and where its frames are.
struct Sample {
    files: Files,
    frames: [Vec<Frame>; 3],
}

impl Sample {
    fn new() -> Self {
        let disk = MemoryDisk::default();
        let (mut journal, _) = Journal::recover(disk.clone()).unwrap();
        let mut frames = [Vec::new(), Vec::new(), Vec::new()];
        let (mut position, mut batch) = (0, 1);
        for (index, segment_end) in SEGMENT_ENDS.into_iter().enumerate() {
            journal.rotate(&header(position)).unwrap();
            let mut start = usize::try_from(journal.bytes()).unwrap();
            frames[index].push(Frame { start: 0, end: start, last: position });
            while position < segment_end {
                let until = (position + batch).min(segment_end);
                let records: Vec<_> = (position + 1..=until).map(record).collect();
                journal.append(&records).unwrap();
                let end = usize::try_from(journal.bytes()).unwrap();
                frames[index].push(Frame { start, end, last: until });
                (position, start, batch) = (until, end, batch % 4 + 1);
            }
        }
        let mut files = disk.files();
        for (index, frames) in frames.iter().enumerate() {
            let end = frames.last().unwrap().end;
            files.get_mut(&segment_name(index)).unwrap().truncate(end + KEPT_ZEROS);
        }
        Self { files, frames }
    }

    fn end(&self, index: usize) -> usize {
        self.frames[index].last().unwrap().end
    }

    fn cut(&self, index: usize, length: usize) -> Files {
        let mut files = self.files.clone();
        files.get_mut(&segment_name(index)).unwrap().truncate(length);
        files
    }

    fn flipped(&self, index: usize, offset: usize, bit: usize) -> Files {
        let mut files = self.files.clone();
        files.get_mut(&segment_name(index)).unwrap()[offset] ^= 1 << bit;
        files
    }

    fn frame_at(&self, index: usize, offset: usize) -> Option<Frame> {
        self.frames[index].iter().find(|frame| (frame.start..frame.end).contains(&offset)).copied()
    }
}

/// Expects that the journal opens with exactly the records up to `last`, and that nothing on disk changed.
fn expect_prefix(files: &Files, last: u64, what: &str) -> Journal<MemoryDisk> {
    let (disk, recovered) = recover(files.clone());
    let (journal, recovered) = recovered.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(positions(&recovered), (1..=last).collect::<Vec<_>>(), "{what}");
    assert!(recovered.records.iter().all(|found| *found == record(found.position)), "{what}");
    assert!(disk.files() == *files, "{what}: recovery changed the disk");
    journal
}

/// Expects an error that names the file and an offset at or before the damage, and that nothing on disk
/// changed.
fn expect_damaged(files: &Files, file: &str, at_most: usize, what: &str) {
    let (disk, recovered) = recover(files.clone());
    match recovered {
        Err(Error::JournalDamaged { file: named, offset, .. }) => {
            assert_eq!(named, format!("memory/{file}"), "{what}");
            assert!(offset <= at_most, "{what}: names byte {offset}");
        }
        other => panic!("{what}: {:?}", other.map(|(_, recovered)| positions(&recovered))),
    }
    assert!(disk.files() == *files, "{what}: recovery changed the disk");
}

/// Appends two batches after what was recovered, and expects that all of it is recovered the next time.
fn expect_appendable(mut journal: Journal<MemoryDisk>, disk: &MemoryDisk, last: u64, what: &str) {
    if !journal.accepts_version(1) {
        journal.rotate(&header(last)).unwrap();
    }
    journal.append(&[record(last + 1)]).unwrap();
    journal.append(&[record(last + 2), record(last + 3)]).unwrap();
    let (_, recovered) = Journal::recover(disk.clone()).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(positions(&recovered), (1..=last + 3).collect::<Vec<_>>(), "{what}");
}

#[test]
fn the_last_segment_cut_at_every_byte_gives_the_frames_before_the_cut() {
    let sample = Sample::new();
    for length in 0..=sample.end(2) + KEPT_ZEROS {
        let whole = sample.frames[2].iter().filter(|frame| frame.end <= length);
        let last = whole.map(|frame| frame.last).max().unwrap_or(SEGMENT_ENDS[1]);
        expect_prefix(&sample.cut(2, length), last, &format!("cut to {length} bytes"));
    }
}

#[test]
fn an_earlier_segment_cut_anywhere_before_its_end_is_damage() {
    let sample = Sample::new();
    for index in [0, 1] {
        for length in 0..sample.end(index) {
            let (disk, recovered) = recover(sample.cut(index, length));
            let error = recovered.err().unwrap_or_else(|| panic!("segment {index} cut to {length} opens"));
            let Error::JournalDamaged { file, offset, .. } = &error else { panic!("{error}") };
            // A cut between two frames only shows where the next segment begins.
            let between = sample.frames[index].iter().any(|frame| frame.end == length);
            let named = if between { index + 1 } else { index };
            assert_eq!(*file, format!("memory/{}", segment_name(named)), "cut to {length}: {error}");
            assert!(*offset <= length, "{error}");
            assert!(disk.files() == sample.cut(index, length));
        }
        for length in sample.end(index)..=sample.end(index) + KEPT_ZEROS {
            expect_prefix(&sample.cut(index, length), 200, "only zeros are gone");
        }
    }
}

#[test]
fn every_flipped_byte_is_damage_or_costs_the_last_frame_at_most() {
    let sample = Sample::new();
    for index in 0..3 {
        for offset in 0..sample.end(index) + KEPT_ZEROS {
            let what = format!("segment {index} byte {offset}");
            let files = sample.flipped(index, offset, offset % 8);
            match sample.frame_at(index, offset) {
                // Here damage and a torn write look the same, because nothing was written after this frame.
                Some(frame) if index == 2 && frame.last == 200 => {
                    let before = sample.frames[2][sample.frames[2].len() - 2];
                    expect_prefix(&files, before.last, &what);
                }
                None if index == 2 => {
                    expect_prefix(&files, 200, &what);
                }
                _ => expect_damaged(&files, &segment_name(index), offset, &what),
            }
        }
    }
}

#[test]
fn all_eight_bits_of_a_frame_header_are_covered() {
    let sample = Sample::new();
    for index in 0..3 {
        for frame in [sample.frames[index][0], sample.frames[index][3]] {
            for offset in frame.start..frame.start + beads_store::frame::HEADER_BYTES {
                for bit in 0..8 {
                    let what = format!("segment {index} byte {offset} bit {bit}");
                    let files = sample.flipped(index, offset, bit);
                    expect_damaged(&files, &segment_name(index), offset, &what);
                }
            }
        }
    }
}

#[test]
fn after_a_torn_tail_everything_appended_later_is_recovered() {
    let sample = Sample::new();
    let last_frame = *sample.frames[2].last().unwrap();
    let before = sample.frames[2][sample.frames[2].len() - 2].last;
    for length in last_frame.start..last_frame.end {
        let what = format!("cut to {length} bytes");
        let disk = MemoryDisk::holding(sample.cut(2, length));
        let (journal, recovered) = Journal::recover(disk.clone()).unwrap();
        assert_eq!(recovered.torn, length > last_frame.start, "{what}");
        expect_appendable(journal, &disk, before, &what);
        assert!(!Journal::recover(disk).unwrap().1.torn, "{what}: the torn tail is still there");
    }
    for offset in last_frame.start..last_frame.end + KEPT_ZEROS {
        let what = format!("flipped at {offset}");
        let last = if offset < last_frame.end { before } else { 200 };
        let disk = MemoryDisk::holding(sample.flipped(2, offset, offset % 8));
        let (journal, recovered) = Journal::recover(disk.clone()).unwrap();
        assert!(recovered.torn, "{what}");
        expect_appendable(journal, &disk, last, &what);
    }
}

#[test]
fn a_rotation_cut_short_at_every_byte_leaves_the_journal_usable() {
    let sample = Sample::new();
    for length in 0..sample.frames[2][0].end {
        let what = format!("new segment of {length} bytes");
        let disk = MemoryDisk::holding(sample.cut(2, length));
        let (journal, recovered) = Journal::recover(disk.clone()).unwrap();
        assert_eq!(positions(&recovered), (1..=150).collect::<Vec<_>>(), "{what}");
        expect_appendable(journal, &disk, 150, &what);
    }
}

#[test]
fn remains_of_a_rotation_do_not_hide_a_torn_tail_from_recovery() {
    let sample = Sample::new();
    let last_frame = *sample.frames[1].last().unwrap();
    for remains in [0, 1, sample.frames[2][0].end - 1] {
        let mut files = sample.cut(2, remains);
        files.get_mut(&segment_name(1)).unwrap().truncate(last_frame.end - 1);
        let before = sample.frames[1][sample.frames[1].len() - 2].last;
        let disk = MemoryDisk::holding(files.clone());
        let journal = expect_prefix(&files, before, "the last frame was never acknowledged");
        drop(journal);
        let (journal, _) = Journal::recover(disk.clone()).unwrap();
        expect_appendable(journal, &disk, before, "after remains of a rotation");
    }
}

#[test]
fn segments_can_only_be_removed_from_the_front() {
    let sample = Sample::new();
    for (gone, first) in [(1, 81), (2, 151)] {
        let files: Files = sample.files.clone().into_iter().skip(gone).collect();
        let (_, recovered) = recover(files);
        assert_eq!(positions(&recovered.unwrap().1), (first..=200).collect::<Vec<_>>());
    }
    let mut gap = sample.files.clone();
    gap.remove(&segment_name(1));
    expect_damaged(&gap, &segment_name(2), 0, "a segment in the middle is gone");
}

#[test]
fn trimming_continues_after_a_removal_that_failed_halfway() {
    let sample = Sample::new();
    let disk = MemoryDisk::holding(sample.files.clone());
    let (mut journal, _) = Journal::recover(disk.clone()).unwrap();
    beads_store::Disk::remove(&disk, &segment_name(0)).unwrap();
    journal.trim_before(3).unwrap();
    assert_eq!(disk.files().into_keys().collect::<Vec<_>>(), [segment_name(2)]);
    journal.trim_before(3).unwrap();
}

/// After a trim only the header has the last stamp and the receipts, so losing it is not a torn tail.
#[test]
fn a_lone_segment_whose_header_is_damaged_is_refused() {
    let disk = MemoryDisk::default();
    let (mut journal, _) = Journal::recover(disk.clone()).unwrap();
    journal.rotate(&header(0)).unwrap();
    journal.append(&[record(1)]).unwrap();
    journal.rotate(&header(1)).unwrap();
    let end = usize::try_from(journal.bytes()).unwrap();
    journal.trim_before(2).unwrap();
    for offset in 0..end {
        let mut files = disk.files();
        files.get_mut(&segment_name(1)).unwrap()[offset] ^= 1 << (offset % 8);
        expect_damaged(&files, &segment_name(1), 0, &format!("byte {offset}"));
    }
    for length in 0..end {
        let mut files = disk.files();
        files.get_mut(&segment_name(1)).unwrap().truncate(length);
        expect_damaged(&files, &segment_name(1), 0, &format!("cut to {length} bytes"));
    }
}

#[test]
fn a_first_segment_that_was_never_finished_is_an_empty_journal() {
    let disk = MemoryDisk::default();
    let (mut journal, _) = Journal::recover(disk.clone()).unwrap();
    journal.rotate(&header(0)).unwrap();
    let end = usize::try_from(journal.bytes()).unwrap();
    for length in 0..end {
        let mut files = disk.files();
        files.get_mut(&segment_name(0)).unwrap().truncate(length);
        let torn = MemoryDisk::holding(files);
        let (journal, recovered) = Journal::recover(torn.clone()).unwrap();
        assert!(recovered.header.is_none() && recovered.records.is_empty());
        expect_appendable(journal, &torn, 0, &format!("cut to {length} bytes"));
    }
}

#[test]
fn a_newer_journal_is_refused_by_name() {
    let disk = MemoryDisk::default();
    let (mut journal, _) = Journal::recover(disk.clone()).unwrap();
    journal.rotate(&Header { version: 4, ..header(0) }).unwrap();
    let error = Journal::recover(disk).unwrap_err().to_string();
    assert!(error.contains("upgrade bd") && error.contains(&segment_name(0)), "{error}");
}
