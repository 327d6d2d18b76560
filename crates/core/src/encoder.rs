//! Encodes states one after another. Only the lines that changed are encoded; all others are copied from the
//! files of the state before. The result is always the same as that of [`State::encode`].

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

use crate::canonical::hex;
use crate::parts::in_parts;
use crate::shared_map::{SharedMap, differing};
use crate::snapshot::{CONFLICTS, DEPS, STATE, Snapshot, TOMBSTONES};
use crate::{BeadId, EdgeKey, EdgeKind, Lineage, SharedBead, State};

/// Files that are longer than this in total are not kept for the next state.
const MAX_KEPT_BYTES: usize = 256 * 1024 * 1024;

/// The lines of beads are dropped if at most one of so many would have to be encoded again.
const DROPPED_PER_ENCODED: usize = 16;

/// A line of `deps.jsonl` is identified by the ids of its ends and by its kind.
type EdgeName = (BeadId, BeadId, EdgeKind);

/// An encoder that remembers the last state.
#[derive(Debug, Default)]
pub struct Encoder {
    last: Option<Last>,
}

/// The last encoded state, and where its lines are.
#[derive(Debug)]
struct Last {
    state: State,
    beads: LineIndex<BeadId>,
    tombstones: LineIndex<BeadId>,
    edges: LineIndex<EdgeName>,
    sums: BTreeMap<String, String>,
    /// Identifies the files: it contains the checksums of the others.
    meta: Vec<u8>,
    /// The files, if they were given back.
    files: Option<Snapshot>,
    /// Whether the lines of the beads were dropped from the files, and from what is known about the last state.
    has_dropped_copies: bool,
}

impl Encoder {
    /// Returns the files of a state. `previous` are the files that this encoder returned last, if the caller
    /// still has them and did not [give them back](Self::give_back).
    pub fn encode(&mut self, state: &State, previous: Option<&Snapshot>) -> Snapshot {
        let last = self.last.take();
        // Collisions give beads other ids, which may move any line.
        let last = last.filter(|last| last.state.names.has_the_same_collisions(&state.names));
        let (mut last, old) = match last {
            Some(mut last) => {
                let kept = last.files.take().map(Cow::Owned);
                let previous = previous.filter(|files| files.meta == last.meta).map(Cow::Borrowed);
                match kept.or(previous) {
                    Some(files) => (last, files),
                    None => (Last::nothing(), Cow::Owned(Snapshot::empty())),
                }
            }
            None => (Last::nothing(), Cow::Owned(Snapshot::empty())),
        };
        let (beads, tombstones) = last.changed_beads(state);
        let edges = last.changed_edges(state);
        let changed =
            [(STATE, !beads.is_empty()), (TOMBSTONES, !tombstones.is_empty()), (DEPS, !edges.is_empty())];
        for (name, _) in changed.iter().filter(|(_, changed)| *changed) {
            last.sums.remove(*name);
        }
        last.sums.remove(CONFLICTS);
        let (old_state, old_tombstones, old_deps) = match old {
            Cow::Owned(files) => {
                (Cow::Owned(files.state), Cow::Owned(files.tombstones), Cow::Owned(files.deps))
            }
            Cow::Borrowed(files) => {
                (Cow::from(&files.state), Cow::from(&files.tombstones), Cow::from(&files.deps))
            }
        };
        let mut files = Snapshot {
            state: last.beads.splice(old_state, beads),
            tombstones: last.tombstones.splice(old_tombstones, tombstones),
            deps: last.edges.splice(old_deps, edges),
            conflicts: state.encode_conflicts(),
            meta: Vec::new(),
        };
        let sums = files.checksummed_files().map(|(name, bytes)| {
            let sum = last.sums.remove(name).unwrap_or_else(|| hex(&Sha256::digest(bytes)));
            (name.to_owned(), sum)
        });
        last.sums = sums.collect();
        files.meta = state.encode_meta(last.sums.clone());
        last.meta.clone_from(&files.meta);
        last.has_dropped_copies = false;
        last.state = state.clone();
        self.last = Some(last);
        files
    }

    /// Takes back the files that were returned last, so that the next state can be encoded from them.
    pub fn give_back(&mut self, files: Snapshot) {
        let bytes: usize = files.files().iter().map(|(_, bytes)| bytes.len()).sum();
        if let Some(last) = &mut self.last
            && last.meta == files.meta
            && bytes <= MAX_KEPT_BYTES
        {
            last.files = Some(files);
        }
    }

    /// Drops the lines of the beads if they take at least `min_bytes`, and the state holds nearly all of them
    /// anyway, as a state opened from its [cache](crate::StateCache) does. A large store would need twice
    /// the memory otherwise. The next state is encoded from the lines that it holds.
    pub fn drop_copies(&mut self, min_bytes: usize) {
        let Some(last) = &mut self.last else { return };
        let is_copy =
            |lineage: &Lineage, bead: &SharedBead| bead.stored_line(lineage.birth_id(), lineage).is_some();
        let beads = &last.state.beads;
        if let Some(files) = &mut last.files
            && files.state.len() + files.tombstones.len() >= min_bytes
            && beads.iter().filter(|(lineage, bead)| !is_copy(lineage, bead)).count() * DROPPED_PER_ENCODED
                <= beads.len()
        {
            (files.state, files.tombstones) = (Vec::new(), Vec::new());
            (last.beads, last.tombstones) = (LineIndex::default(), LineIndex::default());
            last.state.beads = SharedMap::default();
            last.sums.retain(|name, _| name != STATE && name != TOMBSTONES);
            last.has_dropped_copies = true;
        }
    }
}

