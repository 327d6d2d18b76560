//! Broken clocks and garbage collection: visitors from the future, floors, and what may be missing because of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use beads_core::limits::{COUNTER_STEP, MAX_DRIFT_MS, MAX_MS};
use beads_core::op::{CollectGarbage, Create, Delete, ResetGcFloor};
use beads_core::{Applied, Delta, EdgeKey, Lineage, Op, State};
use beads_store::{Caller, Repository, World};
use serde_json::{Value, json};

use crate::dice::Dice;
use crate::ledger::{BeadKey, Fact, Reading, facts, minted};
use crate::machine::{Broken, Machine};

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// The shortest that can be configured.
const TOMBSTONE_TTL_MS: u64 = 7 * DAY_MS;

/// Milliseconds by which many stamps at one moment may run ahead of it.
const COUNTED_MS: u64 = 10;

/// `[ms, counter]`.
type Stamp = (u64, u64);

/// What garbage collection may have taken from any machine of a run. Shared by all of them.
#[derive(Debug, Clone, Default)]
pub struct Forgotten(Arc<Mutex<Deletions>>);

#[derive(Debug, Default)]
struct Deletions {
    /// The first deletion of each bead and edge.
    first: BTreeMap<String, Stamp>,
    /// The greatest floor of all epochs: what was dropped stays dropped when the floor is taken back.
    floor: Stamp,
}

impl Forgotten {
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

    /// A machine sees a state; deletions of machines that are not part of the run come along with it.
    pub fn see(&self, reading: &Reading) {
        for (subject, stamp) in reading.deletions() {
            self.deleted(subject, stamp);
        }
        let floor = reading.floor();
        let mut deletions = self.deletions();
        deletions.floor = floor.max(deletions.floor);
    }

    fn deleted(&self, subject: String, stamp: Stamp) {
        let mut deletions = self.deletions();
        let first = deletions.first.entry(subject).or_insert(stamp);
        *first = stamp.min(*first);
    }

    /// Whether what is said about a bead or an edge may be missing: it was deleted before the floor. A replica that was away
    /// brings such a bead back as it knew it.
    pub fn covers(&self, subject: &str) -> bool {
        let deletions = self.deletions();
        deletions.first.get(subject).is_some_and(|deleted| *deleted < deletions.floor)
    }

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

