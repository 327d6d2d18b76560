//! Compares a file with the store, field by field. It compares the JSON of the file with the JSON of an
//! export, so that it also detects mistakes of the import.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Map, Value};

use super::object::{self, Object};
use super::summary::Notice;
use super::time::{self, Time};
use super::{content, id_in, is_deletion};
use crate::State;
use crate::export::export_jsonl;

/// The result of comparing a file with the store.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Number of non-blank lines in the file.
    pub lines: usize,
    /// Number of beads that are the same in the file and in the store.
    pub equal: usize,
    /// Fields that differ, and beads that are missing in the store.
    pub differences: Vec<Difference>,
    /// Beads that are only in the store. They do not count as differences.
    pub only_here: Vec<String>,
    /// Lines that could not be compared.
    pub skipped: Vec<Notice>,
}

impl Comparison {
    /// Returns whether the store has everything that is in the file.
    pub fn is_equal(&self) -> bool {
        self.differences.is_empty() && self.skipped.is_empty()
    }
}

/// A field that differs, or a bead that is missing in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Difference {
    /// Line in the file, counted from 1.
    pub line: usize,
    /// Id of the bead, or `memory:KEY`.
    pub id: String,
    /// Name of the field; null if the store does not have the bead.
    pub field: Option<String>,
    /// Value in the file.
    pub file: Value,
    /// Value in the store.
    pub store: Value,
}

/// Collects the lines of a file and compares them with the store.
#[derive(Debug, Default)]
pub struct Compare {
    lines: BTreeMap<String, (usize, Map<String, Value>)>,
    /// Lines that only record a deletion.
    deletions: BTreeMap<String, usize>,
    result: Comparison,
}

impl Compare {
    /// Adds a line of `issues.jsonl`. If a bead has several lines, the newest counts.
    pub fn line(&mut self, file: &str, number: usize, bytes: &[u8]) {
        let Some(bytes) = content(number, bytes) else { return };
        self.result.lines += 1;
        let mut skip = |reason: String| {
            self.result.skipped.push(Notice { file: file.to_owned(), line: number, id: None, reason });
        };
        let line = match object::read::<Object>(bytes) {
            Ok(object) => object.others,
            Err(reason) => return skip(reason),
        };
        if line.contains_key("_schema") {
            return;
        }
        let Some(id) = name_of(&line) else { return skip("it has no id".to_owned()) };
        if is_deletion(&line) {
            self.deletions.insert(id, number);
            return;
        }
        let updated = |line: &Map<String, Value>| line.get("updated_at").and_then(ms);
        match self.lines.get(&id) {
            Some((_, known)) if updated(known) > updated(&line) => {}
            _ => {
                self.lines.insert(id, (number, line));
            }
        }
    }

    /// Records a line that could not be read.
    pub fn refuse(&mut self, file: &str, number: usize, reason: &str) {
        self.result.lines += 1;
        let reason = reason.to_owned();
        self.result.skipped.push(Notice { file: file.to_owned(), line: number, id: None, reason });
    }

    /// Compares the collected lines with the store.
    pub fn finish(mut self, state: &State) -> Comparison {
        let exported = export_jsonl(state);
        let lines = exported.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let mut here: BTreeMap<String, Map<String, Value>> = lines
            .filter_map(|line| object::read::<Object>(line).ok())
            .filter_map(|object| Some((name_of(&object.others)?, object.others)))
            .collect();
        // If the file also has a line for the bead itself, that line is compared instead.
        let alone = self.deletions.into_iter().filter(|(id, _)| !self.lines.contains_key(id));
        for (id, line) in alone {
            let store = here.remove(&id).and_then(|store| store.get("status").cloned());
            let (field, file) = (Some("status".to_owned()), Value::from("tombstone"));
            match store {
                Some(status) if status == file => self.result.equal += 1,
                store => {
                    let store = store.unwrap_or_default();
                    self.result.differences.push(Difference { line, id, field, file, store });
                }
            }
        }
        for (id, (line, file)) in self.lines {
            let differences = match here.remove(&id) {
                Some(store) => differences(&file, &store),
                None => vec![(None, Value::Object(file), Value::Null)],
            };
            self.result.equal += usize::from(differences.is_empty());
            self.result.differences.extend(differences.into_iter().map(|(field, file, store)| Difference {
                line,
                id: id.clone(),
                field,
                file,
                store,
            }));
        }
        let deleted = |line: &Map<String, Value>| line.get("status").is_some_and(|word| word == "tombstone");
        self.result.only_here =
            here.into_iter().filter(|(_, line)| !deleted(line)).map(|(id, _)| id).collect();
        self.result
    }
}

