//! Encodes a state as the canonical files (§5.3).

use std::collections::BTreeMap;

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::canonical::{hex, to_canonical, write_canonical};
use crate::line::{ConflictLine, EdgeLine, MetaFile, TombstoneLine, bead_body, bead_line};
use crate::parts::in_parts;
use crate::setting;
use crate::snapshot::Snapshot;
use crate::{BeadId, Edge, EdgeKey, EdgeKind, Endpoint, Lineage, SharedBead, Stamp, State, Text};

impl State {
    /// Returns the files of this state. Equal states have equal bytes on every replica.
    pub fn encode(&self) -> Snapshot {
        let (state, tombstones) = self.encode_beads();
        let (deps, conflicts) = (self.encode_edges(), self.encode_conflicts());
        let mut snapshot = Snapshot { state, tombstones, deps, conflicts, meta: Vec::new() };
        let sum = |(name, bytes): (&str, &[u8])| (name.to_owned(), hex(&Sha256::digest(bytes)));
        let sums = snapshot.checksummed_files().map(sum).collect();
        snapshot.meta = self.encode_meta(sums);
        snapshot
    }

    /// Returns `meta.json`, with the checksums of the other files.
    pub(crate) fn encode_meta(&self, sha256: BTreeMap<String, String>) -> Vec<u8> {
        let meta = MetaFile {
            format_version: self.format_version,
            gc_floor: Some(self.gc_floor.stamp).filter(|stamp| *stamp != Stamp::ZERO),
            gc_floor_epoch: Some(self.gc_floor.epoch).filter(|epoch| *epoch > 0),
            prefix: self.prefix.prefix.clone(),
            prefix_at: self.prefix.mark.as_ref().map(crate::Mark::at),
            prefix_by: self.prefix.mark.as_ref().map(|mark| mark.by().clone()),
            settings: setting::stored(&self.settings),
            sha256,
            store_id: self.store_id.as_ref().map(|minted| minted.id.clone()),
            store_id_at: self.store_id.as_ref().map(|minted| minted.mark.at()),
            store_id_by: self.store_id.as_ref().map(|minted| minted.mark.by().clone()),
        };
        line(&meta)
    }

    /// Returns a bead's line in `state.jsonl` and its line in `tombstones.jsonl`, as far as it has them.
    pub(crate) fn lines_of(
        &self,
        id: &BeadId,
        lineage: &Lineage,
        bead: &SharedBead,
    ) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        let mut live = None;
        if let Some(stored) = bead.stored_line(id, lineage) {
            live = Some(stored.to_vec());
        } else if bead.is_live() {
            live = Some(line(&bead_line(id, lineage, bead)));
        }
        (live, self.tombstone(id, lineage, bead).map(|tombstone| line(&tombstone)))
    }

    /// Returns the ids of the ends of an edge, and its kind.
    pub(crate) fn edge_name(&self, key: &EdgeKey) -> (BeadId, BeadId, EdgeKind) {
        let name = |end: &Endpoint| match end {
            Endpoint::Bead(lineage) => self.names.id_of(lineage).clone(),
            Endpoint::Bare(id) => id.clone(),
        };
        (name(&key.from), name(&key.to), key.kind)
    }

    /// Returns the line of an edge in `deps.jsonl`.
    pub(crate) fn edge_line((from, to, kind): &(BeadId, BeadId, EdgeKind), edge: &Edge) -> Vec<u8> {
        line(&EdgeLine::new(from.clone(), to.clone(), *kind, edge))
    }

    /// Returns the lines of live beads and of tombstones, both in byte order of the ids.
    fn encode_beads(&self) -> (Vec<u8>, Vec<u8>) {
        let holders: Vec<_> = self.names.holders().collect();
        let parts = in_parts(&holders, |holders| {
            let (mut state, mut tombstones) = (Vec::new(), Vec::new());
            for (id, lineage) in holders {
                let Some(bead) = self.beads.get(*lineage) else { continue };
                if let Some(stored) = bead.stored_line(id, lineage) {
                    state.extend_from_slice(stored);
                } else if bead.is_live() {
                    push_line(&mut state, &bead_line(id, lineage, bead));
                }
                if let Some(line) = self.tombstone(id, lineage, bead) {
                    push_line(&mut tombstones, &line);
                }
            }
            (state, tombstones)
        });
        let (state, tombstones): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        (state.concat(), tombstones.concat())
    }

    /// Returns the tombstone of an id if its holder is deleted or other beads lost the id. An id that beads
    /// lost always has a holder, so iterating over the holders finds every tombstone.
    fn tombstone(&self, id: &BeadId, lineage: &Lineage, bead: &SharedBead) -> Option<TombstoneLine> {
        let displaced = self.names.vacated().get(id);
        let mut remapped: Vec<_> =
            displaced.into_iter().flatten().map(|lost| self.names.id_of(lost).clone()).collect();
        if remapped.is_empty() && !bead.is_deleted() {
            return None;
        }
        remapped.sort_unstable();
        match &bead.deletion {
            Some(deletion) => {
                let hollow = bead.is_hollow();
                let born = Some(lineage.birth_id()).filter(|born| hollow && *born != id);
                Some(TombstoneLine {
                    archived: deletion.archived,
                    bead: (!hollow).then(|| bead_body(id, lineage, bead)),
                    born: born.cloned(),
                    created_at: hollow.then(|| lineage.at()),
                    created_by: hollow.then(|| lineage.by().clone()),
                    deleted_at: deletion.mark.at(),
                    deleted_by: deletion.mark.by().clone(),
                    id: id.clone(),
                    reason: deletion.reason.clone(),
                    remapped,
                })
            }
            None => Some(TombstoneLine {
                archived: false,
                bead: None,
                born: None,
                created_at: None,
                created_by: None,
                deleted_at: Stamp::ZERO,
                deleted_by: lineage.by().clone(),
                id: id.clone(),
                reason: Text::default(),
                remapped,
            }),
        }
    }

    pub(crate) fn encode_conflicts(&self) -> Vec<u8> {
        let mut file = Vec::new();
        for conflict in self.conflicts.values() {
            let bead = self.names.id_of(&conflict.bead).clone();
            push_line(&mut file, &ConflictLine::new(bead, conflict));
        }
        file
    }

    fn encode_edges(&self) -> Vec<u8> {
        let mut edges: Vec<_> = self.edges.iter().map(|(key, edge)| (self.edge_name(key), edge)).collect();
        edges.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        let parts = in_parts(&edges, |edges| {
            let mut deps = Vec::new();
            for ((from, to, kind), edge) in edges {
                push_line(&mut deps, &EdgeLine::new(from.clone(), to.clone(), *kind, edge));
            }
            deps
        });
        parts.concat()
    }
}

/// Returns a value as a canonical line.
fn line(value: &impl Serialize) -> Vec<u8> {
    let mut line = to_canonical(value);
    line.push(b'\n');
    line
}

fn push_line(file: &mut Vec<u8>, line: &impl Serialize) {
    write_canonical(file, line);
    file.push(b'\n');
}
