//! One winner per bead, whatever each machine knows about the others.

use serde_json::Value;

use super::{machines, records};
use crate::sandbox::{Mode, wait_until};
use crate::sync::Remote;

#[test]
fn a_bead_claimed_elsewhere_is_refused_although_this_machine_has_not_heard_of_it() {
    for modes in [[Mode::Daemon, Mode::Embedded], [Mode::Embedded, Mode::Daemon]] {
        let remote = Remote::new();
        let all = machines(&remote, &modes, 2);
        let (ann, ben) = (&all[0], &all[1]);
        let claimed = ann.json(&["--actor", "ann", "claim", "bd-00"]);
        assert_eq!((&claimed["confirmed"], &claimed["assignee"]), (&true.into(), &"ann".into()));
        assert_eq!(ann.show("bd-00")["confirmed"], true);
        let error = ben.error(&["--actor", "ben", "claim", "bd-00"], "already_claimed");
        assert_eq!(error["details"]["holder"], "ann");
        // The next claim gets the other bead, and then none are left.
        let next = ben.json(&["--actor", "ben", "claim", "--next"]);
        assert_eq!((&next["id"], &next["confirmed"]), (&"bd-01".into(), &true.into()));
        assert_eq!(next["brief"]["confirmed"], true);
        ben.error(&["--actor", "ben", "claim", "--next"], "nothing_ready");
        ann.error(&["--actor", "ann", "claim", "--next"], "nothing_ready");
        let live = records(&remote);
        assert!(live.len() == 2 && live.iter().all(|record| record["state"] == "live"), "{live:?}");
        // Claims of other machines are shown as confirmed too.
        ben.json(&["sync"]);
        ann.json(&["sync"]);
        assert_eq!(ann.show("bd-01")["confirmed"], true);
    }
}

#[test]
fn a_released_bead_is_free_for_others_after_the_next_sync() {
    let remote = Remote::new();
    let all = machines(&remote, &[Mode::Daemon, Mode::Daemon], 1);
    let (ann, ben) = (&all[0], &all[1]);
    let first = ann.json(&["--actor", "ann", "claim", "bd-00"]);
    ben.error(&["--actor", "ben", "claim", "--next"], "nothing_ready");
    ann.json(&["--actor", "ann", "unclaim", "bd-00"]);
    ann.json(&["sync"]);
    assert_eq!(records(&remote)[0]["state"], "over");
    let second = ben.json(&["--actor", "ben", "claim", "--next"]);
    assert_eq!(second["id"], "bd-00");
    let fence = |claim: &Value| -> u64 {
        claim["fence"].as_str().unwrap().split('.').next().unwrap().parse().unwrap()
    };
    assert!(fence(&second) >= fence(&first));
    ben.json(&["sync"]);
    ann.json(&["sync"]);
    let error = ann.error(
        &["--actor", "ann", "close", "bd-00", "--fence", first["fence"].as_str().unwrap()],
        "stale_claim",
    );
    assert_eq!(error["details"]["holder"], "ben");
}

#[test]
fn a_bead_handed_over_to_an_agent_on_another_machine_is_claimed_there() {
    let remote = Remote::new();
    let all = machines(&remote, &[Mode::Daemon, Mode::Daemon], 2);
    let (ann, ben) = (&all[0], &all[1]);
    ann.run(&["migrate"]);
    ann.json(&["--actor", "ann", "claim", "bd-01"]);
    ann.json(&["--actor", "ann", "handover", "bd-01", "--to", "ben", "-m", "the tests are missing"]);
    ann.json(&["sync"]);
    assert_eq!(records(&remote)[0]["state"], "over");
    ben.run(&["sync"]);
    // The bead that was handed over comes before the other one, which is ready.
    let taken = ben.json(&["--actor", "ben", "claim", "--next"]);
    assert_eq!((&taken["id"], &taken["confirmed"]), (&"bd-01".into(), &true.into()), "{taken}");
    assert_eq!(taken["brief"]["notes"][0]["content"], "the tests are missing");
    ann.json(&["sync"]);
    assert_eq!(ann.show("bd-01")["assignee"], "ben");
    ann.error(&["--actor", "ann", "claim", "bd-01"], "already_claimed");
    // A cancellation ends the claim on every machine.
    ann.json(&["cancel", "bd-01", "--reason", "dropped"]);
    ann.json(&["sync"]);
    ben.json(&["sync"]);
    let refused = ben.error(&["--actor", "ben", "close", "bd-01"], "cancelled");
    assert_eq!(refused["details"]["reason"], "dropped");
    assert_eq!(records(&remote)[0]["state"], "over");
}

#[test]
fn a_closed_bead_is_not_won_by_a_machine_that_has_not_heard_of_the_close() {
    let remote = Remote::new();
    let all = machines(&remote, &[Mode::Daemon, Mode::Daemon], 2);
    let (ann, ben) = (&all[0], &all[1]);
    // The first bead never had a claim ref.
    ann.json(&["close", "bd-00", "--reason", "done"]);
    ann.json(&["sync"]);
    ben.error(&["claim", "bd-00"], "closed");
    let next = ben.json(&["claim", "--next"]);
    assert_eq!(next["id"], "bd-01");
    ben.json(&["sync"]);
    assert_eq!(ben.show("bd-00")["status"], "closed");
    let states: Vec<_> = records(&remote).iter().map(|record| record["state"].clone()).collect();
    assert_eq!(states.iter().filter(|state| **state == "live").count(), 1, "{states:?}");
}

