//! Claims: claiming, claiming the next bead, renewing, releasing, and guards.

use beads_core::op::{
    Change, ClaimBead, ClaimNext, Close, Create, Dep, DepRole, Fence, Guard, NoteAdd, Op, Renew, Unclaim,
    Update,
};
use beads_core::{Applied, Bead, BeadType, Error, Patch, Stamp, Status, content_hash};
use serde_json::json;

use crate::support::actor;
use crate::support::side::{LEASE, STEP, Side, titled};

fn claim(id: &str) -> Op {
    Op::Claim(ClaimBead { id: id.into(), ..ClaimBead::default() })
}

fn claim_for(id: &str, lease_ms: u64) -> Op {
    Op::Claim(ClaimBead { id: id.into(), lease_ms: Some(lease_ms), ..ClaimBead::default() })
}

fn next() -> Op {
    Op::ClaimNext(Box::default())
}

fn renew(id: &str) -> Op {
    Op::Renew(Renew { id: id.into(), ..Renew::default() })
}

fn unclaim(id: &str) -> Unclaim {
    Unclaim { id: id.into(), ..Unclaim::default() }
}

fn close(id: &str) -> Op {
    Op::Close(Close { id: id.into(), ..Close::default() })
}

fn note(id: &str) -> Op {
    Op::NoteAdd(NoteAdd { id: id.into(), content: "hm".parse().unwrap(), ..NoteAdd::default() })
}

fn to_status(id: &str, status: Status) -> Op {
    Op::Update(Box::new(Update { status: Some(status.into()), ..Update::of(id) }))
}

fn assign(id: &str, to: &str) -> Op {
    Op::Update(Box::new(Update { assignee: Some(Change::Set(actor(to))), ..Update::of(id) }))
}

fn status(bead: &Bead) -> Status {
    bead.status()
}

fn expires(side: &Side, id: &str) -> u64 {
    side.bead(id).claim.expires.unwrap().ms()
}

/// Returns the only patch of an operation on one bead.
fn patch(applied: &Applied) -> &Patch {
    let [patch] = applied.delta.beads.values().collect::<Vec<_>>()[..] else { panic!("{applied:?}") };
    patch
}

#[test]
fn a_claim_starts_the_bead_and_a_second_one_extends_the_lease() {
    let mut side = Side::with(&["bd-1"]);
    let first = side.done("ann", &claim("bd-1"));
    assert_eq!(side.about(&first), "bd-1");
    let bead = side.bead("bd-1").clone();
    assert_eq!((status(&bead), &bead.claim.assignee), (Status::InProgress, &Some(actor("ann"))));
    assert_eq!(expires(&side, "bd-1"), side.now_ms + LEASE);
    assert_eq!((first.fence, first.renewed), (Some(bead.claim.mark.at()), false));

    let again = side.done("ann", &claim_for("bd-1", 5_000));
    assert_eq!((again.fence, again.renewed), (first.fence, true));
    assert_eq!(expires(&side, "bd-1"), side.now_ms + 5_000);
    assert_eq!(patch(&again).status, None, "it was already started");
}

#[test]
fn a_held_or_closed_bead_cannot_be_claimed_but_one_with_an_ended_lease_can() {
    let mut side = Side::with(&["bd-1"]);
    let first = side.done("ann", &claim("bd-1"));
    assert!(
        matches!(side.refused("ben", &claim("bd-1")), Error::AlreadyClaimed { holder, .. } if holder == actor("ann"))
    );
    side.now_ms += LEASE;
    let second = side.done("ben", &claim("bd-1"));
    assert!(!second.renewed && second.fence > first.fence, "another claim");
    assert_eq!(side.bead("bd-1").claim.assignee, Some(actor("ben")));
    side.done("ben", &close("bd-1"));
    for op in [claim("bd-1"), renew("bd-1")] {
        assert!(matches!(side.refused("ben", &op), Error::Closed(_)), "{op:?}");
    }
}

#[test]
fn the_assignee_of_an_unclaimed_bead_gets_a_new_claim() {
    let mut side = Side::with(&["bd-1"]);
    side.done("ben", &assign("bd-1", "ann"));
    let given = side.bead("bd-1").claim.fence();
    let claimed = side.done("ann", &claim("bd-1"));
    assert!(!claimed.renewed && claimed.fence > given);
    assert_eq!(status(side.bead("bd-1")), Status::InProgress);
}

