//! Wrong clocks and garbage collection: visitors from the future, floors, and what may be missing because of
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use beads_core::limits::{COUNTER_STEP, MAX_DRIFT_MS, MAX_MS};
use beads_core::op::{CollectGarbage, Create, Delete, ResetGcFloor};
use beads_core::{Applied, Delta, EdgeKey, Lineage, Op, State};
use beads_store::{Caller, Repository, World};
use serde_json::{Value, json};

use crate::dice::Dice;
use crate::ledger::{BeadKey, Fact, ParsedSnapshot, facts, minted};
use crate::machine::{Machine, Violation};

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// The shortest configurable value.
const TOMBSTONE_TTL_MS: u64 = 7 * DAY_MS;

/// How far many stamps in one millisecond may run ahead of the clock.
const COUNTED_MS: u64 = 10;

/// `[ms, counter]`.
type Stamp = (u64, u64);

/// What garbage collection may have removed from any machine of a run. All machines share it.
#[derive(Debug, Clone, Default)]
pub struct Collected(Arc<Mutex<Deletions>>);

#[derive(Debug, Default)]
struct Deletions {
    /// The first deletion of each bead and edge.
    first: BTreeMap<String, Stamp>,
    /// The greatest floor of all epochs. Resetting the floor does not bring dropped data back.
    floor: Stamp,
}

impl Collected {
    /// Records the deletions of a mutation.
    pub fn write(&self, facts: &[Fact]) {
        for fact in facts {
            match fact {
                Fact::Deletion { bead, mark } => self.deleted(bead.clone(), (mark.0, mark.1)),
                Fact::Edge { edge, mark, deleted: true } => {
                    self.deleted(format!("{edge:?}"), (mark.0, mark.1));
                }
                _ => {}
            }
        }
    }

    /// Records the deletions and the floor of a state. It may contain deletions of machines outside the run.
    pub fn see(&self, parsed: &ParsedSnapshot) {
        for (subject, stamp) in parsed.deletions() {
            self.deleted(subject, stamp);
        }
        let floor = parsed.floor();
        let mut deletions = self.deletions();
        deletions.floor = floor.max(deletions.floor);
    }

    fn deleted(&self, subject: String, stamp: Stamp) {
        let mut deletions = self.deletions();
        let first = deletions.first.entry(subject).or_insert(stamp);
        *first = stamp.min(*first);
    }

    /// Returns whether data about a bead or an edge may be missing, because it was deleted before the floor.
    /// A replica that was away may bring such a bead back in an older state.
    pub fn covers(&self, subject: &str) -> bool {
        let deletions = self.deletions();
        deletions.first.get(subject).is_some_and(|deleted| *deleted < deletions.floor)
    }

    /// Returns whether a fact may be missing.
    pub fn covers_fact(&self, fact: &Fact) -> bool {
        match fact {
            Fact::Register { bead, .. }
            | Fact::Claim { bead, .. }
            | Fact::Note { bead, .. }
            | Fact::Deletion { bead, .. } => self.covers(bead),
            Fact::Edge { edge, .. } => self.covers_edge(edge),
            Fact::Prefix { .. } => false,
        }
    }

    fn covers_edge(&self, edge: &(BeadKey, BeadKey, String)) -> bool {
        self.covers(&format!("{edge:?}")) || self.covers(&edge.0) || self.covers(&edge.1)
    }

    /// Returns whether everything that `state` lacks compared with `other` was deleted below the floor.
    pub fn explains_loss(&self, state: &State, other: &State) -> bool {
        let mut joined = state.clone();
        let touched = joined.join(other);
        let text = |value: &Value| value.to_string();
        let bead = |lineage: &Lineage| {
            joined.bead(lineage) == state.bead(lineage) || self.covers(&json!(lineage).to_string())
        };
        let edge = |key: &EdgeKey| {
            let key = json!(key);
            self.covers_edge(&(text(&key["from"]), text(&key["to"]), text(&key["kind"])))
        };
        let something = !touched.beads.is_empty() || !touched.edges.is_empty();
        something && touched.beads.iter().all(bead) && touched.edges.iter().all(edge)
    }

