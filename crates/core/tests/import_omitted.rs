//! What each version of the Go `bd` omitted from `issues.jsonl`, and what that means (docs/IMPORT.md lists
//! the versions).

use beads_core::query::ReadyFilter;
use beads_core::{Catalog, EdgeKind, Status};
use serde_json::{Value, json};

use crate::support::import::{
    LATE, assert_round_trip, bead, exported, import, import_with_deletions, one, simple, with,
};

/// Returns a line of 0.30.7 to 0.33.1, which omit zeros and empty texts.
fn terse() -> Value {
    json!({
        "id": "bd-a1", "title": "Urgent",
        "created_at": "2025-12-20T10:00:00Z", "updated_at": "2025-12-20T11:00:00Z",
    })
}

#[test]
fn a_missing_priority_is_zero_in_a_terse_line() {
    let (mut catalog, summary) = one(&terse());
    assert_eq!(bead(&catalog, "bd-a1").priority.value.get(), 0);
    assert_eq!(summary.zero_priorities, 1);
    assert_round_trip(&mut catalog);
    let (catalog, _) = one(&with(terse(), "priority", Value::Null));
    assert_eq!(bead(&catalog, "bd-a1").priority.value.get(), 0);
}

#[test]
fn a_missing_priority_in_other_lines_is_the_default() {
    // A handwritten line, without the times that the Go bd always writes.
    let (catalog, summary) = one(&json!({"id": "bd-a1", "title": "By hand"}));
    assert_eq!((bead(&catalog, "bd-a1").priority.value.get(), summary.zero_priorities), (2, 0));
    // A line of our own export whose priority was removed.
    let (catalog, _) = one(&with(terse(), "assignee", json!("ann")));
    let mut line: Value = serde_json::from_str(exported(&catalog).trim()).unwrap();
    line["_bd"] = json!({"sum": "0", "created": [1_766_224_800_000_u64, 0], "created_by": "import", "at": [1_766_224_800_000_u64, 0], "by": "import"});
    line.as_object_mut().unwrap().remove("priority");
    let (catalog, summary) = one(&line);
    assert_eq!((bead(&catalog, "bd-a1").priority.value.get(), summary.zero_priorities), (2, 0));
}

#[test]
fn a_missing_status_is_open_and_a_missing_type_is_task() {
    let (catalog, _) = one(&terse());
    let bead = bead(&catalog, "bd-a1");
    assert_eq!(bead.status.value.status, Status::Open);
    assert!(bead.description.value.is_empty());
    let line_out: Value = serde_json::from_str(exported(&catalog).trim()).unwrap();
    assert_eq!((&line_out["status"], &line_out["issue_type"]), (&json!("open"), &json!("task")));
}

#[test]
fn a_missing_creator_is_imported_as_import() {
    let (catalog, _) = one(&with(simple("bd-a1"), "status", json!("closed")));
    let lineage = catalog.resolve("bd-a1").unwrap();
    assert_eq!(lineage.by().as_str(), "import", "versions before 0.38 have no creator");
    assert_eq!(bead(&catalog, "bd-a1").status.value.status, Status::Closed);
    let line_out: Value = serde_json::from_str(exported(&catalog).trim()).unwrap();
    assert_eq!(line_out.get("created_by"), None);
    assert_eq!(line_out.get("close_reason"), None, "versions before 0.26.1 have none");
}

/// Before 0.30 a deletion is a line of `deletions.jsonl`. Since 0.51 it is not recorded.
#[test]
fn a_deletion_without_its_bead_is_kept() {
    for by in ["a1", "import", "z1"] {
        let deletions = format!(r#"{{"id":"bd-x9","ts":"2025-12-02T05:05:53.732Z","by":"{by}"}}"#);
        let mut catalog = Catalog::default();
        let summary = import_with_deletions(&mut catalog, "", &deletions);
        assert_eq!((summary.tombstones, catalog.live_count()), (1, 0), "{by}");
        assert_round_trip(&mut catalog);
    }
}

#[test]
fn an_edge_in_the_format_of_show_is_imported() {
    let shown = json!({
        "id": "bd-b2", "title": "T", "status": "open", "priority": 1, "issue_type": "bug",
        "created_at": "2030-01-01T00:00:00Z", "created_by": "someone", "dependency_type": "parent-child",
    });
    let lines = format!(
        "{}\n{}",
        with(simple("bd-a1"), "dependencies", json!([shown, {"id": "bd-b2", "dependency_type": "blocks"}])),
        simple("bd-b2")
    );
    let mut catalog = Catalog::default();
    let summary = import(&mut catalog, &lines);
    assert_eq!((summary.edges, summary.edges_skipped.len(), summary.notices.len()), (2, 0, 0), "{summary:?}");
    let a = catalog.resolve("bd-a1").unwrap();
    for kind in [EdgeKind::Parent, EdgeKind::Blocks] {
        assert_eq!(catalog.targets(a, kind).count(), 1, "{kind}");
    }
    let (_, edge) = catalog.state().edges().iter().next().unwrap();
    assert_eq!(edge.created.at(), a.at(), "the times are those of the other bead, not of the edge");
    assert_round_trip(&mut catalog);
}

#[test]
fn the_header_of_an_export_is_ignored() {
    let lines = format!("{}\n{}", json!({"_schema": "beads-jsonl/1", "_sort": "stable-v1"}), simple("bd-a1"));
    let summary = import(&mut Catalog::default(), &lines);
    assert_eq!((summary.headers, summary.created, summary.skipped.len()), (1, 1, 0));
}

#[test]
fn a_bead_in_progress_gets_a_lease_or_is_reported() {
    let held = with(with(simple("bd-a1"), "status", json!("in_progress")), "assignee", json!("ann"));
    let free = with(simple("bd-b2"), "status", json!("in_progress"));
    let mut import = beads_core::import::Import::default();
    for (index, line) in [&held, &free, &simple("bd-c3")].into_iter().enumerate() {
        import.line("issues.jsonl", index + 1, line.to_string().as_bytes());
    }
    let mut catalog = Catalog::default();
    let plan = import.plan(&catalog);
    let leased: Vec<_> = plan.leases.iter().map(|(lineage, _)| lineage.birth_id().as_str()).collect();
    assert_eq!((leased, plan.summary.leases), (vec!["bd-a1"], 1));
    assert_eq!(plan.summary.stuck.iter().map(ToString::to_string).collect::<Vec<_>>(), ["bd-b2"]);
    catalog.join_delta(&plan.delta).unwrap();
    // The lease of the first is written after the beads.
    let stuck: Vec<_> = catalog.stuck().map(|(lineage, _)| lineage.birth_id().as_str()).collect();
    assert_eq!(stuck, ["bd-a1", "bd-b2"]);
    assert!(catalog.findings(LATE).iter().any(|finding| finding.code == beads_core::Code::Stuck));
    assert_eq!(catalog.ready(&ReadyFilter::default(), LATE).unwrap().len(), 1);
}
