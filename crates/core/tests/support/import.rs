//! Helpers for imports.

use beads_core::import::{Import, LegacyFile, Plan, Summary};
use beads_core::{
    Bead, Catalog, Clock, Context, Delta, Line, Mark, Op, Patch, Stamp, Timestamp, export_jsonl,
};
use serde_json::{Value, json};

pub const LATE: u64 = 1_900_000_000_000;

pub fn import(catalog: &mut Catalog, lines: &str) -> Summary {
    import_with_deletions(catalog, lines, "")
}

pub fn import_with_deletions(catalog: &mut Catalog, lines: &str, deletions: &str) -> Summary {
    let mut import = Import::default();
    for (index, line) in lines.lines().enumerate() {
        import.line("issues.jsonl", index + 1, line.as_bytes());
    }
    for (index, line) in deletions.lines().enumerate() {
        import.deletion_line("deletions.jsonl", index + 1, line.as_bytes());
    }
    let plan = import.plan(catalog);
    apply_plan(catalog, &plan);
    assert_balanced(&plan);
    plan.summary
}

/// Joins the delta of a plan and grants the leases that it requests, like a store.
fn apply_plan(catalog: &mut Catalog, plan: &Plan) {
    catalog.join_delta(&plan.delta).unwrap();
    let mark = Mark::new(Stamp::decode(LATE, 7).unwrap(), "ann".parse().unwrap());
    let end = Timestamp::from_ms(LATE + 60_000).unwrap();
    for (lineage, claim) in &plan.leases {
        let claim = Some(claim.renewed(mark.clone(), Some(end)));
        let patch = Patch { claim, ..Patch::default() };
        catalog.join_delta(&Delta { beads: [(lineage.clone(), patch)].into(), ..Delta::default() }).unwrap();
    }
}

/// Asserts that there is exactly one decision for every line, and that the summary counts the decisions.
pub fn assert_balanced(plan: &Plan) {
    assert_eq!(plan.summary.lines, plan.summary.accounted(), "{:?}", plan.summary);
    let without_reason = plan.decisions.iter().find(|decision| {
        use beads_core::import::Verdict::*;
        let left_out = matches!(
            decision.decision,
            Refused | Collision | CollisionSkipped | EdgeSkipped | NoteSkipped | Adapted
        );
        left_out && decision.reason.as_ref().is_none_or(String::is_empty)
    });
    assert_eq!(without_reason, None, "everything that is not imported unchanged has a reason");
    let lines = plan.decisions.iter().filter(|decision| decision.decision.is_about_a_line());
    let mut places: Vec<_> = lines.map(|decision| (decision.file.clone(), decision.line)).collect();
    places.sort();
    let count = places.len();
    places.dedup();
    assert_eq!((places.len(), count), (plan.summary.lines, plan.summary.lines), "{:?}", plan.decisions);
}

/// Imports the files of a legacy store into an empty catalog.
pub fn legacy(files: &[(&str, &str)]) -> (Catalog, Summary) {
    let mut catalog = Catalog::default();
    let summary = legacy_into(&mut catalog, files);
    (catalog, summary)
}

pub fn legacy_into(catalog: &mut Catalog, files: &[(&str, &str)]) -> Summary {
    let mut import = Import::default();
    for (name, content) in files {
        assert!(LegacyFile::of_path(name).is_some(), "{name}");
        for (index, line) in content.lines().enumerate() {
            import.legacy_line(name, index + 1, line.as_bytes());
        }
    }
    let plan = import.plan(catalog);
    apply_plan(catalog, &plan);
    assert_balanced(&plan);
    plan.summary
}

pub fn one(line: &Value) -> (Catalog, Summary) {
    let mut catalog = Catalog::default();
    let summary = import(&mut catalog, &line.to_string());
    (catalog, summary)
}

pub fn bead<'a>(catalog: &'a Catalog, id: &str) -> &'a Bead {
    catalog.bead(catalog.resolve_any(id).unwrap()).unwrap()
}

pub fn exported(catalog: &Catalog) -> String {
    String::from_utf8(export_jsonl(catalog.state())).unwrap()
}

pub fn fingerprint(catalog: &Catalog) -> String {
    catalog.state().encode().fingerprint()
}

pub fn act(catalog: &mut Catalog, clock: &mut Clock, op: &Value) {
    let op: Op = serde_json::from_value(op.clone()).unwrap();
    let mut context = Context {
        actor: "ann".parse().unwrap(),
        now_ms: LATE,
        clock,
        random: &mut || 7,
        branch: "main".parse::<Line>().unwrap(),
        lease_ms: 60_000,
    };
    let applied = op.apply(catalog, &mut context).unwrap();
    catalog.join_delta(&applied.delta).unwrap();
}

pub fn clock() -> Clock {
    Clock::new(Stamp::ZERO, 4_711)
}

/// Exports, imports into an empty store and exports again. Asserts that nothing changes.
pub fn assert_round_trip(catalog: &mut Catalog) {
    let first = exported(catalog);
    let mut other = Catalog::default();
    let summary = import(&mut other, &first);
    assert!(summary.skipped.is_empty(), "{:?}", summary.skipped);
    assert_eq!(exported(&other), first);
    let before = fingerprint(catalog);
    let again = import(catalog, &first);
    assert_eq!(fingerprint(catalog), before, "importing its own export changes nothing");
    assert_eq!((again.created, again.updated, again.edges, again.notes), (0, 0, 0, 0), "{again:?}");
}

pub fn simple(id: &str) -> Value {
    json!({
        "id": id, "title": "T", "status": "open", "priority": 1, "issue_type": "bug",
        "created_at": "2025-11-02T21:58:07.295058-08:00", "updated_at": "2025-11-03T20:56:22.700641-08:00",
    })
}

pub fn with(mut line: Value, name: &str, value: Value) -> Value {
    line[name] = value;
    line
}
