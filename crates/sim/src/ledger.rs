//! Checks that a state still has everything that was acknowledged.
//!
//! An independent oracle: it reads deltas and canonical files as plain JSON, and does not use the join.

use std::collections::{BTreeMap, BTreeSet};

use beads_core::{Applied, Snapshot};
use serde_json::Value;

/// A stamp and its actor, in the order of last-writer-wins.
pub type Mark = (u64, u64, String);

/// `(born id, [ms, counter], actor)` as JSON text.
pub type BeadKey = String;

/// One statement of an acknowledged mutation.
#[derive(Debug, Clone)]
pub enum Fact {
    Register {
        bead: BeadKey,
        register: String,
        mark: Mark,
        value: Value,
    },
    /// A claim and its renewal. The later claim wins; within one claim the later renewal wins.
    Claim {
        bead: BeadKey,
        marks: (Mark, Mark),
        value: Value,
    },
    Note {
        bead: BeadKey,
        note: Value,
    },
    Deletion {
        bead: BeadKey,
        mark: Mark,
    },
    Edge {
        edge: (BeadKey, BeadKey, String),
        mark: Mark,
        deleted: bool,
    },
    Prefix {
        mark: Mark,
        value: Value,
    },
}

/// The registers with last-writer-wins, except the claim, which has its own rules.
const REGISTERS: [&str; 14] = [
    "acceptance_criteria",
    "defer_until",
    "description",
    "design",
    "due_at",
    "estimated_minutes",
    "external_ref",
    "labels",
    "metadata",
    "priority",
    "source_repo",
    "status",
    "title",
    "type",
];

/// Returns the fields in a register. Most registers hold only the field they are named after.
fn fields_of(register: &str) -> Vec<&str> {
    match register {
        "status" => vec!["status", "closed_reason", "closed_on_branch"],
        other => vec![other],
    }
}

fn values(body: &Value, fields: &[&str]) -> Value {
    fields.iter().map(|field| body.get(field).cloned().unwrap_or_default()).collect()
}

fn mark_from(stamp: &Value, actor: &Value) -> Option<Mark> {
    Some((stamp.get(0)?.as_u64()?, stamp.get(1)?.as_u64()?, actor.as_str()?.to_owned()))
}

fn mark(value: &Value) -> Option<Mark> {
    mark_from(value.get(0)?, value.get(1)?)
}

/// Returns the facts of a mutation, from the JSON of its delta in the journal.
pub fn facts(applied: &Applied) -> Vec<Fact> {
    let delta = serde_json::to_value(&applied.delta).expect("a delta is JSON");
    let mut facts = Vec::new();
    for bead in delta["beads"].as_array().into_iter().flatten() {
        bead_facts(bead, &mut facts);
    }
    for edge in delta["edges"].as_array().into_iter().flatten() {
        let (key, edge) = (&edge[0], &edge[1]);
        let name = (key["from"].to_string(), key["to"].to_string(), key["kind"].to_string());
        if let Some(mark) = mark(&edge["changed"]) {
            facts.push(Fact::Edge { edge: name, mark, deleted: edge["deleted"] == true });
        }
    }
    if let Some(mark) = mark(&delta["prefix"]["mark"]) {
        facts.push(Fact::Prefix { mark, value: delta["prefix"]["prefix"].clone() });
    }
    facts
}

fn bead_facts(wire: &Value, facts: &mut Vec<Fact>) {
    let bead = wire["lineage"].to_string();
    let body = &wire["body"];
    let versions = &body["_v"];
    for (register, version) in versions.as_object().into_iter().flatten() {
        let Some(mark) = mark(version).filter(|_| !register.starts_with("assignee")) else { continue };
        let value = values(body, &fields_of(register));
        facts.push(Fact::Register { bead: bead.clone(), register: register.clone(), mark, value });
    }
    if let (Some(claim), Some(renewal)) = (mark(&versions["assignee"]), mark(&versions["assignee_expires"])) {
        let value = values(body, &["assignee", "assignee_expires"]);
        facts.push(Fact::Claim { bead: bead.clone(), marks: (claim, renewal), value });
    }
    for note in body["notes"].as_array().into_iter().flatten() {
        facts.push(Fact::Note { bead: bead.clone(), note: note.clone() });
    }
    // The mark of an archived bead is that of its last write.
    let is_deleted = wire["deletion"]["archived"] != true;
    if let Some(mark) = mark(&wire["deletion"]["mark"]).filter(|_| is_deleted) {
        facts.push(Fact::Deletion { bead, mark });
    }
}

/// A snapshot as the oracle reads it.
#[derive(Debug)]
pub struct ParsedSnapshot {
    beads: BTreeMap<BeadKey, ParsedBead>,
    edges: BTreeMap<(BeadKey, BeadKey, String), (Mark, bool)>,
    /// The marks that lost, by bead and register.
    conflicts: BTreeMap<(BeadKey, String), BTreeSet<Mark>>,
    meta: Value,
}

