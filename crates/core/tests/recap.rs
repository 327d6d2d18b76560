//! The summary of a period, computed from beads, events and sessions that each test builds.

use beads_core::op::{Ask, Cancel, ClaimBead, Close, Create, DepAdd, HandOver, NoteAdd, Op, Unclaim};
use beads_core::query::{Recap, RecapSources, SessionSign, Signs, WorkSources, WorkerState};
use beads_core::{Catalog, Clock, Context, EdgeKind, Event, EventKind, Stamp};

const MINUTE: u64 = 60 * 1000;
const HOUR: u64 = 60 * MINUTE;
const START: u64 = 1_000 * HOUR;

/// A store whose operations have chosen times, with its event log.
struct Night {
    catalog: Catalog,
    clock: Clock,
    events: Vec<Event>,
    sessions: Vec<SessionSign>,
}

impl Night {
    fn new() -> Self {
        let clock = Clock::new(Stamp::ZERO, 1);
        Self { catalog: Catalog::default(), clock, events: Vec::new(), sessions: Vec::new() }
    }

    fn run(&mut self, actor: &str, minute: u64, op: &Op) {
        let now_ms = START + minute * MINUTE;
        let mut context = Context {
            actor: actor.parse().unwrap(),
            now_ms,
            clock: &mut self.clock,
            random: &mut || 4,
            branch: Default::default(),
            lease_ms: HOUR,
        };
        let applied = op.apply(&self.catalog, &mut context).unwrap();
        self.events.extend(self.catalog.join_delta_with_events(&applied.delta, now_ms).unwrap());
    }

    fn create(&mut self, minute: u64, id: &str) {
        let title = format!("Bead {id}").parse().unwrap();
        let create = Create { id: Some(id.parse().unwrap()), ..Create::titled(title) };
        self.run("ann", minute, &Op::Create(Box::new(create)));
    }

    fn claim(&mut self, actor: &str, minute: u64, id: &str) {
        self.run(actor, minute, &Op::Claim(ClaimBead { id: id.into(), ..ClaimBead::default() }));
    }

    fn close(&mut self, actor: &str, minute: u64, id: &str, evidence: &[&str]) {
        let evidence = evidence.iter().map(|one| one.parse().unwrap()).collect();
        let reason = "done".parse().unwrap();
        self.run(actor, minute, &Op::Close(Close { id: id.into(), reason, evidence, ..Close::default() }));
    }

    fn recap(&self, since: u64, now: u64) -> Recap {
        let work = WorkSources {
            since_ms: START + since * MINUTE,
            now_ms: START + now * MINUTE,
            events: &self.events,
            signs: None,
            sessions: &self.sessions,
        };
        self.catalog.recap(&RecapSources { work, complete: true, sync_failing: None })
    }
}

#[test]
fn closed_work_has_its_closer_its_duration_and_its_evidence() {
    let mut night = Night::new();
    night.create(0, "bd-1");
    night.create(0, "bd-2");
    night.claim("bob", 10, "bd-1");
    night.close("bob", 52, "bd-1", &["cmd:cargo test"]);
    let recap = night.recap(5, 60);
    assert_eq!(recap.created, [], "both are older than the period");
    let [closed] = &recap.closed[..] else { panic!("{recap:?}") };
    assert_eq!((closed.id.as_str(), closed.by.as_str(), closed.took_ms), ("bd-1", "bob", Some(42 * MINUTE)));
    assert_eq!(
        (closed.reason.as_deref(), &closed.evidence[..]),
        (Some("done"), &["cmd:cargo test".to_owned()][..])
    );
    let bob = recap.actors.iter().find(|one| one.actor.as_str() == "bob").unwrap();
    assert_eq!((bob.closed, bob.busy_ms, bob.state), (1, 42 * MINUTE, WorkerState::Idle));
    assert_eq!(night.recap(0, 60).created.len(), 2);
    assert_eq!(night.recap(53, 60).closed, []);
}

