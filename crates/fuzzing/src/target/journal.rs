//! A segment of the journal, as found when a store is opened.

use beads_sim::{Faults, SimDisk, SimRepository, SimWorld};
use beads_store::frame::{self, HEADER_BYTES, MAGIC};
use beads_store::{Disk, DiskFile, Replica};

use crate::sample::seasoned;

const SEGMENT: &str = "journal.000000000001";
const NOW_MS: u64 = 1_700_000_100_000;

pub fn corpus() -> Vec<Vec<u8>> {
    let segment = |seed| {
        let mut bytes = seasoned(seed).disk.read(SEGMENT).expect("a journal");
        // Zeros ahead of writing say nothing.
        let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        bytes.truncate(end);
        bytes
    };
    (0..4).map(segment).collect()
}

pub fn run(bytes: &[u8]) {
    opens(bytes);
    // Nearly every change is found by a checksum; with ones that fit the reader itself has to find it.
    opens(&resealed(bytes));
}

/// The same frames with numbers, lengths and checksums that fit.
fn resealed(bytes: &[u8]) -> Vec<u8> {
    let starts: Vec<usize> =
        bytes.windows(MAGIC.len()).enumerate().filter(|(_, at)| *at == MAGIC).map(|(at, _)| at).collect();
    let ends = starts.iter().skip(1).copied().chain([bytes.len()]);
    let payloads =
        starts.iter().zip(ends).map(|(start, end)| bytes.get(start + HEADER_BYTES..end).unwrap_or_default());
    payloads.enumerate().flat_map(|(number, payload)| frame::encode(number as u64, payload)).collect()
}

fn opens(bytes: &[u8]) {
    let disk = SimDisk::new(1, Faults::default());
    let file = disk.create(SEGMENT).expect("nothing fails here");
    file.write_at(bytes, 0).and_then(|()| file.sync()).expect("nothing fails here");
    let repository = SimRepository::new(2, Faults::default());
    let open = || Replica::open(disk.clone(), &repository, SimWorld::new(3, NOW_MS));
    let Ok(mut replica) = open() else { return };
    let state = replica.catalog().state().encode();
    let again = open().expect("opening changes nothing");
    assert!(again.catalog().state().encode() == state, "opening twice gives another state");
    replica.checkpoint(&repository).expect("what was opened can be saved");
    let saved = open().expect("what was saved can be opened");
    assert!(saved.catalog().state().encode() == state, "saving gives another state");
}
