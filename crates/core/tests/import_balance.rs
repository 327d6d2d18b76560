//! The summary of an import adds up: every line is counted exactly once.

use beads_core::Catalog;
use beads_core::import::{Import, Verdict};
use proptest::prelude::*;
use serde_json::json;

use crate::support::import::{assert_balanced, simple, with};

const FILES: [&str; 6] = [
    "issues.jsonl",
    "deletions.jsonl",
    "state.jsonl",
    "tombstones.jsonl",
    "deps.jsonl",
    "namespaces/core/state/00.jsonl",
];

/// Lines of every kind with only a few ids, so that they interact.
fn line() -> impl Strategy<Value = String> {
    let id = proptest::sample::select(vec!["bd-a1", "bd-b2", "bd-c3", "not an id"]);
    let kind = 0..14;
    (kind, id.clone(), id, 0..3_u64).prop_map(|(kind, id, other, at)| {
        let edges = json!([{"depends_on_id": other, "type": "blocks"}, {"id": other, "dependency_type": "related"}]);
        match kind {
            0 => String::new(),
            1 => "  ".to_owned(),
            2 => "{broken".to_owned(),
            3 => "<<<<<<< HEAD".to_owned(),
            4 => json!({"_schema": "beads-jsonl/1"}).to_string(),
            5 => json!({"_type": "memory", "key": id, "value": other}).to_string(),
            6 => json!({"id": id, "ts": "2025-12-02T05:05:53Z", "by": other}).to_string(),
            7 => json!({"id": id, "deleted_at": [at, at], "deleted_by": "a", "lineage_created_at": [at, 0], "lineage_created_by": "b"}).to_string(),
            8 => json!({"from": id, "to": other, "kind": "blocks"}).to_string(),
            9 => json!({"entries": [{"key": {"from": id, "to": other, "kind": "blocks"}}, 3]}).to_string(),
            10 => json!({"bead_id": id, "note": {"id": "n", "content": "x", "author": "a", "at": [at, 0]}}).to_string(),
            11 => with(with(simple(id), "status", json!("in_progress")), "assignee", json!(other)).to_string(),
            12 => with(simple(id), "status", json!("tombstone")).to_string(),
            _ => with(simple(id), "dependencies", edges).to_string(),
        }
    })
}

fn read(lines: &[(usize, String)], catalog: &Catalog) -> beads_core::import::Plan {
    let mut import = Import::default();
    for (number, (file, line)) in lines.iter().enumerate() {
        let (name, number, bytes) = (FILES[*file], number + 1, line.as_bytes());
        match name {
            "issues.jsonl" => import.line(name, number, bytes),
            "deletions.jsonl" => import.deletion_line(name, number, bytes),
            _ => import.legacy_line(name, number, bytes),
        }
    }
    import.plan(catalog)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_line_is_accounted_for(
        first in proptest::collection::vec((0..FILES.len(), line()), 0..12),
        second in proptest::collection::vec((0..FILES.len(), line()), 0..12),
    ) {
        let mut catalog = Catalog::default();
        for lines in [&first, &second] {
            let plan = read(lines, &catalog);
            let written = lines.iter().filter(|(_, line)| !line.trim().is_empty()).count();
            prop_assert_eq!(plan.summary.lines, written);
            assert_balanced(&plan);
            let edges = plan.decisions.iter().filter(|decision| decision.decision == Verdict::EdgeSkipped);
            prop_assert_eq!(edges.count(), plan.summary.edges_skipped.len());
            catalog.join_delta(&plan.delta).unwrap();
        }
        prop_assert!(catalog.state().encode().decode().is_ok());
    }
}