#[test]
fn claim_next_skips_assigned_beads_and_waiting_epics() {
    let mut side = Side::with(&["bd-1", "bd-2"]);
    side.done("ann", &assign("bd-1", "ben"));
    let first = side.done("ann", &next());
    assert_eq!(side.about(&first), "bd-2", "the first is assigned to another actor");
    assert_eq!(first.fence, side.bead("bd-2").claim.fence());
    let ben =
        side.done("ben", &Op::ClaimNext(Box::new(ClaimNext { lease_ms: Some(77), ..ClaimNext::default() })));
    assert_eq!((side.about(&ben), expires(&side, "bd-1")), ("bd-1", side.now_ms + 77));

    side.done("ann", &Op::Create(Box::new(Create { kind: BeadType::Epic.into(), ..titled("bd-3") })));
    let child = Create { deps: vec![Dep { role: DepRole::Parent, id: "bd-3".into() }], ..titled("bd-4") };
    side.done("ann", &Op::Create(Box::new(child)));
    side.done("ann", &claim("bd-4"));
    assert_eq!(side.refused("cyd", &next()), Error::NothingReady);
}

#[test]
fn writes_of_the_holder_renew_the_lease_and_never_shorten_it() {
    let mut side = Side::with(&["bd-1"]);
    let fence = side.done("ann", &claim("bd-1")).fence;
    for op in [
        note("bd-1"),
        Op::Update(Box::new(Update { title: Some("t".parse().unwrap()), ..Update::of("bd-1") })),
    ] {
        side.now_ms += LEASE / 2;
        side.done("ann", &op);
        assert_eq!(expires(&side, "bd-1"), side.now_ms + LEASE, "{op:?}");
        assert_eq!(side.bead("bd-1").claim.fence(), fence);
    }
    let by_another = side.done("ben", &note("bd-1"));
    assert_eq!(patch(&by_another).claim, None);
    side.now_ms += 2 * LEASE;
    let too_late = side.done("ann", &note("bd-1"));
    assert_eq!(patch(&too_late).claim, None, "only a claim or a renewal revives a lease");

    for longer in [0, LEASE] {
        // A renewal by the note would not move the end of the lease.
        side.done("ann", &claim_for("bd-1", LEASE + STEP + longer));
        assert_eq!(patch(&side.done("ann", &note("bd-1"))).claim, None, "{longer}");
    }
    side.done("ann", &to_status("bd-1", Status::Open));
    side.now_ms += STEP;
    assert_eq!(patch(&side.done("ann", &note("bd-1"))).claim, None, "no one works on it");
}

#[test]
fn only_the_last_holder_can_renew_even_after_the_lease_has_ended() {
    let mut side = Side::with(&["bd-1", "bd-2"]);
    let fence = side.done("ann", &claim("bd-1")).fence;
    side.now_ms += 2 * LEASE;
    let renewed = side.done("ann", &renew("bd-1"));
    assert_eq!((renewed.fence, renewed.renewed), (fence, true));
    assert_eq!(expires(&side, "bd-1"), side.now_ms + LEASE);
    assert!(
        matches!(side.refused("ben", &renew("bd-1")), Error::NotHolder { holder, .. } if holder == actor("ann"))
    );
    assert!(
        matches!(side.refused("ann", &renew("bd-2")), Error::StaleClaim { current, .. } if current == "none")
    );
}

#[test]
fn releasing_frees_the_bead_and_keeps_the_reason() {
    let mut side = Side::with(&["bd-1"]);
    assert!(side.done("ann", &Op::Unclaim(unclaim("bd-1"))).delta.is_empty(), "there is nothing to release");
    side.done("ann", &claim("bd-1"));
    assert!(matches!(side.refused("ben", &Op::Unclaim(unclaim("bd-1"))), Error::NotHolder { .. }));
    side.done("ann", &Op::Unclaim(Unclaim { reason: "tired".parse().unwrap(), ..unclaim("bd-1") }));
    let bead = side.bead("bd-1").clone();
    assert_eq!((status(&bead), &bead.claim.assignee, bead.claim.expires), (Status::Open, &None, None));
    assert_eq!(bead.notes_in_order()[0].content.as_str(), "tired");

    side.done("ann", &claim("bd-1"));
    let forced = side.done("ben", &Op::Unclaim(Unclaim { force: true, ..unclaim("bd-1") }));
    assert_eq!((patch(&forced).notes.len(), side.bead("bd-1").claim.fence()), (0, None));
    side.done("ann", &claim("bd-1"));
    side.now_ms += 2 * LEASE;
    side.done("ben", &Op::Unclaim(unclaim("bd-1")));
    assert_eq!(status(side.bead("bd-1")), Status::Open);
}

