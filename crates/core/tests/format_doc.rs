//! Keeps `docs/FORMAT.md` correct: its examples are real files, and its test vectors and its collision are
//! recomputed.

use std::collections::BTreeMap;

use beads_core::canonical::{hex, to_canonical};
use beads_core::snapshot::{DEPS, META, STATE, TOMBSTONES};
use beads_core::{Error, Field, Snapshot, Stamp, State, Timestamp, content_hash, limits};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::support::example::example;
use crate::support::files::{file_mut, unsealed};
use crate::support::{assert_same, ids};

const DOC: &str = include_str!("../../../docs/FORMAT.md");

/// Returns the code blocks of the document by their info string.
fn blocks() -> BTreeMap<&'static str, &'static str> {
    let mut blocks = BTreeMap::new();
    let mut rest = DOC;
    while let Some(start) = rest.find("```") {
        let (info, body) = rest[start + 3..].split_once('\n').unwrap();
        let end = body.find("```").expect("a code block ends");
        assert!(blocks.insert(info.trim(), &body[..end]).is_none(), "two blocks {info}");
        rest = &body[end + 3..];
    }
    blocks
}

fn documented_files() -> Snapshot {
    let blocks = blocks();
    let mut files = State::default().encode();
    for name in [STATE, TOMBSTONES, DEPS, META] {
        *file_mut(&mut files, name) = blocks[format!("jsonl {name}").as_str()].as_bytes().to_vec();
    }
    files
}

#[test]
fn the_example_is_a_real_snapshot() {
    let files = documented_files();
    assert_same("the documented files are those of the example", &files, &example().encode());
    let decoded = files.decode().unwrap();
    assert!(decoded.state == example() && decoded.warnings.is_empty());
}

#[test]
fn the_minimal_line_decodes() {
    let line = blocks()["jsonl a small bead"].as_bytes().to_vec();
    let files = Snapshot { state: line, ..State::default().encode() };
    assert_eq!(unsealed(files).decode().unwrap().state.beads().len(), 1);
}

