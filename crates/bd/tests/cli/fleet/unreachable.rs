//! Claims while the remote is unreachable, and their outcome when it can be reached again.

use super::{machines, records};
use crate::sandbox::{Mode, Sandbox};
use crate::sync::Remote;

fn cut(machine: &Sandbox) {
    machine.repository().remote_set_url("origin", "/nowhere/at/all.git").unwrap();
}

fn reconnect(machine: &Sandbox, remote: &Remote) {
    machine.repository().remote_set_url("origin", remote.path().to_str().unwrap()).unwrap();
}

#[test]
fn scope_remote_claims_nothing_without_the_remote() {
    for mode in [Mode::Daemon, Mode::Embedded] {
        let remote = Remote::new();
        let all = machines(&remote, &[mode], 1);
        cut(&all[0]);
        let run = all[0].run(&["claim", "bd-00", "--json"]);
        assert_eq!(run.exit, Some(22), "{run:?}");
        assert_eq!(run.value()["error"]["code"], "network_error");
        assert_eq!(all[0].show("bd-00")["status"], "open");
        reconnect(&all[0], &remote);
        assert_eq!(all[0].json(&["claim", "bd-00"])["confirmed"], true);
    }
}

#[test]
fn scope_auto_is_local_alone_and_remote_once_others_are_at_work() {
    let remote = Remote::new();
    let all = machines(&remote, &[Mode::Daemon, Mode::Daemon], 3);
    let (ann, ben) = (&all[0], &all[1]);
    for machine in &all {
        machine.json(&["config", "set", "claim.scope", "auto"]);
    }
    // No changes of other machines have arrived here yet.
    let alone = ann.json(&["--actor", "ann", "claim", "bd-00"]);
    assert_eq!(alone["confirmed"], false);
    // This machine has a commit of another machine.
    let second = ben.json(&["--actor", "ben", "claim", "bd-01"]);
    assert_eq!(second["confirmed"], true);
    // The first machine fetches the changes of the second, and its claim gets a ref before anything else is
    // claimed.
    ben.json(&["sync"]);
    ann.json(&["sync"]);
    ann.json(&["sync"]);
    assert_eq!(ann.show("bd-00")["confirmed"], true);
    let error = ben.error(&["--actor", "ben", "claim", "bd-00"], "already_claimed");
    assert_eq!(error["details"]["holder"], "ann");
}

#[test]
fn a_claim_without_the_remote_is_confirmed_later_or_withdrawn_and_its_holder_hears_of_it() {
    let remote = Remote::new();
    let all = machines(&remote, &[Mode::Daemon, Mode::Daemon], 2);
    let (ann, ben) = (&all[0], &all[1]);
    ben.json(&["create", "something", "--id", "bd-09", "--priority", "4"]);
    ben.json(&["sync"]);
    ann.json(&["sync"]);
    ann.json(&["config", "set", "claim.scope", "auto"]);
    let winner = ben.json(&["--actor", "ben", "claim", "bd-00"]);
    cut(ann);
    for id in ["bd-00", "bd-01"] {
        let run = ann.run(&["--actor", "ann", "claim", id, "--json"]);
        assert_eq!(run.exit, Some(0), "{run:?}");
        assert_eq!(run.value()["confirmed"], false);
        assert!(run.stderr.contains("not confirmed"), "{run:?}");
    }
    reconnect(ann, &remote);
    ann.json(&["sync"]);
    // One bead was free. The other was claimed on the remote before, so our claim is withdrawn.
    assert_eq!(ann.show("bd-01")["confirmed"], true);
    let lost = ann.show("bd-00");
    assert_eq!((&lost["assignee"], &lost["confirmed"]), (&"ben".into(), &false.into()));
    let status = ann.json(&["status"]);
    assert_eq!(status["sync"]["lost_claims"][0]["id"], "bd-00", "{status}");
    assert_eq!(status["sync"]["lost_claims"][0]["holder"], "ann");
    // The winner keeps its fence, although the loser's claim was made later.
    ann.json(&["sync"]);
    ben.json(&["sync"]);
    let held = ben.show("bd-00");
    assert_eq!((&held["assignee"], &held["confirmed"]), (&"ben".into(), &true.into()));
    let fence = winner["fence"].as_str().unwrap();
    ben.json(&["--actor", "ben", "note", "add", "bd-00", "half way", "--fence", fence]);
    ben.json(&["--actor", "ben", "close", "bd-00", "--fence", fence]);
    ben.json(&["sync"]);
    let over = records(&remote).into_iter().filter(|record| record["state"] == "over").count();
    assert_eq!(over, 1);
}

/// A machine that does not use claim refs claims a bead later, so that its claim wins the merge. The holder of
/// the ref keeps the bead, and the other one hears that it lost.
#[test]
fn a_claim_without_a_ref_loses_against_a_confirmed_one_and_its_holder_hears_of_it() {
    let remote = Remote::new();
    let all = machines(&remote, &[Mode::Daemon, Mode::Daemon], 1);
    let (ann, ben) = (&all[0], &all[1]);
    ann.json(&["--actor", "ann", "claim", "bd-00"]);
    ben.json(&["config", "set", "claim.scope", "local"]);
    assert_eq!(ben.json(&["--actor", "ben", "claim", "bd-00"])["confirmed"], false);
    ben.json(&["sync"]);
    ann.json(&["sync"]);
    let kept = ann.show("bd-00");
    assert_eq!((&kept["assignee"], &kept["confirmed"]), (&"ann".into(), &true.into()));
    ann.json(&["sync"]);
    ben.json(&["sync"]);
    assert_eq!(ben.show("bd-00")["assignee"], "ann");
    for machine in [ann, ben] {
        let status = machine.json(&["status"]);
        let lost = status["sync"]["lost_claims"].as_array().unwrap();
        let who: Vec<_> = lost.iter().map(|claim| (&claim["holder"], &claim["won_by"])).collect();
        assert_eq!(who, [(&"ben".into(), &"ann".into())], "{status}");
    }
}

/// `--sandbox` never contacts the remote, even if a claim would need it.
#[test]
fn a_sandboxed_claim_asks_nothing_of_the_remote() {
    let remote = Remote::new();
    let all = machines(&remote, &[Mode::Embedded, Mode::Daemon], 2);
    for bd in &all {
        for claim in [
            &["--sandbox", "claim", "bd-00", "--json"][..],
            &["--sandbox", "claim", "--next", "--confirm", "--json"],
        ] {
            let run = bd.run(claim);
            assert_eq!(
                (run.exit, &run.value()["error"]["code"]),
                (Some(22), &"network_error".into()),
                "{run:?}"
            );
        }
        bd.json(&["config", "set", "claim.scope", "auto"]);
        let claimed = bd.json(&["--sandbox", "claim", "--next"]);
        assert_eq!(claimed["confirmed"], false, "{claimed}");
        assert!(records(&remote).is_empty());
    }
}
