//! A claim never undoes a close: a closed bead that was not reopened stays closed, whatever other replicas do
//! with claims before they learn about the close. Also tests the meaning of every combination of status,
//! assignee and lease.

use beads_core::op::{
    Change, ClaimBead, ClaimNext, Close, DepAdd, Fence, Guard, NoteAdd, Op, Renew, Reopen, Unclaim, Update,
    Warning,
};
use beads_core::query::{Filter, Readiness, ReadyFilter};
use beads_core::{
    BeadType, Claim, Delta, EdgeKind, Error, EventKind, Patch, Register, Stamp, Status, Timestamp,
};
use proptest::prelude::*;

use crate::support::side::{LEASE, Side, titled};
use crate::support::{actor, cases, decode, id, mark};

const ACTORS: [&str; 3] = ["ann", "ben", "cy"];

#[derive(Debug, Clone, Copy)]
enum Act {
    Claim,
    ClaimByUpdate,
    Unclaim,
    ForceUnclaim,
    Renew,
    /// Like `bd reclaim --expired`, long after every lease.
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

/// Replicas of one store with one bead. Each has a different actor.
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
        // Only closing and reopening count: the one with the latest mark wins.
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
fn releasing_a_bead_that_an_older_version_started_opens_it() {
    let mut side = Side::with(&["bd-1"]);
    let older =
        Op::Update(Box::new(Update { status: Some(Status::InProgress.into()), ..Update::of("bd-1") }));
    side.done("ann", &older);
    side.done("ann", &Op::Claim(ClaimBead { id: "bd-1".into(), ..ClaimBead::default() }));
    assert_eq!(side.bead("bd-1").status.value.status, Status::InProgress);
    side.done("ann", &Op::Unclaim(Unclaim { id: "bd-1".into(), ..Unclaim::default() }));
    assert_eq!(side.bead("bd-1").status(), Status::Open);
}

fn blocks(from: &str, to: &str) -> DepAdd {
    DepAdd { from: from.into(), to: to.into(), kind: EdgeKind::Blocks }
}

/// Returns one bead in every combination of the fields that decide whether it is ready.
fn combinations() -> Vec<(Side, String)> {
    let mut all = Vec::new();
    for status in Status::ALL {
        for assignee in [None, Some("ann"), Some("ben")] {
            for lease in [None, Some(false), Some(true)] {
                if assignee.is_none() && lease.is_some() {
                    continue;
                }
                for extra in 0..8 {
                    let (blocked, deferred, epic) = (extra & 1 > 0, extra & 2 > 0, extra & 4 > 0);
                    let mut side = Side::with(&["bd-1", "bd-2"]);
                    side.now_ms += 100_000;
                    if blocked {
                        side.done("ann", &Op::DepAdd(blocks("bd-1", "bd-2")));
                    }
                    if epic {
                        let mut child = titled("bd-3");
                        child.parent = Some("bd-1".into());
                        side.done("ann", &Op::Create(Box::new(child)));
                        let kind = Some(BeadType::Epic.into());
                        side.done("ann", &Op::Update(Box::new(Update { kind, ..Update::of("bd-1") })));
                    }
                    if deferred {
                        let later = Timestamp::from_ms(side.now_ms + 50_000).unwrap();
                        let defer_until = Some(Change::Set(later));
                        side.done("ann", &Op::Update(Box::new(Update { defer_until, ..Update::of("bd-1") })));
                    }
                    // Written directly, because older versions may have written any combination.
                    let mark = mark(side.now_ms, 7, "ann");
                    let expires = lease.map(|runs| if runs { side.now_ms + 50_000 } else { 1_000 });
                    let expires = expires.map(|ms| Timestamp::from_ms(ms).unwrap());
                    let patch = Patch {
                        status: Some(Register::new(mark.clone(), status.into())),
                        claim: Some(Claim::new(mark, assignee.map(actor), expires)),
                        ..Patch::default()
                    };
                    let lineage = side.catalog.resolve("bd-1").unwrap().clone();
                    side.catalog.join_delta(&Delta::of_bead(lineage, patch)).unwrap();
                    let what = format!("{status} {assignee:?} {lease:?} {blocked} {deferred} {epic}");
                    all.push((side, what));
                }
            }
        }
    }
    all
}

#[test]
fn every_combination_of_status_assignee_and_lease_has_a_readiness() {
    for (mut side, what) in combinations() {
        let lineage = side.catalog.resolve("bd-1").unwrap().clone();
        let before = side.catalog.state().encode();
        let readiness = side.catalog.readiness(&lineage, side.now_ms).unwrap();
        let bead = side.bead("bd-1").clone();
        let filter = Filter { ids: Some(vec!["bd-1".into()]), ..Filter::default() };
        let asked = ReadyFilter { filter, under: None };
        let ready = !side.catalog.ready(&asked, side.now_ms).unwrap().is_empty();
        assert_eq!(
            ready,
            matches!(readiness, Readiness::Ready | Readiness::Waiting),
            "{what}: {readiness:?}"
        );
        assert_eq!(readiness == Readiness::Closed, bead.status() == Status::Closed, "{what}");
        let held = bead.claim.is_taken() && !bead.claim.expired(side.now_ms);
        assert_eq!(readiness == Readiness::Held, held && bead.status() != Status::Closed, "{what}");
        let stuck = bead.status.value.status == Status::InProgress && !bead.claim.is_taken();
        assert_eq!(readiness == Readiness::Stuck, stuck, "{what}");
        assert_eq!(side.catalog.stuck().any(|(one, _)| *one == lineage), stuck, "{what}");
        let explained = side.catalog.explain(&asked, side.now_ms).unwrap();
        let listed = explained.ready.len() + explained.not_ready.len();
        assert_eq!(listed, usize::from(readiness != Readiness::Closed), "{what}");
        assert_eq!(side.catalog.state().encode(), before, "queries change nothing");

        let next = Op::ClaimNext(Box::new(ClaimNext { filter: asked, ..ClaimNext::default() }));
        match readiness {
            Readiness::Ready => {
                let assigned = bead.claim.holder(side.now_ms).map(|holder| holder.as_str().to_owned());
                let taker = assigned.clone().unwrap_or_else(|| "cy".into());
                if assigned.is_some() {
                    assert_eq!(side.refused("cy", &next), Error::NothingReady, "{what}");
                }
                side.done(&taker, &next);
                assert_eq!(side.catalog.readiness(&lineage, side.now_ms), Some(Readiness::Held), "{what}");
            }
            Readiness::Held => {
                assert_eq!(side.refused("cy", &next), Error::NothingReady, "{what}");
                let assignee = Some(Change::Set(actor("cy")));
                let steal = Update { assignee, ..Update::of("bd-1") };
                let theft = side.refused("cy", &Op::Update(Box::new(steal.clone())));
                assert!(matches!(theft, Error::NotHolder { .. }), "{what}: {theft:?}");
                let silent = Update { force: true, ..steal.clone() };
                assert!(matches!(side.refused("cy", &Op::Update(Box::new(silent))), Error::Invalid { .. }));
                let reason = "it is urgent".parse().unwrap();
                side.done("cy", &Op::Update(Box::new(Update { force: true, reason, ..steal })));
                let readiness = side.catalog.readiness(&lineage, side.now_ms);
                assert!(
                    !matches!(readiness, Some(Readiness::Held | Readiness::Stuck)),
                    "{what}: {readiness:?}"
                );
            }
            Readiness::Stuck => {
                let reason = "no one works on it".parse().unwrap();
                side.done(
                    "cy",
                    &Op::Unclaim(Unclaim { id: "bd-1".into(), force: true, reason, ..Unclaim::default() }),
                );
                let readiness = side.catalog.readiness(&lineage, side.now_ms);
                assert!(
                    !matches!(readiness, Some(Readiness::Held | Readiness::Stuck)),
                    "{what}: {readiness:?}"
                );
            }
            _ => assert_eq!(side.refused("cy", &next), Error::NothingReady, "{what}"),
        }
    }
}

#[test]
fn reassigning_a_claimed_bead_makes_it_ready_for_the_new_assignee() {
    let mut side = Side::with(&["bd-1", "bd-2"]);
    for id in ["bd-1", "bd-2"] {
        side.done("ann", &Op::Claim(ClaimBead { id: id.into(), ..ClaimBead::default() }));
    }
    let to_ben = Update { assignee: Some(Change::Set(actor("ben"))), ..Update::of("bd-1") };
    side.done("ann", &Op::Update(Box::new(to_ben)));
    assert_eq!(side.bead("bd-1").status(), Status::Open);
    let next = side.done("ben", &Op::ClaimNext(Box::default()));
    assert_eq!(side.about(&next), "bd-1", "it is ready for ben");
    let to_none = Update { assignee: Some(Change::Clear), ..Update::of("bd-2") };
    side.done("ann", &Op::Update(Box::new(to_none)));
    let next = side.done("cy", &Op::ClaimNext(Box::default()));
    assert_eq!(side.about(&next), "bd-2", "it is ready for anyone");
    let open = Update { status: Some(Status::Open.into()), ..Update::of("bd-2") };
    assert!(matches!(side.refused("ann", &Op::Update(Box::new(open.clone()))), Error::NotHolder { .. }));
    side.done("cy", &Op::Update(Box::new(open)));
    assert_eq!(side.bead("bd-2").claim.assignee, None, "setting the status to open releases the claim");
}

#[test]
fn a_strict_close_fails_where_a_plain_one_warns() {
    let mut side = Side::with(&["bd-1", "bd-2"]);
    side.done("ann", &Op::DepAdd(blocks("bd-1", "bd-2")));
    side.done("ann", &Op::Claim(ClaimBead { id: "bd-1".into(), ..ClaimBead::default() }));
    let close = |strict, force| Op::Close(Close { id: "bd-1".into(), strict, force, ..Close::default() });
    assert!(matches!(side.refused("ben", &close(true, false)), Error::NotHolder { .. }));
    assert!(matches!(side.refused("ann", &close(true, false)), Error::OpenBlockers { .. }));
    let fence = side.bead("bd-1").claim.fence().map(Fence);
    let guard = Guard { fence, ..Guard::default() };
    let fenced = Op::Close(Close { id: "bd-1".into(), guard, ..Close::default() });
    assert!(
        matches!(side.refused("ben", &fenced), Error::NotHolder { .. }),
        "the fence belongs to another actor"
    );
    let mut forced = side.clone();
    assert_eq!(forced.done("ben", &close(true, true)).warnings, []);
    let warnings = side.done("ben", &close(false, false)).warnings;
    assert_eq!(warnings, [Warning::ClaimOf(actor("ann")), Warning::OpenBlockers(vec![id("bd-2")])]);

    let mut side = Side::with(&["bd-1"]);
    let mut child = titled("bd-2");
    child.parent = Some("bd-1".into());
    side.done("ann", &Op::Create(Box::new(child)));
    assert_eq!(
        side.clone().done("ann", &close(true, false)).warnings,
        [],
        "only an epic waits for its children"
    );
    side.done(
        "ann",
        &Op::Update(Box::new(Update { kind: Some(BeadType::Epic.into()), ..Update::of("bd-1") })),
    );
    assert!(matches!(side.refused("ann", &close(true, false)), Error::OpenChildren { .. }));
}

#[test]
fn events_report_changes_of_claims_and_the_notes_of_a_new_bead() {
    let mut side = Side::with(&["bd-1"]);
    let events = |side: &mut Side, by: &str, op: Op| -> Vec<&'static str> {
        let before = side.catalog.clone();
        side.done(by, &op);
        let mut watcher = before;
        let events = watcher.join_with_events(side.catalog.state(), side.now_ms);
        events.iter().map(|event| event.kind.as_str()).collect()
    };
    let claim = || Op::Claim(ClaimBead { id: "bd-1".into(), ..ClaimBead::default() });
    let unclaim = || Op::Unclaim(Unclaim { id: "bd-1".into(), ..Unclaim::default() });
    assert_eq!(events(&mut side, "ann", claim()), ["claimed"]);
    assert_eq!(events(&mut side, "ann", unclaim()), ["released"]);
    side.done("ann", &claim());
    side.now_ms += 2 * LEASE;
    assert_eq!(events(&mut side, "ben", unclaim()), ["expired"]);
    let close = Op::Close(Close { id: "bd-1".into(), ..Close::default() });
    assert_eq!(events(&mut side, "ben", close), ["closed"]);
    let reopen = Op::Reopen(Reopen { id: "bd-1".into(), ..Reopen::default() });
    assert_eq!(events(&mut side, "ben", reopen), ["reopened"]);

    let note = |text: &str| {
        let content = text.parse().unwrap();
        Op::NoteAdd(NoteAdd { id: "bd-1".into(), content, ..NoteAdd::default() })
    };
    side.done("ann", &note("first"));
    side.done("ben", &note("second"));
    let mut fresh = beads_core::Catalog::default();
    let events = fresh.join_with_events(side.catalog.state(), side.now_ms);
    let notes: Vec<_> = events.iter().filter(|event| event.kind == EventKind::Note).collect();
    assert_eq!(notes.len(), 2, "{events:?}");
    assert_eq!(events[0].kind, EventKind::Created);
}
