//! Lines of another tracker's file. What comes of them is a delta that any store can take.

use beads_core::import::Import;
use beads_core::{Catalog, export_jsonl};

use crate::sample::seasoned;

pub fn corpus() -> Vec<Vec<u8>> {
    let mut corpus: Vec<Vec<u8>> = (0..4)
        .map(|seed| {
            let machine = seasoned(seed);
            export_jsonl(machine.replica.expect("it is open").catalog().state())
        })
        .collect();
    let foreign = r#"{"id":"x-1","title":"t","status":"open","priority":2,"issue_type":"task","created_at":"2025-01-01T00:00:00Z","updated_at":"2025-01-02T00:00:00.5+02:00","dependencies":[{"issue_id":"x-1","depends_on_id":"x-2","type":"blocks"}],"comments":[{"id":1,"author":"a","text":"c","created_at":"2025-01-01T00:00:00Z"}],"labels":["l"]}"#;
    corpus.push(foreign.as_bytes().to_vec());
    corpus
}

pub fn run(bytes: &[u8]) {
    let mut import = Import::default();
    for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        import.line("file", number + 1, line);
        import.deletion_line("deletions", number + 1, line);
    }
    let mut catalog = Catalog::default();
    let plan = import.plan(&catalog);
    catalog.take(&plan.delta).expect("what was planned can be taken");
    let encoded = catalog.state().encode();
    let decoded = encoded.decode().expect("what was imported can be read").state;
    assert!(decoded.encode() == encoded);
    // Taking it twice changes nothing.
    catalog.take(&plan.delta).expect("what was planned can be taken");
    assert!(catalog.state().encode() == encoded);
}
