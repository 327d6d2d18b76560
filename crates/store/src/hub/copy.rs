//! The local copy of what a hub holds.

use std::collections::BTreeMap;

use beads_core::limits::MAX_MERGED_LINE_BYTES;
use beads_core::{
    Actor, Claim, Conflict, Delta, Lineage, Mark, Patch, SharedBead, Snapshot, Stamp, State, Timestamp,
    concurrent_writes, concurrent_writes_to,
};
use serde::{Deserialize, Serialize};

use super::{Grant, HubCursor, HubRow, RowContent};
use crate::disk::Disk;
use crate::replica::Replica;
use crate::world::World;
use crate::{Error, Result};

/// What the hub holds up to a cursor: the fold of its snapshot and its deltas, and nothing else.
#[derive(Debug, Clone)]
pub struct HubCopy {
    /// The last delta in the copy.
    pub cursor: HubCursor,
    state: State,
    /// The copy is being fetched from the beginning; nothing of it is in the replica yet.
    is_detached: bool,
    /// Grants that arrived while this replica had a release or handover that was made without knowing them, with
    /// its mark. It must not free them.
    outrun: BTreeMap<Lineage, (Stamp, Mark)>,
    /// Own deltas that got a number behind deltas of others, by that number and with its token. They need not be
    /// decoded when they arrive with the others.
    own: BTreeMap<u64, (String, Delta)>,
}

impl Default for HubCopy {
    fn default() -> Self {
        let (cursor, state) = (HubCursor::default(), State::default());
        Self { cursor, state, is_detached: true, outrun: BTreeMap::new(), own: BTreeMap::new() }
    }
}

/// What taking deltas changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TakenRows {
    /// The number of deltas that brought changes of others.
    pub news: usize,
    /// Whether a delta of this replica was among them.
    pub own: bool,
    /// Why the next delta cannot be taken, if there is one. Those before it were.
    pub refused: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    cursor: HubCursor,
    files: [String; 5],
}

impl HubCopy {
    /// Returns the state at the cursor.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Returns whether the copy is being fetched from the beginning, so that the replica does not have it yet.
    /// Such a copy must not be kept: a later process would believe that the replica has it.
    pub fn is_detached(&self) -> bool {
        self.is_detached
    }

