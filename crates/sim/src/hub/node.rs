//! One machine: the real replica and its session at the hub. It makes the calls that the daemon makes, in the
//! same order.

use std::collections::BTreeMap;

use beads_core::op::{ClaimBead, ClaimNext, HandOver, Reopen, Unclaim};
use beads_core::{Actor, Bead, Lineage, Op, Stamp, Status};
use beads_store::hub::{
    ClaimAnswer, ClaimRequest, FoldOutcome, Grant, Hub, HubCopy, HubCursor, HubHistory, HubSession,
    MAX_CANDIDATES, Member, Outgoing, compact, draw_uuid, read_snapshot,
};
use beads_store::{Caller, Error, Replica};

use super::connection::Connection;
use super::server::Ticket;
use crate::dice::Dice;
use crate::disk::SimDisk;
use crate::faults::Faults;
use crate::ledger::{Fact, ParsedSnapshot, facts};
use crate::machine::Violation;
use crate::repository::SimRepository;
use crate::world::SimWorld;

/// The lease of a claim.
pub const LEASE_MS: u64 = 60_000;

/// Deltas are folded when they are larger than this.
const FOLD_MIN_BYTES: u64 = 1_000;

/// A call that the hub has not answered yet. It is repeated under its number.
#[derive(Debug, Clone)]
pub enum Call {
    Append(u64, u64, Box<Outgoing>),
    /// With the cursor that its candidates are from: a repetition must not claim to have seen more.
    Claim(u64, HubCursor, ClaimRequest),
}

/// A claim that was reported to a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    pub lineage: Lineage,
    pub fence: Stamp,
}

/// One machine.
pub struct Node {
    pub index: usize,
    /// Machines may share one, such as when the same agent runs on several.
    pub actor: Actor,
    /// The claims that were acknowledged to users of this machine, with their fences.
    acknowledged: BTreeMap<Lineage, Stamp>,
    disk: SimDisk,
    repository: SimRepository,
    pub world: SimWorld,
    pub replica: Option<Replica<SimDisk, SimWorld>>,
    pub session: HubSession,
    /// What the files of the hub hold.
    pub saved: HubSession,
    call: Option<Call>,
    /// The attachment of the last exchange.
    pub ticket: Ticket,
    pub partitioned: bool,
    pub facts: Vec<Fact>,
    pending: Vec<Fact>,
    dice: Dice,
}

impl Node {
    /// Returns a machine whose process is not running.
    pub fn new(index: usize, actor: usize, world: SimWorld, dice: &mut Dice) -> Self {
        let session = HubSession::new(HubCopy::default(), draw_uuid([dice.roll(), dice.roll()]), 0);
        Self {
            index,
            actor: format!("agent-{actor}").parse().expect("a name"),
            acknowledged: BTreeMap::new(),
            disk: SimDisk::new(dice.roll(), Faults::default()),
            repository: SimRepository::new(dice.roll(), Faults::default()),
            world,
            replica: None,
            saved: session.clone(),
            session,
            call: None,
            ticket: Ticket::default(),
            partitioned: false,
            facts: Vec::new(),
            pending: Vec::new(),
            dice: Dice::new(dice.roll()),
        }
    }

    /// Starts the process if it is not running.
    pub fn open(&mut self) -> Result<(), Violation> {
        if self.replica.is_some() {
            return Ok(());
        }
        let opened = Replica::open(self.disk.clone(), &self.repository, self.world.clone());
        let mut replica = opened.map_err(|error| format!("opening failed: {error}"))?;
        let parsed = ParsedSnapshot::new(&replica.catalog().state().encode())?;
        parsed.check_all(&self.facts).map_err(|lost| format!("after reopening: {lost}"))?;
        let copy = HubCopy::decode(&self.saved.copy().encode().map_err(|error| error.to_string())?)
            .unwrap_or_default();
        let saved = &self.saved;
        self.session =
            HubSession::new(copy, saved.replica.clone(), saved.seq).with_own_grants(saved.own_grants());
        replica.hub_writes_mut().note_state(self.session.copy().state());
        self.replica = Some(replica);
        Ok(())
    }

    pub fn replica(&mut self) -> Result<&mut Replica<SimDisk, SimWorld>, Violation> {
        self.replica.as_mut().ok_or_else(|| "the process is not running".to_owned())
    }

    /// Writes the files of the hub, as the daemon does when it stops.
    pub fn save(&mut self) {
        if !self.session.copy().is_detached() {
            self.saved = self.session.clone();
        }
    }

    /// Kills the process.
    pub fn kill(&mut self, power: bool) {
        self.replica = None;
        self.pending.clear();
        self.call = None;
        if power {
            self.disk.lose_power();
            self.repository.lose_power();
        }
    }

