//! Replicas that write concurrently end with the same bytes, and every acknowledged write is present, was
//! overwritten by a replica that knew it, or is in the conflict list. The expectation is computed
//! independently of the join, from which replica knew which write when.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // a failing test may panic; figures are for people

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::Duration;

use beads_core::op::{ClaimBead, Close, Create, Delete, DepAdd, DepRemove, NoteAdd, Restore, Update};
use beads_core::{Applied, EdgeKind, Op, Priority, State};
use beads_sim::Dice;
use beads_sim::ledger::{Fact, ParsedSnapshot, facts};
use beads_store::{Error, MAX_ROUNDS, Transport};
use serde_json::Value;

use crate::clones::{Clone, create, retitle, sync_all, transports, world};

/// A stamp and its actor.
type Mark = (u64, u64, String);

/// One acknowledged write of one register.
struct Write {
    bead: String,
    register: String,
    mark: Mark,
    value: Value,
}

/// Tracks which replica knows which writes. Syncs happen one after the other here, so this is known exactly.
#[derive(Default)]
struct Witness {
    facts: Vec<Fact>,
    writes: Vec<Write>,
    known: BTreeMap<usize, BTreeSet<usize>>,
    remote: BTreeSet<usize>,
    /// Writes that lost to a write whose writer did not know them.
    overwritten: BTreeSet<usize>,
}

impl Witness {
    fn acknowledged(&mut self, side: usize, applied: &Applied) {
        for fact in facts(applied) {
            if let Fact::Register { bead, register, mark, value } = &fact {
                self.known.entry(side).or_default().insert(self.writes.len());
                self.writes.push(Write {
                    bead: bead.clone(),
                    register: register.clone(),
                    mark: mark.clone(),
                    value: value.clone(),
                });
            }
            self.facts.push(fact);
        }
    }

    fn synced(&mut self, side: usize) {
        let mine = self.known.entry(side).or_default().clone();
        let (ours, theirs) = (self.latest(&mine), self.latest(&self.remote));
        for (register, our_write) in ours {
            let Some(their_write) = theirs.get(&register).copied() else { continue };
            let concurrent = !self.remote.contains(&our_write) && !mine.contains(&their_write);
            if concurrent && self.writes[our_write].value != self.writes[their_write].value {
                let mark = |write: &usize| &self.writes[*write].mark;
                self.overwritten.extend([our_write, their_write].into_iter().min_by_key(mark));
            }
        }
        self.remote.extend(mine);
        self.known.insert(side, self.remote.clone());
    }

    /// Returns the last write of each register among the known ones.
    fn latest(&self, known: &BTreeSet<usize>) -> BTreeMap<(String, String), usize> {
        let mut latest: BTreeMap<_, usize> = BTreeMap::new();
        for write in known {
            let Write { bead, register, mark, .. } = &self.writes[*write];
            let last = latest.entry((bead.clone(), register.clone())).or_insert(*write);
            if *mark > self.writes[*last].mark {
                *last = *write;
            }
        }
        latest
    }

    fn check(&self, state: &State) -> Result<(), String> {
        ParsedSnapshot::new(&state.encode())?.check_all(&self.facts)?;
        let kept: BTreeSet<(String, String, String)> = state.conflicts().values().map(kept).collect();
        for write in &self.overwritten {
            let Write { bead, register, mark, value } = &self.writes[*write];
            let key =
                (bead.clone(), register.clone(), serde_json::json!([[mark.0, mark.1], mark.2]).to_string());
            if !kept.contains(&key) {
                return Err(format!(
                    "{register} of {bead}: {value} by {mark:?} lost and is not in the conflict list"
                ));
            }
        }
        Ok(())
    }
}

fn kept(conflict: &beads_core::Conflict) -> (String, String, String) {
    let text = |value: Value| value.to_string();
    let bead = text(serde_json::to_value(&conflict.bead).unwrap());
    (bead, conflict.field.name().to_owned(), text(serde_json::to_value(&conflict.lost).unwrap()))
}

/// Returns a random operation of a kind that can collide: the same bead in different fields or in the same
/// field, labels, deletions and edits, edges added and removed, children of one parent and ids taken on both
/// sides.
fn random_op(dice: &mut Dice, side: usize) -> Op {
    let id = format!("bd-{}", dice.below(6));
    let other = format!("bd-{}", dice.below(6));
    let number = dice.below(1000);
    let update = |change: Update| Op::Update(Box::new(change));
    match dice.below(13) {
        0 | 1 => create(&id, &format!("{id} of {side}")),
        2 | 3 => retitle(&id, &format!("title {number} of {side}")),
        4 => {
            update(Update { set_labels: Some(vec![format!("l{number}").parse().unwrap()]), ..Update::of(id) })
        }
        5 => update(Update { priority: Some(Priority::try_from(number % 5).unwrap()), ..Update::of(id) }),
        6 => {
            let content = format!("note {number} of {side}").parse().unwrap();
            Op::NoteAdd(NoteAdd { id, content, ..NoteAdd::default() })
        }
        7 => Op::Delete(Delete { id, ..Delete::default() }),
        8 => Op::Restore(Restore { id, ..Restore::default() }),
        9 if number.is_multiple_of(2) => Op::DepAdd(DepAdd { from: id, to: other, kind: EdgeKind::Related }),
        9 => Op::DepRemove(DepRemove { from: id, to: other, kind: EdgeKind::Related }),
        10 => Op::Close(Close { id, ..Close::default() }),
        11 => Op::Claim(ClaimBead { id, ..ClaimBead::default() }),
        _ => {
            let title = format!("child {number} of {side}").parse().unwrap();
            Op::Create(Box::new(Create { parent: Some(id), ..Create::titled(title) }))
        }
    }
}

