//! Lenient reading of damaged files, for `bd repair`. Every line that can be parsed on its own is joined.
//! Order, canonical form, checksums and ids do not matter, because ids are derived from the births. Lines
//! that cannot be parsed are reported and stay in the backup that the repair makes.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;

use crate::body::Body;
use crate::line::{ConflictLine, EdgeLine, MetaFile, TombstoneLine, bead_from_body};
use crate::snapshot::{CONFLICTS, DEPS, FORMAT_VERSION, META, STATE, TOMBSTONES};
use crate::{
    Bead, BeadId, Conflict, Delta, Edge, EdgeKey, EdgeKind, Endpoint, Error, Floor, Lineage, Mark,
    MintedStoreId, Patch, PrefixRegister, Result, Settings, State, setting,
};

/// Something that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The name of the file.
    pub file: String,
    /// The line, counted from 1. `None` means the whole file.
    pub line: Option<usize>,
    /// Why it could not be read.
    pub reason: String,
}

/// Collects what is left of a store. The result does not depend on the order in which the pieces are added.
#[derive(Debug, Default)]
pub struct Salvage {
    state: State,
    /// Changes and edges are applied at the end, when every bead is known.
    patches: Vec<(String, Lineage, Patch)>,
    edges: Vec<(String, EdgeKey, Edge)>,
    named_edges: Vec<NamedEdge>,
    conflicts: Vec<(String, Conflict)>,
    named_conflicts: Vec<(usize, End, ConflictLine)>,
    /// Applied at the end, so that the result does not depend on the order.
    gc_floor: Option<Floor>,
    unreadable: Vec<Unreadable>,
}

/// An edge of a file. Its ids refer to the beads of the same commit.
#[derive(Debug)]
struct NamedEdge {
    from: End,
    to: End,
    kind: EdgeKind,
    edge: Edge,
}

#[derive(Debug)]
struct End {
    id: BeadId,
    /// The bead with this id, if exactly one line has it.
    bead: Option<Lineage>,
}

impl Salvage {
    /// Adds a state that was read without errors.
    pub fn add_state(&mut self, state: &State) {
        self.state.join(state);
    }

    /// Adds one record of the journal. `place` is its location, for error reports.
    pub fn add_delta(&mut self, place: &str, delta: &Delta) {
        for (lineage, patch) in &delta.beads {
            self.patches.push((place.to_owned(), lineage.clone(), patch.clone()));
        }
        for (key, edge) in &delta.edges {
            self.edges.push((place.to_owned(), key.clone(), edge.clone()));
        }
        for conflict in &delta.conflicts {
            self.conflicts.push((place.to_owned(), conflict.clone()));
        }
        self.gc_floor = self.gc_floor.max(delta.gc_floor);
        self.add_meta_fields(&delta.settings, delta.store_id.as_ref(), delta.required_format());
        if let Some(prefix) = &delta.prefix {
            self.add_prefix(prefix);
        }
    }

    /// Adds what is left of the files of one commit, by their names. Fails if they have a later format,
    /// because this program would lose what it does not know.
    pub fn add_files(&mut self, files: &[(String, Vec<u8>)]) -> Result<()> {
        let bytes_of =
            |name| files.iter().find(|(known, _)| known == name).map(|(_, bytes)| bytes.as_slice());
        if let Some(bytes) = bytes_of(META) {
            self.add_meta(bytes)?;
        }
        let mut ids = BTreeMap::new();
        for name in [STATE, TOMBSTONES] {
            for (number, line) in lines(bytes_of(name).unwrap_or_default()) {
                match self.add_bead_line(name, line) {
                    Ok(Some((id, lineage))) => {
                        _ = ids.entry(id).or_insert_with(BTreeSet::new).insert(lineage);
                    }
                    Ok(None) => {}
                    Err(reason) => self.report(name, Some(number), reason),
                }
            }
        }
        let end = |id: BeadId| {
            let bead = ids.get(&id).filter(|beads| beads.len() == 1).and_then(|beads| beads.first().cloned());
            End { id, bead }
        };
        for (number, line) in lines(bytes_of(DEPS).unwrap_or_default()) {
            match parse::<EdgeLine>(line).and_then(|line| Ok((line.edge()?, line))) {
                Ok((edge, EdgeLine { from, to, kind, .. })) => {
                    self.named_edges.push(NamedEdge { from: end(from), to: end(to), kind, edge });
                }
                Err(reason) => self.report(DEPS, Some(number), reason),
            }
        }
        for (number, line) in lines(bytes_of(CONFLICTS).unwrap_or_default()) {
            match parse::<ConflictLine>(line) {
                Ok(line) => self.named_conflicts.push((number, end(line.bead.clone()), line)),
                Err(reason) => self.report(CONFLICTS, Some(number), reason),
            }
        }
        Ok(())
    }