    fn deletions(&self) -> MutexGuard<'_, Deletions> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells which births are from another machine.
#[derive(Debug, Default)]
pub struct Origins {
    /// The tags with which this machine minted stamps.
    own: BTreeSet<u64>,
}

impl Origins {
    /// Records the stamps of a mutation.
    pub fn write(&mut self, facts: &[Fact]) {
        let stamps = minted(facts).into_values();
        self.own.extend(stamps.map(|(_, counter)| counter % u64::from(COUNTER_STEP)));
    }

    /// Returns the newest birth from another machine.
    fn newest_foreign_ms(&self, parsed: &ParsedSnapshot) -> Option<u64> {
        let is_foreign = |counter: u64| {
            let tag = counter % u64::from(COUNTER_STEP);
            tag != 0 && !self.own.contains(&tag)
        };
        parsed.births().filter(|(_, (_, counter))| is_foreign(*counter)).map(|(_, (ms, _))| ms).max()
    }
}

impl Machine {
    pub(crate) fn caller() -> Caller {
        let actor = "bd".parse().expect("a name");
        Caller { actor, branch: Default::default(), lease_ms: 0, request: None }
    }

    /// Deletes a bead half of the time, and raises the floor as the daemon does. The floor must stay below
    /// this machine's clock, and below recent beads of other machines, by the time that deletions are kept.
    pub fn collect(&mut self, dice: &mut Dice) -> Result<String, Violation> {
        let Some(replica) = &mut self.replica else { return Ok("not open".into()) };
        let mut trace = String::new();
        if dice.chance(50) {
            let beads: Vec<_> = replica.catalog().live().map(|(lineage, _)| lineage.clone()).collect();
            if let Some(bead) = dice.pick(&beads) {
                let id = replica.catalog().id_of(bead).to_string();
                trace.push_str(&self.apply(Op::Delete(Delete { id, ..Delete::default() }), Self::caller())?);
            }
        }
        let Some(replica) = &mut self.replica else { return Ok(trace) };
        let newest_foreign_ms = match replica.newest_foreign_ms() {
            Ok(newest_foreign_ms) => newest_foreign_ms,
            Err(error) => return self.expect_fault(&error, "collecting garbage"),
        };
        let Some(replica) = &self.replica else { return Ok(trace) };
        let parsed = ParsedSnapshot::new(&replica.catalog().state().encode())?;
        let before = parsed.floor();
        let op = CollectGarbage { ttl_ms: TOMBSTONE_TTL_MS, newest_foreign_ms };
        let now_ms = self.world.now_ms();
        trace.push_str(&self.apply(Op::CollectGarbage(op), Self::caller())?);
        self.observe_floor()?;
        let after = self.floor()?;
        let newest = self.origins.newest_foreign_ms(&parsed).map_or(now_ms, |foreign| foreign.min(now_ms));
        if after > before && after.0 > newest.saturating_sub(TOMBSTONE_TTL_MS) {
            return Err(format!(
                "the floor is {after:?}, but the newest bead of another machine is from {newest}"
            ));
        }
        Ok(format!("{trace}; floor {after:?}"))
    }

    fn floor(&self) -> Result<Stamp, Violation> {
        let state = self.replica.as_ref().map(|replica| replica.catalog().state());
        state.map_or(Ok((0, 0)), |state| Ok(ParsedSnapshot::new(&state.encode())?.floor()))
    }

    fn observe_floor(&mut self) -> Result<(), Violation> {
        if let Some(replica) = &self.replica {
            self.collected.see(&ParsedSnapshot::new(&replica.catalog().state().encode())?);
        }
        Ok(())
    }

    /// Resets the floor of garbage collection.
    pub fn reset_floor(&mut self) -> Result<String, Violation> {
        self.apply(Op::ResetGcFloor(ResetGcFloor {}), Self::caller())
    }

