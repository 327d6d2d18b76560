//! Reconstructs a state at some time from the snapshots before and after that time.

use crate::{Bead, Delta, Edge, Field, Patch, State};

impl State {
    /// Merges the writes in `later` up to a time. The result is exact, except for registers that were written
    /// twice between this state and `later`: the first of the two values is lost.
    pub fn join_until(&mut self, later: &Self, until_ms: u64) {
        let mut delta = Delta::default();
        for (lineage, bead) in later.beads().iter().filter(|(lineage, _)| lineage.at().ms() <= until_ms) {
            let mut patch = match self.bead(lineage) {
                Some(known) if known == bead => continue,
                // What is archived later was written before, so the earlier snapshot has it.
                _ if bead.is_hollow() => continue,
                Some(known) if known.is_hollow() => Patch::from(bead.as_ref()),
                Some(known) => written_until(known, bead, until_ms),
                // Its first values may have been overwritten; these are the earliest ones available.
                None => Patch::from(bead.as_ref()),
            };
            patch.notes.retain(|note| note.at.ms() <= until_ms);
            patch.deletion = patch.deletion.filter(|deletion| deletion.mark.at().ms() <= until_ms);
            delta.beads.insert(lineage.clone(), patch);
        }
        for (key, edge) in later.edges().iter().filter(|(_, edge)| edge.created.at().ms() <= until_ms) {
            let known = |end: &crate::Endpoint| {
                end.lineage()
                    .is_none_or(|lineage| self.bead(lineage).is_some() || delta.beads.contains_key(lineage))
            };
            if known(&key.from) && known(&key.to) {
                let at_that_time = if edge.changed.at().ms() <= until_ms {
                    edge.clone()
                } else {
                    Edge::added(edge.created.clone())
                };
                delta.edges.insert(key.clone(), at_that_time);
            }
        }
        // This cannot fail: the delta only refers to beads that are in this state or complete in the delta.
        let _ = self.join_delta(&delta);
    }
}

fn written_until(known: &Bead, later: &Bead, until_ms: u64) -> Patch {
    let mut patch = Patch { notes: later.notes.values().cloned().collect(), ..Patch::default() };
    patch.deletion.clone_from(&later.deletion);
    for field in Field::ALL.iter().copied().filter(|field| *field != Field::AssigneeExpires) {
        let mark = later.mark(field);
        if mark != known.mark(field)
            && mark.at().ms() <= until_ms
            && let Ok(one) = Patch::from_json(field, &later.value_json(field), mark)
        {
            patch.join(&one);
        }
    }
    patch
}
