//! The local copy of what a hub holds.

use std::collections::BTreeMap;

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
    /// Grants that arrived while this replica had a release that was made without knowing them, with the mark of
    /// that release. It must not free them.
    outrun: BTreeMap<Lineage, (Stamp, Mark)>,
}

impl Default for HubCopy {
    fn default() -> Self {
        let (cursor, state) = (HubCursor::default(), State::default());
        Self { cursor, state, is_detached: true, outrun: BTreeMap::new() }
    }
}

/// What taking deltas changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TakenRows {
    /// The number of deltas that brought changes of others.
    pub news: usize,
    /// Whether a delta of this replica was among them.
    pub own: bool,
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
        Ok(Self { cursor: stored.cursor, state, is_detached: false, outrun: BTreeMap::new() })
    }

    /// Adds a delta. Fails if it is not the next one, or cannot be decoded.
    pub fn fold(&mut self, row: &HubRow) -> Result<Delta> {
        if row.cursor.n != self.cursor.n + 1 {
            return Err(invalid(format!("delta {} follows delta {}", row.cursor.n, self.cursor.n)));
        }
        let mut delta = row.content.delta()?;
        if self.state.clone().join_delta(&delta).is_err() {
            // Garbage collection dropped the beads that it refers to.
            delta = delta.without_unknown_beads(&self.state).0;
        }
        self.state.join_delta(&delta)?;
        self.cursor = row.cursor.clone();
        Ok(delta)
    }

    /// Takes deltas of the hub into a replica and into the copy, in their order. The caller commits the
    /// replica.
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
        let rows: Vec<_> = rows.iter().filter(|row| row.cursor.n > self.cursor.n).collect();
        for row in &rows {
            if self.is_detached || row.replica != own {
                replica.hub_writes.note(&row.content.delta()?);
            }
        }
        for row in rows {
            let base = self.state.clone();
            let delta = self.fold(row)?;
            let is_own = row.replica == own;
            taken.own |= is_own && matches!(row.content, RowContent::Payload(_));
            if self.is_detached {
                continue;
            }
            let mut conflicts = Vec::new();
            if let (RowContent::Grant(grant), false) = (&row.content, is_own) {
                self.note_outrun(&grant.lineage, base.bead(&grant.lineage), replica);
            }
            if !is_own {
                let ours = replica.catalog().state();
                conflicts = concurrent_writes_to(delta.beads.keys(), ours, &self.state, &base);
                replica.hub_writes.filter(&mut conflicts);
            }
            let delta = self.with_content(delta, replica.catalog().state());
            taken.news += usize::from(replica.take_foreign(delta, conflicts)?);
        }
        if !self.is_detached {
            self.share_with(replica.catalog().state());
        }
        Ok(taken)
    }

    /// Adds the content of beads to a delta if the replica has given it up to the archive. The copy has it, or
    /// is hollow, too.
    fn with_content(&self, mut delta: Delta, known: &State) -> Delta {
        for (lineage, patch) in &mut delta.beads {
            if known.bead(lineage).is_some_and(SharedBead::is_hollow)
                && let Some(whole) = self.state.bead(lineage)
            {
                *patch = Patch::from(whole.as_ref());
            }
        }
        delta
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
        self.share_with(replica.catalog().state());
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
        let Some(ours) = replica.catalog().bead(lineage).map(|bead| &bead.claim) else { return };
        if !ours.is_taken() && base.is_none_or(|base| base.claim.mark != ours.mark) {
            self.outrun.insert(lineage.clone(), (fence, ours.mark.clone()));
        }
    }

    /// Returns whether a release was made without knowing the claim that it would end.
    pub(super) fn is_outrun(&self, lineage: &Lineage, fence: Stamp, release: &Mark) -> bool {
        self.outrun.get(lineage).is_some_and(|(known, mark)| *known == fence && mark == release)
    }

    /// Adds the replica's own delta, which got the number after the cursor.
    pub fn take_own(&mut self, delta: &Delta, cursor: HubCursor) -> Result<()> {
        self.state.join_delta(delta)?;
        self.cursor = cursor;
        Ok(())
    }

    /// Shares memory with the state of the replica if both are equal, which makes comparing them fast.
    fn share_with(&mut self, state: &State) {
        if Delta::between(&self.state, state).is_empty() {
            self.state = state.clone();
        }
    }
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