/// Plays one history. Returns how many writes lost and were recorded.
fn run_history(seed: u64, names: &[&str], transport: Transport, steps: usize) -> usize {
    let (_root, mut clones) = world(names, transport);
    let mut dice = Dice::new(seed);
    let mut witness = Witness::default();
    // Beads that all replicas know, to compete for.
    for number in 0..4 {
        let applied = clones[0].attempt(&create(&format!("bd-{number}"), "seed")).unwrap();
        witness.acknowledged(0, &applied);
    }
    for (side, clone) in clones.iter_mut().enumerate() {
        clone.sync();
        witness.synced(side);
    }
    for _ in 0..steps {
        let side = usize::try_from(dice.below(names.len() as u64)).unwrap();
        if dice.below(6) == 0 {
            clones[side].sync();
            witness.synced(side);
        } else if let Some(applied) = clones[side].attempt(&random_op(&mut dice, side)) {
            witness.acknowledged(side, &applied);
        }
    }
    for side in (0..clones.len()).chain(0..clones.len()) {
        clones[side].sync();
        witness.synced(side);
    }
    sync_all(&mut clones);
    witness.check(clones[0].state()).unwrap_or_else(|lost| panic!("seed {seed}, {transport:?}: {lost}"));
    witness.overwritten.len()
}

const TWO: &[&str] = &["ann", "ben"];
const FIVE: &[&str] = &["ann", "ben", "cyd", "dan", "eve"];

fn campaign(seeds: u64, steps: usize) {
    let mut kept = 0;
    for transport in transports() {
        // Each step of the git transport starts a process.
        let seeds = if transport == Transport::Git { seeds.div_ceil(5) } else { seeds };
        for seed in 0..seeds {
            kept += run_history(seed, TWO, transport, steps);
            kept += run_history(1_000_000 + seed, FIVE, transport, steps);
        }
    }
    println!(
        "{seeds} seeds of two and of five replicas, {steps} steps: {kept} writes lost a race and were kept"
    );
    assert!(kept > 0, "no writes collided, so this proves nothing");
}

#[test]
fn two_and_five_replicas_converge_and_nothing_is_lost() {
    campaign(2, 40);
}

#[test]
#[ignore = "takes minutes"]
fn two_and_five_replicas_converge_and_nothing_is_lost_at_length() {
    campaign(100, 80);
}

/// All replicas write and push at once. Returns how many rounds each sync took.
fn rush(transport: Transport, rounds: usize) -> Vec<u32> {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let (_root, mut clones) = world(&names, transport);
    let needed = Mutex::new(Vec::new());
    for round in 0..rounds {
        std::thread::scope(|scope| {
            for (number, clone) in clones.iter_mut().enumerate() {
                let needed = &needed;
                scope.spawn(move || {
                    clone.run(&create(&format!("bd-{round}x{number}"), "work"));
                    let tries = get_through(clone);
                    needed.lock().unwrap().push(tries);
                });
            }
        });
    }
    sync_all(&mut clones);
    assert_eq!(clones[0].replica.catalog().live_count(), rounds * names.len());
    needed.into_inner().unwrap()
}

/// Retries like a daemon: after ten lost races in a row the changes are saved locally, and the next sync
/// tries again.
fn get_through(clone: &mut Clone) -> u32 {
    let mut lost = 0;
    loop {
        let jitter = |round: u32| {
            let random = getrandom::u64().unwrap_or_default();
            std::thread::sleep(Duration::from_millis(random % (50 * u64::from(round) + 1)));
        };
        match clone.try_sync(jitter) {
            Ok(exchange) => return lost + exchange.rounds,
            Err(Error::Contention(rounds)) if lost < 5 * MAX_ROUNDS => lost += rounds,
            Err(error) => panic!("{error}"),
        }
    }
}

fn report(transport: Transport, rounds: usize) {
    let needed = rush(transport, rounds);
    let most = needed.iter().max().unwrap();
    let beyond = needed.iter().filter(|needed| **needed > MAX_ROUNDS).count();
    let mean = f64::from(needed.iter().sum::<u32>()) / needed.len() as f64;
    println!(
        "{transport:?}: {} pushes in {rounds} rounds: {mean:.1} tries in the mean, {most} at most, {beyond} beyond {MAX_ROUNDS}",
        needed.len()
    );
}

#[test]
fn eight_replicas_pushing_at_once_all_get_through() {
    report(Transport::Native, 4);
}

#[test]
#[ignore = "takes minutes"]
fn eight_replicas_pushing_at_once_all_get_through_at_length() {
    for transport in transports() {
        report(transport, 50);
    }
}