    /// Records that something could not be read.
    pub fn report(&mut self, file: &str, line: Option<usize>, reason: impl Into<String>) {
        self.unreadable.push(Unreadable { file: file.to_owned(), line, reason: reason.into() });
    }

    /// Returns the state that consists of all pieces, and what could not be read.
    pub fn finish(mut self) -> (State, Vec<Unreadable>) {
        self.apply_patches();
        self.resolve_edges();
        self.resolve_conflicts();
        let floor = Delta { gc_floor: self.gc_floor, ..Delta::default() };
        self.state.join_delta(&floor).expect("a floor refers to no bead");
        (self.state, self.unreadable)
    }

    fn add_meta(&mut self, bytes: &[u8]) -> Result<()> {
        #[derive(serde::Deserialize)]
        struct Version {
            format_version: u64,
        }
        if let Ok(Version { format_version: found }) = parse(bytes)
            && found > FORMAT_VERSION
        {
            return Err(Error::NewerFormat { found, known: FORMAT_VERSION });
        }
        let meta: MetaFile = match parse(bytes) {
            Ok(meta) => meta,
            Err(reason) => {
                self.report(META, Some(1), reason);
                return Ok(());
            }
        };
        self.gc_floor = self.gc_floor.max(Some(meta.floor()).filter(|floor| !floor.is_none()));
        let store_id = meta.minted_store_id().unwrap_or_else(|reason| {
            self.report(META, Some(1), reason);
            None
        });
        let version = meta.format_version.max(meta.required_format());
        self.add_meta_fields(&setting::restored(meta.settings), store_id.as_ref(), version);
        match (meta.prefix_at, meta.prefix_by) {
            (Some(at), Some(by)) => {
                self.add_prefix(&PrefixRegister { mark: Some(Mark::new(at, by)), prefix: meta.prefix });
            }
            _ if meta.prefix == Default::default() => {}
            _ => self.report(META, Some(1), format!("the prefix {} has no mark", meta.prefix)),
        }
        Ok(())
    }

    fn add_meta_fields(
        &mut self,
        settings: &Settings,
        store_id: Option<&MintedStoreId>,
        format_version: u64,
    ) {
        let rest = Delta {
            settings: settings.clone(),
            store_id: store_id.cloned(),
            format_version: Some(format_version),
            ..Delta::default()
        };
        self.state.join_delta(&rest).expect("these fields refer to no bead");
    }

    fn add_prefix(&mut self, prefix: &PrefixRegister) {
        if *prefix > self.state.prefix {
            self.state.prefix = prefix.clone();
        }
    }

    /// Adds the bead of a line and returns its id and lineage. Returns `None` for a line that only repeats
    /// what follows from the births.
    fn add_bead_line(&mut self, file: &str, line: &[u8]) -> Result<Option<(BeadId, Lineage)>, String> {
        let (id, lineage, bead) = if file == STATE {
            let mut body: Body = parse(line)?;
            let id = body.id.take().ok_or("id is missing")?;
            let (lineage, bead) = read_bead(&id, body)?;
            (id, lineage, bead)
        } else {
            let mut tombstone: TombstoneLine = parse(line)?;
            let deletion = tombstone.deletion();
            if tombstone.bead.is_none() && tombstone.archived {
                let marker = tombstone.take_bead()?.ok_or("an archived bead without its lineage")?;
                (tombstone.id, marker.0, marker.1)
            } else {
                let Some(mut body) = tombstone.bead else {
                    return if tombstone.remapped.is_empty() {
                        Err("a deletion without its bead".into())
                    } else {
                        Ok(None)
                    };
                };
                body.id = None;
                let (lineage, mut bead) = read_bead(&tombstone.id, body)?;
                bead.deletion = Some(deletion);
                (tombstone.id, lineage, bead)
            }
        };
        let delta = Delta::of_bead(lineage.clone(), Patch::from(&bead));
        self.state.join_delta(&delta).map_err(|error| error.to_string())?;
        Ok(Some((id, lineage)))
    }