/// A library formats floating-point numbers. This test detects a version that formats them differently,
/// because it would consider existing files damaged.
#[test]
fn numbers_in_metadata_are_written_as_described() {
    for number in blocks()["text numbers in metadata"].lines() {
        let text = format!(r#"{{"x":{number}}}"#);
        let metadata: beads_core::Metadata = text.parse().unwrap();
        assert_eq!(String::from_utf8(to_canonical(&metadata)).unwrap(), text);
    }
}

#[test]
fn every_field_is_documented() {
    let files = documented_files();
    let mut names: Vec<_> = Field::ALL.iter().map(|field| field.name().to_owned()).collect();
    for file in [&files.state, &files.tombstones, &files.deps, &files.meta] {
        for line in std::str::from_utf8(file).unwrap().lines() {
            names.extend(
                serde_json::from_str::<Map<String, Value>>(line).unwrap().into_iter().map(|(name, _)| name),
            );
        }
    }
    for name in names {
        assert!(DOC.contains(&format!("| `{name}`")), "no row for {name}");
    }
}

#[test]
fn the_test_vectors_are_correct() {
    let state = example();
    let vectors: Vec<_> =
        blocks()["text content_hash"].lines().map(|line| line.split_once(' ').unwrap()).collect();
    assert!(vectors.len() >= 5);
    for (id, expected) in vectors {
        let lineage = state.names().holder(id).unwrap();
        let bead = state.bead(lineage).unwrap();
        assert_eq!(content_hash(state.names().id_of(lineage), lineage, bead), expected, "{id}");
        let hashed = hashed_form(id).to_string();
        assert_eq!(hex(&Sha256::digest(&hashed)), expected, "{id} by the second implementation: {hashed}");
    }
    for id in ["bd-a1", "bd-p1"] {
        let shown = blocks()[format!("json what is hashed of {id}").as_str()];
        assert_eq!(shown, format!("{}\n", hashed_form(id)), "{id}");
    }
}

/// Implements §8.5.1 on the plain JSON of the documented files.
fn hashed_form(id: &str) -> Value {
    let line = documented_line(id);
    let time = |ms: &Value| Timestamp::from_ms(ms.as_u64().unwrap()).unwrap().to_string();
    let or_null = |field: &str| line.get(field).cloned().unwrap_or(Value::Null);
    let top = json!([line["_at"], line["_by"]]);
    let status_mark = line.get("_v").and_then(|versions| versions.get("status")).unwrap_or(&top);
    let is_closed = line["status"] == "closed";
    let mut notes = line.get("notes").and_then(Value::as_array).cloned().unwrap_or_default();
    notes.sort_by_key(|note| note["id"].as_str().unwrap().to_owned());
    for note in &mut notes {
        note.as_object_mut().unwrap().remove("slot");
    }
    let mut hashed = json!({
        "id": id,
        "assignee_expires": line.get("assignee_expires").map(time),
        "closed_at": is_closed.then(|| time(&status_mark[0][0])),
        "closed_by": is_closed.then(|| status_mark[1].clone()),
        "created_at": time(&line["created_at"][0]),
        "description": line.get("description").cloned().unwrap_or(json!("")),
        "labels": line.get("labels").cloned().unwrap_or(json!([])),
        "notes": notes,
    });
    let plain = [
        "title",
        "status",
        "priority",
        "type",
        "assignee",
        "design",
        "acceptance_criteria",
        "created_by",
        "created_on_branch",
        "closed_reason",
        "closed_on_branch",
        "external_ref",
        "source_repo",
    ];
    for field in plain {
        hashed[field] = or_null(field);
    }
    hashed
}

fn documented_line(id: &str) -> Map<String, Value> {
    let files = documented_files();
    let lines =
        [&files.state, &files.tombstones].map(|file| String::from_utf8(file.clone()).unwrap()).concat();
    let objects = lines.lines().map(|line| serde_json::from_str::<Map<String, Value>>(line).unwrap());
    let line = objects.into_iter().find(|line| line["id"] == id).unwrap();
    line.get("bead").map_or(line.clone(), |bead| bead.as_object().unwrap().clone())
}

#[test]
fn the_collision_example_is_correct() {
    let lines: Vec<_> = blocks()["text the suffix of a loser"].lines().collect();
    let [hashed, digest, id] = lines.try_into().unwrap();
    let (born, (ms, counter), by, block): (String, (u64, u32), String, u64) =
        serde_json::from_str(hashed).unwrap();
    assert_eq!((json!([born, [ms, counter], by, block]).to_string().as_str(), block), (hashed, 0));
    assert_eq!(hex(&Sha256::digest(hashed)), digest);
    assert_eq!(id, format!("{born}{}", ids::suffix(&(born.clone(), (ms, counter, by)), 6)));
    assert!(example().names().holder(id).is_some(), "it should be in the example");
}

#[test]
fn the_note_id_is_correct() {
    let lines: Vec<_> = blocks()["text the id of a note"].lines().collect();
    let [hashed, id] = lines.try_into().unwrap();
    assert_eq!(&hex(&Sha256::digest(hashed))[..12], id);
    assert!(documented_line("bd-d1")["notes"][0]["id"] == id, "it should be in the example");
}

#[test]
fn the_documented_limits_match_the_code() {
    let bounds = [
        ("MAX_MS", limits::MAX_MS),
        ("COUNTER_STEP", limits::COUNTER_STEP.into()),
        ("MAX_DRIFT_MS", limits::MAX_DRIFT_MS),
        ("MAX_ID_BYTES", limits::MAX_ID_BYTES as u64),
        ("MAX_DERIVED_ID_BYTES", limits::MAX_DERIVED_ID_BYTES as u64),
        ("MAX_ACTOR_BYTES", limits::MAX_ACTOR_BYTES as u64),
        ("MAX_TITLE_BYTES", limits::MAX_TITLE_BYTES as u64),
        ("MAX_WORD_BYTES", limits::MAX_WORD_BYTES as u64),
        ("MAX_SETTING_KEY_BYTES", limits::MAX_SETTING_KEY_BYTES as u64),
        ("MAX_SETTINGS", limits::MAX_SETTINGS as u64),
        ("MAX_LABEL_BYTES", limits::MAX_LABEL_BYTES as u64),
        ("MAX_LABELS", limits::MAX_LABELS as u64),
        ("MAX_METADATA_DEPTH", limits::MAX_METADATA_DEPTH as u64),
        ("MAX_LINE_BYTES", limits::MAX_LINE_BYTES as u64),
        ("MAX_NOTES_BYTES", limits::MAX_NOTES_BYTES as u64),
        ("MAX_MERGED_LINE_BYTES", limits::MAX_MERGED_LINE_BYTES as u64),
        ("MAX_DECODED_LINE_BYTES", limits::MAX_DECODED_LINE_BYTES as u64),
        ("MAX_MERGED_FILE_BYTES", limits::MAX_MERGED_FILE_BYTES as u64),
        ("MAX_FILE_BYTES", limits::MAX_FILE_BYTES as u64),
        ("MAX_OBJECT_BYTES", limits::MAX_OBJECT_BYTES as u64),
        ("MAX_PREFIX_BYTES", limits::MAX_PREFIX_BYTES as u64),
        ("MAX_ESTIMATE_MINUTES", limits::MAX_ESTIMATE_MINUTES.into()),
    ];
    for (name, bound) in bounds {
        assert!(DOC.contains(&format!("| `{name}` | {bound} |")), "{name} is {bound}");
    }
    assert!(matches!(Stamp::decode(limits::MAX_MS, 0), Err(Error::Invalid { .. })));
}
