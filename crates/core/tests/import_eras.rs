//! Files in the format of each era of the Go `bd`, generated from the fields of that era. Importing and
//! exporting preserves everything that the era can express, and a comparison with the store finds no
//! difference.

use beads_core::Catalog;
use beads_core::import::Compare;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::support::import::{assert_round_trip, exported, import};

/// A release that changed the set of fields: the fields that it added and removed, and those that it omits if
/// they are zero.
struct Era {
    name: &'static str,
    added: &'static [&'static str],
    removed: &'static [&'static str],
    omits: &'static [&'static str],
    statuses: &'static [&'static str],
    types: &'static [&'static str],
}

const STATUSES: &[&str] = &["open", "in_progress", "blocked", "closed"];
const TYPES: &[&str] = &["bug", "feature", "task", "epic", "chore"];
const LATER_STATUSES: &[&str] = &["open", "in_progress", "blocked", "closed", "deferred", "pinned", "hooked"];
const LATER_TYPES: &[&str] =
    &["bug", "task", "message", "merge-request", "molecule", "gate", "agent", "convoy", "event", "slot"];
const LAST_TYPES: &[&str] = &["bug", "task", "decision", "spike", "story", "milestone", "gate"];
const TERSE: &[&str] = &["description", "status", "issue_type"];

/// In order. Each era has the fields of the eras before it, except the removed ones.
const ERAS: &[Era] = &[
    era(
        "0.9.1",
        &["design", "acceptance_criteria", "notes", "assignee", "estimated_minutes", "dependencies"],
        STATUSES,
        TYPES,
    ),
    era(
        "0.9.11",
        &["external_ref", "compaction_level", "original_size", "labels", "comments"],
        STATUSES,
        TYPES,
    ),
    era("0.21.8", &["content_hash", "source_repo"], STATUSES, TYPES),
    Era { removed: &["content_hash", "source_repo"], ..era("0.26.1", &["close_reason"], STATUSES, TYPES) },
    era("0.30.0", &["tombstone", "original_type"], STATUSES, TYPES),
    Era {
        omits: &["description", "status", "issue_type", "priority"],
        ..era("0.30.7", &["sender", "ephemeral", "pinned", "is_template"], LATER_STATUSES, TYPES)
    },
    Era {
        omits: TERSE,
        ..era("0.38.0", &["created_by", "creator", "await_type", "timeout"], LATER_STATUSES, LATER_TYPES)
    },
    Era {
        omits: TERSE,
        ..era(
            "0.44.0",
            &["mol_type", "event_kind", "due_at", "defer_until", "holder"],
            LATER_STATUSES,
            LATER_TYPES,
        )
    },
    Era {
        omits: TERSE,
        ..era("0.49.4", &["owner", "work_type", "metadata", "spec_id"], LATER_STATUSES, LATER_TYPES)
    },
    Era {
        omits: TERSE,
        removed: &["tombstone", "original_type", "creator", "holder"],
        ..era("0.62.0", &["no_history"], LATER_STATUSES, LATER_TYPES)
    },
    Era {
        omits: TERSE,
        ..era("1.0.5", &["started_at", "_type", "dependency_count"], LATER_STATUSES, LAST_TYPES)
    },
];

const fn era(
    name: &'static str,
    added: &'static [&'static str],
    statuses: &'static [&'static str],
    types: &'static [&'static str],
) -> Era {
    Era { name, added, removed: &[], omits: &[], statuses, types }
}

/// Returns the fields of an era.
fn fields(index: usize) -> Vec<&'static str> {
    let mut fields = Vec::new();
    for era in &ERAS[..=index] {
        fields.extend(era.added);
        fields.retain(|field| !era.removed.contains(field));
    }
    fields
}

fn time(seconds: u64) -> String {
    format!("2025-12-{:02}T10:{:02}:{:02}.123456-08:00", 1 + seconds % 28, seconds % 60, seconds % 59)
}