    /// Applies the changes whose bead is known, until no more can be applied.
    fn apply_patches(&mut self) {
        let mut waiting = std::mem::take(&mut self.patches);
        loop {
            let before = waiting.len();
            waiting.retain(|(_, lineage, patch)| {
                self.state.join_delta(&Delta::of_bead(lineage.clone(), patch.clone())).is_err()
            });
            if waiting.len() == before {
                break;
            }
        }
        for (place, lineage, _) in waiting {
            let reason = format!("a change of {}, whose creation cannot be read", lineage.birth_id());
            self.report(&place, None, reason);
        }
    }

    fn resolve_edges(&mut self) {
        for NamedEdge { from, to, kind, edge } in std::mem::take(&mut self.named_edges) {
            let key = EdgeKey { from: self.bind(from), to: self.bind(to), kind };
            self.add_edge(key, edge);
        }
        for (place, key, edge) in std::mem::take(&mut self.edges) {
            if [&key.from, &key.to]
                .into_iter()
                .filter_map(Endpoint::lineage)
                .any(|end| self.is_forgotten(end))
            {
                continue;
            }
            match (self.known_end(key.from), self.known_end(key.to)) {
                (Ok(from), Ok(to)) => self.add_edge(EdgeKey { from, to, kind: key.kind }, edge),
                (Err(id), _) | (_, Err(id)) => {
                    self.report(&place, None, format!("a dependency of {id}, whose creation cannot be read"));
                }
            }
        }
    }

    fn resolve_conflicts(&mut self) {
        for (number, end, line) in std::mem::take(&mut self.named_conflicts) {
            let bead = match self.bind(end) {
                Endpoint::Bead(lineage) => Ok(lineage),
                Endpoint::Bare(id) => Err(format!("no bead {id}")),
            };
            match bead.and_then(|bead| line.conflict(bead)) {
                Ok(conflict) => self.state.join_conflict(&conflict),
                Err(reason) => self.report(CONFLICTS, Some(number), reason),
            }
        }
        for (place, conflict) in std::mem::take(&mut self.conflicts) {
            if self.state.bead(&conflict.bead).is_some() {
                self.state.join_conflict(&conflict);
            } else if !self.is_forgotten(&conflict.bead) {
                let id = conflict.bead.birth_id();
                self.report(&place, None, format!("a conflict of {id}, whose creation cannot be read"));
            }
        }
    }

    /// Returns whether the bead is absent because garbage collection dropped it.
    fn is_forgotten(&self, lineage: &Lineage) -> bool {
        self.state.bead(lineage).is_none() && lineage.at() < self.state.gc_floor().stamp
    }

    fn add_edge(&mut self, key: EdgeKey, edge: Edge) {
        self.state.join_delta(&Delta::of_edge(key, edge)).expect("both ends are known or bare");
    }

    /// Returns the bead with this id: preferably in the same commit, otherwise in the salvaged state. If
    /// there is none, the end stays bare.
    fn bind(&self, end: End) -> Endpoint {
        match end.bead.or_else(|| self.state.names().holder(end.id.as_str()).cloned()) {
            Some(lineage) => Endpoint::Bead(lineage),
            None => Endpoint::Bare(end.id),
        }
    }

    /// Makes an end bare if its bead was not found. Fails if another bead has its id, which would be mistaken
    /// for it.
    fn known_end(&self, end: Endpoint) -> Result<Endpoint, BeadId> {
        match end {
            Endpoint::Bead(lineage) if self.state.bead(&lineage).is_none() => {
                let id = lineage.birth_id().clone();
                if self.state.names().holder(id.as_str()).is_some() {
                    Err(id)
                } else {
                    Ok(Endpoint::Bare(id))
                }
            }
            known => Ok(known),
        }
    }
}

fn read_bead(id: &BeadId, mut body: Body) -> Result<(Lineage, Bead), String> {
    // The order of notes may be damaged too.
    body.notes.sort_by(|a, b| a.order().cmp(&b.order()));
    body.notes.dedup_by(|a, b| a.order() == b.order());
    bead_from_body(id, body).map(|(lineage, bead, _)| (lineage, bead))
}

/// Returns the non-empty lines with their numbers. The last line may lack its newline.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let lines = bytes.split(|byte| *byte == b'\n').enumerate();
    lines.map(|(index, line)| (index + 1, line)).filter(|(_, line)| !line.is_empty())
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "not valid UTF-8")?;
    serde_json::from_str(text).map_err(|error| {
        let text = error.to_string();
        format!("{} (column {})", text.split(" at line ").next().unwrap_or(&text), error.column())
    })
}

#[cfg(test)]
mod tests;
