use serde_json::json;

use crate::sandbox::{ACTOR, Mode, Sandbox, both, wait_until};
use crate::schema::check_bead;
use crate::socket::Client;

#[test]
fn open_and_unblocked_by_priority_then_age() {
    both(|bd| {
        bd.create(&["later", "--id", "bd-1", "-p", "3"]);
        bd.create(&["urgent", "--id", "bd-2", "-p", "0"]);
        bd.create(&["older", "--id", "bd-3", "-p", "1"]);
        bd.create(&["younger", "--id", "bd-4", "-p", "1"]);
        bd.create(&["done", "--id", "bd-5", "-p", "0"]);
        bd.create(&["taken", "--id", "bd-6", "-p", "0"]);
        bd.create(&["waits", "--id", "bd-7", "-p", "0", "--deps", "bd-1"]);
        bd.create(&[
            "related only",
            "--id",
            "bd-8",
            "-p",
            "4",
            "--deps",
            "related:bd-1,discovered_from:bd-2",
        ]);
        bd.json(&["close", "bd-5"]);
        bd.json(&["claim", "bd-6"]);
        assert_eq!(bd.ids(&["ready"]), ["bd-2", "bd-3", "bd-4", "bd-1", "bd-8"]);
        assert_eq!(bd.ids(&["ready", "--limit", "2"]), ["bd-2", "bd-3"]);
        assert_eq!(bd.ids(&["ready", "-p", "1"]), ["bd-3", "bd-4"]);
        bd.json(&["ready"]).as_array().unwrap().iter().for_each(check_bead);
        bd.error(&["ready", "--sort", "title"], "invalid_value");
        // The blocker is closed, reopened, deleted, restored.
        bd.json(&["close", "bd-1"]);
        assert_eq!(bd.ids(&["ready"]), ["bd-2", "bd-7", "bd-3", "bd-4", "bd-8"]);
        bd.json(&["reopen", "bd-1"]);
        assert!(!bd.ids(&["ready"]).contains(&"bd-7".into()));
        bd.json(&["delete", "bd-1"]);
        assert!(bd.ids(&["ready"]).contains(&"bd-7".into()));
        bd.json(&["restore", "bd-1"]);
        assert!(!bd.ids(&["ready"]).contains(&"bd-7".into()));
        bd.json(&["dep", "remove", "bd-7", "bd-1"]);
        assert!(bd.ids(&["ready"]).contains(&"bd-7".into()));
        assert!(bd.text(&["ready", "-n", "1"]).starts_with("bd-2"));
    });
}

#[test]
fn a_blocker_in_progress_blocks_and_a_claimed_bead_is_not_ready() {
    both(|bd| {
        bd.create(&["blocker", "--id", "bd-1"]);
        bd.create(&["waits", "--id", "bd-2", "--deps", "bd-1"]);
        bd.json(&["claim", "bd-1"]);
        assert_eq!(bd.ids(&["ready"]), Vec::<String>::new());
        // A bead in progress without a lease is claimed too.
        bd.create(&["started", "--id", "bd-3"]);
        bd.json(&["update", "bd-3", "--status", "in_progress"]);
        assert_eq!(bd.ids(&["ready"]), Vec::<String>::new());
    });
}

#[test]
fn a_lease_that_ran_out_makes_a_bead_ready_again() {
    both(|bd| {
        bd.create(&["taken", "--id", "bd-1"]);
        bd.json(&["claim", "bd-1", "--lease", "1ms"]);
        wait_until("the lease of a millisecond runs out", || bd.ids(&["ready"]) == ["bd-1"]);
        assert_eq!(bd.show("bd-1")["status"], "in_progress");
        let expires = bd.show("bd-1")["assignee_expires"].as_str().unwrap().to_owned();
        let row = bd.text(&["ready"]);
        assert!(row.ends_with(&format!("taken  @{ACTOR} lease ended {expires}\n")), "{row}");
        bd.create(&["held", "--id", "bd-9"]);
        bd.json(&["claim", "bd-9"]);
        assert!(!bd.text(&["list", "--id", "bd-9"]).contains("lease ended"), "a live lease has not ended");
        bd.json(&["close", "bd-9"]);
        // A blocked bead stays blocked when its lease expires.
        bd.create(&["blocker", "--id", "bd-2", "-p", "4"]);
        bd.json(&["dep", "add", "bd-1", "bd-2"]);
        assert_eq!(bd.ids(&["ready"]), ["bd-2"]);
        bd.json(&["dep", "remove", "bd-1", "bd-2"]);
        let claimed = bd.json_as("bob", &["claim", "bd-1"]);
        assert_eq!(claimed["assignee"], "bob");
        assert_eq!(bd.ids(&["ready"]), ["bd-2"]);
    });
}

