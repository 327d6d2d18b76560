//! What a replica keeps of a hub: what it appends, and which writes count as concurrent.

use beads_core::limits::MAX_MS;
use beads_core::op::{Archive, ClaimBead, Close, Guard, HandOver, Reopen, Update};
use beads_core::{Delta, Lineage, Note, Op, Patch, Stamp, Status, Timestamp};
use beads_store::Caller;
use beads_store::hub::{
    Attached, ClaimNewsState, Grant, HubCopy, HubCursor, HubHistory, HubRow, HubSession, RowContent,
    encode_payload, is_hub_fence,
};

use crate::bench_store::{BenchStore, TestReplica, caller, create};

/// A hub in memory: the deltas in their order.
#[derive(Default)]
struct Deltas(Vec<HubRow>);

impl Deltas {
    fn push(&mut self, replica: &str, content: RowContent) -> HubCursor {
        let cursor = HubCursor { n: self.0.len() as u64 + 1, token: format!("token {}", self.0.len()) };
        self.0.push(HubRow { cursor: cursor.clone(), replica: replica.to_owned(), content });
        cursor
    }
}

/// A machine of the fleet.
struct Machine {
    name: &'static str,
    replica: TestReplica,
    copy: HubCopy,
    store: BenchStore,
}

impl Machine {
    fn new(name: &'static str) -> Self {
        let store = BenchStore::new();
        Self { name, replica: store.open(), copy: HubCopy::default(), store }
    }

    fn write(&mut self, op: &Op) {
        let caller = Caller { actor: self.name.parse().unwrap(), ..caller() };
        self.replica.apply(op, &caller).unwrap();
        self.replica.commit().unwrap();
    }

    /// Appends what the hub lacks, without taking what others appended.
    fn append(&mut self, hub: &mut Deltas) {
        let now_ms = self.replica.now_ms();
        if let Some(outgoing) = self.copy.outgoing(self.replica.catalog().state(), now_ms).unwrap() {
            hub.push(self.name, RowContent::Payload(outgoing.payload));
        }
    }

    fn fetch(&mut self, hub: &Deltas) {
        self.copy.take(&mut self.replica, self.name, &hub.0).unwrap();
        self.copy.join_into(&mut self.replica).unwrap();
        self.replica.commit().unwrap();
    }

    /// Closes the bead, archives it and gives up its content.
    fn archive(&mut self) {
        let id = {
            let catalog = self.replica.catalog();
            catalog.id_of(catalog.live().next().unwrap().0).to_string()
        };
        self.write(&Op::Close(Close { id, ..Close::default() }));
        let closed_before = Timestamp::from_ms(MAX_MS - 1).unwrap();
        self.write(&Op::Archive(Archive { closed_before }));
        let checkpoint = self.replica.begin_checkpoint().unwrap();
        let (saved, moved) = checkpoint.save_and_archive(&self.store.repository()).unwrap();
        moved.unwrap();
        self.replica.finish_checkpoint(saved, Vec::new()).unwrap();
        assert!(self.replica.catalog().archived().all(|(_, bead)| bead.is_hollow()));
    }

    fn title(&self) -> String {
        let bead = self.replica.catalog().live().next().unwrap().1;
        bead.title.value.as_str().to_owned()
    }

    fn conflicts(&self) -> usize {
        self.replica.catalog().state().conflicts().len()
    }
}

fn rename(machine: &Machine, title: &str) -> Op {
    let lineage = machine.replica.catalog().live().next().unwrap().0;
    let id = machine.replica.catalog().id_of(lineage).to_string();
    Op::Update(Box::new(Update { id, title: Some(title.parse().unwrap()), ..Update::default() }))
}

/// Returns two machines that know the same bead.
fn pair(hub: &mut Deltas) -> (Machine, Machine) {
    let (mut ann, mut bob) = (Machine::new("ann"), Machine::new("bob"));
    ann.fetch(hub);
    bob.fetch(hub);
    ann.write(&create("first"));
    ann.append(hub);
    ann.fetch(hub);
    bob.fetch(hub);
    (ann, bob)
}