#[test]
fn a_bead_closed_by_a_machine_without_claim_refs_frees_its_ref() {
    let remote = Remote::new();
    let all = machines(&remote, &[Mode::Daemon, Mode::Daemon], 1);
    let (ann, ben) = (&all[0], &all[1]);
    ann.json(&["--actor", "ann", "claim", "bd-00"]);
    ben.json(&["config", "set", "claim.scope", "local"]);
    ben.json(&["--actor", "ben", "close", "bd-00"]);
    ben.json(&["sync"]);
    // The holder's machine fetches the close and ends the claim on the ref.
    ann.json(&["sync"]);
    ann.json(&["sync"]);
    assert_eq!(records(&remote)[0]["state"], "over");
}

#[test]
fn a_lease_that_ran_out_is_taken_over_only_after_it_was_watched_for_its_length() {
    let remote = Remote::new();
    let all = machines(&remote, &[Mode::Daemon, Mode::Daemon], 1);
    let (ann, ben) = (&all[0], &all[1]);
    ann.json(&["--actor", "ann", "claim", "bd-00", "--lease", "2s"]);
    ann.json(&["sync"]);
    ann.kill_daemon();
    ben.json(&["config", "set", "sync.interval", "1s"]);
    ben.json(&["sync"]);
    let claimed = ben.json(&["--actor", "ben", "claim", "--next", "--wait", "60s"]);
    assert_eq!((&claimed["id"], &claimed["confirmed"]), (&"bd-00".into(), &true.into()));
    let record = &records(&remote)[0];
    assert_eq!((&record["holder"], &record["state"]), (&"ben".into(), &"live".into()));
    let git = git2::Repository::open(remote.path()).unwrap();
    let reference = git.references_glob("refs/beads/claims/*").unwrap().next().unwrap().unwrap();
    assert_eq!(reference.peel_to_commit().unwrap().parent_count(), 1, "a child of the value it replaced");
}

#[test]
fn renewing_moves_the_ref_and_keeps_the_claim() {
    let remote = Remote::new();
    let all = machines(&remote, &[Mode::Daemon, Mode::Daemon], 1);
    let (ann, ben) = (&all[0], &all[1]);
    ann.json(&["config", "set", "sync.interval", "1s"]);
    ann.json(&["--actor", "ann", "claim", "bd-00", "--lease", "4s"]);
    let git = git2::Repository::open(remote.path()).unwrap();
    let value = || {
        let reference = git.references_glob("refs/beads/claims/*").unwrap().next().unwrap().unwrap();
        reference.target().unwrap()
    };
    let first = value();
    wait_until("the renewal moves the ref", || {
        ann.json(&["--actor", "ann", "renew", "bd-00", "--lease", "1h"]);
        ann.json(&["sync"]);
        value() != first
    });
    let error = ben.error(&["--actor", "ben", "claim", "bd-00"], "already_claimed");
    assert_eq!(error["details"]["holder"], "ann");
    assert_eq!(records(&remote)[0]["lease_ms"], 3_600_000);
    assert_eq!(ann.show("bd-00")["confirmed"], true);
}

#[test]
fn a_killed_daemon_leaves_no_ref_behind_that_its_successor_does_not_give_back() {
    let remote = Remote::new();
    let all = machines(&remote, &[Mode::Daemon, Mode::Daemon], 1);
    let (ann, ben) = (&all[0], &all[1]);
    let claimed = ann.json(&["--actor", "ann", "claim", "bd-00"]);
    ann.kill_daemon();
    // The claim itself was in the journal and is still valid.
    assert_eq!(ann.show("bd-00")["confirmed"], true);
    ben.error(&["--actor", "ben", "claim", "bd-00"], "already_claimed");
    ann.json(&["--actor", "ann", "close", "bd-00", "--fence", claimed["fence"].as_str().unwrap()]);
    ann.json(&["sync"]);
    assert_eq!(records(&remote)[0]["state"], "over");
}

/// Keeps the remote's store where it is. Claim refs can still be moved.
fn block_store(remote: &Remote) -> std::path::PathBuf {
    let lock = remote.path().join("refs/heads/beads/store.lock");
    std::fs::create_dir(&lock).unwrap();
    // bd removes an old lock file instead of waiting for it. It cannot remove a directory that way.
    std::fs::File::open(&lock).unwrap().set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    lock
}