#[test]
fn epics_with_open_children_come_last_and_say_so() {
    both(|bd| {
        bd.create(&["epic", "--id", "bd-e", "-t", "epic", "-p", "0"]);
        bd.create(&["empty epic", "--id", "bd-f", "-t", "epic", "-p", "1"]);
        bd.create(&["one", "--id", "bd-1", "-p", "3", "--parent", "bd-e"]);
        bd.create(&["two", "--id", "bd-2", "-p", "4", "--parent", "bd-e"]);
        let ready = bd.json(&["ready"]);
        assert_eq!(crate::sandbox::ids_of(&ready), ["bd-f", "bd-1", "bd-2", "bd-e"]);
        assert_eq!(ready[3]["open_children"], 2);
        for other in &ready.as_array().unwrap()[..3] {
            assert!(other.get("open_children").is_none(), "{other}");
        }
        assert!(bd.text(&["ready"]).lines().last().unwrap().contains("2 open children"));
        bd.json(&["close", "bd-1", "bd-2"]);
        assert_eq!(bd.ids(&["ready"]), ["bd-e", "bd-f"], "with all children closed an epic is work again");
    });
}

#[test]
fn parent_means_anywhere_below() {
    both(|bd| {
        bd.create(&["root", "--id", "bd-r", "-t", "epic"]);
        bd.create(&["child", "--id", "bd-c", "--parent", "bd-r"]);
        bd.create(&["grandchild", "--id", "bd-g", "--parent", "bd-c"]);
        bd.create(&["elsewhere", "--id", "bd-x"]);
        let mut below = bd.ids(&["ready", "--parent", "bd-r"]);
        below.sort_unstable();
        assert_eq!(below, ["bd-c", "bd-g"]);
        bd.error(&["ready", "--parent", "bd-nope"], "not_found");
    });
}

/// There is no flag for deferral; clients of the protocol can set it.
#[test]
fn a_deferred_bead_is_not_ready() {
    let bd = Sandbox::new(Mode::Daemon);
    bd.create(&["now", "--id", "bd-1"]);
    let mut client = Client::connect(&bd.socket()).unwrap();
    let mut create = |id: &str, until: u64| {
        let op = json!({"op": "create", "title": "deferred", "id": id, "defer_until": until});
        let reply = client.mutate(&op).unwrap();
        assert_eq!(reply["exit"], 0, "{reply}");
    };
    create("bd-2", 4_000_000_000_000);
    create("bd-3", 1_600_000_000_000);
    assert_eq!(bd.ids(&["ready"]), ["bd-1", "bd-3"]);
    assert_eq!(bd.json(&["status"])["summary"]["deferred_issues"], 1);
    check_bead(&bd.show("bd-2"));
}

#[test]
fn impact_lists_first_what_most_beads_depend_on() {
    both(|bd| {
        bd.create(&["alone", "--id", "bd-1", "-p", "1"]);
        bd.create(&["starts a chain", "--id", "bd-2", "-p", "1"]);
        bd.create(&["link", "--id", "bd-3", "-p", "4", "--deps", "bd-2"]);
        bd.create(&["urgent", "--id", "bd-4", "-p", "0"]);
        assert_eq!(bd.ids(&["ready"]), ["bd-4", "bd-1", "bd-2"]);
        assert_eq!(bd.ids(&["ready", "--sort", "impact"]), ["bd-4", "bd-2", "bd-1"]);
        assert_eq!(bd.ids(&["ready", "--sort", "impact", "-n", "2"]), ["bd-4", "bd-2"]);
        assert_eq!(bd.ids(&["list", "--sort", "impact"]), ["bd-4", "bd-2", "bd-1", "bd-3"]);
        bd.error(&["ready", "--sort", "impact", "--reverse"], "invalid_value");
    });
}