#[test]
fn what_one_machine_appends_the_other_has() {
    let mut hub = Deltas::default();
    let (mut ann, mut bob) = pair(&mut hub);
    bob.write(&rename(&bob, "second"));
    bob.append(&mut hub);
    ann.fetch(&hub);
    bob.fetch(&hub);
    assert_eq!((ann.title(), bob.title()), ("second".into(), "second".into()));
    assert_eq!((ann.conflicts(), bob.conflicts()), (0, 0));
    assert_eq!(ann.copy.encode().unwrap(), bob.copy.encode().unwrap());
    let before = hub.0.len();
    ann.append(&mut hub);
    bob.append(&mut hub);
    assert_eq!(hub.0.len(), before, "nothing is appended twice");
}

#[test]
fn only_writes_that_did_not_know_each_other_conflict() {
    let mut hub = Deltas::default();
    let (mut ann, mut bob) = pair(&mut hub);
    ann.write(&rename(&ann, "by ann"));
    ann.append(&mut hub);
    bob.write(&rename(&bob, "by bob"));
    bob.append(&mut hub);
    // The one with the later number finds the conflict, and appends it.
    bob.fetch(&hub);
    assert_eq!(bob.conflicts(), 1);
    bob.append(&mut hub);
    ann.fetch(&hub);
    bob.fetch(&hub);
    assert_eq!((ann.conflicts(), ann.title()), (1, bob.title()));
    assert_eq!(ann.copy.encode().unwrap(), bob.copy.encode().unwrap());
}

#[test]
fn fetching_the_whole_history_again_finds_no_conflicts() {
    let mut hub = Deltas::default();
    let (mut ann, mut bob) = pair(&mut hub);
    for number in 0..5 {
        let title = format!("title {number}");
        let writer = if number % 2 == 0 { &mut ann } else { &mut bob };
        writer.write(&rename(writer, &title));
        writer.append(&mut hub);
        ann.fetch(&hub);
        bob.fetch(&hub);
    }
    ann.copy = HubCopy::default();
    ann.fetch(&hub);
    assert_eq!((ann.conflicts(), ann.title()), (0, "title 4".into()));
    // Writes that the hub never had are concurrent with those that it got meanwhile.
    ann.write(&rename(&ann, "offline"));
    bob.write(&rename(&bob, "online"));
    bob.append(&mut hub);
    ann.copy = HubCopy::default();
    ann.fetch(&hub);
    assert_eq!(ann.conflicts(), 1);
}

/// Gives a machine a claim on a bead, as the hub does.
fn grant_to(machine: &mut Machine, lineage: &Lineage, hub: &mut Deltas) {
    let now_ms = machine.replica.now_ms();
    let fence: Stamp = serde_json::from_str(&format!("[{},{}]", now_ms + 1_000, (1 << 16) | 47_806)).unwrap();
    assert!(is_hub_fence(fence));
    let until = Timestamp::from_ms(now_ms + 60_000).unwrap();
    let holder = machine.name.parse().unwrap();
    let grant = Grant { lineage: lineage.clone(), holder, fence, until };
    let id = machine.replica.catalog().id_of(lineage).to_string();
    let claim = ClaimBead { id, at: Some(fence), until: Some(until), ..ClaimBead::default() };
    machine.write(&Op::Claim(claim));
    hub.push(machine.name, RowContent::Grant(grant));
}

#[test]
fn every_machine_builds_the_same_claim_from_a_grant() {
    let mut hub = Deltas::default();
    let (mut ann, mut bob) = pair(&mut hub);
    let lineage = ann.replica.catalog().live().next().unwrap().0.clone();
    grant_to(&mut ann, &lineage, &mut hub);
    ann.fetch(&hub);
    bob.fetch(&hub);
    let state = |machine: &Machine| machine.replica.catalog().state().encode();
    assert_eq!(state(&ann), state(&bob));
    let before = hub.0.len();
    ann.append(&mut hub);
    assert_eq!(hub.0.len(), before, "the grant is the delta");
}