#[test]
fn released_and_cancelled_work_failed_and_an_ended_lease_is_reclaimed() {
    let mut night = Night::new();
    for id in ["bd-1", "bd-2", "bd-3"] {
        night.create(0, id);
        night.claim("bob", 1, id);
    }
    let reason = "out of ideas".parse().unwrap();
    night.run("bob", 5, &Op::Unclaim(Unclaim { id: "bd-1".into(), reason, ..Unclaim::default() }));
    let reason = "not needed".parse().unwrap();
    night.run("ann", 6, &Op::Cancel(Cancel { id: "bd-2".into(), reason, ..Cancel::default() }));
    night.run("ann", 90, &Op::Unclaim(Unclaim { id: "bd-3".into(), ..Unclaim::default() }));
    let recap = night.recap(0, 100);
    let failed: Vec<_> =
        recap.failed.iter().map(|one| (one.how, one.id.as_str(), one.text.as_deref())).collect();
    assert_eq!(
        failed,
        [("released", "bd-1", Some("out of ideas")), ("cancelled", "bd-2", Some("not needed"))]
    );
    let [reclaimed] = &recap.reclaimed[..] else { panic!("{recap:?}") };
    assert_eq!((reclaimed.id.as_str(), reclaimed.holder.as_ref().unwrap().as_str()), ("bd-3", "bob"));
}

#[test]
fn a_question_to_a_person_is_no_failure_but_waits_for_the_person() {
    let mut night = Night::new();
    night.create(0, "bd-1");
    night.claim("bob", 1, "bd-1");
    let text = "which index?".parse().unwrap();
    night.run("bob", 5, &Op::Ask(Ask { id: "bd-1".into(), text, ..Ask::default() }));
    let recap = night.recap(0, 10);
    assert_eq!(recap.failed, []);
    let waiting: Vec<_> = recap.waiting.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(waiting, ["bd-1"]);
}

#[test]
fn work_that_another_actor_started_again_was_done_twice() {
    let mut night = Night::new();
    // Given back, so nothing was lost.
    night.create(0, "bd-2");
    night.claim("bob", 0, "bd-2");
    night.run("bob", 5, &Op::Unclaim(Unclaim { id: "bd-2".into(), ..Unclaim::default() }));
    night.claim("cy", 6, "bd-2");
    night.create(7, "bd-1");
    night.claim("bob", 7, "bd-1");
    night.claim("cy", 77, "bd-1");
    night.close("cy", 80, "bd-1", &[]);
    let recap = night.recap(0, 90);
    let [twice] = &recap.done_twice[..] else { panic!("{recap:?}") };
    let by: Vec<_> = twice.by.iter().map(beads_core::Actor::as_str).collect();
    assert_eq!((twice.id.as_str(), &by[..], twice.how), ("bd-1", &["bob", "cy"][..], "lease_ended"));
    assert_eq!(twice.lost_ms, Some(70 * MINUTE));
    assert_eq!(night.recap(78, 90).done_twice, []);
}

#[test]
fn the_keystone_is_the_bead_that_most_work_waits_for() {
    let mut night = Night::new();
    for id in ["bd-a", "bd-b", "bd-c", "bd-d", "bd-e", "bd-f"] {
        night.create(0, id);
    }
    // a blocks b, c and d, which both block e; f blocks e only.
    for (waits, blocker) in [
        ("bd-b", "bd-a"),
        ("bd-c", "bd-a"),
        ("bd-d", "bd-a"),
        ("bd-e", "bd-b"),
        ("bd-e", "bd-c"),
        ("bd-e", "bd-f"),
    ] {
        let add = DepAdd { from: waits.into(), to: blocker.into(), kind: EdgeKind::Blocks };
        night.run("ann", 1, &Op::DepAdd(add));
    }
    let keystone = night.recap(0, 10).keystone.unwrap();
    assert_eq!((keystone.id.as_str(), keystone.waiting, keystone.holder), ("bd-a", 4, None));
    night.claim("bob", 2, "bd-a");
    let keystone = night.recap(0, 3).keystone.unwrap();
    assert_eq!(keystone.holder.unwrap().as_str(), "bob");
    assert_eq!(keystone.holder_state, Some(WorkerState::Working));
    night.close("bob", 4, "bd-a", &[]);
    assert_eq!(night.recap(0, 10).keystone.unwrap().waiting, 1, "each of the rest blocks one bead");
}