    /// Applies one operation. Returns the error code if the core rejects it.
    pub fn apply(&mut self, op: &Op) -> Result<Result<(), String>, Violation> {
        let branch = Default::default();
        let caller = Caller { actor: self.actor.clone(), branch, lease_ms: LEASE_MS, request: None };
        match self.replica()?.apply(op, &caller) {
            Ok(applied) => {
                self.pending.extend(facts(&applied));
                Ok(Ok(()))
            }
            Err(Error::Core(error)) => Ok(Err(error.code().to_string())),
            Err(error) => Err(format!("apply failed: {error}")),
        }
    }

    /// Syncs the journal. From now on pending writes must not be lost.
    pub fn commit(&mut self) -> Result<(), Violation> {
        self.replica()?.commit().map_err(|error| format!("commit failed: {error}"))?;
        self.facts.append(&mut self.pending);
        Ok(())
    }

    /// Returns the claims that this machine shows as confirmed.
    pub fn confirmed(&self) -> Vec<Held> {
        let Some(replica) = &self.replica else { return Vec::new() };
        let now_ms = replica.now_ms();
        let held = replica.catalog().live().filter_map(|(lineage, bead)| {
            let fence = bead.claim.fence().filter(|fence| self.acknowledged.get(lineage) == Some(fence))?;
            let held = Held { lineage: lineage.clone(), fence };
            (bead.status() != Status::Closed && self.session.confirms(lineage, bead, now_ms)).then_some(held)
        });
        held.collect()
    }

    /// Returns a bead that is closed, and whose last claim was one of this machine.
    pub fn closed(&self, dice: &mut Dice) -> Option<(Lineage, Op)> {
        let catalog = self.replica.as_ref()?.catalog();
        let closed = catalog.live().filter(|(lineage, bead)| {
            bead.status() == Status::Closed && self.acknowledged.get(*lineage).copied() == bead.claim.fence()
        });
        let closed: Vec<_> = closed.filter(|(_, bead)| bead.claim.is_taken()).map(|(one, _)| one).collect();
        let lineage = (*dice.pick(&closed)?).clone();
        let id = catalog.id_of(&lineage).to_string();
        let status = Some(Status::InProgress);
        Some((lineage, Op::Reopen(Reopen { id, status, ..Reopen::default() })))
    }

    /// Returns the operation that hands over one of the machine's claims.
    pub fn hand_over(&self, to: &Actor, dice: &mut Dice) -> Option<Op> {
        let held = self.confirmed();
        let Held { lineage, .. } = dice.pick(&held)?;
        Some(self.hand_over_bead(lineage, to))
    }

    /// Returns the operation that hands over a bead. Its holder does not matter.
    pub fn hand_over_bead(&self, lineage: &Lineage, to: &Actor) -> Op {
        let id = self.replica.as_ref().map(|replica| replica.catalog().id_of(lineage).to_string());
        Op::HandOver(Box::new(HandOver {
            id: id.unwrap_or_default(),
            guard: Default::default(),
            to: to.clone(),
            within_ms: Some(LEASE_MS),
            text: "go on".parse().expect("a text"),
            force: true,
        }))
    }

    /// Handles an error of a call. Only those of a connection, an epoch or an identity are expected.
    fn failed(&mut self, error: &Error) -> Result<String, Violation> {
        match error {
            Error::HubReplicaReused => {
                self.session.draw_replica([self.dice.roll(), self.dice.roll()]);
                self.saved.replica.clone_from(&self.session.replica);
                self.saved.seq = 0;
                let next = self.session.next_seq();
                if let Some(Call::Append(seq, ..) | Call::Claim(seq, ..)) = &mut self.call {
                    *seq = next;
                }
            }
            Error::HubUnreachable(_) | Error::HubAttachAgain | Error::HubHistory => {}
            other => return Err(format!("the hub answered with {other}")),
        }
        self.session.detach();
        Ok(error.to_string())
    }

    /// Exchanges everything with the hub, and repeats the call that was not answered.
    pub fn exchange(&mut self, hub: &mut Connection) -> Result<String, Violation> {
        match self.try_exchange(hub) {
            Ok(report) => Ok(report),
            Err(Trouble::Hub(error)) => self.failed(&error),
            Err(Trouble::Found(violation)) => Err(violation),
        }
    }

