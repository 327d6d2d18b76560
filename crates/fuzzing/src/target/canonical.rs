//! The files of a commit, one behind the other with a byte between them that is in no UTF-8.

use beads_core::Snapshot;
use serde_json::Value;

use crate::sample::seasoned;

const SEPARATOR: u8 = 0xff;

pub fn corpus() -> Vec<Vec<u8>> {
    let snapshot = |seed| {
        let machine = seasoned(seed);
        let snapshot = machine.replica.expect("it is open").catalog().state().encode();
        [snapshot.state, snapshot.tombstones, snapshot.deps, snapshot.meta, snapshot.conflicts]
            .join(&SEPARATOR)
    };
    (0..8).map(snapshot).collect()
}

pub fn run(bytes: &[u8]) {
    let mut files = bytes.split(|byte| *byte == SEPARATOR).map(<[u8]>::to_vec);
    let mut next = || files.next().unwrap_or_default();
    let snapshot =
        Snapshot { state: next(), tombstones: next(), deps: next(), meta: next(), conflicts: next() };
    settles(&snapshot);
    // Nearly every change is found by a checksum; without them the reader itself has to find it.
    if let Ok(Value::Object(mut meta)) = serde_json::from_slice(&snapshot.meta) {
        meta.remove("sha256");
        let meta = format!("{}\n", Value::Object(meta)).into_bytes();
        settles(&Snapshot { meta, ..snapshot });
    }
}

fn settles(snapshot: &Snapshot) {
    if let Ok(decoded) = snapshot.decode() {
        let encoded = decoded.state.encode();
        let again = encoded.decode().expect("what was encoded can be decoded").state;
        assert!(again == decoded.state, "decoding what was encoded gives another state");
        assert!(again.encode() == encoded, "encoding twice gives other bytes");
    }
}