#[test]
fn an_actor_is_dead_hung_or_merely_quiet() {
    let mut night = Night::new();
    night.create(0, "bd-1");
    night.claim("bob", 0, "bd-1");
    let state = |night: &Night, now| {
        let actors = night.recap(0, now).actors;
        actors.iter().find(|one| one.actor.as_str() == "bob").unwrap().state
    };
    assert_eq!(state(&night, 1), WorkerState::Working);
    assert_eq!(state(&night, 10), WorkerState::Quiet);
    assert_eq!(state(&night, 61), WorkerState::Dead, "the lease has ended");
    let lineage = night.catalog.resolve("bd-1").unwrap().clone();
    let sign = SessionSign { lineage, session: "s".into(), seen_ms: START + 40 * MINUTE, gone: false };
    night.sessions = vec![sign.clone()];
    assert_eq!(state(&night, 41), WorkerState::Hung, "it calls, but writes nothing");
    night.sessions = vec![SessionSign { gone: true, ..sign }];
    assert_eq!(state(&night, 41), WorkerState::Dead, "its process is gone");
}

#[test]
fn handovers_and_cancellations_that_did_not_arrive() {
    let mut night = Night::new();
    for id in ["bd-1", "bd-2", "bd-3", "bd-4"] {
        night.create(0, id);
        night.claim("bob", 1, id);
    }
    for id in ["bd-1", "bd-2"] {
        let offer = HandOver {
            id: id.into(),
            guard: Default::default(),
            to: "cy".parse().unwrap(),
            within_ms: None,
            text: Default::default(),
            force: false,
        };
        night.run("bob", 2, &Op::HandOver(Box::new(offer)));
    }
    night.claim("cy", 3, "bd-2");
    let arrived = |recap: Recap| -> Vec<(String, &'static str, &'static str)> {
        recap.undelivered.into_iter().map(|one| (one.id.to_string(), one.kind, one.why)).collect()
    };
    assert_eq!(arrived(night.recap(0, 5)), [], "the offer is still open");
    let expired = ("bd-1".to_owned(), "handover", "offer_expired");
    assert_eq!(arrived(night.recap(0, 20)), std::slice::from_ref(&expired));
    for id in ["bd-3", "bd-4"] {
        let reason = "not needed".parse().unwrap();
        night.run("ann", 20, &Op::Cancel(Cancel { id: id.into(), reason, ..Cancel::default() }));
    }
    assert_eq!(arrived(night.recap(0, 21)).iter().filter(|one| one.2 == "not_heard_from").count(), 2);
    let content = "still at it".parse().unwrap();
    night.run("bob", 30, &Op::NoteAdd(NoteAdd { id: "bd-3".into(), content, ..NoteAdd::default() }));
    let kept = ("bd-3".to_owned(), "cancellation", "kept_working");
    assert_eq!(arrived(night.recap(0, 31)), [expired, kept], "bob was heard from, so bd-4 is settled");
    assert_eq!(night.recap(0, 31).undelivered[1].lost_ms, Some(10 * MINUTE));
}

#[test]
fn changes_that_arrive_late_show_which_machine_was_cut_off() {
    let at = |minute: u64| START + minute * MINUTE;
    let event = |kind, id: &str, actor: &str, minute: u64| Event {
        id: Some(id.parse().unwrap()),
        by: Some(actor.parse().unwrap()),
        ..Event::new(kind, at(minute))
    };
    let by = |actor: &str, minute: u64| event(EventKind::Claimed, "bd-1", actor, minute);
    let synced = |minute: u64| Event::new(EventKind::Synced, at(minute));
    let mut night = Night::new();
    // Those of bob and cid were made long before the sync at 30, but arrived at 50. Those of dan are fresh.
    night.events = vec![by("ann", 1), synced(2), by("ann", 29), synced(30)];
    night.events.extend([
        by("cid", 12),
        by("bob", 10),
        by("bob", 20),
        by("dan", 28),
        by("dan", 45),
        synced(50),
    ]);
    // An import has old times, too.
    night.events.extend([EventKind::Created, EventKind::Closed].map(|kind| event(kind, "bd-2", "zoe", 3)));
    night.events.extend([by("bob", 51), synced(52)]);
    let outages = night.recap(0, 60).sync_outages;
    let [outage] = &outages[..] else { panic!("{outages:?}") };
    assert_eq!(outage.actors, ["bob", "cid"].map(|name| name.parse().unwrap()));
    assert_eq!((&outage.from, outage.until.as_ref()), (&night.events[5].at, Some(&night.events[9].at)));
    assert_eq!(night.recap(51, 60).sync_outages, []);
}