    /// Encodes the copy. Two replicas with the same cursor encode the same bytes.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let Snapshot { state, tombstones, deps, meta, conflicts } = self.state.encode();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).map_err(|error| invalid(error.to_string()));
        let files = [text(state)?, text(tombstones)?, text(deps)?, text(meta)?, text(conflicts)?];
        let stored = Stored { cursor: self.cursor.clone(), files };
        serde_json::to_vec(&stored).map_err(|error| invalid(error.to_string()))
    }

    /// Returns the copy that a snapshot of the hub, which is untrusted, contains. It has to be joined into the
    /// replica.
    pub fn from_snapshot(cursor: HubCursor, bytes: &[u8]) -> Result<Self> {
        Ok(Self { cursor, is_detached: true, ..Self::decode(bytes)? })
    }

    /// Decodes a copy.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let stored: Stored = serde_json::from_slice(bytes).map_err(|error| invalid(error.to_string()))?;
        let [state, tombstones, deps, meta, conflicts] = stored.files.map(String::into_bytes);
        let state = Snapshot { state, tombstones, deps, meta, conflicts }.decode()?.state;
        Ok(Self { cursor: stored.cursor, state, is_detached: false, ..Self::default() })
    }

    /// Adds a delta. Fails if it is not the next one, or cannot be decoded.
    pub fn fold(&mut self, row: &HubRow) -> Result<Delta> {
        let folded = row.content.delta().and_then(|delta| self.fold_decoded(row, delta));
        folded.map_err(|error| invalid(row.refusal(&error)))
    }

    /// Like [`fold`](Self::fold), with the decoded content.
    fn fold_decoded(&mut self, row: &HubRow, mut delta: Delta) -> Result<Delta> {
        if row.cursor.n != self.cursor.n + 1 {
            return Err(invalid(format!("delta {} follows delta {}", row.cursor.n, self.cursor.n)));
        }
        if !self.state.accepts(&delta) {
            // Garbage collection dropped the beads that it refers to, or it is a part of a bead whose content never
            // was on the hub, such as a claim. Its writer has the whole bead, which it appends then.
            delta = delta.without_unknown_beads(&self.state).0;
        }
        self.state.check_lines(&delta, MAX_MERGED_LINE_BYTES)?;
        self.state.join_delta(&delta)?;
        self.cursor = row.cursor.clone();
        Ok(delta)
    }

    /// Decodes a delta, unless it is one that this replica has appended itself.
    fn decoded(&mut self, row: &HubRow) -> Result<Delta> {
        match self.own.remove(&row.cursor.n) {
            Some((token, delta)) if token == row.cursor.token => Ok(delta),
            _ => row.content.delta(),
        }
    }

    /// Takes deltas of the hub into a replica and into the copy, in their order, up to the first one that cannot
    /// be used. The caller commits the replica.
    ///
    /// What the replica has beyond the copy was written without knowledge of the next delta, and the writer
    /// of that delta did not know it either, because it has no number yet or a later one. So exactly these
    /// writes are concurrent, except those that came here by another way and are on the hub, too.
    pub fn take<D: Disk, W: World>(
        &mut self,
        replica: &mut Replica<D, W>,
        own: &str,
        rows: &[HubRow],
    ) -> Result<TakenRows> {
        let mut taken = TakenRows::default();
        let mut decoded = Vec::with_capacity(rows.len());
        let known = self.cursor.n;
        for row in rows.iter().filter(|row| row.cursor.n > known) {
            let delta = match self.decoded(row) {
                Ok(delta) => delta,
                Err(error) => {
                    taken.refused = Some(row.refusal(&error));
                    break;
                }
            };
            if self.is_detached || row.replica != own {
                replica.hub_writes.note(&delta);
            }
            decoded.push((row, delta));
        }
        for (row, delta) in decoded {
            let base = self.beads_of(&delta);
            let mut delta = match self.fold_decoded(row, delta) {
                Ok(delta) => delta,
                Err(error) => {
                    taken.refused = Some(row.refusal(&error));
                    break;
                }
            };
            let is_own = row.replica == own;
            taken.own |= is_own && matches!(row.content, RowContent::Payload(_));
            if self.is_detached {
                continue;
            }
            let mut conflicts = Vec::new();
            if let (RowContent::Grant(grant), false) = (&row.content, is_own) {
                let before = base.get(&grant.lineage).and_then(Option::as_ref);
                self.note_outrun(&grant.lineage, before, replica);
            }
            if is_own {
                replica.hub_writes.note(&delta);
            } else {
                conflicts = concurrent_writes_to(&base, replica.catalog().state(), &self.state);
                replica.hub_writes.filter(&mut conflicts);
            }
            let grew = self.complete_hollow(&mut delta, replica.catalog().state());
            let fits = !grew && row.content.fits_a_record();
            taken.news += usize::from(replica.take_noted(delta, conflicts, fits)?);
        }
        if !self.is_detached {
            self.state.share_memory_with(replica.catalog().state());
        }
        Ok(taken)
    }

    /// Completes the parts of beads in a delta whose content the replica has given up to the archive. The copy
    /// has that content: it took the delta. Returns whether there were any.
    fn complete_hollow(&self, delta: &mut Delta, known: &State) -> bool {
        if known.accepts(delta) {
            return false;
        }
        let mut completed = false;
        for (lineage, patch) in &mut delta.beads {
            if known.bead(lineage).is_some_and(SharedBead::is_hollow)
                && let Some(whole) = self.state.bead(lineage).filter(|bead| !bead.is_hollow())
            {
                *patch = Patch::from(whole.as_ref());
                completed = true;
            }
        }
        completed
    }

    /// Joins a copy that was fetched from the beginning into a replica, and returns whether that brought
    /// anything. Before, the replica could not tell old writes of the hub from concurrent ones. Its own
    /// writes that the hub never had are concurrent with those of the hub.
    pub fn join_into<D: Disk, W: World>(&mut self, replica: &mut Replica<D, W>) -> Result<bool> {
        if !std::mem::replace(&mut self.is_detached, false) {
            return Ok(false);
        }
        for lineage in self.state.beads().keys().cloned().collect::<Vec<_>>() {
            self.note_outrun(&lineage, None, replica);
        }
        let ours = replica.catalog().state();
        let mut conflicts: Vec<Conflict> = concurrent_writes(ours, &self.state, None);
        replica.hub_writes.filter(&mut conflicts);
        let delta = Delta::between(ours, &self.state);
        let news = replica.take_foreign(delta, conflicts)?;
        self.state.share_memory_with(replica.catalog().state());
        Ok(news)
    }

    /// Remembers a claim of the copy if the replica has released the bead without knowing it. `base` is the bead
    /// before the claim, if it is known what the replica knew.
    fn note_outrun<D: Disk, W: World>(
        &mut self,
        lineage: &Lineage,
        base: Option<&SharedBead>,
        replica: &Replica<D, W>,
    ) {
        let claim = self.state.bead(lineage).map(|bead| &bead.claim);
        let Some(fence) = claim.filter(|claim| claim.is_taken()).and_then(Claim::fence) else { return };
        let Some(bead) = replica.catalog().bead(lineage) else { return };
        let ours = &bead.claim;
        let ends = !ours.is_taken() || bead.is_handover();
        if ends && base.is_none_or(|base| base.claim.mark != ours.mark) {
            self.outrun.insert(lineage.clone(), (fence, ours.mark.clone()));
        }
    }

    /// Returns whether a release was made without knowing the claim that it would end.
    pub(super) fn is_outrun(&self, lineage: &Lineage, fence: Stamp, release: &Mark) -> bool {
        self.outrun.get(lineage).is_some_and(|(known, mark)| *known == fence && mark == release)
    }

    /// Adds the replica's own delta, which got the number after the cursor. `state` is that of the replica.
    pub(super) fn take_own(&mut self, delta: &Delta, cursor: HubCursor, state: &State) -> Result<()> {
        if self.state.accepts(delta) {
            self.state.join_delta(delta)?;
        } else {
            // The hub has lost the beads since. They are appended next.
            self.state.join_delta(&delta.clone().without_unknown_beads(&self.state).0)?;
        }
        self.cursor = cursor;
        self.state.share_memory_with(state);
        Ok(())
    }

    /// Keeps the replica's own delta, which got a number behind deltas that have not been taken yet.
    pub(super) fn await_own(&mut self, delta: &Delta, cursor: &HubCursor) {
        self.own.insert(cursor.n, (cursor.token.clone(), delta.clone()));
    }

    /// Returns the beads that a delta touches, as they are in the copy.
    fn beads_of(&self, delta: &Delta) -> BTreeMap<Lineage, Option<SharedBead>> {
        delta.beads.keys().map(|lineage| (lineage.clone(), self.state.bead(lineage).cloned())).collect()
    }
}

