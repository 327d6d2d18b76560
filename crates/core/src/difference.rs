//! The difference between two states, as a delta.

use std::collections::BTreeMap;

use crate::{Bead, Delta, Lineage, Patch, State};

impl Delta {
    /// Returns what `state` has beyond `base`. Joining it to `base` gives `state`, provided that `state`
    /// contains `base`.
    pub fn between(base: &State, state: &State) -> Self {
        let mut delta = Self::default();
        for (lineage, bead) in state.beads.changed_since(&base.beads) {
            match base.bead(lineage) {
                Some(old) if old == bead => {}
                Some(old) => {
                    let patch = Patch::between(old, bead);
                    if patch != Patch::default() {
                        delta.beads.insert(lineage.clone(), patch);
                    }
                }
                None => drop(delta.beads.insert(lineage.clone(), Patch::from(bead.as_ref()))),
            }
        }
        for (key, edge) in state.edges.changed_since(&base.edges) {
            if base.edge(key) != Some(edge) {
                delta.edges.insert(key.clone(), edge.clone());
            }
        }
        if state.prefix > base.prefix {
            delta.prefix = Some(state.prefix.clone());
        }
        let conflicts =
            state.conflicts.iter().filter(|(id, conflict)| base.conflicts.get(id) != Some(conflict));
        delta.conflicts = conflicts.map(|(_, conflict)| conflict.clone()).collect();
        delta.gc_floor = Some(state.gc_floor).filter(|floor| *floor > base.gc_floor);
        let settings = state.settings.iter().filter(|(key, value)| base.settings.get(*key) != Some(value));
        delta.settings = settings.map(|(key, value)| (key.clone(), value.clone())).collect();
        delta.store_id = state.store_id.clone().filter(|id| base.store_id.as_ref() != Some(id));
        delta.format_version = Some(state.format_version)
            .filter(|version| *version > base.format_version.max(delta.required_format()));
        delta
    }
}

impl State {
    /// Returns whether joining a delta would change nothing.
    pub fn contains(&self, delta: &Delta) -> bool {
        if delta.gc_floor.is_some() {
            return self.is_unchanged_by(delta);
        }
        let contains = |(lineage, patch): (&Lineage, &Patch)| match self.bead(lineage) {
            Some(bead) => bead.contains(patch),
            None => self.is_forgotten(lineage) && !patch.creates_a_bead(),
        };
        if !delta.beads.iter().all(contains) || delta.required_format() > self.format_version {
            return false;
        }
        // Joining needs a copy of the state, and most deltas have nothing but beads.
        let rest = Delta {
            beads: BTreeMap::new(),
            edges: delta.edges.clone(),
            prefix: delta.prefix.clone(),
            conflicts: delta.conflicts.clone(),
            gc_floor: None,
            settings: delta.settings.clone(),
            store_id: delta.store_id.clone(),
            format_version: None,
        };
        rest.is_empty() || self.is_unchanged_by(&rest)
    }

    fn is_unchanged_by(&self, delta: &Delta) -> bool {
        let mut joined = self.clone();
        joined.join_delta(delta).is_ok() && Delta::between(self, &joined).is_empty()
    }
}

impl Bead {
    /// Returns whether joining a patch would change nothing.
    fn contains(&self, patch: &Patch) -> bool {
        let mut joined = self.clone();
        joined.join(patch);
        joined == *self
    }
}

impl Patch {
    /// Returns the registers of `new` that differ from those of `old`, and its further notes.
    fn between(old: &Bead, new: &Bead) -> Self {
        if old.is_hollow() && !new.is_hollow() {
            // Part of a bead cannot be joined with a hollow one.
            return Self::from(new);
        }
        let mut patch = Self::from(new);
        patch.drop_unchanged(old);
        patch.notes.retain(|note| old.notes.get(&note.id) != Some(note));
        patch.deletion = new.deletion.clone().filter(|deletion| old.deletion.as_ref() != Some(deletion));
        patch
    }
}
