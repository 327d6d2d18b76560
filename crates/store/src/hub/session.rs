//! The state of a replica at a hub: what it may do next, and what it takes from an answer. It makes no calls, so
//! the daemon, a single command and the simulator share it.

use std::collections::BTreeMap;

use beads_core::{Bead, Claim, Delta, Lineage, Stamp, State};

use super::outgoing::{is_hub_counter, is_open};
use super::{
    Attached, ClaimNews, Grant, HubCopy, HubCursor, HubHistory, HubRow, Outgoing, RowContent, TakenRows,
    is_hub_fence, lineage_key,
};
use crate::Result;
use crate::disk::Disk;
use crate::replica::Replica;
use crate::world::World;

/// The state of a replica at a hub.
#[derive(Debug, Clone)]
pub struct HubSession {
    copy: HubCopy,
    /// The id of this replica at the hub, a UUID.
    pub replica: String,
    /// The last number that this replica used.
    pub seq: u64,
    /// Nothing is appended before the copy has reached this number, because it is our own.
    must_reach: u64,
    is_attached: bool,
    /// Whether the deltas that existed at the last attach were taken.
    is_caught_up: bool,
    /// The hub waits for [`settle`](super::Hub::settle).
    must_settle: bool,
    /// How far the clock of the hub is ahead of ours; unknown before the first attach.
    ahead_ms: Option<i64>,
    /// The last claim on each bead that was granted to this replica, by the key of the bead.
    own_grants: BTreeMap<String, Stamp>,
}

impl HubSession {
    /// Returns a session that is not attached, with what an earlier one kept.
    pub fn new(copy: HubCopy, replica: String, seq: u64) -> Self {
        Self {
            copy,
            replica,
            seq,
            must_reach: 0,
            is_attached: false,
            is_caught_up: false,
            must_settle: false,
            ahead_ms: None,
            own_grants: BTreeMap::new(),
        }
    }

    /// Continues with the grants of an earlier session of this replica.
    pub fn with_own_grants(self, own_grants: BTreeMap<String, Stamp>) -> Self {
        Self { own_grants, ..self }
    }

    /// Returns the claims that were granted to this replica, by the keys of their beads, without those that the copy
    /// knows to be over.
    pub fn own_grants(&self) -> BTreeMap<String, Stamp> {
        if self.copy.is_detached() {
            return self.own_grants.clone();
        }
        let state = self.copy.state();
        let held = state.beads().iter().filter_map(|(lineage, bead)| {
            let fence = bead.claim.fence().filter(|fence| is_hub_fence(*fence))?;
            let key = lineage_key(lineage);
            (self.own_grants.get(&key) == Some(&fence)).then_some((key, fence))
        });
        held.collect()
    }

    /// Returns whether a claim was granted to this replica. The same actor may hold one on another machine.
    pub fn is_own(&self, lineage: &Lineage, bead: &Bead) -> bool {
        let fence = bead.claim.fence();
        fence.is_some() && self.own_grants.get(&lineage_key(lineage)).copied() == fence
    }

    /// Returns the copy of what the hub holds.
    pub fn copy(&self) -> &HubCopy {
        &self.copy
    }

    /// Returns the cursor of the copy.
    pub fn cursor(&self) -> &HubCursor {
        &self.copy.cursor
    }

    /// Returns whether the hub has a bead. Only then may it be claimed there: a grant before the birth of its
    /// bead means nothing to the others.
    pub fn knows(&self, lineage: &Lineage) -> bool {
        self.copy.state().bead(lineage).is_some()
    }

    /// Returns whether the hub accepted this machine.
    pub fn is_attached(&self) -> bool {
        self.is_attached
    }

    /// Returns whether something may be appended or claimed now.
    pub fn is_ready(&self) -> bool {
        self.is_attached && self.is_caught_up && self.copy.cursor.n >= self.must_reach
    }

    /// Returns whether grants wait for this machine.
    pub fn must_settle(&self) -> bool {
        self.must_settle
    }

    /// Returns whether to report to the hub once that nothing is left to append. Call it when that is so.
    pub fn take_settle(&mut self) -> bool {
        std::mem::take(&mut self.must_settle)
    }

    /// Returns the next number of this replica.
    pub fn next_seq(&mut self) -> u64 {
        self.seq += 1;
        self.seq
    }

    /// Returns a time of this machine by the clock of the hub, as far as it is known.
    pub fn hub_time(&self, now_ms: u64) -> u64 {
        now_ms.saturating_add_signed(self.ahead_ms.unwrap_or_default())
    }

    /// Returns whether a claim is one that the hub granted and still holds for its holder. The hub judges
    /// leases by its own clock, and may not know the latest renewal yet.
    pub fn confirms(&self, lineage: &Lineage, bead: &Bead, now_ms: u64) -> bool {
        let Some(fence) = bead.claim.fence().filter(|fence| is_hub_fence(*fence)) else { return false };
        let Some(ahead_ms) = self.ahead_ms else { return false };
        let hub_ms = now_ms.saturating_add_signed(ahead_ms);
        let is_renewed = |claim: &Claim| claim.expires_mark != claim.mark;
        let is_live = |claim: &Claim| !claim.expired(hub_ms);
        let known = self.copy.state().bead(lineage).filter(|known| known.claim.fence() == Some(fence));
        // A renewal that the hub does not know, because it has lost the grant, proves nothing. Nor does a claim that
        // a close has ended there.
        let at_hub = known.map_or(!is_renewed(&bead.claim), |known| is_open(known) && is_live(&known.claim));
        bead.claim.is_taken() && is_live(&bead.claim) && at_hub
    }

