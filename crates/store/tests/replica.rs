//! A replica on the real disk and a real repository: everything it acknowledged is there after reopening.

use beads_core::{Op, Snapshot};
use beads_store::{Caller, REF, Repository, RequestKey, World};

use crate::bench_store::{BenchStore, TestReplica, caller, create, note, requested};

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

fn encoded(replica: &TestReplica) -> Snapshot {
    replica.catalog().state().encode()
}

fn titles(replica: &TestReplica) -> Vec<String> {
    let mut titles: Vec<_> =
        replica.catalog().live().map(|(_, bead)| bead.title.value.as_str().to_owned()).collect();
    titles.sort();
    titles
}

#[test]
fn opening_an_empty_store_leaves_no_trace() {
    let store = BenchStore::new();
    let before = store.listing();
    let replica = store.open();
    assert_eq!(replica.catalog().live_count(), 0);
    assert_eq!((replica.position(), replica.known_tip()), (0, None));
    drop(replica);
    assert_eq!(store.listing(), before);
}

#[test]
fn committed_mutations_and_only_those_survive_reopening() {
    let store = BenchStore::new();
    let mut replica = store.open();
    for number in 0..20 {
        replica.apply(&create(&format!("bead {number}")), &caller()).unwrap();
    }
    let first = replica.catalog().live().next().unwrap().0.clone();
    let id = replica.catalog().id_of(&first).to_string();
    replica.apply(&note(&id, "kept"), &caller()).unwrap();
    replica.commit().unwrap();
    let (before, position) = (encoded(&replica), replica.position());
    replica.apply(&create("never committed"), &caller()).unwrap();
    drop(replica);

    let replica = store.open();
    assert_eq!(encoded(&replica), before);
    assert_eq!(replica.position(), position);
    assert_eq!(replica.unsaved().records, 21);
}

#[test]
fn a_checkpoint_puts_the_files_on_the_ref_and_trims_the_journal() {
    let store = BenchStore::new();
    let mut replica = store.open();
    replica.apply(&create("first"), &caller()).unwrap();
    assert!(replica.checkpoint(&store.repository()).unwrap());
    let before = encoded(&replica);
    let tip = store.repository().tip().unwrap().unwrap();
    assert_eq!(replica.known_tip(), Some(tip.as_str()));
    assert_eq!(store.repository().snapshot(&tip).unwrap(), before);
    assert_eq!(store.journal_segments(), ["journal.000000000002"]);
    assert_eq!(replica.unsaved().records, 0);
    drop(replica);

    let mut replica = store.open();
    assert_eq!((encoded(&replica), replica.position()), (before, 1));
    replica.apply(&create("second"), &caller()).unwrap();
    replica.commit().unwrap();
    drop(replica);
    let replica = store.open();
    assert_eq!((titles(&replica), replica.position()), (vec!["first".into(), "second".into()], 2));
}

#[test]
fn a_checkpoint_with_nothing_new_makes_no_commit() {
    let store = BenchStore::new();
    let mut replica = store.open();
    replica.apply(&create("first"), &caller()).unwrap();
    assert!(replica.checkpoint(&store.repository()).unwrap());
    let before = store.listing();
    assert!(!replica.checkpoint(&store.repository()).unwrap());
    drop(replica);
    assert!(!store.open().checkpoint(&store.repository()).unwrap());
    assert_eq!(store.listing(), before);
}

#[test]
fn mutations_during_a_checkpoint_stay_in_the_journal() {
    let store = BenchStore::new();
    let mut replica = store.open();
    replica.apply(&create("before"), &caller()).unwrap();
    let checkpoint = replica.begin_checkpoint().unwrap();
    replica.apply(&create("meanwhile"), &caller()).unwrap();
    replica.commit().unwrap();
    assert_eq!(replica.unsaved().records, 2);
    let saved = checkpoint.save(&store.repository()).unwrap();
    replica.finish_checkpoint(saved, Vec::new()).unwrap();
    assert_eq!(replica.unsaved().records, 1);
    drop(replica);
    assert_eq!(titles(&store.open()), ["before", "meanwhile"]);
}

