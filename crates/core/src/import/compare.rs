//! A file and the store, compared field by field. The lines are read as JSON and held against what an export of the store
//! says, so a mistake of the import shows.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Map, Value};

use super::object::{self, Object};
use super::summary::Notice;
use super::time::{self, Time};
use super::{content, id_in};
use crate::State;
use crate::export::export_jsonl;

/// How a file and the store differ.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Lines of the file that are not blank.
    pub lines: usize,
    /// Beads of the file that the store has exactly so.
    pub equal: usize,
    /// Fields that differ, and beads of the file that the store does not have.
    pub differences: Vec<Difference>,
    /// Beads of the store that the file does not have. They may come from elsewhere and count as no difference.
    pub only_here: Vec<String>,
    /// Lines that cannot be compared.
    pub skipped: Vec<Notice>,
}

impl Comparison {
    /// Whether everything the file says is so in the store.
    pub fn is_equal(&self) -> bool {
        self.differences.is_empty() && self.skipped.is_empty()
    }
}

/// One field of one bead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Difference {
    pub line: usize,
    pub id: String,
    /// `None` when the store does not have the bead at all.
    pub field: Option<String>,
    pub file: Value,
    pub store: Value,
}

/// Collects the lines of a file.
#[derive(Debug, Default)]
pub struct Compare {
    lines: BTreeMap<String, (usize, Map<String, Value>)>,
    result: Comparison,
}

impl Compare {
    /// Takes a line of `issues.jsonl`. Of several lines about a bead the newest counts.
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
        let updated = |line: &Map<String, Value>| line.get("updated_at").and_then(ms);
        match self.lines.get(&id) {
            Some((_, known)) if updated(known) > updated(&line) => {}
            _ => {
                self.lines.insert(id, (number, line));
            }
        }
    }

    /// Reports a line that could not even be read.
    pub fn refuse(&mut self, file: &str, number: usize, reason: &str) {
        self.result.lines += 1;
        let reason = reason.to_owned();
        self.result.skipped.push(Notice { file: file.to_owned(), line: number, id: None, reason });
    }

    pub fn finish(mut self, state: &State) -> Comparison {
        let exported = export_jsonl(state);
        let lines = exported.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let mut here: BTreeMap<String, Map<String, Value>> = lines
            .filter_map(|line| object::read::<Object>(line).ok())
            .filter_map(|object| Some((name_of(&object.others)?, object.others)))
            .collect();
        for (id, (line, file)) in std::mem::take(&mut self.lines) {
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

/// What a line is about: the id of a bead, or the key of a memory.
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
        return Vec::new(); // a deleted bead says nothing but that
    }
    let compared = names.into_iter().filter(|name| !["_type", "_bd"].contains(&name.as_str()));
    let differing = compared.filter_map(|name| {
        let (theirs, ours) = (file.get(name), store.get(name));
        let same = match name.as_str() {
            // Our own export says it exactly; other trackers do not say who.
            "created_by" => theirs.is_none() || theirs == ours,
            // What was written here later is newer, not different.
            "updated_at" => theirs.and_then(ms) <= ours.and_then(ms),
            _ => normal(name, theirs) == normal(name, ours),
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

/// A value in the one form in which equal meanings are equal: what is empty is absent, times are milliseconds, and lists that
/// have no order are sorted.
fn normal(name: &str, value: Option<&Value>) -> Value {
    let Some(value) = value else { return default_of(name) };
    let list = |item: &dyn Fn(&Value) -> Value| {
        let mut items: Vec<Value> = value.as_array().into_iter().flatten().map(item).collect();
        items.sort_by_cached_key(Value::to_string);
        items.dedup();
        items
    };
    let normal = match name {
        "labels" => Value::from(list(&Value::clone)),
        "dependencies" => Value::from(list(&|edge| without(edge, &["issue_id", "created_at", "created_by"]))),
        "comments" => Value::from(list(&|comment| without(comment, &["id", "issue_id"]))),
        name if name.ends_with("_at") || name == "defer_until" => {
            ms(value).map_or_else(|| value.clone(), Value::from)
        }
        _ => value.clone(),
    };
    let empty = match &normal {
        Value::Null => true,
        Value::String(text) => text.is_empty() || text.starts_with("0001-01-01T"),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    };
    if empty { default_of(name) } else { normal }
}

/// What a field means that is not there.
fn default_of(name: &str) -> Value {
    match name {
        "status" => Value::from("open"),
        "issue_type" => Value::from("task"),
        // Only Go's bd 0.30.7 to 0.33.1 leave it out, and only when it is 0.
        "priority" => Value::from(0),
        _ => Value::Null,
    }
}

fn without(value: &Value, names: &[&str]) -> Value {
    let Value::Object(map) = value else { return value.clone() };
    let rest = map.iter().filter(|(name, value)| !names.contains(&name.as_str()) && !value.is_null());
    rest.map(|(name, value)| {
        let time = name.ends_with("_at").then(|| ms(value)).flatten();
        (name.clone(), time.map_or_else(|| value.clone(), Value::from))
    })
    .collect()
}