    fn try_exchange(&mut self, hub: &mut Connection) -> Result<String, Trouble> {
        self.attach(hub)?;
        let mut reports = Vec::new();
        if let Some(call) = self.call.clone() {
            reports.push(self.make(hub, call)?);
        }
        self.fetch(hub)?;
        for _ in 0..20 {
            let replica = self.replica.as_ref().ok_or("the process is not running".to_owned())?;
            let outgoing = self.session.outgoing(replica.catalog().state(), replica.now_ms())?;
            let Some(outgoing) = outgoing else { break };
            let (seq, seen) = (self.session.next_seq(), self.session.cursor().n);
            reports.push(self.make(hub, Call::Append(seq, seen, Box::new(outgoing)))?);
            self.fetch(hub)?;
        }
        if self.session.take_settle() {
            hub.settle()?;
        }
        Ok(format!("{reports:?} at {}", self.session.cursor().n))
    }

    fn attach(&mut self, hub: &mut Connection) -> Result<(), Trouble> {
        let replica = self.replica.as_mut().ok_or("the process is not running".to_owned())?;
        let now_ms = replica.now_ms();
        let (cursor, claims) = self.session.attach_arguments(replica.catalog().state(), now_ms);
        let member = Member { store: "store".to_owned(), replica: self.session.replica.clone() };
        let attached = hub.attach(&member, &cursor, &claims)?;
        if self.session.attached(replica, &attached) {
            let session = HubSession::new(HubCopy::default(), self.session.replica.clone(), self.session.seq);
            self.saved = session.with_own_grants(self.session.own_grants());
        }
        if attached.history != HubHistory::Same
            && let Some(copy) = read_snapshot(hub)?
        {
            self.session.restarted(replica, copy);
        }
        self.fetch(hub)?;
        let replica = self.replica.as_mut().ok_or("the process is not running".to_owned())?;
        self.session.caught_up(replica)?;
        Ok(self.commit()?)
    }

    fn fetch(&mut self, hub: &mut Connection) -> Result<(), Trouble> {
        loop {
            let fetched = hub.fetch_since(self.session.cursor())?;
            let replica = self.replica.as_mut().ok_or("the process is not running".to_owned())?;
            let taken = self.session.take(replica, &fetched.rows)?;
            self.commit()?;
            if let Some(reason) = taken.refused {
                return Err(Error::HubInvalid(reason).into());
            }
            if !fetched.more {
                return Ok(());
            }
        }
    }

    /// Makes a call and takes its answer. Until then it is kept.
    fn make(&mut self, hub: &mut Connection, call: Call) -> Result<String, Trouble> {
        self.call = Some(call.clone());
        match call {
            Call::Append(seq, seen, outgoing) => {
                let cursor = hub.append(seq, seen, &outgoing.payload, &outgoing.claims)?;
                self.call = None;
                let replica = self.replica.as_mut().ok_or("the process is not running".to_owned())?;
                self.session.numbered(replica, &outgoing.delta, &cursor)?;
                Ok(format!("append {}", cursor.n))
            }
            Call::Claim(seq, cursor, request) => {
                let answer = hub.claim(seq, &cursor, &request)?;
                self.call = None;
                match answer {
                    ClaimAnswer::Granted(grant, cursor) => Ok(self.granted(&grant, &cursor)?),
                    ClaimAnswer::Behind => {
                        self.fetch(hub)?;
                        Ok("behind".into())
                    }
                    other => Ok(format!("{other:?}")),
                }
            }
        }
    }

    fn granted(&mut self, grant: &Grant, cursor: &HubCursor) -> Result<String, Trouble> {
        let replica = self.replica.as_mut().ok_or("the process is not running".to_owned())?;
        self.session.granted(replica, grant, cursor)?;
        let id = replica.catalog().id_of(&grant.lineage).to_string();
        let (at, until) = (Some(grant.fence), Some(grant.until));
        let claim = Op::Claim(ClaimBead { id: id.clone(), at, until, ..ClaimBead::default() });
        let applied = self.apply(&claim)?;
        let replica = self.replica.as_mut().ok_or("the process is not running".to_owned())?;
        let bead = replica.catalog().bead(&grant.lineage);
        if bead.is_some_and(|bead| bead.claim.fence() != Some(grant.fence)) {
            replica.take_foreign(grant.delta(), Vec::new())?;
            let _ = self.apply(&Op::Unclaim(Unclaim { id, ..Unclaim::default() }))?;
        } else if applied.is_ok() {
            self.acknowledged.insert(grant.lineage.clone(), grant.fence);
        }
        self.commit()?;
        Ok(format!("granted {:?} {} {applied:?}", grant.lineage.birth_id(), cursor.n))
    }

    /// Asks the hub for the next bead.
    pub fn claim(&mut self, hub: &mut Connection) -> Result<String, Violation> {
        match self.try_claim(hub) {
            Ok(report) => Ok(report),
            Err(Trouble::Hub(error)) => self.failed(&error),
            Err(Trouble::Found(violation)) => Err(violation),
        }
    }