    /// Returns what to attach with: the cursor and the live claims that the hub may have lost.
    pub fn attach_arguments(&mut self, state: &State, now_ms: u64) -> (HubCursor, Vec<ClaimNews>) {
        self.detach();
        let mut claims = HubCopy::live_claims(state, self.hub_time(now_ms), self.ahead_ms.is_some());
        self.mark_own(&mut claims);
        (self.copy.cursor.clone(), claims)
    }

    /// Marks the claims that this replica was granted. A claim that no hub granted counts as its own, whoever made it.
    fn mark_own(&self, claims: &mut [ClaimNews]) {
        for claim in claims {
            let granted = |fence: &Stamp| (fence.ms(), fence.counter()) == (claim.ms, claim.counter);
            claim.own =
                !is_hub_counter(claim.counter) || self.own_grants.get(&claim.lineage).is_some_and(granted);
        }
    }

    /// Records that the connection is lost.
    pub fn detach(&mut self) {
        (self.is_attached, self.is_caught_up) = (false, false);
    }

    /// Records that the hub accepted this machine. If the history is another one, the snapshot or the deltas
    /// from the first one follow.
    ///
    /// Returns whether the copy that was saved must be deleted: a later session would attach with it, and the hub
    /// would believe once more that its history has changed.
    pub fn attached<D: Disk, W: World>(&mut self, replica: &mut Replica<D, W>, attached: &Attached) -> bool {
        let now_ms = replica.now_ms();
        self.is_attached = true;
        self.must_settle = attached.holding;
        self.seq = self.seq.max(attached.last_seq);
        let difference = i128::from(attached.now_ms) - i128::from(now_ms);
        self.ahead_ms = i64::try_from(difference).ok();
        replica.set_leases_ahead_ms(self.ahead_ms.unwrap_or_default());
        if attached.history != HubHistory::Same {
            self.copy = HubCopy::default();
            self.must_reach = 0;
        }
        attached.history == HubHistory::Other
    }

    /// Continues from the snapshot of the hub.
    pub fn restarted<D: Disk, W: World>(&mut self, replica: &mut Replica<D, W>, copy: HubCopy) {
        replica.hub_writes_mut().note_state(copy.state());
        self.copy = copy;
    }

    /// Takes deltas of the hub into memory. The caller commits them.
    pub fn take<D: Disk, W: World>(
        &mut self,
        replica: &mut Replica<D, W>,
        rows: &[HubRow],
    ) -> Result<TakenRows> {
        for row in rows.iter().filter(|row| row.replica == self.replica) {
            if let RowContent::Grant(grant) = &row.content {
                self.own_grants.insert(lineage_key(&grant.lineage), grant.fence);
            }
        }
        self.copy.take(replica, &self.replica, rows)
    }

    /// Records that all deltas were taken. Returns whether they brought anything.
    pub fn caught_up<D: Disk, W: World>(&mut self, replica: &mut Replica<D, W>) -> Result<bool> {
        self.is_caught_up = true;
        self.must_reach = self.must_reach.min(self.copy.cursor.n);
        self.copy.join_into(replica)
    }

    /// Returns what has to be appended next, if something may be.
    pub fn outgoing(&self, state: &State, now_ms: u64) -> Result<Option<Outgoing>> {
        if !self.is_ready() {
            return Ok(None);
        }
        let mut outgoing = self.copy.outgoing(state, self.hub_time(now_ms))?;
        if let Some(outgoing) = &mut outgoing {
            self.mark_own(&mut outgoing.claims);
        }
        Ok(outgoing)
    }

    /// Takes a grant to this replica.
    pub fn granted<D: Disk, W: World>(
        &mut self,
        replica: &mut Replica<D, W>,
        grant: &Grant,
        cursor: &HubCursor,
    ) -> Result<()> {
        self.own_grants.insert(lineage_key(&grant.lineage), grant.fence);
        self.numbered(replica, &grant.delta(), cursor)
    }

    /// Takes an own delta into the copy if it is the next one; otherwise it arrives with those before it.
    pub fn numbered<D: Disk, W: World>(
        &mut self,
        replica: &mut Replica<D, W>,
        delta: &Delta,
        cursor: &HubCursor,
    ) -> Result<()> {
        if cursor.n == self.copy.cursor.n + 1 {
            self.copy.take_own(delta, cursor.clone(), replica.catalog().state())?;
            replica.hub_writes_mut().note(delta);
        } else if cursor.n > self.copy.cursor.n {
            self.must_reach = self.must_reach.max(cursor.n);
            self.copy.await_own(delta, cursor);
        }
        Ok(())
    }

    /// Draws a new id, because another machine uses the old one. Which of the two was granted the claims of the old
    /// id is unknown.
    pub fn draw_replica(&mut self, random: [u64; 2]) {
        self.replica = draw_uuid(random);
        self.own_grants.clear();
        self.seq = 0;
    }
}

/// Formats random bits as a UUID.
pub fn draw_uuid([high, low]: [u64; 2]) -> String {
    let digits = format!("{high:016x}{low:016x}");
    let part = |range: std::ops::Range<usize>| digits.get(range).unwrap_or_default();
    [part(0..8), part(8..12), part(12..16), part(16..20), part(20..32)].join("-")
}
