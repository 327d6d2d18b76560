//! Export and import are inverse: for our own beads, for real files, and for almost valid lines.

use beads_core::Catalog;
use beads_core::import::{Import, LEGACY_FILES};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::import::{act, assert_round_trip, bead, clock, exported, fingerprint, import, with};

/// The result of every operation survives a round trip exactly, including the stamps.
#[test]
fn our_own_beads_survive_a_round_trip() {
    let mut catalog = Catalog::default();
    let mut clock = clock();
    for op in [
        json!({"op": "create", "id": "bd-a1", "title": "One", "labels": ["x"], "metadata": {"k": [1, 2.5]}}),
        json!({"op": "create", "id": "bd-b2", "title": "Two", "notes": "slot", "deps": ["depends-on:bd-a1"]}),
        json!({"op": "create", "id": "bd-c3", "title": "Three", "parent": "bd-a1"}),
        json!({"op": "note_add", "id": "bd-a1", "content": "a note"}),
        json!({"op": "update", "id": "bd-b2", "notes": "another"}),
        json!({"op": "claim", "id": "bd-a1"}),
        json!({"op": "close", "id": "bd-b2", "reason": "done"}),
        json!({"op": "delete", "id": "bd-c3", "reason": "no"}),
    ] {
        act(&mut catalog, &mut clock, &op);
    }
    let mut other = Catalog::default();
    import(&mut other, &exported(&catalog));
    assert_eq!(fingerprint(&other), fingerprint(&catalog));
    assert_round_trip(&mut catalog);
    // Dropping the unknown field or editing a line without changing its time does no harm.
    for change in [("_bd", Value::Null), ("title", json!("zzz"))] {
        let edited: Vec<_> = exported(&catalog)
            .lines()
            .map(|line| with(serde_json::from_str(line).unwrap(), change.0, change.1.clone()).to_string())
            .collect();
        let before = bead(&catalog, "bd-a1").clone();
        let summary = import(&mut catalog, &edited.join("\n"));
        assert_eq!((summary.created, summary.notes), (0, 0), "{summary:?}");
        assert_eq!(*bead(&catalog, "bd-a1"), before);
    }
}

#[test]
fn real_files_survive_a_round_trip() {
    let data = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    for name in ["issues-v0.30.jsonl", "issues-v0.44.jsonl"] {
        let Ok(lines) = std::fs::read_to_string(data.join(name)) else {
            println!("skipped: ../shared/data/{name} was not found");
            continue;
        };
        let mut catalog = Catalog::default();
        let summary = import(&mut catalog, &lines);
        assert_eq!(summary.lines, lines.lines().count());
        assert!(summary.skipped.is_empty(), "{summary:?}");
        assert_eq!(summary.created + summary.tombstones, summary.lines);
        let lines_out = exported(&catalog);
        for (before, after) in lines.lines().zip(lines_out.lines()) {
            assert_same(&serde_json::from_str(before).unwrap(), &serde_json::from_str(after).unwrap());
        }
        assert_round_trip(&mut catalog);
        catalog.state().encode().decode().unwrap();
    }
}

/// Asserts that every field of the original is exported: times to the millisecond, edges in any order,
/// comments with other ids.
fn assert_same(before: &Value, after: &Value) {
    for (name, value) in before.as_object().unwrap() {
        let exported = &after[name];
        match name.as_str() {
            "updated_at" => {}
            "deleted_at" if after["status"] == "tombstone" => {}
            name if name.ends_with("_at") => {
                let ms = |value: &Value| value.as_str().unwrap().parse::<beads_core::Timestamp>().unwrap();
                assert_eq!(ms(value), ms(exported), "{name} of {before}");
            }
            "dependencies" | "comments" | "labels" => {
                assert_eq!(
                    value.as_array().unwrap().len(),
                    exported.as_array().unwrap().len(),
                    "{name} of {before}"
                );
            }
            "description" if value == "" => {}
            _ => assert_eq!(value, exported, "{name} of {before}"),
        }
    }
}

/// Almost valid lines.
fn almost_valid_line() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|b| json!(b)),
        any::<i64>().prop_map(|n| json!(n)),
        any::<f64>().prop_map(|n| json!(n)),
        "[\\PC\u{0}\n]{0,12}".prop_map(|text| json!(text)),
        Just(json!("2025-11-02T21:58:07Z")),
        Just(json!("bd-a1")),
        Just(json!("tombstone")),
        Just(json!("closed")),
    ];
    let value = scalar.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(name(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    proptest::collection::btree_map(name(), value, 0..10).prop_map(|map| {
        let mut line = json!({"id": "bd-a1"});
        for (name, value) in map {
            line[name] = value;
        }
        line.to_string()
    })
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::sample::select(vec![
            "id",
            "title",
            "status",
            "priority",
            "issue_type",
            "type",
            "labels",
            "notes",
            "comments",
            "dependencies",
            "created_at",
            "updated_at",
            "closed_at",
            "deleted_at",
            "created_by",
            "assignee",
            "metadata",
            "_bd",
            "_at",
            "_by",
            "_v",
            "_type",
            "text",
            "author",
            "depends_on_id",
            "defer_until",
            "entries",
            "ts",
            "_import",
        ])
        .prop_map(str::to_owned),
        "[a-z_]{1,6}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut import = Import::default();
        import.line("f", 1, &bytes);
        import.deletion_line("f", 1, &bytes);
        for file in LEGACY_FILES {
            import.legacy_line(file, 1, &bytes);
        }
        let _ = import.plan(&Catalog::default());
    }

    #[test]
    fn whatever_is_imported_survives_a_round_trip(lines in proptest::collection::vec(almost_valid_line(), 1..4)) {
        assert_survives(&lines);
    }
}

/// Examples found by the property test above.
#[test]
fn lines_that_once_failed_survive_a_round_trip() {
    assert_survives(&[r#"{"comments":{},"id":"bd-a1"}"#]);
    assert_survives(&[
        r#"{"id":"bd-a1","status":"tombstone","title":[]}"#,
        r#"{"id":"bd-a1","title":false}"#,
    ]);
}

fn assert_survives<L: AsRef<str>>(lines: &[L]) {
    let lines: Vec<_> = lines.iter().map(AsRef::as_ref).collect();
    let mut catalog = Catalog::default();
    import(&mut catalog, &lines.join("\n"));
    catalog.state().encode().decode().unwrap();
    let mut legacy = Import::default();
    for (line, file) in lines.iter().zip(LEGACY_FILES.iter().cycle()) {
        legacy.legacy_line(file, 2, line.as_bytes());
    }
    let _ = legacy.plan(&catalog);
    assert_round_trip(&mut catalog);
}