#[test]
fn an_own_delta_that_comes_back_is_not_decoded_again() {
    let mut hub = Deltas::default();
    let (mut ann, mut bob) = pair(&mut hub);
    bob.write(&create("by bob"));
    bob.append(&mut hub);
    ann.write(&create("by ann"));
    let outgoing = ann.copy.outgoing(ann.replica.catalog().state(), 0).unwrap().unwrap();
    let cursor = hub.push("ann", RowContent::Payload(outgoing.payload));
    let mut session = HubSession::new(ann.copy.clone(), "ann".to_owned(), 0);
    session.numbered(&mut ann.replica, &outgoing.delta, &cursor).unwrap();
    let mut forged = hub.0.clone();
    let last = forged.last_mut().unwrap();
    last.content = RowContent::Payload(b"unreadable".to_vec());
    assert_eq!(session.clone().take(&mut ann.replica, &forged).unwrap().refused, None);
    forged.last_mut().unwrap().cursor.token = "of another history".to_owned();
    assert!(session.clone().take(&mut ann.replica, &forged).unwrap().refused.is_some());
    assert_eq!(session.take(&mut ann.replica, &hub.0).unwrap().refused, None);
    assert!(session.copy().outgoing(ann.replica.catalog().state(), 0).unwrap().is_none());
    bob.fetch(&hub);
    assert_eq!(session.copy().encode().unwrap(), bob.copy.encode().unwrap());
}

#[test]
fn a_write_reaches_a_machine_that_gave_up_the_content_of_the_bead() {
    let mut hub = Deltas::default();
    let (mut ann, mut bob) = pair(&mut hub);
    ann.archive();
    ann.append(&mut hub);
    bob.store.world.jump(1_000);
    bob.write(&rename(&bob, "by bob"));
    bob.append(&mut hub);
    ann.fetch(&hub);
    bob.fetch(&hub);
    assert_eq!((ann.title(), bob.title()), ("by bob".into(), "by bob".into()));
    let state = |machine: &Machine| machine.replica.catalog().state().encode();
    assert_eq!(state(&ann), state(&bob));
    assert_eq!(ann.copy.encode().unwrap(), bob.copy.encode().unwrap());
    // Archived again, it stays archived on both: the hub has the content, ann does not need it.
    ann.store.world.jump(2_000);
    ann.archive();
    ann.append(&mut hub);
    bob.fetch(&hub);
    assert_eq!(bob.replica.catalog().live_count(), 0);
    assert!(ann.copy.outgoing(ann.replica.catalog().state(), 0).unwrap().is_some(), "ann has not fetched it");
    ann.fetch(&hub);
    assert!(ann.copy.outgoing(ann.replica.catalog().state(), 0).unwrap().is_none());
}

#[test]
fn a_claim_on_a_bead_that_the_hub_never_had_comes_with_all_of_it() {
    let (mut ann, mut bob) = pair(&mut Deltas::default());
    // A new hub, which learns of the bead only that it is archived.
    let mut hub = Deltas::default();
    (ann.copy, bob.copy) = (HubCopy::default(), HubCopy::default());
    let lineage = ann.replica.catalog().live().next().unwrap().0.clone();
    ann.archive();
    ann.fetch(&hub);
    ann.append(&mut hub);
    grant_to(&mut bob, &lineage, &mut hub);
    bob.fetch(&hub);
    bob.append(&mut hub);
    ann.fetch(&hub);
    bob.fetch(&hub);
    let bead = ann.replica.catalog().live_bead(&lineage).unwrap();
    assert_eq!((bead.claim.assignee.as_ref().unwrap().as_str(), ann.title()), ("bob", "first".into()));
    assert_eq!(ann.copy.encode().unwrap(), bob.copy.encode().unwrap());
}

