//! A claim never undoes a close: whatever replicas that do not know of it do with claims, a closed bead that was not
//! reopened stays closed. And what every combination of status, assignee and lease means.
#![allow(clippy::unwrap_used)] // failing is a test's job

mod support;

use beads_core::op::{ClaimBead, Close, Op, Renew, Reopen, Unclaim, Update};
use beads_core::{Stamp, Status};
use proptest::prelude::*;
use support::side::{LEASE, Side};
use support::{cases, decode};

const ACTORS: [&str; 3] = ["ann", "ben", "cy"];

#[derive(Debug, Clone, Copy)]
enum Act {
    Claim,
    ClaimByUpdate,
    Unclaim,
    ForceUnclaim,
    Renew,
    /// What `bd reclaim --expired` does, long after every lease.
    Reclaim,
    Close,
    Reopen,
    Pull,
}

const ACTS: [Act; 9] = [
    Act::Claim,
    Act::ClaimByUpdate,
    Act::Unclaim,
    Act::ForceUnclaim,
    Act::Renew,
    Act::Reclaim,
    Act::Close,
    Act::Reopen,
    Act::Pull,
];

fn op(act: Act) -> Option<Op> {
    let id = || "bd-1".to_owned();
    Some(match act {
        Act::Claim => Op::Claim(ClaimBead { id: id(), ..ClaimBead::default() }),
        Act::ClaimByUpdate => Op::Update(Box::new(Update { claim: true, ..Update::of("bd-1") })),
        Act::Unclaim | Act::Reclaim => Op::Unclaim(Unclaim { id: id(), ..Unclaim::default() }),
        Act::ForceUnclaim => Op::Unclaim(Unclaim {
            id: id(),
            force: true,
            reason: "it is mine".parse().unwrap(),
            ..Unclaim::default()
        }),
        Act::Renew => Op::Renew(Renew { id: id(), ..Renew::default() }),
        Act::Close => Op::Close(Close { id: id(), ..Close::default() }),
        Act::Reopen => Op::Reopen(Reopen { id: id(), ..Reopen::default() }),
        Act::Pull => return None,
    })
}

/// Replicas of one store with one bead, each with its own actor.
struct Fleet(Vec<Side>);

impl Fleet {
    fn new() -> Self {
        let first = Side::with(&["bd-1"]);
        let mut others = vec![first; ACTORS.len()];
        for (tag, side) in others.iter_mut().enumerate() {
            side.clock = beads_core::Clock::new(Stamp::ZERO, u16::try_from(tag + 1).unwrap());
        }
        Self(others)
    }

    fn pull(&mut self, into: usize, from: usize) {
        let files = self.0[from].catalog.state().encode();
        self.0[into].catalog.join(&decode(&files));
        let now = self.0[from].now_ms.max(self.0[into].now_ms);
        self.0[into].now_ms = now;
    }
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn a_closed_bead_that_was_not_reopened_stays_closed(
        steps in prop::collection::vec((0..ACTORS.len(), 0..ACTS.len(), 0..ACTORS.len()), 1..24)
    ) {
        let mut fleet = Fleet::new();
        // Closings and reopenings alone decide: the one with the latest mark.
        let mut decided = (Stamp::ZERO, Status::Open);
        for (on, act, from) in steps {
            let act = ACTS[act];
            let Some(op) = op(act) else {
                fleet.pull(on, from);
                continue;
            };
            let side = &mut fleet.0[on];
            if matches!(act, Act::Reclaim) {
                side.now_ms += 2 * LEASE;
            }
            let before = side.bead("bd-1").status.clone();
            let Ok(applied) = side.run(ACTORS[on], &op) else { continue };
            let after = &side.bead("bd-1").status;
            match act {
                Act::Close | Act::Reopen => {
                    if before.mark != after.mark {
                        decided = decided.max((after.mark.at(), after.value.status));
                    }
                }
                _ => prop_assert!(
                    applied.delta.beads.values().all(|patch| patch.status.is_none()),
                    "{act:?} wrote the status"
                ),
            }
        }
        for round in 0..2 * ACTORS.len() {
            fleet.pull((round + 1) % ACTORS.len(), round % ACTORS.len());
        }
        for side in &fleet.0 {
            let bead = side.bead("bd-1");
            prop_assert_eq!(bead.status.value.status, decided.1);
            prop_assert_eq!(bead.status() == Status::Closed, decided.1 == Status::Closed);
            let files = side.catalog.state().encode();
            prop_assert_eq!(&decode(&files), side.catalog.state(), "decode(encode(s)) = s");
        }
    }
}

#[test]
fn giving_back_a_bead_that_an_older_version_started_opens_it() {
    let mut side = Side::with(&["bd-1"]);
    let older = Op::Update(Box::new(Update { status: Some(Status::InProgress), ..Update::of("bd-1") }));
    side.done("ann", &older);
    side.done("ann", &Op::Claim(ClaimBead { id: "bd-1".into(), ..ClaimBead::default() }));
    assert_eq!(side.bead("bd-1").status.value.status, Status::InProgress);
    side.done("ann", &Op::Unclaim(Unclaim { id: "bd-1".into(), ..Unclaim::default() }));
    assert_eq!(side.bead("bd-1").status(), Status::Open);
}