/// Returns the id of the bead on a line, or the key of a memory.
fn name_of(line: &Map<String, Value>) -> Option<String> {
    match line.get("_type").and_then(Value::as_str) {
        Some("memory") => Some(format!("memory:{}", line.get("key")?.as_str()?)),
        _ => id_in(line).map(|id| id.to_string()),
    }
}

type Differing = (Option<String>, Value, Value);

fn differences(file: &Map<String, Value>, store: &Map<String, Value>) -> Vec<Differing> {
    let names: BTreeSet<&String> = file.keys().chain(store.keys()).collect();
    let deleted = |line: &Map<String, Value>| line.get("status").is_some_and(|word| word == "tombstone");
    if deleted(file) && deleted(store) {
        return Vec::new(); // the content of deleted beads does not matter
    }
    let compared = names.into_iter().filter(|name| !["_type", "_bd"].contains(&name.as_str()));
    let differing = compared.filter_map(|name| {
        let (theirs, ours) = (file.get(name), store.get(name));
        let same = match name.as_str() {
            // Other trackers may not record the creator.
            "created_by" => theirs.is_none() || theirs == ours,
            // A later change in the store is not a difference.
            "updated_at" => theirs.and_then(ms) <= ours.and_then(ms),
            _ => normalized(name, theirs) == normalized(name, ours),
        };
        (!same).then(|| {
            let value = |value: Option<&Value>| value.cloned().unwrap_or(Value::Null);
            (Some(name.clone()), value(theirs), value(ours))
        })
    });
    differing.collect()
}

fn ms(value: &Value) -> Option<u64> {
    match time::read(value) {
        Time::At(stamp) => Some(stamp.ms()),
        Time::Never | Time::Unreadable => None,
    }
}

/// Returns a value in a normal form in which equivalent values are equal: empty values are absent, times are
/// milliseconds, and unordered lists are sorted.
fn normalized(name: &str, value: Option<&Value>) -> Value {
    let Some(value) = value else { return default_of(name) };
    let list = |item: &dyn Fn(&Value) -> Value| {
        let mut items: Vec<Value> = value.as_array().into_iter().flatten().map(item).collect();
        items.sort_by_cached_key(Value::to_string);
        items.dedup();
        items
    };
    let normalized = match name {
        "labels" => Value::from(list(&Value::clone)),
        "dependencies" => {
            Value::from(list(&|edge| without_fields(edge, &["issue_id", "created_at", "created_by"])))
        }
        "comments" => Value::from(list(&|comment| without_fields(comment, &["id", "issue_id"]))),
        name if name.ends_with("_at") || name == "defer_until" => {
            ms(value).map_or_else(|| value.clone(), Value::from)
        }
        _ => value.clone(),
    };
    let empty = match &normalized {
        Value::Null => true,
        Value::String(text) => text.is_empty() || text.starts_with("0001-01-01T"),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    };
    if empty { default_of(name) } else { normalized }
}

/// Returns the meaning of an absent field.
fn default_of(name: &str) -> Value {
    match name {
        "status" => Value::from("open"),
        "issue_type" => Value::from("task"),
        // Only the Go bd 0.30.7 to 0.33.1 omits it, and only if it is 0.
        "priority" => Value::from(0),
        _ => Value::Null,
    }
}

fn without_fields(value: &Value, names: &[&str]) -> Value {
    let Value::Object(map) = value else { return value.clone() };
    let rest = map.iter().filter(|(name, value)| !names.contains(&name.as_str()) && !value.is_null());
    rest.map(|(name, value)| {
        let time = name.ends_with("_at").then(|| ms(value)).flatten();
        (name.clone(), time.map_or_else(|| value.clone(), Value::from))
    })
    .collect()
}
