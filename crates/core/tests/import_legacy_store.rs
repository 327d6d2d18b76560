//! Imports of a legacy store, the store of the earlier Rust implementation.

use beads_core::import::LegacyFile;
use beads_core::{Catalog, EdgeKind};

use crate::support::import::{assert_round_trip, bead, exported, legacy, legacy_into};

fn line(id: &str, created: &str, by: &str) -> String {
    format!(
        r#"{{"id":"{id}","created_at":{created},"created_by":"{by}","title":"{id}","description":"","priority":1,"type":"task","labels":[],"status":"open","_at":{created},"_by":"{by}"}}"#
    )
}

#[test]
fn a_tombstone_with_a_lineage_deletes_only_the_bead_that_lost_the_id() {
    let state = line("bd-a1", "[1700000000000,1]", "a1");
    let tombstone = r#"{"id":"bd-a1","deleted_at":[1700000000000,1],"deleted_by":"z9","lineage_created_at":[1700000000000,0],"lineage_created_by":"z9"}"#;
    let (mut catalog, summary) = legacy(&[("state.jsonl", &state), ("tombstones.jsonl", tombstone)]);
    assert_eq!((summary.created, summary.tombstones, summary.collisions), (1, 0, 1), "{summary:?}");
    assert!(bead(&catalog, "bd-a1").deletion.is_none());
    assert_round_trip(&mut catalog);
    // The bead with that lineage is deleted.
    let own = tombstone
        .replace("[1700000000000,0]", "[1700000000000,1]")
        .replace(r#"created_by":"z9"#, r#"created_by":"a1"#);
    let (catalog, summary) = legacy(&[("state.jsonl", &state), ("tombstones.jsonl", &own)]);
    assert_eq!((summary.tombstones, summary.collisions), (1, 0), "{summary:?}");
    assert!(bead(&catalog, "bd-a1").deletion.is_some());
}

#[test]
fn a_deletion_of_a_bead_that_lost_its_id_keeps_the_holder() {
    let (mut catalog, _) = legacy(&[("state.jsonl", &line("bd-a1", "[1700000000000,1]", "a1"))]);
    let tombstone = r#"{"id":"bd-a1","deleted_at":[1800000000000,1],"deleted_by":"z9","lineage_created_at":[1600000000000,0],"lineage_created_by":"z9"}"#;
    let summary = legacy_into(&mut catalog, &[("tombstones.jsonl", tombstone)]);
    assert_eq!((summary.collisions, summary.collisions_skipped.len()), (0, 1), "{summary:?}");
    assert!(bead(&catalog, "bd-a1").deletion.is_none());
}

/// Neither the bead that lost the id nor its holder is in the file. The line is omitted, and the summary
/// gives the reason.
#[test]
fn a_deletion_that_cannot_be_kept_is_in_the_summary_with_a_reason() {
    let tombstone = r#"{"id":"bd-a1","deleted_at":[1800000000000,1],"deleted_by":"z9","lineage_created_at":[1600000000000,0],"lineage_created_by":"z9"}"#;
    let state = line("bd-b2", "[1700000000000,1]", "a1");
    let (catalog, summary) = legacy(&[("state.jsonl", &state), ("tombstones.jsonl", tombstone)]);
    assert_eq!((summary.lines, summary.accounted(), summary.collisions), (2, 2, 0), "{summary:?}");
    let [notice] = summary.collisions_skipped.as_slice() else { panic!("{summary:?}") };
    assert_eq!((notice.file.as_str(), notice.line), ("tombstones.jsonl", 1));
    assert_eq!(notice.id.as_ref().unwrap().as_str(), "bd-a1");
    assert!(notice.reason.contains("z9 made at 2020-09-13T12:26:40"), "{}", notice.reason);
    assert!(notice.reason.contains("lost the id bd-a1 and is not here"), "{}", notice.reason);
    assert!(notice.reason.contains("the file has no bead that holds the id"), "{}", notice.reason);
    assert_eq!(catalog.live_count(), 1);
}

/// Regardless of the actor (before or after "import" in the alphabet) and of the counter of the stamp.
#[test]
fn a_tombstone_without_its_bead_stays_deleted() {
    for by in ["a1", "import", "z1"] {
        for stamp in ["[1700000000000,0]", "[1700000000000,1]", "[1700000000000,70000]"] {
            let tombstone = format!(r#"{{"id":"bd-x1","deleted_at":{stamp},"deleted_by":"{by}"}}"#);
            let (mut catalog, summary) = legacy(&[("tombstones.jsonl", &tombstone)]);
            assert_eq!((summary.tombstones, catalog.live_count()), (1, 0), "{by} {stamp}");
            assert!(bead(&catalog, "bd-x1").deletion.is_some(), "{by} {stamp}");
            assert!(catalog.state().encode().decode().is_ok());
            assert_round_trip(&mut catalog);
        }
    }
}

#[test]
fn a_note_in_two_files_is_imported_once() {
    let note = r#"{"id":"n1","content":"said once","author":"alice","at":[1765400000200,0]}"#;
    let state = line("bd-a1", "[1765400000000,0]", "ann")
        .replace(r#""labels":[]"#, &format!(r#""labels":[],"notes":[{note}]"#));
    let other = r#"{"bead_id":"bd-a1","note":{"id":"n2","content":"said once","author":"alice","at":[1765400000200,0]}}"#;
    let again = format!(
        r#"{{"bead_id":"bd-a1","note":{note},"lineage_created_at":[1765400000000,0],"lineage_created_by":"ann"}}"#
    );
    let (catalog, summary) = legacy(&[("state.jsonl", &state), ("notes.jsonl", &again)]);
    assert_eq!((summary.notes, summary.attached), (1, 1), "{summary:?}");
    assert_eq!(bead(&catalog, "bd-a1").notes.len(), 1);
    let (catalog, _) = legacy(&[("state.jsonl", &state), ("notes.jsonl", other)]);
    assert_eq!(bead(&catalog, "bd-a1").notes.len(), 2, "another note with the same text");
}

#[test]
fn a_note_of_a_bead_that_lost_its_id_is_reported_as_skipped() {
    let state = line("bd-a1", "[1765400000000,0]", "ann");
    let lost = r#"{"bead_id":"bd-a1","note":{"id":"n1","content":"x","author":"bob","at":[1765400000200,0]},"lineage_created_at":[1,0],"lineage_created_by":"bob"}
{"bead_id":"bd-gone","note":{"id":"n2","content":"y","author":"bob","at":[1765400000200,0]}}"#;
    let (catalog, summary) = legacy(&[("state.jsonl", &state), ("notes.jsonl", lost)]);
    assert_eq!((summary.notes_skipped.len(), summary.skipped.len()), (2, 0), "{summary:?}");
    assert!(bead(&catalog, "bd-a1").notes.is_empty());
}

#[test]
fn skipped_edges_are_not_counted_as_rejected_lines() {
    let state = line("bd-a1", "[1765400000000,0]", "ann") + "\n" + &line("bd-b2", "[1765400000000,0]", "ann");
    let entry = |from: &str, to: &str| {
        format!(
            r#"{{"key":{{"from":"{from}","to":"{to}","kind":"blocks"}},"dots":[{{"replica":"0","counter":1}}]}}"#
        )
    };
    let entries = [entry("bd-a1", "bd-b2"), entry("bd-x1", "bd-b2"), entry("bd-a1", "bd-x2"), "7".to_owned()];
    let deps = format!(r#"{{"cc":{{"max":{{}}}},"entries":[{}]}}"#, entries.join(","));
    let (catalog, summary) = legacy(&[("state.jsonl", &state), ("deps.jsonl", &deps)]);
    assert_eq!((summary.lines, summary.attached, summary.skipped.len()), (3, 1, 0), "{summary:?}");
    assert_eq!((summary.edges, summary.edges_skipped.len()), (1, 3), "{summary:?}");
    assert!(summary.edges_skipped.iter().any(|skipped| skipped.reason.contains("no line has bd-x1")));
    assert!(summary.edges_skipped.iter().any(|skipped| skipped.reason.contains("no bead has that id")));
    let lineage = catalog.resolve("bd-a1").unwrap();
    assert_eq!(catalog.targets(lineage, EdgeKind::Blocks).count(), 1);
}

/// Otherwise a second import would find the deleted bead and create the edge.
#[test]
fn an_edge_to_a_deleted_bead_is_imported_the_first_time() {
    let state = line("bd-a1", "[1765400000000,0]", "ann");
    let tombstone = r#"{"id":"bd-gone","deleted_at":[1765400010000,0],"deleted_by":"ann"}"#;
    let deps = r#"{"from":"bd-a1","to":"bd-gone","kind":"blocks","created_at":[1765400000100,0],"created_by":"ann"}"#;
    let files = [("state.jsonl", &*state), ("tombstones.jsonl", tombstone), ("deps.jsonl", deps)];
    let (mut catalog, summary) = legacy(&files);
    assert_eq!((summary.edges, summary.edges_skipped.len()), (1, 0), "{summary:?}");
    let again = legacy_into(&mut catalog, &files);
    assert_eq!((again.edges, again.edges_unchanged, again.updated), (0, 1, 0), "{again:?}");
    assert_round_trip(&mut catalog);
}

#[test]
fn a_sharded_checkpoint_is_imported() {
    let state = line("bd-a1", "[1765400000000,0]", "ann");
    let other = line("bd-b2", "[1765400000000,0]", "ann");
    let deps = r#"{"cc":{"max":{}},"entries":[{"key":{"from":{"namespace":"core","id":"bd-a1"},"to":{"namespace":"core","id":"bd-b2"},"kind":"blocks"},"dots":[{"replica":"0","counter":1}]}]}"#;
    let tombstone = r#"{"id":"bd-gone","deleted_at":[1765400010000,3],"deleted_by":"ann"}"#;
    let (catalog, summary) = legacy(&[
        ("namespaces/core/state/0a.jsonl", &state),
        ("namespaces/core/state/ff.jsonl", &other),
        ("namespaces/core/tombstones/10.jsonl", tombstone),
        ("namespaces/core/deps/33.jsonl", deps),
    ]);
    assert_eq!((summary.created, summary.tombstones, summary.edges), (2, 1, 1), "{summary:?}");
    assert_eq!(catalog.live_count(), 2);
    for other in ["meta.json", "manifest.json", "namespaces/core/other/00.jsonl", "namespaces/core/state"] {
        assert_eq!(LegacyFile::of_path(other), None, "{other}");
    }
}

#[test]
fn a_missing_priority_in_a_legacy_store_is_the_default() {
    let state = line("bd-a1", "[1765400000000,0]", "ann").replace(r#""priority":1,"#, "");
    let (catalog, summary) = legacy(&[("state.jsonl", &state)]);
    assert_eq!(bead(&catalog, "bd-a1").priority.value.get(), 2, "only the Go bd omits a zero");
    assert_eq!(summary.zero_priorities, 0);
    assert!(exported(&Catalog::default()).is_empty());
}

#[test]
fn statuses_of_the_latest_versions_keep_their_words() {
    use beads_core::Status;
    for (text, status, shown) in [
        ("Todo", Status::Open, "open"),
        ("In Progress", Status::InProgress, "in_progress"),
        ("Human Review", Status::InProgress, "human_review"),
        ("Done", Status::Closed, "closed"),
        ("Cancelled", Status::Closed, "cancelled"),
        ("Duplicate", Status::Closed, "duplicate"),
    ] {
        let state = line("bd-a1", "[1765400000000,0]", "ann");
        for name in ["status", "tracker_state"] {
            let state = if name == "status" {
                state.replace(r#""status":"open""#, &format!(r#""status":"{text}""#))
            } else {
                state.replace(r#""status":"open""#, &format!(r#""status":"open","tracker_state":"{text}""#))
            };
            let (mut catalog, _) = legacy(&[("state.jsonl", &state)]);
            let group = &bead(&catalog, "bd-a1").status.value;
            assert_eq!((group.status, group.shown()), (status, shown), "{text}");
            assert_round_trip(&mut catalog);
        }
    }
}