impl HubRow {
    /// Says which delta cannot be used, and why: the administrator of the hub has to remove it.
    fn refusal(&self, error: &Error) -> String {
        refusal(self.cursor.n, &self.replica, error)
    }
}

/// Says which delta of which machine cannot be used, and why.
pub(super) fn refusal(number: u64, replica: &str, error: &Error) -> String {
    let reason = match error {
        Error::HubInvalid(reason) => reason.clone(),
        other => other.to_string(),
    };
    format!("delta {number} of machine {replica}: {reason}")
}

impl Grant {
    /// Returns the delta that every replica builds from the grant.
    pub fn delta(&self) -> Delta {
        let mark = Mark::new(self.fence, self.holder.clone());
        let claim = Claim::new(mark, Some(self.holder.clone()), Some(self.until));
        Delta::of_bead(self.lineage.clone(), Patch { claim: Some(claim), ..Patch::default() })
    }

    /// Parses the columns of a grant, which are untrusted.
    pub fn parse(lineage: &str, holder: &str, fence: (i64, i64), until_ms: i64) -> Result<Self> {
        let number = |value: i64| u64::try_from(value).map_err(|error| invalid(error.to_string()));
        let json = |error: serde_json::Error| invalid(error.to_string());
        let fence = serde_json::from_str(&format!("[{},{}]", fence.0, fence.1)).map_err(json)?;
        let holder: Actor = holder.parse()?;
        let until = Timestamp::from_ms(number(until_ms)?)?;
        Ok(Self { lineage: serde_json::from_str(lineage).map_err(json)?, holder, fence, until })
    }
}

fn invalid(reason: String) -> Error {
    Error::HubInvalid(reason)
}