    fn try_claim(&mut self, hub: &mut Connection) -> Result<String, Trouble> {
        if !self.session.is_ready() || self.call.is_some() {
            return Ok(format!("first {}", self.try_exchange(hub)?));
        }
        let (own, actor) = (self.index, self.actor.clone());
        let replica = self.replica.as_ref().ok_or("the process is not running".to_owned())?;
        let next = ClaimNext::default();
        let found = next.candidates(replica.catalog(), &actor, replica.lease_now_ms(), MAX_CANDIDATES);
        let found = found.map_err(|error| error.to_string())?;
        let report = self.ask(hub, found)?;
        Ok(report.unwrap_or_else(|| format!("nothing for machine {own}")))
    }

    /// Asks the hub for one of several beads, if it has any of them.
    fn ask(&mut self, hub: &mut Connection, beads: Vec<Lineage>) -> Result<Option<String>, Trouble> {
        let replica = self.replica.as_ref().ok_or("the process is not running".to_owned())?;
        let known = beads.into_iter().filter(|lineage| self.session.knows(lineage));
        let candidates = known.filter_map(|lineage| {
            let claim = &replica.catalog().bead(&lineage)?.claim;
            let at = claim.mark.at().max(claim.expires_mark.at());
            Some((lineage, at))
        });
        let candidates: Vec<_> = candidates.collect();
        if candidates.is_empty() {
            return Ok(None);
        }
        let id = draw_uuid([self.dice.roll(), self.dice.roll()]);
        let request = ClaimRequest { id, holder: self.actor.clone(), lease_ms: LEASE_MS, candidates };
        let seq = self.session.next_seq();
        self.make(hub, Call::Claim(seq, self.session.cursor().clone(), request)).map(Some)
    }

    /// Claims a bead by its name that an actor of this name already has. Only a claim of this machine is renewed.
    pub fn reclaim(&mut self, hub: &mut Connection) -> Result<String, Violation> {
        match self.try_reclaim(hub) {
            Ok(report) => Ok(report),
            Err(Trouble::Hub(error)) => self.failed(&error),
            Err(Trouble::Found(violation)) => Err(violation),
        }
    }

    fn try_reclaim(&mut self, hub: &mut Connection) -> Result<String, Trouble> {
        if !self.session.is_ready() || self.call.is_some() {
            return Ok(format!("first {}", self.try_exchange(hub)?));
        }
        let replica = self.replica.as_ref().ok_or("the process is not running".to_owned())?;
        let now_ms = replica.lease_now_ms();
        let is_mine =
            |bead: &Bead| bead.status() != Status::Closed && bead.claim.holder(now_ms) == Some(&self.actor);
        let held: Vec<_> = replica.catalog().live().filter(|(_, bead)| is_mine(bead)).collect();
        let Some((lineage, bead)) = self.dice.pick(&held) else { return Ok("nothing".into()) };
        let lineage = (*lineage).clone();
        if !self.session.is_own(&lineage, bead) || !self.session.confirms(&lineage, bead, replica.now_ms()) {
            return Ok(self.ask(hub, vec![lineage])?.unwrap_or_default());
        }
        let (id, fence) = (replica.catalog().id_of(&lineage).to_string(), bead.claim.fence());
        let applied = self.apply(&Op::Claim(ClaimBead { id, ..ClaimBead::default() }))?;
        if let Some(fence) = fence.filter(|_| applied.is_ok()) {
            self.acknowledged.insert(lineage, fence);
        }
        self.commit()?;
        Ok(format!("renewed {applied:?}"))
    }

    /// Folds the deltas of the hub.
    pub fn compact(&mut self, hub: &mut Connection) -> Result<String, Violation> {
        if !self.session.is_attached() {
            return Ok("not attached".into());
        }
        match compact(hub, &self.session.replica, FOLD_MIN_BYTES) {
            Ok(Some((_, FoldOutcome::Differs))) => Err("two machines folded differently".into()),
            Ok(Some((_, FoldOutcome::Incomplete))) => Err("a complete snapshot was refused".into()),
            Ok(outcome) => Ok(format!("{outcome:?}")),
            Err(error) => self.failed(&error),
        }
    }
}

/// Why an exchange ended early.
enum Trouble {
    /// An error of the hub.
    Hub(Error),
    /// A violation.
    Found(Violation),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Hub(error)
    }
}

impl From<Violation> for Trouble {
    fn from(violation: Violation) -> Self {
        Self::Found(violation)
    }
}
