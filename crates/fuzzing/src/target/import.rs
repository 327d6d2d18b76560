//! Lines of another tracker's file. They become a delta that any store can take.

use beads_core::import::Import;
use beads_core::{Catalog, export_jsonl};

use crate::sample::machine_with_history;

/// Returns some exports, and a line of another tracker.
pub fn corpus() -> Vec<Vec<u8>> {
    let mut corpus: Vec<Vec<u8>> = (0..4)
        .map(|seed| {
            let machine = machine_with_history(seed);
            export_jsonl(machine.replica.expect("it is open").catalog().state())
        })
        .collect();
    let foreign = r#"{"id":"x-1","title":"t","status":"open","priority":2,"issue_type":"task","created_at":"2025-01-01T00:00:00Z","updated_at":"2025-01-02T00:00:00.5+02:00","dependencies":[{"issue_id":"x-1","depends_on_id":"x-2","type":"blocks"}],"comments":[{"id":1,"author":"a","text":"c","created_at":"2025-01-01T00:00:00Z"}],"labels":["l"]}"#;
    corpus.push(foreign.as_bytes().to_vec());
    corpus
}

/// Imports the lines into an empty store.
pub fn run(bytes: &[u8]) {
    let mut import = Import::default();
    for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        import.line("file", number + 1, line);
        import.deletion_line("deletions", number + 1, line);
    }
    let mut catalog = Catalog::default();
    let plan = import.plan(&catalog);
    catalog.join_delta(&plan.delta).expect("a planned delta can be applied");
    let encoded = catalog.state().encode();
    let decoded = encoded.decode().expect("an imported store can be decoded").state;
    assert!(decoded.encode() == encoded);
    // Applying it twice changes nothing.
    catalog.join_delta(&plan.delta).expect("a planned delta can be applied");
    assert!(catalog.state().encode() == encoded);
}