#[derive(Debug)]
struct ParsedBead {
    body: Value,
    deleted: Option<Mark>,
}

impl ParsedBead {
    fn mark(&self, register: &str) -> Option<Mark> {
        match &self.body["_v"][register] {
            Value::Null => mark_from(&self.body["_at"], &self.body["_by"]),
            version => mark(version),
        }
    }

    /// Returns the last write or note. If it is later than a deletion, the bead stays alive.
    fn last_touch(&self) -> Option<Mark> {
        let versions = self.body["_v"].as_object().into_iter().flatten();
        let listed = versions.filter(|(name, _)| *name != "assignee_expires").filter_map(|(_, v)| mark(v));
        let notes = self.body["notes"].as_array().into_iter().flatten();
        let noted = notes.filter_map(|note| mark_from(&note["at"], &note["author"]));
        let top = mark_from(&self.body["_at"], &self.body["_by"]);
        listed.chain(noted).chain(top).max()
    }
}

impl ParsedSnapshot {
    /// Parses a snapshot.
    pub fn new(snapshot: &Snapshot) -> Result<Self, String> {
        let mut parsed = Self {
            beads: BTreeMap::new(),
            edges: BTreeMap::new(),
            conflicts: BTreeMap::new(),
            meta: parse(&snapshot.meta)?,
        };
        let mut keys = BTreeMap::new();
        for line in lines(&snapshot.state)? {
            let id = line["id"].clone();
            parsed.add(&id, line, None, &mut keys);
        }
        for line in lines(&snapshot.tombstones)? {
            if !line["bead"].is_null() {
                let deleted = mark_from(&line["deleted_at"], &line["deleted_by"]);
                parsed.add(&line["id"], line["bead"].clone(), deleted, &mut keys);
            }
        }
        let end = |id: &Value| keys.get(&id.to_string()).cloned().unwrap_or_else(|| id.to_string());
        for line in lines(&snapshot.deps)? {
            let deleted = mark_from(&line["deleted_at"], &line["deleted_by"]);
            let added = mark_from(&line["_at"], &line["_by"]);
            let created = mark_from(&line["created_at"], &line["created_by"]);
            let key = (end(&line["from"]), end(&line["to"]), line["kind"].to_string());
            let is_deleted = deleted.is_some();
            let mark = deleted.or(added).or(created).ok_or("an edge without a stamp")?;
            parsed.edges.insert(key, (mark, is_deleted));
        }
        for line in lines(&snapshot.conflicts)? {
            let register = line["field"].as_str().unwrap_or_default().to_owned();
            let lost = mark_from(&line["at"], &line["by"]).ok_or("a conflict without a mark")?;
            parsed.conflicts.entry((end(&line["bead"]), register)).or_default().insert(lost);
        }
        Ok(parsed)
    }

    fn add(&mut self, id: &Value, body: Value, deleted: Option<Mark>, keys: &mut BTreeMap<String, BeadKey>) {
        let born = if body["born"].is_null() { id } else { &body["born"] };
        let lineage = Value::from(vec![born.clone(), body["created_at"].clone(), body["created_by"].clone()]);
        keys.insert(id.to_string(), lineage.to_string());
        self.beads.insert(lineage.to_string(), ParsedBead { body, deleted });
    }

    /// Returns every deleted bead and edge, with the stamp of the deletion.
    pub fn deletions(&self) -> Vec<(String, (u64, u64))> {
        let stamp = |mark: &Mark| (mark.0, mark.1);
        let beads =
            self.beads.iter().filter_map(|(key, bead)| Some((key.clone(), stamp(bead.deleted.as_ref()?))));
        let edges = self.edges.iter().filter(|(_, (_, deleted))| *deleted);
        beads.chain(edges.map(|(key, (mark, _))| (format!("{key:?}"), stamp(mark)))).collect()
    }

    /// Returns every bead with the stamp of its birth.
    pub fn births(&self) -> impl Iterator<Item = (&BeadKey, (u64, u64))> {
        self.beads.iter().filter_map(|(key, bead)| {
            let at = &bead.body["created_at"];
            Some((key, (at.get(0)?.as_u64()?, at.get(1)?.as_u64()?)))
        })
    }

    /// Returns the garbage-collection floor. Deletions before it may be forgotten.
    pub fn floor(&self) -> (u64, u64) {
        let component = |index: usize| self.meta["gc_floor"][index].as_u64().unwrap_or(0);
        (component(0), component(1))
    }

    /// Returns the mark of every register that was written.
    pub fn marks(&self) -> BTreeMap<(BeadKey, String), Mark> {
        let of = |(key, bead): (&BeadKey, &ParsedBead)| {
            let marks = REGISTERS.iter().filter_map(|name| Some((name.to_string(), bead.mark(name)?)));
            marks.map(|(name, mark)| ((key.clone(), name), mark)).collect::<Vec<_>>()
        };
        self.beads.iter().flat_map(of).collect()
    }