#[test]
fn explain_says_why_beads_are_ready_or_not() {
    both(|bd| {
        bd.create(&["epic", "--id", "bd-e", "-t", "epic"]);
        bd.create(&["free", "--id", "bd-1", "--parent", "bd-e"]);
        bd.create(&["waits", "--id", "bd-2", "--deps", "bd-1"]);
        bd.create(&["taken", "--id", "bd-3"]);
        bd.json(&["claim", "bd-3", "--lease", "1h"]);
        bd.create(&["done", "--id", "bd-4"]);
        bd.json(&["close", "bd-4"]);
        let explained = bd.json(&["ready", "--explain"]);
        assert_eq!(crate::sandbox::ids_of(&explained["ready"]), bd.ids(&["ready"]), "the same as ready says");
        assert_eq!(crate::sandbox::ids_of(&explained["ready"]), ["bd-1", "bd-e"]);
        assert_eq!(explained["ready"][1]["open_children"], 1, "and never handed out");
        assert_eq!(explained["ready"][0]["impact"], json!({"chain": 1, "unblocks": 1}));
        let why = |id: &str| {
            let all = explained["not_ready"].as_array().unwrap();
            all.iter().find(|bead| bead["id"] == id).unwrap()["reasons"].clone()
        };
        assert_eq!(why("bd-2"), json!([{"reason": "blocked", "by": ["bd-1"]}]));
        assert_eq!(why("bd-3")[0]["by"], ACTOR);
        assert!(why("bd-3")[0]["until"].as_str().unwrap().ends_with('Z'));
        assert_eq!(explained["not_ready"].as_array().unwrap().len(), 2, "closed ones need no reason");
        let text = bd.text(&["ready", "--explain"]);
        assert!(text.contains("blocked by bd-1") && text.contains("held by ann@here until"), "{text}");
        // Once it is blocked, every reason is listed.
        bd.json(&["dep", "add", "bd-e", "bd-2"]);
        let explained = bd.json(&["ready", "--explain"]);
        let epic =
            explained["not_ready"].as_array().unwrap().iter().find(|bead| bead["id"] == "bd-e").unwrap();
        let children = json!({"reason": "open_children", "children": ["bd-1"]});
        assert_eq!(epic["reasons"], json!([{"reason": "blocked", "by": ["bd-2"]}, children]));
        bd.error(&["ready", "--explain", "--wait", "1s"], "usage");
    });
}

/// The orders of the Go `bd`: `hybrid` lists recent beads by priority, then older ones by age.
#[test]
fn oldest_and_hybrid() {
    both(|bd| {
        let line = |id: &str, day: u32, priority: u8| {
            format!(
                r#"{{"id":"{id}","title":"{id}","priority":{priority},"created_at":"2020-01-{day:02}T00:00:00Z"}}"#
            )
        };
        let old = [line("bd-1", 2, 0), line("bd-2", 1, 4)].join("\n");
        bd.run_with_input(&["import", "-"], old.as_bytes()).succeeded("import");
        bd.create(&["new and idle", "--id", "bd-3", "-p", "4"]);
        bd.create(&["new and urgent", "--id", "bd-4", "-p", "1"]);
        bd.create(&["an epic", "--id", "bd-5", "-p", "0", "-t", "epic"]);
        bd.create(&["its child", "--id", "bd-6", "-p", "3", "--parent", "bd-5"]);
        assert_eq!(
            bd.ids(&["ready", "--sort", "priority"]),
            ["bd-1", "bd-4", "bd-6", "bd-2", "bd-3", "bd-5"]
        );
        assert_eq!(bd.ids(&["ready", "--sort", "oldest"]), ["bd-2", "bd-1", "bd-3", "bd-4", "bd-6", "bd-5"]);
        assert_eq!(bd.ids(&["ready", "--sort", "hybrid"]), ["bd-4", "bd-6", "bd-3", "bd-2", "bd-1", "bd-5"]);
        assert_eq!(bd.ids(&["ready", "--sort", "hybrid", "-n", "2"]), ["bd-4", "bd-6"]);
        bd.error(&["ready", "--sort", "title"], "invalid_value");
        bd.error(&["list", "--sort", "hybrid"], "invalid_value");
        bd.error(&["ready", "--sort", "luck"], "invalid_value");
    });
}
