//! Exports in the format of a legacy store: imported data is exported unchanged and can be imported again.

use std::collections::BTreeSet;

use beads_core::{Catalog, export_legacy_store};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::support::import::{act, assert_round_trip, bead, clock, fingerprint, legacy};

/// The lines of the files of a store, as values.
#[derive(Debug, Clone, Default, PartialEq)]
struct Files {
    state: Vec<Value>,
    tombstones: Vec<Value>,
    deps: Vec<Value>,
}

impl Files {
    fn read(&self) -> Catalog {
        let text = |lines: &[Value]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let (state, tombstones, deps) = (text(&self.state), text(&self.tombstones), text(&self.deps));
        let files = [("state.jsonl", &*state), ("tombstones.jsonl", &*tombstones), ("deps.jsonl", &*deps)];
        let (catalog, summary) = legacy(&files);
        assert!(summary.skipped.is_empty(), "{summary:?}");
        catalog
    }

    fn written(catalog: &Catalog) -> Self {
        let files = export_legacy_store(catalog.state());
        assert_eq!(files["meta.json"], br#"{"format_version":1}"#);
        let lines = |name: &str| -> Vec<Value> {
            let text = String::from_utf8(files[name].clone()).unwrap();
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
        };
        Self { state: lines("state.jsonl"), tombstones: lines("tombstones.jsonl"), deps: lines("deps.jsonl") }
    }

    /// Sorts notes, edges and deletions, because they are sets.
    fn in_order(mut self) -> Self {
        let text = |line: &Value| line.to_string();
        for line in &mut self.state {
            if let Some(notes) = line.get_mut("notes").and_then(Value::as_array_mut) {
                notes.sort_by_key(text);
            }
        }
        self.state.sort_by_key(text);
        self.tombstones.sort_by_key(text);
        self.deps.sort_by_key(text);
        self
    }
}

fn stamp() -> impl Strategy<Value = Value> {
    (1_700_000_000_000_u64..1_700_000_000_009, 0_u32..4).prop_map(|(ms, counter)| json!([ms, counter]))
}

fn actor() -> impl Strategy<Value = Value> {
    proptest::sample::select(vec!["a1", "darin@dusk", "import", "z9"]).prop_map(Value::from)
}

fn mark() -> impl Strategy<Value = (Value, Value)> {
    (stamp(), actor())
}

fn text() -> impl Strategy<Value = String> {
    "[a-zé \"\\\\\n]{1,8}".prop_map(|text| format!("x{text}"))
}

const REGISTERS: [&str; 12] = [
    "title",
    "description",
    "design",
    "acceptance_criteria",
    "priority",
    "type",
    "labels",
    "external_ref",
    "source_repo",
    "estimated_minutes",
    "workflow",
    "claim",
];

fn key(mark: &(Value, Value)) -> (u64, u64, String) {
    (mark.0[0].as_u64().unwrap(), mark.0[1].as_u64().unwrap(), mark.1.as_str().unwrap().to_owned())
}

/// Optional fields of a bead.
fn options() -> impl Strategy<Value = Map<String, Value>> {
    let word = || "[a-z]{1,6}".prop_map(Value::from);
    (
        proptest::option::of(text().prop_map(Value::from)),
        proptest::option::of(text().prop_map(Value::from)),
        proptest::option::of(word()),
        proptest::option::of(word()),
        proptest::option::of((1_u32..999).prop_map(Value::from)),
        proptest::option::of(word()),
        proptest::collection::vec((stamp(), actor(), text(), "[a-z0-9]{8}"), 0..3),
        // A field of an unknown version.
        proptest::option::of(word()),
    )
        .prop_map(|(design, criteria, reference, repo, estimate, branch, notes, unknown)| {
            let notes: Vec<Value> = notes
                .into_iter()
                .enumerate()
                .map(|(index, (at, author, content, id))| {
                    json!({"id": format!("{id}{index}"), "content": format!("{content}{index}"), "author": author, "at": at})
                })
                .collect();
            let named = [
                ("design", design),
                ("acceptance_criteria", criteria),
                ("external_ref", reference),
                ("source_repo", repo),
                ("estimated_minutes", estimate),
                ("created_on_branch", branch),
                ("notes", Some(Value::Array(notes.clone())).filter(|_| !notes.is_empty())),
                ("later_version", unknown),
            ];
            named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
        })
}

/// A line of a legacy store.
fn line(id: String) -> impl Strategy<Value = Value> {
    let status =
        proptest::sample::select(vec!["open", "in_progress", "closed", "Todo", "Human Review", "Cancelled"]);
    let claim =
        proptest::option::of((actor(), proptest::option::of(1_800_000_000_000_u64..1_800_000_000_009)));
    (
        mark(),
        proptest::collection::vec(mark(), REGISTERS.len()),
        // The newest mark may belong to no register. Then `_v` lists all of them.
        proptest::option::of(Just((json!([1_700_000_000_020_u64, 0]), json!("z9")))),
        (text(), 0_u8..5, proptest::sample::select(vec!["bug", "feature", "task", "epic", "chore"])),
        proptest::collection::btree_set("[a-z]{1,5}", 0..3),
        (status, any::<bool>(), proptest::option::of(text()), proptest::option::of("[a-z]{1,6}")),
        claim,
        options(),
    )
        .prop_map(move |(created, marks, newest, (title, priority, kind), labels, status, claim, options)| {
            let mut line = json!({
                "id": id, "created_at": created.0, "created_by": created.1,
                "title": title.replace('\n', " ").trim(), "description": title, "priority": priority, "type": kind,
                "labels": labels,
            });
            let map = line.as_object_mut().unwrap();
            map.extend(options);
            let top = newest.into_iter().chain(marks.clone()).max_by_key(key).unwrap();
            let others: Map<String, Value> = REGISTERS
                .into_iter()
                .zip(&marks)
                .filter(|(_, mark)| **mark != top)
                .map(|(name, (at, by))| (name.to_owned(), json!([at, by])))
                .collect();
            if !others.is_empty() {
                map.insert("_v".into(), Value::Object(others));
            }
            map.extend([("_at".to_owned(), top.0), ("_by".to_owned(), top.1)]);
            let (word, tracked, reason, branch) = status;
            let is_closed = ["closed", "Cancelled"].contains(&word);
            if tracked {
                map.insert("status".into(), json!(if is_closed { "closed" } else { "open" }));
                map.insert("tracker_state".into(), json!(word));
            } else {
                map.insert("status".into(), json!(word));
            }
            if is_closed {
                map.extend([("closed_at".to_owned(), marks[10].0.clone()), ("closed_by".to_owned(), marks[10].1.clone())]);
                map.extend(reason.map(|reason| ("closed_reason".to_owned(), json!(reason))));
                map.extend(branch.map(|branch| ("closed_on_branch".to_owned(), json!(branch))));
            }
            if let Some((assignee, expires)) = claim {
                map.extend([("assignee".to_owned(), assignee), ("assignee_at".to_owned(), marks[11].0.clone())]);
                map.extend(expires.map(|expires| ("assignee_expires".to_owned(), json!(expires))));
            }
            line
        })
}

fn edge() -> impl Strategy<Value = Value> {
    let kind = proptest::sample::select(vec!["blocks", "parent", "related", "discovered_from"]);
    (0_usize..3, 0_usize..5, kind, mark(), proptest::option::of(actor())).prop_map(|(from, to, kind, created, deleted)| {
        let (from, to) = (format!("bd-a{from}"), format!("bd-a{to}"));
        let mut edge =
            json!({"from": from, "to": to, "kind": kind, "created_at": created.0, "created_by": created.1});
        // A removed edge to a missing bead is not kept.
        if let Some(by) = deleted.filter(|_| ["bd-a0", "bd-a1", "bd-a2"].contains(&&*to)) {
            edge["deleted_at"] = json!([1_700_000_000_030_u64, 1]);
            edge["deleted_by"] = by;
        }
        edge
    })
}

fn store() -> impl Strategy<Value = Files> {
    let lines: Vec<_> = (0..3).map(|number| line(format!("bd-a{number}"))).collect();
    let gone = proptest::option::of((stamp(), actor(), proptest::option::of(text())));
    // A bead of which only the deletion is known, and one that lost its id to an existing bead.
    let lost = proptest::option::of((mark(), actor()));
    (lines, proptest::collection::vec(edge(), 0..6), gone, lost).prop_map(|(state, edges, gone, lost)| {
        let mut seen = BTreeSet::new();
        let is_first = |edge: &Value| {
            edge["from"] != edge["to"]
                && seen.insert((edge["from"].to_string(), edge["to"].to_string(), edge["kind"].to_string()))
        };
        let deps = edges.into_iter().filter({
            let mut is_first = is_first;
            move |edge| is_first(edge)
        });
        let mut tombstones = Vec::new();
        if let Some((at, by, reason)) = gone {
            let mut line = json!({"id": "bd-a3", "deleted_at": at, "deleted_by": by});
            if let Some(reason) = reason {
                line["reason"] = json!(reason);
            }
            tombstones.push(line);
        }
        if let Some(((at, by), creator)) = lost {
            let born = json!([1_600_000_000_000_u64, 2]);
            tombstones.push(json!({"id": "bd-a0", "deleted_at": at, "deleted_by": by, "lineage_created_at": born, "lineage_created_by": creator}));
        }
        let mut deps: Vec<Value> = deps.collect();
        deps.sort_by_key(|edge| ["from", "to", "kind"].map(|name| edge[name].to_string()));
        Files { state, tombstones, deps }
    })
}

proptest! {
    #[test]
    fn data_from_a_legacy_store_is_exported_unchanged(files in store()) {
        let mut catalog = files.read();
        let written = Files::written(&catalog);
        prop_assert_eq!(written.clone().in_order(), files.in_order());
        prop_assert_eq!(fingerprint(&written.read()), fingerprint(&catalog));
        assert_round_trip(&mut catalog);
    }
}

#[test]
fn all_legacy_formats_are_exported_in_the_same_format() {
    let state = r#"{"id":"bd-a1","created_at":[1765400000000,3],"created_by":"ann","title":"A","description":"","priority":1,"type":"task","labels":{"entries":{"backend":[{"replica":"0","counter":1}],"gone":[]},"cc":{"max":{}}},"status":"open","_at":[1765400000500,1],"_by":"ann"}
{"id":"bd-b2","created_at":[1765400000000,0],"created_by":"ann","title":"B","description":"","priority":1,"type":"task","labels":[],"status":"open","_at":[1765400000500,1],"_by":"ann"}"#;
    let notes =
        r#"{"bead_id":"bd-a1","note":{"id":"n1","content":"outside","author":"bob","at":[1765400000200,0]}}"#;
    let deps = r#"{"cc":{"max":{}},"entries":[{"key":{"from":"bd-a1","to":"bd-b2","kind":"blocks"},"dots":[{"replica":"0","counter":1}]}],"stamp":[[1765400003000,0],"bob"]}"#;
    let (catalog, _) = legacy(&[("state.jsonl", state), ("deps.jsonl", deps), ("notes.jsonl", notes)]);
    let written = Files::written(&catalog);
    assert_eq!(written.state[0]["labels"], json!(["backend"]));
    let note = json!([{"id": "n1", "content": "outside", "author": "bob", "at": [1_765_400_000_200_u64, 0]}]);
    assert_eq!(written.state[0]["notes"], note);
    let edge = json!({"from": "bd-a1", "to": "bd-b2", "kind": "blocks", "created_at": [1_765_400_003_000_u64, 0], "created_by": "bob"});
    assert_eq!(written.deps, [edge]);
    assert_eq!(Files::written(&written.read()), written);
}

/// Our own changes are exported as far as the legacy format can express them.
#[test]
fn our_own_changes_are_exported_in_the_legacy_format() {
    let line = r#"{"id":"bd-a1","created_at":[1765400000000,3],"created_by":"ann","title":"A","description":"","priority":1,"type":"task","labels":[],"status":"Todo","_at":[1765400000500,1],"_by":"ann"}"#;
    let (mut catalog, _) = legacy(&[("state.jsonl", line)]);
    let mut clock = clock();
    for op in [
        json!({"op": "claim", "id": "bd-a1"}),
        json!({"op": "note_add", "id": "bd-a1", "content": "ours"}),
        json!({"op": "create", "id": "bd-b2", "title": "Two", "deps": ["depends-on:bd-a1"], "due_at": 1_893_456_000_000_u64}),
        json!({"op": "create", "id": "bd-c3", "title": "Three"}),
        json!({"op": "close", "id": "bd-b2", "reason": "done"}),
        json!({"op": "delete", "id": "bd-c3", "reason": "no"}),
    ] {
        act(&mut catalog, &mut clock, &op);
    }
    let written = Files::written(&catalog);
    let first = &written.state[0];
    assert_eq!((&first["status"], &first["assignee"]), (&json!("in_progress"), &json!("ann")));
    assert!(first["assignee_expires"].is_u64() && first["notes"][0]["content"] == "ours", "{first}");
    let second = &written.state[1];
    assert_eq!((&second["status"], &second["closed_reason"]), (&json!("closed"), &json!("done")));
    assert_eq!((written.deps.len(), &written.tombstones[0]["id"]), (1, &json!("bd-c3")));
    let again = written.read();
    assert_eq!(bead(&again, "bd-b2").due_at.value, bead(&catalog, "bd-b2").due_at.value);
    assert_eq!(again.live_count(), 2);
    assert_eq!(Files::written(&again), written);
}