#[test]
fn a_sync_outage_lasts_from_the_failure_to_the_recovery() {
    let mut night = Night::new();
    let at = |minute: u64| START + minute * MINUTE;
    let failed = Event { text: Some("no route".into()), ..Event::new(EventKind::SyncFailed, at(5)) };
    night.events = vec![failed, Event::new(EventKind::SyncRecovered, at(9))];
    let [outage] = &night.recap(0, 60).sync_outages[..] else { panic!("one outage") };
    assert_eq!((outage.reason.as_deref(), outage.until.is_some()), (Some("no route"), true));
    assert_eq!(night.recap(10, 60).sync_outages, []);
    let work =
        WorkSources { since_ms: at(10), now_ms: at(60), events: &night.events, signs: None, sessions: &[] };
    let failing = RecapSources { work, complete: true, sync_failing: Some((at(20), "refused")) };
    assert_eq!(night.catalog.recap(&failing).sync_outages[0].until, None, "it still fails");
}

/// A daemon keeps the signs instead of the events.
#[test]
fn signs_that_were_taken_in_one_by_one_tell_as_much_as_the_events() {
    let mut night = Night::new();
    night.create(0, "bd-1");
    night.claim("bob", 10, "bd-1");
    let at = |minute: u64| START + minute * MINUTE;
    let event = |kind, by: &str, minute: u64| Event { by: by.parse().ok(), ..Event::new(kind, at(minute)) };
    let renewal = |by: &str, minute: u64| {
        let fields = vec!["assignee_expires".to_owned()];
        Event { fields, ..event(EventKind::Updated, by, minute) }
    };
    night.events.extend([
        renewal("bob", 50),
        event(EventKind::Note, "cid", 20),
        renewal("cid", 30),
        event(EventKind::Conflict, "dan", 40),
        event(EventKind::Note, "eve", 500),
        event(EventKind::Deleted, "bob", 12),
        Event::new(EventKind::Synced, at(55)),
    ]);
    let mut signs = Signs::default();
    night.events.iter().rev().for_each(|event| signs.note(event));
    for minute in [13, 52, 600] {
        let all =
            WorkSources { since_ms: START, now_ms: at(minute), events: &night.events, ..Default::default() };
        let kept = WorkSources { events: &[], signs: Some(&signs), ..all };
        assert_eq!(night.catalog.workers(&kept), night.catalog.workers(&all), "at minute {minute}");
    }
    let now = WorkSources { since_ms: START, now_ms: at(52), signs: Some(&signs), ..Default::default() };
    let seen: Vec<_> = night
        .catalog
        .workers(&now)
        .into_iter()
        .map(|one| (one.actor.to_string(), one.last_seen, one.last_write))
        .collect();
    let time = |minute: u64| Some(beads_core::Timestamp::text_of(at(minute)));
    let find = |name: &str| seen.iter().find(|(actor, ..)| actor == name).cloned().unwrap();
    assert_eq!(find("bob"), ("bob".to_owned(), time(50), time(12)), "a renewal is a sign, but no progress");
    assert_eq!(find("cid"), ("cid".to_owned(), time(30), time(20)));
    assert_eq!(find("eve"), ("eve".to_owned(), time(52), time(52)), "never later than now");
    assert!(seen.iter().all(|(actor, ..)| actor != "dan"), "a conflict is no sign of its actor");
}