/// A claim must not end on its ref before the remote's store says why: others would be given a bead that is
/// closed. Neither the daemon that made the close nor its successor may do so.
#[test]
fn a_claim_ends_on_its_ref_only_after_the_remote_has_the_close() {
    let remote = Remote::new();
    let all = machines(&remote, &[Mode::Daemon, Mode::Daemon], 1);
    let (ann, ben) = (&all[0], &all[1]);
    ann.json(&["--actor", "ann", "claim", "bd-00"]);
    ann.json(&["sync"]);
    let lock = block_store(&remote);
    ann.json(&["--actor", "ann", "close", "bd-00"]);
    for killed in [false, true] {
        if killed {
            ann.kill_daemon();
        }
        let sync = ann.run(&["sync", "--json"]);
        assert_eq!(sync.value()["error"]["code"], "push_refused", "{sync:?}");
        assert_eq!(records(&remote)[0]["state"], "live");
        ben.error(&["--actor", "ben", "claim", "bd-00"], "already_claimed");
        ben.error(&["--actor", "ben", "claim", "--next"], "nothing_ready");
    }
    std::fs::remove_dir(lock).unwrap();
    ann.json(&["sync"]);
    assert_eq!(records(&remote)[0]["state"], "over");
    ben.error(&["--actor", "ben", "claim", "--next"], "nothing_ready");
    ben.json(&["sync"]);
    ben.error(&["--actor", "ben", "claim", "bd-00"], "closed");
}

#[test]
fn confirm_decides_on_the_remote_whatever_the_scope_and_under_a_request_id() {
    let remote = Remote::new();
    let all = machines(&remote, &[Mode::Daemon, Mode::Embedded], 2);
    for machine in &all {
        machine.json(&["config", "set", "claim.scope", "local"]);
    }
    let (ann, ben) = (&all[0], &all[1]);
    let first = ann.json(&["--request-id", "r1", "--actor", "ann", "claim", "bd-00", "--confirm"]);
    assert_eq!((&first["confirmed"], &first["confirmed_by"]), (&true.into(), &"origin".into()));
    let again = ann.json(&["--request-id", "r1", "--actor", "ann", "claim", "bd-00", "--confirm"]);
    assert_eq!((&again["fence"], &again["confirmed"]), (&first["fence"], &true.into()));
    let error = ben.error(&["--actor", "ben", "claim", "bd-00", "--confirm"], "already_claimed");
    assert_eq!(error["details"]["holder"], "ann");
    // A claim that only this machine knows about can be confirmed later.
    let local = ben.json(&["--actor", "ben", "claim", "bd-01"]);
    assert_eq!(local["confirmed"], false);
    let confirmed = ben.json(&["--actor", "ben", "claim", "bd-01", "--confirm"]);
    assert_eq!((&confirmed["confirmed"], &confirmed["fence"]), (&true.into(), &local["fence"]));
}

#[test]
fn closing_and_claiming_the_next_is_decided_on_the_remote_too() {
    let remote = Remote::new();
    let all = machines(&remote, &[Mode::Daemon, Mode::Daemon], 2);
    let (ann, ben) = (&all[0], &all[1]);
    ann.json(&["--actor", "ann", "claim", "bd-00"]);
    ben.json(&["--actor", "ben", "claim", "bd-01"]);
    let both = ann.json(&["--actor", "ann", "close", "bd-00", "--claim-next"]);
    assert!(both["claimed"].is_null() && both["closed"][0]["id"] == "bd-00", "{both}");
    ben.json(&["--actor", "ben", "create", "more", "--id", "bd-02"]);
    let both = ben.json(&["--actor", "ben", "close", "bd-01", "--claim-next"]);
    assert_eq!((&both["claimed"]["id"], &both["claimed"]["confirmed"]), (&"bd-02".into(), &true.into()));
}

#[test]
fn every_verb_that_claims_asks_the_remote() {
    let remote = Remote::new();
    let all = machines(&remote, &[Mode::Daemon, Mode::Embedded], 4);
    let (ann, ben) = (&all[0], &all[1]);
    ann.json(&["--actor", "ann", "update", "bd-00", "--claim"]);
    let refused = ben.run(&["--actor", "ben", "update", "bd-00", "--claim", "--json"]);
    assert_eq!(refused.value()["error"]["code"], "already_claimed", "{refused:?}");
    let mixed = ben.run(&["--actor", "ben", "update", "bd-01", "--claim", "-p", "0", "--json"]);
    assert_eq!(mixed.value()["error"]["code"], "invalid_value", "{mixed:?}");
    assert_eq!(ben.json(&["show", "bd-01"])["assignee"], Value::Null);
    // Even where each machine decides locally, `--confirm` asks the remote.
    for machine in &all {
        machine.json(&["config", "set", "claim.scope", "local"]);
    }
    let claimed = ann.json(&["--actor", "ann", "update", "bd-01", "--claim", "--confirm"]);
    assert_eq!(claimed[0]["confirmed"], true, "{claimed}");
    let both = ann.json(&["--actor", "ann", "close", "bd-01", "--claim-next", "--confirm"]);
    assert_eq!(both["claimed"]["confirmed"], true, "{both}");
    let two = ann.run(&["--actor", "ann", "update", "bd-02", "bd-03", "--claim", "--confirm", "--json"]);
    assert_eq!(two.value()["error"]["code"], "usage", "{two:?}");
}