#[test]
fn an_abandoned_checkpoint_loses_nothing() {
    let store = BenchStore::new();
    let mut replica = store.open();
    for number in 0..3 {
        replica.apply(&create(&format!("bead {number}")), &caller()).unwrap();
        drop(replica.begin_checkpoint().unwrap());
        replica.abandon_checkpoint();
        assert_eq!(replica.unsaved().records, number + 1);
    }
    drop(replica);
    let mut replica = store.open();
    assert_eq!(replica.catalog().live_count(), 3);
    replica.checkpoint(&store.repository()).unwrap();
    assert_eq!(store.journal_segments().len(), 1);
    drop(replica);
    assert_eq!(store.open().catalog().live_count(), 3);
}

/// Two replicas with separate journals on one repository, as if another process had synced.
#[test]
fn a_ref_that_moved_meanwhile_is_joined_never_overwritten() {
    let store = BenchStore::new();
    let other = store.second_journal();
    let (mut mine, mut theirs) = (store.open(), other.open());
    theirs.apply(&create("theirs"), &caller()).unwrap();
    theirs.checkpoint(&store.repository()).unwrap();
    let their_commit = theirs.known_tip().unwrap().to_owned();

    mine.apply(&create("mine"), &caller()).unwrap();
    mine.commit().unwrap();
    assert_eq!(titles(&mine), ["mine"], "memory takes changes from the ref only with a checkpoint");
    assert!(mine.checkpoint(&store.repository()).unwrap());
    assert_eq!(titles(&mine), ["mine", "theirs"]);
    let tip = mine.known_tip().unwrap().to_owned();
    assert_eq!(store.parents(&tip), [their_commit]);
    assert_eq!(store.repository().snapshot(&tip).unwrap(), encoded(&mine));

    // They had no changes, so they take ours and make no commit.
    theirs.checkpoint(&store.repository()).unwrap();
    assert_eq!((theirs.known_tip(), encoded(&theirs)), (Some(tip.as_str()), encoded(&mine)));
    drop((mine, theirs));
    assert_eq!(titles(&store.open()), ["mine", "theirs"]);
}

#[test]
fn a_request_is_executed_once_across_reopening_and_checkpoints() {
    let store = BenchStore::new();
    let mut replica = store.open();
    let caller = requested("request-1", 30 * DAY_MS);
    let first = replica.apply(&create("once"), &caller).unwrap();
    let again = |replica: &mut TestReplica, when: &str| {
        let answer = replica.apply(&create("once"), &caller).unwrap();
        assert_eq!(answer.bead, first.bead, "{when}");
        assert_eq!((replica.catalog().live_count(), replica.position()), (1, 1), "{when}");
    };
    again(&mut replica, "at once");
    replica.commit().unwrap();
    drop(replica);

    let mut replica = store.open();
    again(&mut replica, "from the journal");
    replica.checkpoint(&store.repository()).unwrap();
    again(&mut replica, "after a checkpoint");
    drop(replica);

    let mut replica = store.open();
    again(&mut replica, "from the header of the new segment");
    replica.apply(&create("another"), &requested("request-2", DAY_MS)).unwrap();
    replica.checkpoint(&store.repository()).unwrap();
    drop(replica);
    let answer = store.open().apply(&create("once"), &caller).unwrap();
    assert_eq!(answer.bead, first.bead, "carried over two checkpoints");
}

