//! From a state to the canonical files (§5.3).

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use crate::canonical::{hex, to_canonical};
use crate::line::{ConflictLine, EdgeLine, MetaFile, TombstoneLine, bead_body, bead_line};
use crate::snapshot::{FORMAT_VERSION, Snapshot};
use crate::{BeadId, Endpoint, Stamp, State, Text};

impl State {
    /// The files of this state. Equal states give equal bytes, on every replica.
    pub fn encode(&self) -> Snapshot {
        let (state, tombstones) = self.encode_beads();
        let (deps, conflicts) = (self.encode_edges(), self.encode_conflicts());
        let mut snapshot = Snapshot { state, tombstones, deps, conflicts, meta: Vec::new() };
        let sum = |(name, bytes): (&str, &[u8])| (name.to_owned(), hex(&Sha256::digest(bytes)));
        let meta = MetaFile {
            format_version: FORMAT_VERSION,
            gc_floor: (self.gc_floor != Stamp::ZERO).then_some(self.gc_floor),
            prefix: self.prefix.prefix.clone(),
            prefix_at: self.prefix.mark.as_ref().map(crate::Mark::at),
            prefix_by: self.prefix.mark.as_ref().map(|mark| mark.by().clone()),
            sha256: snapshot.summed_files().map(sum).collect(),
        };
        snapshot.meta = to_canonical(&meta);
        snapshot.meta.push(b'\n');
        snapshot
    }

    /// Live beads and tombstones, both in byte order of the ids, which is the order of the names.
    fn encode_beads(&self) -> (Vec<u8>, Vec<u8>) {
        let (mut state, mut tombstones) = (Vec::new(), Vec::new());
        for (id, lineage) in self.names.holders() {
            let Some(bead) = self.beads.get(lineage) else { continue };
            if bead.is_live() {
                push_line(&mut state, &bead_line(id, lineage, bead));
            }
            if let Some(line) = self.tombstone(id) {
                push_line(&mut tombstones, &to_canonical(&line));
            }
        }
        (state, tombstones)
    }

    /// The tombstone under an id: of its deleted holder, of the beads pushed off it, or of both. An id that beads
    /// were pushed off always has a holder, so going over the holders finds every tombstone.
    fn tombstone(&self, id: &BeadId) -> Option<TombstoneLine> {
        let lineage = self.names.holder(id.as_str())?;
        let bead = self.beads.get(lineage)?;
        let pushed_off = self.names.vacated().get(id);
        let mut remapped: Vec<_> =
            pushed_off.into_iter().flatten().map(|lost| self.names.id_of(lost).clone()).collect();
        remapped.sort_unstable();
        match &bead.deletion {
            Some(deletion) => Some(TombstoneLine {
                bead: Some(bead_body(id, lineage, bead)),
                deleted_at: deletion.mark.at(),
                deleted_by: deletion.mark.by().clone(),
                id: id.clone(),
                reason: deletion.reason.clone(),
                remapped,
            }),
            None if remapped.is_empty() => None,
            None => Some(TombstoneLine {
                bead: None,
                deleted_at: Stamp::ZERO,
                deleted_by: lineage.by().clone(),
                id: id.clone(),
                reason: Text::default(),
                remapped,
            }),
        }
    }

    fn encode_conflicts(&self) -> Vec<u8> {
        let mut file = Vec::new();
        for conflict in self.conflicts.values() {
            let bead = self.names.id_of(&conflict.bead).clone();
            push_line(&mut file, &to_canonical(&ConflictLine::new(bead, conflict)));
        }
        file
    }

    fn encode_edges(&self) -> Vec<u8> {
        let name = |end: &Endpoint| match end {
            Endpoint::Bead(lineage) => self.names.id_of(lineage).clone(),
            Endpoint::Bare(id) => id.clone(),
        };
        let lines: BTreeMap<_, _> = self
            .edges
            .iter()
            .map(|(key, edge)| {
                let (from, to) = (name(&key.from), name(&key.to));
                ((from.clone(), to.clone(), key.kind), EdgeLine::new(from, to, key.kind, edge))
            })
            .collect();
        let mut deps = Vec::new();
        for line in lines.values() {
            push_line(&mut deps, &to_canonical(line));
        }
        deps
    }
}

fn push_line(file: &mut Vec<u8>, line: &[u8]) {
    file.extend_from_slice(line);
    file.push(b'\n');
}
