//! An oracle that logs raw writes and knows nothing about joins. It reads converged files as plain JSON.

use std::collections::{BTreeMap, BTreeSet};

use beads_core::{Claim, Delta, Edge, EdgeKey, Endpoint, Field, Lineage, Mark, Note, Patch, Snapshot};
use serde_json::{Map, Value, json};

use super::ids::{self, Birth, RawMark};

/// One write of a register: its mark (a claim has two) and the JSON of its group.
type Write = (Vec<RawMark>, String);
type RawEdge = (RawEnd, RawEnd, &'static str);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum RawEnd {
    Bead(Birth),
    Bare(String),
}

#[derive(Default)]
pub struct Oracle {
    births: BTreeSet<Birth>,
    writes: BTreeMap<(Birth, &'static str), Vec<Write>>,
    branches: BTreeMap<Birth, String>,
    notes: BTreeMap<Birth, BTreeMap<String, (RawMark, String)>>,
    deletions: BTreeMap<Birth, Vec<(RawMark, String)>>,
    edges: BTreeMap<RawEdge, Vec<(RawMark, RawMark, bool)>>,
    prefixes: Vec<(RawMark, String)>,
}

const GROUPS: [(&str, &[&str]); 15] = [
    ("title", &["title"]),
    ("description", &["description"]),
    ("priority", &["priority"]),
    ("type", &["type"]),
    ("labels", &["labels"]),
    ("design", &["design"]),
    ("acceptance_criteria", &["acceptance_criteria"]),
    ("external_ref", &["external_ref"]),
    ("source_repo", &["source_repo"]),
    ("estimated_minutes", &["estimated_minutes"]),
    ("due_at", &["due_at"]),
    ("defer_until", &["defer_until"]),
    ("metadata", &["metadata"]),
    ("status", &["closed_on_branch", "closed_reason", "status"]),
    ("assignee", &["assignee", "assignee_expires"]),
];

impl Oracle {
    pub fn log(&mut self, delta: &Delta) {
        for (lineage, patch) in &delta.beads {
            self.log_patch(&birth(lineage), patch);
        }
        for (key, Edge { created, changed, deleted }) in &delta.edges {
            let writes = self.edges.entry(raw_edge(key)).or_default();
            writes.push((raw(created), raw(changed), *deleted));
        }
        if let Some(chosen) = &delta.prefix {
            self.prefixes.push((raw(chosen.mark.as_ref().unwrap()), chosen.prefix.to_string()));
        }
    }

    fn log_patch(&mut self, birth: &Birth, patch: &Patch) {
        macro_rules! singles {
            ($($name:ident: $field:ident),*) => {$(if let Some(register) = &patch.$field {
                let value = serde_json::to_value(&register.value).unwrap();
                let write = (vec![raw(&register.mark)], group_json([(Field::$name.name(), value)]));
                self.writes.entry((birth.clone(), Field::$name.name())).or_default().push(write);
            })*};
        }
        singles!(Title: title, Description: description, Priority: priority, Labels: labels);
        singles!(Design: design, AcceptanceCriteria: acceptance_criteria, ExternalRef: external_ref);
        singles!(SourceRepo: source_repo, EstimatedMinutes: estimated_minutes, DueAt: due_at);
        singles!(DeferUntil: defer_until, Metadata: metadata);
        if patch.title.is_some() && patch.description.is_some() {
            self.births.insert(birth.clone());
        }
        if let Some(register) = &patch.kind {
            let group = &register.value;
            let json = group_json([("type", json!(group.kind)), ("type_word", json!(group.word))]);
            let write = (vec![raw(&register.mark)], json);
            self.writes.entry((birth.clone(), "type")).or_default().push(write);
        }
        if let Some(register) = &patch.status {
            let group = &register.value;
            let json = group_json([
                ("closed_on_branch", json!(group.closed_on_branch)),
                ("closed_reason", json!(group.closed_reason)),
                ("status", json!(group.status)),
                ("status_word", json!(group.word)),
            ]);
            let write = (vec![raw(&register.mark)], json);
            self.writes.entry((birth.clone(), "status")).or_default().push(write);
        }
        if let Some(Claim { mark, assignee, expires_mark, expires }) = &patch.claim {
            let json = group_json([("assignee", json!(assignee)), ("assignee_expires", json!(expires))]);
            let write = (vec![raw(mark), raw(expires_mark)], json);
            self.writes.entry((birth.clone(), "assignee")).or_default().push(write);
        }
        for note in &patch.notes {
            self.log_note(birth, note);
        }
        if let Some(deletion) = &patch.deletion {
            let write = (raw(&deletion.mark), deletion.reason.to_string());
            self.deletions.entry(birth.clone()).or_default().push(write);
        }
        let branch = self.branches.entry(birth.clone()).or_default();
        *branch = branch.clone().max(patch.created_on_branch.to_string());
    }