#[test]
fn a_request_id_identifies_one_request() {
    let store = BenchStore::new();
    let mut replica = store.open();
    let with_id = |id: &str, digest: &str| Caller {
        request: Some(RequestKey { id: id.into(), digest: digest.into(), keep_ms: DAY_MS }),
        ..caller()
    };
    let first = replica.apply(&create("a"), &with_id("r", "one")).unwrap();
    let refused = replica.apply(&create("b"), &with_id("r", "two")).unwrap_err();
    assert_eq!(refused.code(), beads_core::Code::RequestIdReused);
    replica.checkpoint(&store.repository()).unwrap();
    drop(replica);
    let mut replica = store.open();
    assert_eq!(
        replica.apply(&create("b"), &with_id("r", "two")).unwrap_err().code(),
        beads_core::Code::RequestIdReused
    );
    assert_eq!(replica.apply(&create("a"), &with_id("r", "one")).unwrap().bead, first.bead);
    // "Nothing changed" is an answer too: the operation must not run later, when it would change something.
    let id = replica.catalog().id_of(&first.bead.clone().unwrap()).to_string();
    let reopen = Op::Reopen(beads_core::op::Reopen { id: id.clone(), ..Default::default() });
    replica.apply(&reopen, &with_id("nothing", "")).unwrap();
    replica.apply(&Op::Close(beads_core::op::Close { id, ..Default::default() }), &caller()).unwrap();
    let before = encoded(&replica);
    replica.apply(&reopen, &with_id("nothing", "")).unwrap();
    assert_eq!(encoded(&replica), before);
}

/// A day's receipts survive checkpoints outside the journal, and are deleted from the disk afterwards.
#[test]
fn long_lived_receipts_have_separate_files() {
    let store = BenchStore::new();
    let files = |prefix: &str| {
        let names = std::fs::read_dir(store.journal_dir()).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_str().unwrap().starts_with(prefix)).count()
    };
    for day in 0..3 {
        for n in 0..5 {
            let mut replica = store.open();
            replica.apply(&create("x"), &requested(&format!("day {day} request {n}"), DAY_MS)).unwrap();
            replica.checkpoint(&store.repository()).unwrap();
        }
        let mut replica = store.open();
        let position = replica.position();
        for n in 0..5 {
            replica.apply(&create("x"), &requested(&format!("day {day} request {n}"), DAY_MS)).unwrap();
        }
        assert_eq!(replica.position(), position, "day {day}");
        assert!((1..=6).contains(&files("receipts.")), "{}", files("receipts."));
        store.world.jump(i64::try_from(DAY_MS).unwrap());
    }
}

#[test]
fn a_receipt_expires() {
    let store = BenchStore::new();
    let mut replica = store.open();
    let caller = requested("request-1", DAY_MS);
    let first = replica.apply(&create("again"), &caller).unwrap();
    replica.checkpoint(&store.repository()).unwrap();
    store.world.jump(i64::try_from(DAY_MS).unwrap());
    let second = replica.apply(&create("again"), &caller).unwrap();
    assert_ne!(first.bead, second.bead);
    assert_eq!(
        replica.apply(&create("again"), &caller).unwrap().bead,
        second.bead,
        "a new receipt replaced it"
    );
    replica.commit().unwrap();
    drop(replica);
    let mut replica = store.open();
    assert_eq!(replica.apply(&create("again"), &caller).unwrap().bead, second.bead);
    assert_eq!(replica.catalog().live_count(), 2);
}

#[test]
fn no_stamp_is_minted_twice_across_restarts_even_if_the_clock_jumps_back() {
    let store = BenchStore::new();
    let mut minted = std::collections::BTreeSet::new();
    for round in 0..30_i64 {
        let mut replica = store.open();
        for op in [create("bead"), create("bead")] {
            let stamp = replica.apply(&op, &caller()).unwrap().bead.unwrap().at();
            assert!(minted.insert(stamp), "round {round}: {stamp:?} was minted before");
        }
        if round % 3 == 0 {
            replica.checkpoint(&store.repository()).unwrap();
        } else {
            replica.commit().unwrap();
        }
        store.world.jump(if round % 2 == 0 { -(1 << 32) } else { 1_000 });
    }
}