/// Every machine stops at a delta that cannot be used, after those before it, and goes on when it has been removed.
#[test]
fn a_delta_that_cannot_be_used_holds_back_only_what_follows_it() {
    let mut hub = Deltas::default();
    let (mut ann, mut bob) = pair(&mut hub);
    ann.write(&rename(&ann, "before"));
    ann.append(&mut hub);
    ann.fetch(&hub);
    let bad = hub.push("mallory", RowContent::Payload(b"garbage".to_vec()));
    ann.fetch(&hub);
    ann.write(&rename(&ann, "after"));
    ann.append(&mut hub);
    let taken = bob.copy.take(&mut bob.replica, bob.name, &hub.0).unwrap();
    let refused = taken.refused.expect("the reason");
    assert!(refused.starts_with(&format!("delta {} of machine mallory: ", bad.n)), "{refused}");
    assert_eq!((bob.title(), bob.copy.cursor.n), ("before".into(), bad.n - 1));
    // What an administrator does (docs/FLEET.md).
    let row = hub.0.iter_mut().find(|row| row.cursor == bad).unwrap();
    row.content = RowContent::Payload(br#"{"version":1,"delta":{}}"#.to_vec());
    bob.fetch(&hub);
    ann.fetch(&hub);
    assert_eq!((bob.title(), bob.copy.cursor.n), ("after".into(), bad.n + 1));
    assert_eq!(ann.copy.encode().unwrap(), bob.copy.encode().unwrap());
}

/// As when commits are merged: what could not be saved is not joined.
#[test]
fn a_bead_does_not_grow_beyond_what_can_be_saved() {
    const NOTE_BYTES: usize = 26 * 1024 * 1024;
    let mut hub = Deltas::default();
    let (ann, mut bob) = pair(&mut hub);
    let lineage = ann.replica.catalog().live().next().unwrap().0.clone();
    for number in 0..4 {
        let content = format!("{number}{}", "x".repeat(NOTE_BYTES)).parse().unwrap();
        let note = Note::new(&lineage, &lineage.mark(), content, None);
        let patch = Patch { notes: vec![note.into()], ..Patch::default() };
        let payload = encode_payload(&Delta::of_bead(lineage.clone(), patch)).unwrap();
        hub.push("mallory", RowContent::Payload(payload));
    }
    let taken = bob.copy.take(&mut bob.replica, bob.name, &hub.0).unwrap();
    assert!(taken.refused.expect("the reason").contains("the limit for a bead"));
    assert_eq!(bob.copy.cursor.n as usize, hub.0.len() - 1);
}

/// Returns what a machine says about claims when it appends next.
fn news(machine: &Machine) -> Vec<(ClaimNewsState, Option<String>)> {
    let now_ms = machine.replica.now_ms();
    let outgoing = machine.copy.outgoing(machine.replica.catalog().state(), now_ms).unwrap().unwrap();
    let claims = outgoing.claims.into_iter();
    claims.map(|news| (news.state, news.holder.map(|holder| holder.to_string()))).collect()
}

fn granted_to_ann() -> (Deltas, Machine, Machine, String) {
    let mut hub = Deltas::default();
    let (mut ann, mut bob) = pair(&mut hub);
    let lineage = ann.replica.catalog().live().next().unwrap().0.clone();
    let id = ann.replica.catalog().id_of(&lineage).to_string();
    grant_to(&mut ann, &lineage, &mut hub);
    ann.fetch(&hub);
    bob.fetch(&hub);
    (hub, ann, bob, id)
}

fn hand_over(id: &str, to: &str, force: bool) -> Op {
    let (id, to, text) = (id.to_owned(), to.parse().unwrap(), "go on".parse().unwrap());
    Op::HandOver(Box::new(HandOver { id, guard: Guard::default(), to, within_ms: None, text, force }))
}

#[test]
fn a_handover_ends_the_claim_that_it_replaces() {
    let (_, mut ann, mut bob, id) = granted_to_ann();
    let said = [(ClaimNewsState::Released, None), (ClaimNewsState::Held, Some("carl".to_owned()))];
    ann.write(&hand_over(&id, "carl", false));
    assert_eq!(news(&ann), said);
    bob.write(&hand_over(&id, "carl", true));
    assert_eq!(news(&bob), said, "also that of another machine");
}

#[test]
fn a_handover_does_not_end_a_claim_that_its_writer_did_not_know() {
    let mut hub = Deltas::default();
    let (mut ann, mut bob) = pair(&mut hub);
    let lineage = ann.replica.catalog().live().next().unwrap().0.clone();
    let id = ann.replica.catalog().id_of(&lineage).to_string();
    grant_to(&mut ann, &lineage, &mut hub);
    bob.store.world.jump(10_000);
    bob.write(&hand_over(&id, "carl", true));
    bob.fetch(&hub);
    assert_eq!(news(&bob).len(), 1, "the handover is newer");
    assert!(news(&bob).iter().all(|(state, _)| *state != ClaimNewsState::Released));
}

#[test]
fn a_bead_that_is_reopened_with_its_claim_is_held_again() {
    let (mut hub, mut ann, _, id) = granted_to_ann();
    ann.write(&Op::Close(Close { id: id.clone(), ..Close::default() }));
    assert_eq!(news(&ann), [(ClaimNewsState::Closed, None)]);
    ann.append(&mut hub);
    ann.fetch(&hub);
    let status = Some(Status::InProgress);
    ann.write(&Op::Reopen(Reopen { id, status, ..Reopen::default() }));
    assert_eq!(news(&ann), [(ClaimNewsState::Held, Some("ann".to_owned()))]);
}

/// The end of a lease is a time of the hub, whose clock is a day ahead here, or a day behind.
#[test]
fn a_lease_is_renewed_by_the_clock_of_the_hub() {
    const DAY_MS: i64 = 24 * 60 * 60 * 1000;
    for ahead_ms in [DAY_MS, -DAY_MS] {
        let mut machine = Machine::new("ann");
        machine.write(&create("first"));
        let id =
            machine.replica.catalog().id_of(machine.replica.catalog().live().next().unwrap().0).to_string();
        machine.replica.set_leases_ahead_ms(ahead_ms);
        machine.write(&Op::Claim(ClaimBead {
            id: id.clone(),
            lease_ms: Some(60_000),
            ..ClaimBead::default()
        }));
        let left_ms = |machine: &Machine| {
            let expires = machine.replica.catalog().live().next().unwrap().1.claim.expires.unwrap();
            expires.ms().saturating_sub(machine.replica.lease_now_ms())
        };
        assert!((50_000..=60_000).contains(&left_ms(&machine)), "{}", left_ms(&machine));
        let fence = machine.replica.catalog().live().next().unwrap().1.claim.fence();
        machine.write(&Op::Claim(ClaimBead { id, lease_ms: Some(120_000), ..ClaimBead::default() }));
        assert!((110_000..=120_000).contains(&left_ms(&machine)), "{}", left_ms(&machine));
        assert_eq!(
            machine.replica.catalog().live().next().unwrap().1.claim.fence(),
            fence,
            "it is a renewal"
        );
    }
}

/// The clock of this machine is a day ahead of that of the hub.
#[test]
fn a_machine_that_is_ahead_repeats_its_live_claims() {
    const DAY_MS: u64 = 24 * 60 * 60 * 1000;
    let mut hub = Deltas::default();
    let mut ann = Machine::new("ann");
    ann.write(&create("first"));
    let lineage = ann.replica.catalog().live().next().unwrap().0.clone();
    let hub_ms = ann.replica.now_ms();
    grant_to(&mut ann, &lineage, &mut hub);
    ann.store.world.jump(DAY_MS as i64);
    let mut session = HubSession::new(HubCopy::default(), "ann".to_owned(), 0);
    let state = ann.replica.catalog().state().clone();
    let repeated = |session: &mut HubSession, now_ms: u64| session.attach_arguments(&state, now_ms).1;
    let [claim] = repeated(&mut session, hub_ms + DAY_MS).try_into().expect("the hub decides what is over");
    assert_eq!(
        (claim.until_ms, claim.own),
        (Some(hub_ms + 60_000), false),
        "it was granted to an earlier session"
    );
    let history = HubHistory::Same;
    let attached = Attached { last_seq: 0, head: 1, history, holding: false, now_ms: hub_ms };
    assert!(!session.attached(&mut ann.replica, &attached));
    session.take(&mut ann.replica, &hub.0).unwrap();
    let [claim] =
        repeated(&mut session, hub_ms + DAY_MS).try_into().expect("it is live by the clock of the hub");
    assert_eq!((claim.until_ms, claim.left_ms, claim.own), (Some(hub_ms + 60_000), 60_000, true));
    assert!(repeated(&mut session, hub_ms + DAY_MS + 60_000).is_empty(), "it is over");
}

#[test]
fn after_another_history_the_saved_copy_is_of_no_use() {
    let mut ann = Machine::new("ann");
    let mut session = HubSession::new(HubCopy::default(), "ann".to_owned(), 0);
    let histories = [(HubHistory::Same, false), (HubHistory::Behind, false), (HubHistory::Other, true)];
    for (history, is_useless) in histories {
        let attached = Attached { last_seq: 0, head: 1, history, holding: false, now_ms: 1 };
        assert_eq!(session.attached(&mut ann.replica, &attached), is_useless, "{history:?}");
    }
}