    fn log_note(&mut self, birth: &Birth, note: &Note) {
        let write = (raw(&note.mark()), serde_json::to_string(note).unwrap());
        let notes = self.notes.entry(birth.clone()).or_default();
        let kept = notes.entry(note.id.to_string()).or_insert_with(|| write.clone());
        *kept = kept.clone().max(write);
    }

    /// Returns whether a bead is live. Writes and notes revive a bead, but renewals do not: only the first
    /// mark of a claim counts.
    fn is_live(&self, birth: &Birth) -> bool {
        let Some(deleted) = self.deletions.get(birth).and_then(|all| all.iter().max()) else { return true };
        let writes = self.writes.iter().filter(|((of, _), _)| of == birth).flat_map(|(_, writes)| writes);
        let notes = self.notes.get(birth).into_iter().flat_map(|notes| notes.values());
        writes.map(|(marks, _)| &marks[0]).chain(notes.map(|(mark, _)| mark)).any(|mark| *mark > deleted.0)
    }

    /// Returns whether two different values have the greatest mark of some register.
    pub fn has_ties(&self) -> bool {
        self.writes.values().any(|writes| {
            let greatest = writes.iter().max().unwrap();
            writes.iter().any(|write| write.0 == greatest.0 && write.1 != greatest.1)
        })
    }

    /// Returns whether some bead is live although it was deleted.
    pub fn has_overruled_deletion(&self) -> bool {
        self.deletions.keys().any(|birth| self.is_live(birth))
    }

    /// Compares converged files with the log.
    pub fn check(&self, files: &Snapshot) {
        let names = ids::derive(&self.births);
        let (live, tombstones) = (lines(&files.state), lines(&files.tombstones));
        let mut found = BTreeMap::new();
        for line in &live {
            found.insert(text(line, "id"), (true, line.clone()));
        }
        for line in tombstones.iter().filter(|line| line.contains_key("bead")) {
            let bead = line["bead"].as_object().unwrap().clone();
            assert!(
                found.insert(text(line, "id"), (false, bead)).is_none(),
                "live and deleted with the same id"
            );
        }
        assert_eq!(found.len(), names.of.len(), "lost or extra beads");
        for (birth, id) in &names.of {
            let (is_live, line) = found.get(id).unwrap_or_else(|| panic!("{id} is missing"));
            assert_eq!(line.get("born").map_or(id.as_str(), |born| born.as_str().unwrap()), birth.0, "born");
            assert_eq!((stamp(&line["created_at"]), text(line, "created_by")), raw_parts(&birth.1), "birth");
            assert_eq!(*is_live, self.is_live(birth), "{id} is live");
            self.check_bead(birth, line);
        }
        self.check_tombstones(&names, &tombstones);
        self.check_edges(&names, &lines(&files.deps));
        self.check_prefix(&files.meta);
    }

    fn check_bead(&self, birth: &Birth, line: &Map<String, Value>) {
        for (register, fields) in GROUPS {
            let expected = self.writes[&(birth.clone(), register)].iter().max().unwrap();
            let marks =
                if register == "assignee" { vec!["assignee", "assignee_expires"] } else { vec![register] };
            let marks = marks.into_iter().map(|name| register_mark(line, name)).collect();
            let shown = fields.iter().filter_map(|name| Some((*name, line.get(*name)?.clone())));
            assert_eq!((marks, group_json(shown)), *expected, "{register} of {birth:?}");
        }
        let notes = line.get("notes").and_then(Value::as_array).into_iter().flatten();
        let found: BTreeSet<_> = notes.map(ToString::to_string).collect();
        let expected =
            self.notes.get(birth).into_iter().flatten().map(|(_, (_, note))| note.clone()).collect();
        assert_eq!(found, expected, "notes of {birth:?}");
        let branch = line.get("created_on_branch").map_or("", |branch| branch.as_str().unwrap());
        assert_eq!(branch, self.branches[birth], "created_on_branch");
    }

