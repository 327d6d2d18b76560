//! The files of a commit, separated by a byte that never occurs in UTF-8.

use beads_core::Snapshot;
use serde_json::Value;

use crate::sample::machine_with_history;

const SEPARATOR: u8 = 0xff;

/// Returns the files of some stores.
pub fn corpus() -> Vec<Vec<u8>> {
    let snapshot = |seed| {
        let machine = machine_with_history(seed);
        let snapshot = machine.replica.expect("it is open").catalog().state().encode();
        [snapshot.state, snapshot.tombstones, snapshot.deps, snapshot.meta, snapshot.conflicts]
            .join(&SEPARATOR)
    };
    (0..8).map(snapshot).collect()
}

/// Decodes the files, with and without their checksums.
pub fn run(bytes: &[u8]) {
    let mut files = bytes.split(|byte| *byte == SEPARATOR).map(<[u8]>::to_vec);
    let mut next = || files.next().unwrap_or_default();
    let snapshot =
        Snapshot { state: next(), tombstones: next(), deps: next(), meta: next(), conflicts: next() };
    check_round_trip(&snapshot);
    // A checksum detects nearly every change; without checksums the decoder itself has to.
    if let Ok(Value::Object(mut meta)) = serde_json::from_slice(&snapshot.meta) {
        meta.remove("sha256");
        let meta = format!("{}\n", Value::Object(meta)).into_bytes();
        check_round_trip(&Snapshot { meta, ..snapshot });
    }
}

/// Checks that whatever decodes also encodes and decodes again to the same state.
fn check_round_trip(snapshot: &Snapshot) {
    if let Ok(decoded) = snapshot.decode() {
        let encoded = decoded.state.encode();
        let again = encoded.decode().expect("an encoded state can be decoded").state;
        assert!(again == decoded.state, "decoding an encoded state gives another state");
        assert!(again.encode() == encoded, "encoding twice gives different bytes");
    }
}