    /// A machine with another clock fetches the local state, writes, pushes its changes back, and disappears.
    /// It may write values close to the maximum stamp.
    pub fn visit(&mut self, at_ms: u64, dice: &mut Dice) -> Result<String, Violation> {
        if self.replica.is_none() || self.faults.is_armed() || self.faults.is_powered_off() {
            return Ok("no visitor".into());
        }
        self.checkpoint()?;
        if self.replica.is_none() {
            return Ok("no visitor".into());
        }
        let mut visitor = Self::new(dice.roll(), at_ms.min(MAX_MS - 1));
        visitor.collected = self.collected.clone();
        visitor.open()?;
        let mut trace = visitor.sync_with(&self.repository)?;
        trace.push_str(&visitor.mutate(4, dice)?);
        if dice.chance(50) {
            trace.push_str(&visitor.write_at_the_limit(dice)?);
        }
        if dice.chance(50) {
            // A fresh clone has seen none of the births happen. Its clock must not become the floor.
            trace.push_str(&visitor.collect(dice)?);
        }
        visitor.commit()?;
        visitor.checkpoint()?;
        trace.push_str(&self.sync_with(&visitor.repository)?);
        let brought = visitor.repository.tip().map_err(|error| error.to_string())?;
        if brought.is_none_or(|tip| !self.repository.commits().contains_key(&tip)) {
            // An earlier fault prevented the exchange, so the writes of the visitor are gone.
            return Ok(trace);
        }
        self.writes.take(visitor.writes);
        self.facts.extend(visitor.facts);
        Ok(trace)
    }

    /// Writes a title with a stamp close to the maximum.
    fn write_at_the_limit(&mut self, dice: &mut Dice) -> Result<String, Violation> {
        let Some(replica) = &mut self.replica else { return Ok(String::new()) };
        let beads: Vec<_> =
            replica.catalog().live().map(|(lineage, bead)| (lineage.clone(), bead.stamps().max())).collect();
        let Some((lineage, Some(last))) = dice.pick(&beads) else { return Ok(String::new()) };
        let counter = u64::from(u32::MAX) - dice.below(4 * u64::from(COUNTER_STEP));
        if (last.ms(), u64::from(last.counter())) >= (MAX_MS - 1, counter) {
            return Ok(String::new());
        }
        let version = json!([[MAX_MS - 1, counter], "mallory"]);
        let body = json!({"_v": {"title": version}, "title": "the end of time"});
        let delta = json!({"beads": [{"lineage": lineage, "body": body}]});
        let delta: Delta = serde_json::from_value(delta).map_err(|error| error.to_string())?;
        self.absorb(delta)
    }

    /// Merges data that was stamped elsewhere, in one journal commit. Its stamps are not checked against this
    /// machine's clock.
    pub fn absorb(&mut self, delta: Delta) -> Result<String, Violation> {
        let Some(replica) = &mut self.replica else { return Ok("not open".into()) };
        replica
            .absorb(delta.clone(), &[], &Self::caller(), &Value::Null)
            .map_err(|error| error.to_string())?;
        let facts = facts(&Applied { delta, ..Applied::default() });
        self.writes.write(&facts);
        let trace = self.commit()?;
        if self.replica.is_some() {
            self.facts.extend(facts);
        }
        Ok(trace)
    }

    /// Checks that a new bead is stamped by the wall clock, even among stamps from the future. A clock
    /// follows only small drift, and it does not go back while a store is open.
    pub(crate) fn check_birth(&self, bead: Option<&Lineage>) -> Result<(), Violation> {
        let latest_ms = self.world.latest_ms().saturating_add(MAX_DRIFT_MS + COUNTED_MS);
        match bead.filter(|bead| bead.at().ms() > latest_ms) {
            Some(bead) => Err(format!("{bead:?} follows a foreign clock: the latest here is {latest_ms}")),
            None => Ok(()),
        }
    }

    /// Checks that a stamp at the maximum blocks only its own bead.
    pub(crate) fn check_not_stuck(&mut self) -> Result<(), Violation> {
        let Some(replica) = &mut self.replica else { return Ok(()) };
        if self.world.latest_ms() + MAX_DRIFT_MS >= MAX_MS {
            return Ok(()); // the clock of this machine is itself at the maximum
        }
        let create = Create::titled("another bead".parse().map_err(|error| format!("{error}"))?);
        match replica.dry_run(&Op::Create(Box::new(create)), &Self::caller()) {
            Ok(applied) => self.check_birth(applied.bead.as_ref()),
            Err(error) => {
                Err(format!("one bead has the maximum stamp, and no other can be created: {error}"))
            }
        }
    }
}