    /// Returns the mark of one register.
    pub fn marks_of(&self, (key, register): &(BeadKey, String)) -> Option<Mark> {
        self.beads.get(key)?.mark(register)
    }

    /// Returns the marks that lost in a register.
    pub fn conflicts(&self, key: &(BeadKey, String)) -> BTreeSet<Mark> {
        self.conflicts.get(key).cloned().unwrap_or_default()
    }

    /// Checks that a fact is not lost. `Err` names the fact and what replaced it.
    pub fn check(&self, fact: &Fact) -> Result<(), String> {
        let bead = |key: &BeadKey| self.beads.get(key).ok_or_else(|| format!("the bead {key} is lost"));
        match fact {
            Fact::Register { bead: key, register, mark, value } => {
                let bead = bead(key)?;
                let found = (bead.mark(register), values(&bead.body, &fields_of(register)));
                later_or_same(&found, &(Some(mark.clone()), value.clone()), &format!("{register} of {key}"))
            }
            Fact::Claim { bead: key, marks, value } => {
                let bead = bead(key)?;
                let found = bead.mark("assignee").zip(bead.mark("assignee_expires"));
                let found = (found, values(&bead.body, &["assignee", "assignee_expires"]));
                later_or_same(&found, &(Some(marks.clone()), value.clone()), &format!("the claim on {key}"))
            }
            Fact::Note { bead: key, note } => {
                let notes = bead(key)?.body["notes"].as_array();
                let kept = notes.is_some_and(|notes| notes.contains(note));
                if kept { Ok(()) } else { Err(format!("the note {note} of {key} is lost")) }
            }
            Fact::Deletion { bead: key, mark } => {
                let bead = bead(key)?;
                let kept = bead.deleted.as_ref().is_some_and(|deleted| deleted >= mark);
                let revived = bead.last_touch().is_some_and(|touch| touch > *mark);
                if kept || revived { Ok(()) } else { Err(format!("the deletion of {key} is lost")) }
            }
            Fact::Edge { edge, mark, deleted } => match self.edges.get(edge) {
                Some(found) if *found >= (mark.clone(), *deleted) => Ok(()),
                found => Err(format!("the edge {edge:?} {mark:?} is lost; there is {found:?}")),
            },
            Fact::Prefix { mark, value } => {
                let found = mark_from(&self.meta["prefix_at"], &self.meta["prefix_by"]);
                let found = (found, self.meta["prefix"].clone());
                later_or_same(&found, &(Some(mark.clone()), value.clone()), "the prefix")
            }
        }
    }

    /// Checks several facts.
    pub fn check_all<'a>(&self, facts: impl IntoIterator<Item = &'a Fact>) -> Result<(), String> {
        facts.into_iter().try_for_each(|fact| self.check(fact))
    }
}

/// Checks that a value is unchanged, or overwritten by a greater mark.
fn later_or_same<M: Ord + std::fmt::Debug>(
    found: &(Option<M>, Value),
    written: &(Option<M>, Value),
    what: &str,
) -> Result<(), String> {
    if found.0 > written.0 || found == written {
        return Ok(());
    }
    Err(format!("{what}: {written:?} was acknowledged, there is {found:?}"))
}

/// Returns the greatest stamp that a mutation minted for each thing it wrote. Stamps of different things may
/// decrease: a write to a bead with a stamp from the future is stamped above it, and other writes do not
/// follow.
pub fn minted(facts: &[Fact]) -> BTreeMap<String, (u64, u64)> {
    let stamp = |mark: &Mark| (mark.0, mark.1);
    let mut minted: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for fact in facts {
        let (subject, at) = match fact {
            Fact::Register { bead, mark, .. } | Fact::Deletion { bead, mark } => {
                (bead.clone(), Some(stamp(mark)))
            }
            Fact::Edge { edge, mark, .. } => (format!("{edge:?}"), Some(stamp(mark))),
            Fact::Prefix { mark, .. } => ("prefix".to_owned(), Some(stamp(mark))),
            // A renewal belongs to its claim. A merge may remove both without a trace in the bead.
            Fact::Claim { bead, marks, .. } => {
                (bead.clone(), Some(stamp(&marks.0)).filter(|_| marks.0 == marks.1))
            }
            Fact::Note { bead, note } => {
                (bead.clone(), mark_from(&note["at"], &note["author"]).as_ref().map(stamp))
            }
        };
        if let Some(at) = at {
            let latest = minted.entry(subject).or_insert(at);
            *latest = at.max(*latest);
        }
    }
    minted
}

fn parse(bytes: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(bytes).map_err(|error| error.to_string())
}

fn lines(bytes: &[u8]) -> Result<Vec<Value>, String> {
    bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(parse).collect()
}