/// The last encoded state with its files, and the length of each line by its key, in order.
#[derive(Debug)]
pub(crate) struct Encoded<'a> {
    pub state: &'a State,
    pub files: &'a Snapshot,
    pub beads: &'a [(BeadId, usize)],
    pub tombstones: &'a [(BeadId, usize)],
}

impl Encoder {
    /// Returns the last state, if its files were given back.
    pub(crate) fn encoded(&self) -> Option<Encoded<'_>> {
        let last = self.last.as_ref().filter(|last| !last.has_dropped_copies)?;
        let files = last.files.as_ref()?;
        Some(Encoded { state: &last.state, files, beads: &last.beads.0, tombstones: &last.tombstones.0 })
    }
}

/// The new lines by their keys, in order; `None` where a line is removed.
type Changes<K> = Vec<(K, Option<Vec<u8>>)>;

impl Last {
    fn nothing() -> Self {
        Self {
            state: State::default(),
            beads: LineIndex::default(),
            tombstones: LineIndex::default(),
            edges: LineIndex::default(),
            sums: BTreeMap::new(),
            meta: Vec::new(),
            files: None,
            has_dropped_copies: false,
        }
    }

    /// Returns the new lines in `state.jsonl` and `tombstones.jsonl`.
    fn changed_beads(&self, state: &State) -> (Changes<BeadId>, Changes<BeadId>) {
        let changed = differing(&state.beads, &self.state.beads, SharedBead::is_same_copy);
        // One bead may have taken the id of another that was dropped, so ask for the holder of each id.
        let ids: BTreeSet<&BeadId> = changed.into_iter().map(|lineage| state.names.id_of(lineage)).collect();
        let ids: Vec<&BeadId> = ids.into_iter().collect();
        let parts = in_parts(&ids, |ids| {
            let lines = |id: &&BeadId| {
                let held = state.names.holder(id.as_str());
                let found = held.and_then(|lineage| Some((lineage, state.beads.get(lineage)?)));
                let (live, tombstone) = match found {
                    Some((lineage, bead)) => state.lines_of(id, lineage, bead),
                    None => (None, None),
                };
                ((*id).clone(), live, tombstone)
            };
            ids.iter().map(lines).collect::<Vec<_>>()
        });
        let (mut beads, mut tombstones) = (Vec::new(), Vec::new());
        for (id, live, tombstone) in parts.into_iter().flatten() {
            if tombstone.is_some() || self.tombstones.contains(&id) {
                tombstones.push((id.clone(), tombstone));
            }
            if live.is_some() || self.beads.contains(&id) {
                beads.push((id, live));
            }
        }
        (beads, tombstones)
    }

    /// Returns the new lines in `deps.jsonl`.
    fn changed_edges(&self, state: &State) -> Changes<EdgeName> {
        let keys = differing(&state.edges, &self.state.edges, PartialEq::eq);
        let parts = in_parts(&keys, |keys| {
            let line = |key: &&EdgeKey| {
                let name = state.edge_name(key);
                let line = state.edges.get(*key).map(|edge| State::edge_line(&name, edge));
                (name, line)
            };
            keys.iter().map(line).collect::<Vec<_>>()
        });
        let mut changes = parts.concat();
        changes.sort_by(|(one, _), (other, _)| one.cmp(other));
        // A dropped bare edge may have the same name as a new edge between beads.
        changes.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same && kept.1.is_none() {
                kept.1 = later.1.take();
            }
            same
        });
        changes
    }
}

/// The lines of a file: their keys, in order, and their lengths.
#[derive(Debug)]
struct LineIndex<K>(Vec<(K, usize)>);

impl<K> Default for LineIndex<K> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Ord> LineIndex<K> {
    fn contains(&self, key: &K) -> bool {
        self.0.binary_search_by(|(found, _)| found.cmp(key)).is_ok()
    }

    /// Returns the file with changed lines, and updates the index.
    fn splice(&mut self, old: Cow<'_, [u8]>, changes: Changes<K>) -> Vec<u8> {
        if changes.is_empty() {
            return old.into_owned();
        }
        let added: usize = changes.iter().filter_map(|(_, line)| line.as_ref()).map(Vec::len).sum();
        let mut file = Vec::with_capacity(old.len() + added);
        let mut lines = Vec::with_capacity(self.0.len() + changes.len());
        let mut changes = changes.into_iter().peekable();
        // `old[copied..end]` is unchanged and not copied yet.
        let (mut copied, mut end) = (0, 0);
        for (key, length) in std::mem::take(&mut self.0) {
            while let Some((new, line)) = changes.next_if(|(changed, _)| *changed < key) {
                file.extend_from_slice(&old[copied..end]);
                copied = end;
                append(&mut file, &mut lines, new, line);
            }
            match changes.next_if(|(changed, _)| *changed == key) {
                Some((_, line)) => {
                    file.extend_from_slice(&old[copied..end]);
                    copied = end + length;
                    append(&mut file, &mut lines, key, line);
                }
                None => lines.push((key, length)),
            }
            end += length;
        }
        file.extend_from_slice(&old[copied..end]);
        for (key, line) in changes {
            append(&mut file, &mut lines, key, line);
        }
        self.0 = lines;
        file
    }
}

fn append<K>(file: &mut Vec<u8>, lines: &mut Vec<(K, usize)>, key: K, line: Option<Vec<u8>>) {
    if let Some(line) = line {
        lines.push((key, line.len()));
        file.extend_from_slice(&line);
    }
}
