//! A segment of the journal, as found when a store is opened.

use beads_sim::{Faults, SimDisk, SimRepository, SimWorld};
use beads_store::frame::{self, HEADER_BYTES, MAGIC};
use beads_store::{Disk, DiskFile, Replica};

use crate::sample::machine_with_history;

const SEGMENT: &str = "journal.000000000001";
const NOW_MS: u64 = 1_700_000_100_000;

/// Returns some segments.
pub fn corpus() -> Vec<Vec<u8>> {
    let segment = |seed| {
        let mut bytes = machine_with_history(seed).disk.read(SEGMENT).expect("a journal");
        // The zeros at the end carry no information.
        let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        bytes.truncate(end);
        bytes
    };
    (0..4).map(segment).collect()
}

/// Opens a store with the segment, as it is and with valid checksums.
pub fn run(bytes: &[u8]) {
    check_opening(bytes);
    // A checksum detects nearly every change; with valid ones the decoder itself has to.
    check_opening(&resealed(bytes));
}

/// Returns the same frames with valid numbers, lengths and checksums.
fn resealed(bytes: &[u8]) -> Vec<u8> {
    let starts: Vec<usize> =
        bytes.windows(MAGIC.len()).enumerate().filter(|(_, at)| *at == MAGIC).map(|(at, _)| at).collect();
    let ends = starts.iter().skip(1).copied().chain([bytes.len()]);
    let payloads =
        starts.iter().zip(ends).map(|(start, end)| bytes.get(start + HEADER_BYTES..end).unwrap_or_default());
    payloads.enumerate().flat_map(|(number, payload)| frame::encode(number as u64, payload)).collect()
}

/// Checks that a store with this segment can be opened, saved and opened again with the same state.
fn check_opening(bytes: &[u8]) {
    let disk = SimDisk::new(1, Faults::default());
    let file = disk.create(SEGMENT).expect("nothing fails here");
    file.write_at(bytes, 0).and_then(|()| file.sync()).expect("nothing fails here");
    let repository = SimRepository::new(2, Faults::default());
    let open = || Replica::open(disk.clone(), &repository, SimWorld::new(3, NOW_MS));
    let Ok(mut replica) = open() else { return };
    let state = replica.catalog().state().encode();
    let again = open().expect("opening changes nothing");
    assert!(again.catalog().state().encode() == state, "opening twice gives another state");
    replica.checkpoint(&repository).expect("an open store can be saved");
    let saved = open().expect("a saved store can be opened");
    assert!(saved.catalog().state().encode() == state, "saving gives another state");
}