/// Returns a line of an era. `dice` determines its contents.
fn line(index: usize, number: usize, count: usize, dice: &[u64]) -> Value {
    let (era, fields) = (&ERAS[index], fields(index));
    let die = |at: usize| dice[at % dice.len()];
    let pick = |words: &[&str], at: usize| words[usize::try_from(die(at)).unwrap() % words.len()].to_owned();
    let mut line = json!({
        "id": format!("go-{number}"), "title": format!("Title {number}"), "description": "",
        "status": pick(era.statuses, 0), "priority": die(1) % 5, "issue_type": pick(era.types, 2),
        "created_at": time(number as u64), "updated_at": "2025-12-30T00:00:00Z",
    });
    if die(3) % 2 == 0 {
        line["description"] = json!("some text");
    }
    for (at, field) in fields.iter().enumerate() {
        if die(at + 4) % 3 == 0 {
            continue;
        }
        line[*field] = match *field {
            "dependencies" => {
                let to = format!("go-{}", (number + 1) % count);
                if to == line["id"] {
                    continue;
                }
                json!([{"issue_id": line["id"], "depends_on_id": to, "type": "discovered-from", "created_at": time(7), "created_by": "ann"}])
            }
            "comments" => {
                json!([{"id": 1, "issue_id": line["id"], "author": "ann", "text": "hello", "created_at": time(8)}])
            }
            "labels" => json!(["a", "b c"]),
            "estimated_minutes" | "original_size" | "compaction_level" | "timeout" | "dependency_count" => {
                json!(die(at) % 90)
            }
            "ephemeral" | "pinned" | "is_template" | "no_history" => json!(true),
            "due_at" | "defer_until" | "started_at" => json!(time(9)),
            "metadata" => json!({"k": [1, 2.5, {"x": null}]}),
            "close_reason" if line["status"] != "closed" => continue,
            "tombstone" => continue,
            "_type" => json!("issue"),
            _ => json!(format!("{field} {number}")),
        };
    }
    if line["status"] == "closed" {
        line["closed_at"] = json!("2025-12-29T00:00:00Z");
    }
    if fields.contains(&"tombstone") && die(5) % 7 == 0 {
        line["status"] = json!("tombstone");
        line["deleted_at"] = json!("2025-12-31T00:00:00Z");
        line["deleted_by"] = json!("ann");
    }
    omit(&mut line, era.omits);
    line
}

/// Omits zeros, like `omitempty` in Go.
fn omit(line: &mut Value, names: &[&str]) {
    let zero = |value: &Value| *value == json!("") || *value == json!(0);
    let map: &mut Map<String, Value> = line.as_object_mut().unwrap();
    map.retain(|name, value| !(names.contains(&name.as_str()) && zero(value)));
}

/// Adds the default values that an era omits, so that both sides can be compared.
fn complete(line: &Value) -> Value {
    let mut line = line.clone();
    for (name, default) in [("priority", json!(0)), ("status", json!("open")), ("issue_type", json!("task"))]
    {
        if line.get(name).is_none() {
            line[name] = default;
        }
    }
    line
}

fn same_time(a: &Value, b: &Value) -> bool {
    let ms = |value: &Value| Some(value.as_str()?.parse::<beads_core::Timestamp>().ok()?.ms());
    ms(a).is_some() && ms(a) == ms(b)
}

/// Asserts that every field of the line is exported: times to the millisecond, and all comments and edges.
fn assert_exported(era: &str, line: &Value, exported: &Value) {
    for (name, value) in complete(line).as_object().unwrap() {
        let ours = &exported[name];
        let same = match name.as_str() {
            "_type" => true,
            "updated_at" => true, // later if a tombstone followed
            "description" if value == "" => ours.is_null(),
            "comments" | "dependencies" => value.as_array().map(Vec::len) == ours.as_array().map(Vec::len),
            name if name.ends_with("_at") || name == "defer_until" => same_time(value, ours),
            _ => value == ours,
        };
        assert!(same, "{era}: {name} of {line} is {ours}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_era_survives_an_import_and_export(
        index in 0..ERAS.len(),
        dice in proptest::collection::vec(proptest::collection::vec(0..1_000_u64, 31), 1..6),
    ) {
        let lines: Vec<Value> =
            dice.iter().enumerate().map(|(number, dice)| line(index, number, dice.len().min(4), dice)).collect();
        let text = lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
        let mut catalog = Catalog::default();
        let summary = import(&mut catalog, &text);
        prop_assert!(summary.skipped.is_empty() && summary.notices.is_empty(), "{:?}", summary);
        prop_assert_eq!(summary.created + summary.tombstones, lines.len());
        let lines_out: Vec<Value> = exported(&catalog).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for (line, line_out) in lines.iter().zip(&lines_out) {
            assert_exported(ERAS[index].name, line, line_out);
        }
        let mut compare = Compare::default();
        for (number, line) in text.lines().enumerate() {
            compare.line("issues.jsonl", number + 1, line.as_bytes());
        }
        let comparison = compare.finish(catalog.state());
        prop_assert!(comparison.is_equal(), "{:?}", comparison);
        prop_assert_eq!(comparison.equal, lines.len());
        assert_round_trip(&mut catalog);
    }
}