    /// Whether a state lacks nothing of another one but what was deleted below the floor.
    pub fn excuses(&self, state: &State, other: &State) -> bool {
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

/// Which births are certainly not of this machine.
#[derive(Debug, Default)]
pub struct Origins {
    /// Tags that this machine minted stamps with.
    own: BTreeSet<u64>,
    /// What was there when the store was opened: the list of tags may have begun with it.
    at_opening: BTreeSet<BeadKey>,
}

impl Origins {
    pub fn open(&mut self, reading: &Reading) {
        self.at_opening = reading.births().map(|(key, _)| key.clone()).collect();
    }

    pub fn write(&mut self, facts: &[Fact]) {
        let stamps = minted(facts).into_values();
        self.own.extend(stamps.map(|(_, counter)| counter % u64::from(COUNTER_STEP)));
    }

    /// The newest birth that may be of another machine, if there is one that certainly is.
    fn newest_foreign_ms(&self, reading: &Reading) -> Option<u64> {
        let is_foreign = |counter: u64| {
            let tag = counter % u64::from(COUNTER_STEP);
            tag != 0 && !self.own.contains(&tag)
        };
        let foreign: Vec<_> = reading.births().filter(|(_, (_, counter))| is_foreign(*counter)).collect();
        let is_certain = foreign.iter().any(|(key, _)| !self.at_opening.contains(*key));
        foreign.iter().map(|(_, (ms, _))| *ms).max().filter(|_| is_certain)
    }
}

impl Machine {
    fn caller() -> Caller {
        let actor = "bd".parse().expect("a name");
        Caller { actor, branch: Default::default(), lease_ms: 0, request: None }
    }

    /// Deletes a bead, as often as not, and raises the floor as the daemon does. The floor must stay below this clock and below
    /// what others made lately, each less the time that deletions are kept for.
    pub fn collect(&mut self, dice: &mut Dice) -> Result<String, Broken> {
        let Some(replica) = &mut self.replica else { return Ok("not open".into()) };
        let mut told = String::new();
        if dice.chance(50) {
            let beads: Vec<_> = replica.catalog().live().map(|(lineage, _)| lineage.clone()).collect();
            if let Some(bead) = dice.pick(&beads) {
                let id = replica.catalog().id_of(bead).to_string();
                told.push_str(&self.apply(Op::Delete(Delete { id, ..Delete::default() }), Self::caller())?);
            }
        }
        let Some(replica) = &mut self.replica else { return Ok(told) };
        let newest_foreign_ms = replica.newest_foreign_ms();
        let reading = Reading::new(&replica.catalog().state().encode())?;
        let before = reading.floor();
        let op = CollectGarbage { ttl_ms: TOMBSTONE_TTL_MS, newest_foreign_ms };
        let now_ms = self.world.now_ms();
        told.push_str(&self.apply(Op::CollectGarbage(op), Self::caller())?);
        self.look_at_floor()?;
        let after = self.floor()?;
        let newest = self.origins.newest_foreign_ms(&reading).map_or(now_ms, |foreign| foreign.min(now_ms));
        if after > before && after.0 > newest.saturating_sub(TOMBSTONE_TTL_MS) {
            return Err(format!("the floor is {after:?}, and the newest bead of another machine {newest}"));
        }
        Ok(format!("{told}; floor {after:?}"))
    }

    fn floor(&self) -> Result<Stamp, Broken> {
        let state = self.replica.as_ref().map(|replica| replica.catalog().state());
        state.map_or(Ok((0, 0)), |state| Ok(Reading::new(&state.encode())?.floor()))
    }

    fn look_at_floor(&mut self) -> Result<(), Broken> {
        if let Some(replica) = &self.replica {
            self.forgotten.see(&Reading::new(&replica.catalog().state().encode())?);
        }
        Ok(())
    }

    pub fn reset_floor(&mut self) -> Result<String, Broken> {
        self.apply(Op::ResetGcFloor(ResetGcFloor {}), Self::caller())
    }

    /// A machine whose clock is at another time takes what is here, writes, and gives it back. Then it is gone. It may have
    /// written values that are a few writes from the end of time.
    pub fn visit(&mut self, at_ms: u64, dice: &mut Dice) -> Result<String, Broken> {
        if self.replica.is_none() || self.faults.is_armed() || self.faults.is_dark() {
            return Ok("nobody comes".into());
        }
        self.checkpoint()?;
        if self.replica.is_none() {
            return Ok("nobody comes".into());
        }
        let mut visitor = Self::new(dice.roll(), at_ms.min(MAX_MS - 1));
        visitor.forgotten = self.forgotten.clone();
        visitor.open()?;
        let mut told = visitor.sync_with(&self.repository)?;
        told.push_str(&visitor.mutate(4, dice)?);
        if dice.chance(50) {
            told.push_str(&visitor.write_at_the_limit(dice)?);
        }
        visitor.commit()?;
        visitor.checkpoint()?;
        told.push_str(&self.sync_with(&visitor.repository)?);
        let brought = visitor.repository.tip().map_err(|error| error.to_string())?;
        if brought.is_none_or(|tip| !self.repository.commits().contains_key(&tip)) {
            // An earlier fault kept the exchange from beginning, and the visitor took along what it wrote.
            return Ok(told);
        }
        self.writes.take(visitor.writes);
        self.facts.extend(visitor.facts);
        Ok(told)
    }

    /// Writes a title with a stamp after which there are only a few more.
    fn write_at_the_limit(&mut self, dice: &mut Dice) -> Result<String, Broken> {
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

    /// Takes in what was stamped elsewhere, in one commit of the journal. Its stamps are not held against the clock of this
    /// machine.
    pub fn absorb(&mut self, delta: Delta) -> Result<String, Broken> {
        let Some(replica) = &mut self.replica else { return Ok("not open".into()) };
        replica
            .absorb(delta.clone(), &[], &Self::caller(), &Value::Null)
            .map_err(|error| error.to_string())?;
        let facts = facts(&Applied { delta, ..Applied::default() });
        self.writes.write(&facts);
        let told = self.commit()?;
        if self.replica.is_some() {
            self.facts.extend(facts);
        }
        Ok(told)
    }

    /// A new bead is stamped with the wall clock, whatever stamps from the future are about: only those of clocks that drift
    /// are followed, and while a store is open its clock does not go back.
    pub(crate) fn check_birth(&self, bead: Option<&Lineage>) -> Result<(), Broken> {
        let latest_ms = self.world.latest_ms().saturating_add(MAX_DRIFT_MS + COUNTED_MS);
        match bead.filter(|bead| bead.at().ms() > latest_ms) {
            Some(bead) => Err(format!("{bead:?} follows a foreign clock: the latest here is {latest_ms}")),
            None => Ok(()),
        }
    }

    /// At the end of time only the bead is stuck that a stamp brought there.
    pub(crate) fn check_not_stuck(&mut self) -> Result<(), Broken> {
        let Some(replica) = &mut self.replica else { return Ok(()) };
        if self.world.latest_ms() + MAX_DRIFT_MS >= MAX_MS {
            return Ok(()); // this machine itself is at the end of time
        }
        let create = Create::titled("another bead".parse().map_err(|error| format!("{error}"))?);
        match replica.rehearse(&Op::Create(Box::new(create)), &Self::caller()) {
            Ok(applied) => self.check_birth(applied.bead.as_ref()),
            Err(error) => Err(format!("one bead is at the end of time, and no other can be made: {error}")),
        }
    }
}
