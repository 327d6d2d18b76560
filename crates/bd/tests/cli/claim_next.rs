//! `claim --next`, `close --claim-next` and waiting for work.

use std::process::Child;

use serde_json::{Value, json};

use crate::sandbox::{ACTOR, Mode, Run, Sandbox, both, wait_until};
use crate::schema::check_bead;
use crate::socket::Client;

#[test]
fn the_best_ready_bead_comes_with_its_brief() {
    both(|bd| {
        bd.create(&["later", "--id", "bd-later", "-p", "3"]);
        bd.create(&["The whole", "--id", "bd-whole", "-t", "epic", "-p", "0"]);
        bd.create(&["Groundwork", "--id", "bd-ground", "-p", "1"]);
        let args = ["Build it", "--id", "bd-build", "-p", "1", "--parent", "bd-whole", "--deps", "bd-ground"];
        bd.create(&[&args[..], &["-d", "With care.", "--acceptance", "It stands."]].concat());
        for n in 0..7 {
            bd.json(&["note", "add", "bd-build", &format!("note {n}")]);
        }
        bd.json(&["close", "bd-ground", "-r", "dug and filled"]);
        let bead = bd.json_as("bob", &["claim", "--next"]);
        check_bead(&bead);
        // Not the epic, although it has the highest priority: its children are open.
        assert_eq!((&bead["id"], &bead["assignee"]), (&"bd-build".into(), &"bob".into()));
        assert_eq!(bead["status"], "in_progress");
        let at = bead["assignee_at"].as_array().unwrap();
        assert_eq!(bead["fence"], format!("{}.{}", at[0], at[1]));
        assert_eq!(bead["renewed"], false);
        let brief = &bead["brief"];
        assert_eq!(brief["title"], "Build it");
        assert_eq!(brief["description"], "With care.");
        assert_eq!(brief["acceptance_criteria"], "It stands.");
        assert_eq!((&brief["parent"], &brief["parent_title"]), (&"bd-whole".into(), &"The whole".into()));
        assert_eq!(brief["blockers"][0]["id"], "bd-ground");
        assert_eq!(brief["blockers"][0]["close_reason"], "dug and filled");
        let notes: Vec<_> = brief["notes"].as_array().unwrap().iter().map(|note| &note["content"]).collect();
        assert_eq!(notes, ["note 2", "note 3", "note 4", "note 5", "note 6"]);
        // A holder does not get its own bead again, and the epic is never handed out.
        let text = bd.text(&["--actor", "bob", "claim", "--next"]);
        assert!(text.starts_with("claimed bd-later: later (until "), "{text}");
        assert!(text.contains("\nfence "), "{text}");
        let error = bd.error_as("bob", &["claim", "--next"], "nothing_ready");
        assert!(error["hint"].as_str().unwrap().contains("--wait"));
        // Claiming a bead by id returns the same brief.
        assert_eq!(bd.json_as("bob", &["claim", "bd-build"])["brief"]["blockers"][0]["id"], "bd-ground");
    });
}

#[test]
fn filters_choose_and_the_oldest_goes_first() {
    both(|bd| {
        let first = bd.create(&["a", "-l", "x"]);
        let second = bd.create(&["b", "-l", "x"]);
        let other = bd.create(&["c", "-l", "y", "-t", "bug"]);
        let root = bd.create(&["root", "-p", "4"]);
        let below = bd.create(&["below", "--parent", &root, "-p", "4"]);
        let next = |args: &[&str]| bd.json(&[&["claim", "--next"], args].concat())["id"].clone();
        assert_eq!(next(&["--label", "x"]), *first);
        assert_eq!(next(&["--label", "x"]), *second);
        bd.error(&["claim", "--next", "--label", "x"], "nothing_ready");
        assert_eq!(next(&["--type", "bug", "--lease", "1ms"]), *other);
        assert_eq!(next(&["--parent", &root]), *below);
        // A bead is ready again as soon as its lease expires.
        wait_until("the lease runs out", || bd.ids(&["ready"]).contains(&other));
        assert_eq!(bd.json_as("bob", &["claim", "--next", "--type", "bug"])["id"], *other);
        for wrong in [&["--limit", "2"][..], &["--fence", "1.2"], &[&first]] {
            bd.error(&[&["claim", "--next"], wrong].concat(), "usage");
        }
        bd.error(&["claim", &first, "--label", "x"], "usage");
        bd.error(&["claim"], "usage");
        bd.error(&["claim", &first, "--wait", "1s"], "usage");
    });
}

#[test]
fn an_assigned_bead_waits_for_its_assignee() {
    both(|bd| {
        let hers = bd.create(&["for cleo", "--assignee", "cleo"]);
        bd.error_as("bob", &["claim", "--next"], "nothing_ready");
        assert_eq!(bd.json_as("cleo", &["claim", "--next"])["id"], *hers);
        bd.error_as("cleo", &["claim", "--next"], "nothing_ready");
    });
}

