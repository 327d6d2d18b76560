//! The public schema of a bead (§4.2), checked against any bead that a command prints.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const STRINGS: &[&str] = &[
    "id",
    "title",
    "description",
    "status",
    "type",
    "issue_type",
    "created_at",
    "created_by",
    "updated_at",
    "updated_by",
    "content_hash",
];

const STRINGS_OR_NULL: &[&str] = &[
    "assignee",
    "assignee_expires",
    "closed_at",
    "closed_by",
    "closed_reason",
    "close_reason",
    "external_ref",
    "source_repo",
    "design",
    "acceptance_criteria",
    "created_on_branch",
    "closed_on_branch",
];

const ARRAYS: &[&str] = &["labels", "notes", "dependencies", "dependents"];

/// Fields that are not in the schema of §4.2 and may be null.
const EXTRA_OR_NULL: &[&str] = &["assignee_at", "due_at", "defer_until", "estimated_minutes", "parent"];

pub fn check_bead(bead: &Value) {
    let fields = bead.as_object().unwrap_or_else(|| panic!("not a bead: {bead}"));
    for name in STRINGS {
        assert!(bead[name].is_string(), "{name} in {bead}");
    }
    for name in STRINGS_OR_NULL {
        assert!(fields.contains_key(*name), "no {name} in {bead}");
        assert!(bead[name].is_string() || bead[name].is_null(), "{name} in {bead}");
        assert_ne!(bead[name], "", "{name} is null when it is empty");
    }
    for name in ARRAYS {
        assert!(bead[name].is_array(), "{name} in {bead}");
    }
    for (name, value) in fields {
        let may_be_null = STRINGS_OR_NULL.contains(&name.as_str()) || EXTRA_OR_NULL.contains(&name.as_str());
        assert!(!value.is_null() || may_be_null, "{name} is null in {bead}");
    }
    assert!((0..=4).contains(&bead["priority"].as_i64().unwrap()));
    assert!(["open", "in_progress", "closed"].contains(&bead["status"].as_str().unwrap()));
    assert_eq!(bead["type"], bead["issue_type"]);
    assert_eq!(bead["closed_reason"], bead["close_reason"]);
    for name in ["created_at", "updated_at", "closed_at", "assignee_expires", "due_at", "defer_until"] {
        if let Some(time) = bead[name].as_str() {
            check_time(time);
        }
    }
    if !bead["assignee_at"].is_null() {
        check_stamp(&bead["assignee_at"]);
    }
    assert_eq!(bead["closed_at"].is_null(), bead["status"] != "closed");
    bead["notes"].as_array().unwrap().iter().for_each(check_note);
    for link in bead["dependencies"].as_array().unwrap().iter().chain(bead["dependents"].as_array().unwrap())
    {
        check_link(link);
    }
    assert_eq!(bead["content_hash"], content_hash(bead), "{bead}");
}

pub fn check_note(note: &Value) {
    for name in ["id", "content", "author"] {
        assert!(note[name].is_string(), "{name} in {note}");
    }
    check_stamp(&note["at"]);
}

fn check_link(link: &Value) {
    for name in ["id", "title", "status", "issue_type", "dependency_type", "kind", "created_by"] {
        assert!(link[name].is_string(), "{name} in {link}");
    }
    check_time(link["created_at"].as_str().unwrap());
}

/// A write stamp: `[ms, counter]`.
pub fn check_stamp(stamp: &Value) {
    let parts = stamp.as_array().unwrap_or_else(|| panic!("not a stamp: {stamp}"));
    assert!(parts.len() == 2 && parts.iter().all(Value::is_u64), "{stamp}");
    assert!(parts[0].as_u64().unwrap() > 1_700_000_000_000, "{stamp}");
}

/// RFC 3339 in UTC with exactly three digits after the point.
pub fn check_time(time: &str) {
    let shape: String = time.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    assert_eq!(shape, "0000-00-00T00:00:00.000Z", "{time}");
}

/// Computes the content hash (§8.5.1) of a printed bead. serde_json keeps object keys sorted and writes no
/// spaces.
fn content_hash(bead: &Value) -> String {
    let mut notes: Vec<_> = bead["notes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|note| {
            json!({
                "id": note["id"], "content": note["content"], "author": note["author"], "at": note["at"],
            })
        })
        .collect();
    notes.sort_by_key(|note| note["id"].as_str().unwrap().to_owned());
    let mut public = json!({"notes": notes});
    for name in [
        "id",
        "title",
        "description",
        "status",
        "priority",
        "type",
        "labels",
        "assignee",
        "assignee_expires",
        "design",
        "acceptance_criteria",
        "created_at",
        "created_by",
        "created_on_branch",
        "closed_at",
        "closed_by",
        "closed_reason",
        "closed_on_branch",
        "external_ref",
        "source_repo",
    ] {
        public[name] = bead[name].clone();
    }
    Sha256::digest(public.to_string()).iter().map(|byte| format!("{byte:02x}")).collect()
}