    fn check_tombstones(&self, names: &ids::Ids, tombstones: &[Map<String, Value>]) {
        let by_id: BTreeMap<_, _> = tombstones.iter().map(|line| (text(line, "id"), line)).collect();
        let mut expected: BTreeSet<_> = names.remapped.keys().cloned().collect();
        for (birth, id) in names.of.iter().filter(|(birth, _)| !self.is_live(birth)) {
            let line = by_id[id];
            let reason = line.get("reason").map_or("", |reason| reason.as_str().unwrap()).to_owned();
            let (ms, counter) = stamp(&line["deleted_at"]);
            let found = ((ms, counter, text(line, "deleted_by")), reason);
            assert_eq!(found, *self.deletions[birth].iter().max().unwrap(), "deletion of {id}");
            expected.insert(id.clone());
        }
        assert_eq!(by_id.keys().cloned().collect::<BTreeSet<_>>(), expected, "tombstones");
        for (id, line) in by_id {
            let remapped: Vec<String> = line
                .get("remapped")
                .map(|list| serde_json::from_value(list.clone()).unwrap())
                .unwrap_or_default();
            assert_eq!(
                remapped,
                names.remapped.get(&id).cloned().unwrap_or_default(),
                "beads that lost {id}"
            );
        }
    }

    /// Checks that all edges between beads are present. An edge with a bare end is present if no bead has
    /// that id.
    fn check_edges(&self, names: &ids::Ids, lines: &[Map<String, Value>]) {
        let held: BTreeSet<_> = names.of.values().collect();
        let mut expected = BTreeMap::new();
        for ((from, to, kind), writes) in &self.edges {
            let name = |end: &RawEnd| match end {
                RawEnd::Bead(birth) => Some(names.of[birth].clone()),
                RawEnd::Bare(id) => (!held.contains(id)).then(|| id.clone()),
            };
            let (Some(from), Some(to)) = (name(from), name(to)) else { continue };
            let created = writes.iter().map(|(created, ..)| created).min().unwrap();
            let (changed, deleted) =
                writes.iter().map(|(_, changed, deleted)| (changed, *deleted)).max().unwrap();
            expected.insert((from, to, (*kind).to_owned()), (created.clone(), changed.clone(), deleted));
        }
        let mut found = BTreeMap::new();
        for line in lines {
            let mark = |at: &str, by: &str| {
                let (ms, counter) = stamp(line.get(at)?);
                Some((ms, counter, text(line, by)))
            };
            let created = mark("created_at", "created_by").unwrap();
            let deleted = mark("deleted_at", "deleted_by");
            let changed = deleted.clone().or(mark("_at", "_by")).unwrap_or_else(|| created.clone());
            let key = (text(line, "from"), text(line, "to"), text(line, "kind"));
            found.insert(key, (created, changed, deleted.is_some()));
        }
        assert_eq!(found, expected, "edges");
    }

    fn check_prefix(&self, meta: &[u8]) {
        let meta: Map<String, Value> = serde_json::from_slice(meta).unwrap();
        let expected = self.prefixes.iter().max();
        assert_eq!(text(&meta, "prefix"), expected.map_or("bd", |(_, prefix)| prefix.as_str()));
        let at = meta.get("prefix_at").map(stamp);
        assert_eq!(at, expected.map(|((ms, counter, _), _)| (*ms, *counter)), "prefix_at");
    }
}

fn birth(lineage: &Lineage) -> Birth {
    (lineage.birth_id().to_string(), raw(&lineage.mark()))
}

pub fn raw(mark: &Mark) -> RawMark {
    (mark.at().ms(), mark.at().counter(), mark.by().to_string())
}

fn raw_parts((ms, counter, by): &RawMark) -> ((u64, u32), String) {
    ((*ms, *counter), by.clone())
}

fn raw_edge(key: &EdgeKey) -> RawEdge {
    let end = |end: &Endpoint| match end {
        Endpoint::Bead(lineage) => RawEnd::Bead(birth(lineage)),
        Endpoint::Bare(id) => RawEnd::Bare(id.to_string()),
    };
    (end(&key.from), end(&key.to), key.kind.as_str())
}

/// Returns a group as it appears in a line: empty values are omitted.
fn group_json<'a>(fields: impl IntoIterator<Item = (&'a str, Value)>) -> String {
    let empty = [json!(null), json!(""), json!([]), json!({})];
    let shown = fields.into_iter().filter(|(_, value)| !empty.contains(value));
    Value::Object(shown.map(|(name, value)| (name.to_owned(), value)).collect()).to_string()
}

fn register_mark(line: &Map<String, Value>, register: &str) -> RawMark {
    let own = line.get("_v").and_then(|versions| versions.get(register));
    let (at, by) = own.map_or((&line["_at"], &line["_by"]), |own| (&own[0], &own[1]));
    let (ms, counter) = stamp(at);
    (ms, counter, by.as_str().unwrap().to_owned())
}

fn stamp(value: &Value) -> (u64, u32) {
    serde_json::from_value(value.clone()).unwrap()
}

fn text(line: &Map<String, Value>, field: &str) -> String {
    line[field].as_str().unwrap().to_owned()
}

fn lines(file: &[u8]) -> Vec<Map<String, Value>> {
    let lines = file.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
}