/// A stamp ahead of the clock that was minted here stays known when only the journal's header still has it.
#[test]
fn the_last_stamp_survives_a_trim() {
    let store = BenchStore::new();
    let mut replica = store.open();
    store.world.jump(30 * 60_000);
    let made = replica.apply(&create("from the future"), &caller()).unwrap().bead.unwrap();
    replica.checkpoint(&store.repository()).unwrap();
    drop(replica);
    store.world.jump(-30 * 60_000);
    let mut replica = store.open();
    let next = replica.apply(&create("from today"), &caller()).unwrap().bead.unwrap();
    assert!(next.at() > made.at());
    assert!(replica.now_ms() == store.world.now_ms());
}

#[test]
fn a_dry_run_changes_nothing() {
    let store = BenchStore::new();
    let mut replica = store.open();
    let before = encoded(&replica);
    let op: Op = create("not yet");
    assert!(!replica.dry_run(&op, &caller()).unwrap().delta.is_empty());
    assert_eq!((encoded(&replica), replica.position()), (before, 0));
    replica.commit().unwrap();
    assert!(store.journal_segments().is_empty());
}

#[test]
fn the_first_record_of_a_later_format_starts_a_segment_that_older_programs_refuse() {
    let store = BenchStore::new();
    let mut replica = store.open();
    replica.apply(&create("plain"), &caller()).unwrap();
    replica.commit().unwrap();
    assert_eq!(store.journal_segments(), ["journal.000000000001"]);
    let id = replica.catalog().id_of(replica.catalog().live().next().unwrap().0).to_string();
    let update =
        beads_core::op::Update { status: Some("blocked".parse().unwrap()), ..beads_core::op::Update::of(id) };
    replica.apply(&Op::Update(Box::new(update)), &caller()).unwrap();
    replica.commit().unwrap();
    assert_eq!(store.journal_segments(), ["journal.000000000001", "journal.000000000002"]);
    let before = encoded(&replica);
    drop(replica);
    let replica = store.open();
    assert_eq!(encoded(&replica), before);
    assert_eq!(replica.catalog().state().format_version(), 2);
    // The header comes first, and a program of format 1 reads it first.
    let bytes = std::fs::read(store.journal_dir().join("journal.000000000002")).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.find("\"version\":2").unwrap() < text.find("status_word").unwrap());
}

/// A clone without a ref reads what its remotes hold. Records of the journal may then refer to beads of any of
/// these commits, and another program may create the ref from one of them.
#[test]
fn records_apply_although_the_ref_appears_without_a_commit_they_build_on() {
    for created in 0..2 {
        let remotes = [("one", 0), ("two", 5)].map(|(title, later_ms)| {
            let remote = BenchStore::new();
            remote.world.jump(later_ms);
            let mut replica = remote.open();
            replica.apply(&create(title), &caller()).unwrap();
            replica.checkpoint(&remote.repository()).unwrap();
            remote
        });
        let clone = BenchStore::new();
        let tips: Vec<_> = remotes
            .iter()
            .enumerate()
            .map(|(number, remote)| {
                let (git, tracking) = (clone.git(), format!("refs/remotes/r{number}/beads/store"));
                let path = remote.git_dir();
                let mut origin = git.remote_anonymous(path.to_str().unwrap()).unwrap();
                origin.fetch(&[format!("+{REF}:{tracking}")], None, None).unwrap();
                git.refname_to_id(&tracking).unwrap()
            })
            .collect();
        let mut replica = clone.open();
        assert_eq!(titles(&replica), ["one", "two"]);
        let ids: Vec<_> =
            replica.catalog().live().map(|(lineage, _)| replica.catalog().id_of(lineage).clone()).collect();
        for id in ids {
            replica.apply(&note(id.as_str(), "seen"), &caller()).unwrap();
        }
        replica.commit().unwrap();
        let before = encoded(&replica);
        drop(replica);
        clone.git().reference(REF, tips[created], false, "another program").unwrap();
        assert_eq!(encoded(&clone.open()), before, "the ref is at {created}");
    }
}