#[test]
fn closing_reports_unblocked_beads_and_claims_the_next() {
    both(|bd| {
        let (a, b) = (bd.create(&["a"]), bd.create(&["b", "-p", "1"]));
        let both_needed = bd.create(&["waits for both", "--deps", &format!("{a},{b}")]);
        let (first, second) = (bd.json(&["claim", &a]), bd.json(&["claim", &b]));
        let fence = first["fence"].as_str().unwrap();
        let closed = bd.json(&["close", &a, "--claim-next", "--fence", fence]);
        assert_eq!(closed["closed"][0]["id"], *a);
        assert_eq!(closed["closed"][0]["unblocked"], serde_json::json!([]));
        assert!(closed["claimed"].is_null(), "the rest waits: {closed}");
        let closed = bd.json(&["close", &b, "--claim-next", "-r", "done", "--lease", "5h"]);
        assert_eq!(closed["closed"][0]["unblocked"][0]["id"], *both_needed);
        assert_eq!(closed["claimed"]["id"], *both_needed);
        assert_eq!(closed["claimed"]["brief"]["blockers"].as_array().unwrap().len(), 2);
        assert!(closed["claimed"]["fence"].is_string());
        // Closing it again unblocks nothing. With a stale fence nothing is changed.
        assert_eq!(bd.json(&["close", &b, "-r", "really"])[0]["unblocked"], serde_json::json!([]));
        let stale = second["fence"].as_str().unwrap();
        bd.error(&["close", &both_needed, "--claim-next", "--fence", stale], "stale_claim");
        assert_eq!(bd.show(&both_needed)["status"], "in_progress");
    });
}

#[test]
fn a_repeated_request_gets_the_same_bead_while_its_claim_lasts() {
    both(|bd| {
        let (a, _b) = (bd.create(&["a"]), bd.create(&["b"]));
        let args = ["claim", "--next", "--request-id", "r1"];
        let first = bd.json(&args);
        assert_eq!(first["id"], *a);
        assert_eq!(bd.json(&args), first);
        // The claim ended and another actor holds the bead: a retry must not return their fence.
        bd.json(&["unclaim", &a]);
        let theirs = bd.json_as("bob", &["claim", &a]);
        let refused = bd.error(&args, "stale_claim");
        assert_eq!(refused["details"], json!({"id": a, "fence": theirs["fence"], "holder": "bob"}));
        bd.error(&["note", "add", &a, "mine?", "--fence", first["fence"].as_str().unwrap()], "stale_claim");
    });
}

fn waiting(bd: &Sandbox, args: &[&str]) -> Child {
    bd.command(&[args, &["--wait", "60s", "--json"]].concat()).spawn().unwrap()
}

fn answer(child: Child) -> Value {
    Run::finish(child).succeeded("a wait").value()
}

#[test]
fn waiting_ends_when_there_is_work() {
    both(|bd| {
        let blocker = bd.create(&["blocker"]);
        let blocked = bd.create(&["blocked", "--deps", &blocker]);
        bd.json(&["claim", &blocker]);
        let claims = waiting(bd, &["--actor", "bob", "claim", "--next"]);
        let lists = waiting(bd, &["ready"]);
        assert_eq!(bd.json(&["close", &blocker])[0]["unblocked"][0]["id"], *blocked);
        assert_eq!(answer(claims)["id"], *blocked);
        // Either it was listed while it was ready, or bob claimed it first and the listing keeps waiting.
        bd.create(&["more"]);
        assert_eq!(answer(lists).as_array().unwrap().len(), 1);
    });
}

#[test]
fn waiting_ends_when_a_lease_runs_out_or_time_is_up() {
    both(|bd| {
        let id = bd.create(&["a"]);
        bd.json(&["claim", &id, "--lease", "300ms"]);
        assert_eq!(answer(waiting(bd, &["--actor", "bob", "claim", "--next"]))["id"], *id);
        let error = bd.error(&["claim", "--next", "--wait", "20ms"], "nothing_ready");
        assert_eq!(error["hint"], "bd blocked shows blocked beads", "it has waited already");
        assert_eq!(bd.json(&["ready", "--wait", "20ms"]), serde_json::json!([]));
    });
}

/// A waiting client that disconnects gets no bead: the next client gets it.
#[test]
fn a_disconnected_client_gets_no_work() {
    let bd = Sandbox::new(Mode::Daemon);
    bd.text(&["init"]);
    let call =
        serde_json::json!({"wait": {"ms": 60_000, "call": {"mutate": {"ops": [{"op": "claim_next"}]}}}});
    let request = serde_json::json!({"client": "0", "actor": "gone", "call": call});
    for _ in 0..5 {
        let mut client = Client::connect(&bd.socket()).unwrap();
        client.send(format!("{request}\n").as_bytes()).unwrap();
    }
    wait_until("the daemon sees them leave", || bd.json(&["daemon", "status"])["connections"] == 1);
    bd.create(&["a"]);
    assert_eq!(bd.json(&["claim", "--next"])["assignee"], ACTOR);
}