#[test]
fn an_assigned_or_started_bead_can_be_released() {
    let mut side = Side::with(&["bd-1", "bd-2"]);
    side.done("ben", &assign("bd-1", "ann"));
    let given = side.done("ann", &Op::Unclaim(unclaim("bd-1")));
    assert_eq!((&patch(&given).status, side.bead("bd-1").claim.fence()), (&None, None));
    side.done("ann", &to_status("bd-2", Status::InProgress));
    side.done("ann", &Op::Unclaim(unclaim("bd-2")));
    assert_eq!(status(side.bead("bd-2")), Status::Open);
}

#[test]
fn an_update_can_claim() {
    let mut side = Side::with(&["bd-1"]);
    let take = Op::Update(Box::new(Update { claim: true, ..Update::of("bd-1") }));
    let taken = side.done("ann", &take);
    let bead = side.bead("bd-1").clone();
    assert_eq!((status(&bead), &bead.claim.assignee), (Status::InProgress, &Some(actor("ann"))));
    assert_eq!((taken.fence, expires(&side, "bd-1")), (bead.claim.fence(), side.now_ms + LEASE));
    assert!(matches!(side.refused("ben", &take), Error::AlreadyClaimed { .. }));
    let retitled = Update { title: Some("t".parse().unwrap()), ..Update::of("bd-1") };
    assert_eq!(side.done("ann", &Op::Update(Box::new(retitled))).fence, None, "it claimed nothing");
}

/// Returns every operation that checks a guard.
fn guarded(guard: &Guard) -> [Op; 7] {
    let (id, guard) = (|| "bd-1".to_owned(), || guard.clone());
    [
        Op::Claim(ClaimBead { id: id(), guard: guard(), ..ClaimBead::default() }),
        Op::Renew(Renew { id: id(), guard: guard(), ..Renew::default() }),
        Op::Update(Box::new(Update {
            guard: guard(),
            title: Some("t".parse().unwrap()),
            ..Update::of("bd-1")
        })),
        Op::NoteAdd(NoteAdd {
            id: id(),
            guard: guard(),
            content: "hm".parse().unwrap(),
            ..NoteAdd::default()
        }),
        Op::Unclaim(Unclaim { guard: guard(), ..unclaim("bd-1") }),
        Op::Close(Close { id: id(), guard: guard(), ..Close::default() }),
        Op::Delete(beads_core::op::Delete { id: id(), guard: guard(), ..Default::default() }),
    ]
}

#[test]
fn a_guard_rejects_a_bead_that_has_changed() {
    let mut side = Side::with(&["bd-1", "bd-2"]);
    side.done("ann", &claim("bd-1"));
    let bead = side.bead("bd-1").clone();
    let lineage = side.catalog.resolve("bd-1").unwrap().clone();
    let hash = content_hash(side.catalog.id_of(&lineage), &lineage, &bead);
    let fence = bead.claim.fence().map(Fence);
    let right = Guard { content_hash: Some(hash.clone()), fence };
    for op in guarded(&right) {
        side.clone().done("ann", &op);
    }
    for op in guarded(&Guard { content_hash: Some("another".into()), fence }) {
        let Error::HashMismatch { current, .. } = side.refused("ann", &op) else { panic!("{op:?}") };
        assert_eq!(current, hash);
    }
    let old = Some(Fence(Stamp::decode(5, 3).unwrap()));
    for op in guarded(&Guard { content_hash: Some(hash), fence: old }) {
        let Error::StaleClaim { current, .. } = side.refused("ann", &op) else { panic!("{op:?}") };
        assert_eq!(Some(current), fence.map(|fence| fence.0.to_string()));
    }
    let free = ClaimBead {
        id: "bd-2".into(),
        guard: Guard { fence: old, ..Guard::default() },
        ..ClaimBead::default()
    };
    assert!(
        matches!(side.refused("ann", &Op::Claim(free)), Error::StaleClaim { current, .. } if current == "none")
    );
}

#[test]
fn a_printed_fence_can_be_parsed() {
    let fence = Fence(Stamp::decode(5, 3).unwrap());
    assert_eq!("5.3".parse(), Ok(fence));
    assert_eq!(serde_json::to_value(fence).unwrap(), json!("5.3"));
    assert_eq!(serde_json::from_value::<Fence>(json!("5.3")).unwrap(), fence);
    assert!("5".parse::<Fence>().is_err());
}
