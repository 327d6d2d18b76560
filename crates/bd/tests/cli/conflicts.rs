use serde_json::Value;

use crate::mcp::conflicts::loser;
use crate::sandbox::{Mode, Sandbox};

#[test]
fn ids_may_be_abbreviated_and_lists_filtered_by_bead() {
    let (bd, _remote, id) = loser();
    let listed = bd.json(&["conflicts"]);
    let name = listed[0]["id"].as_str().unwrap();
    let other = bd.create(&["another"]);
    assert_eq!(bd.json(&["conflicts", "--bead", &id]), listed);
    assert_eq!(bd.json(&["conflicts", "list", "--bead", &other]), serde_json::json!([]));
    bd.error(&["conflicts", "--bead", "bd-nope"], "not_found");
    let digits = name.strip_prefix("CONFLICT-").unwrap();
    for short in [&name[..13], &digits[..4], digits, name] {
        assert_eq!(bd.json(&["conflicts", "show", short])["id"], name, "{short}");
    }
    let text = bd.text(&["conflicts"]);
    assert!(text.starts_with(&format!("{}  {id} title\n  lost  ", &name[..17])), "{text}");
    assert!(!text.contains('"'), "values have no JSON syntax: {text}");
    bd.error(&["conflicts", "show", &digits[..3]], "invalid_value");
    bd.error(&["conflicts", "show", "xyzw"], "invalid_value");
    let unknown = if digits.starts_with('0') { "1111" } else { "0000" };
    bd.error(&["conflicts", "dismiss", unknown], "not_found");
    let winner = bd.show(&id)["title"].clone();
    bd.json(&["conflicts", "restore", &digits[..8]]);
    let restored = bd.show(&id)["title"].clone();
    assert_ne!(restored, winner);
    // The winner is not paired with a value that another write brought.
    let (restored, all) = (restored.as_str().unwrap(), bd.text(&["conflicts", "--all"]));
    assert!(all.ends_with(&format!("\n  now   {restored} ({})\n", crate::sandbox::ACTOR)), "{all}");
}

#[test]
fn a_daemon_forgets_a_conflict_once_it_is_dismissed() {
    let (mut bd, _remote, _) = loser();
    bd.switch(Mode::Daemon);
    let recap = || {
        let recap = bd.json(&["recap"]);
        (recap["conflicts"][0]["dismissed"].clone(), recap["waiting"].as_array().map(Vec::len))
    };
    assert_eq!(recap(), (false.into(), Some(1)));
    bd.json(&["conflicts", "dismiss", "--all"]);
    assert_eq!(recap(), (true.into(), Some(0)));
}

#[test]
fn all_conflicts_are_dismissed_at_once() {
    let (bd, _remote, id) = loser();
    let other = bd.create(&["another"]);
    bd.json(&["conflicts", "dismiss", "--all", "--bead", &other]);
    assert_eq!(bd.json(&["conflicts"]).as_array().map(Vec::len), Some(1));
    bd.error(&["conflicts", "dismiss"], "usage");
    let dismissed = bd.json(&["conflicts", "dismiss", "--all"]);
    assert_eq!(dismissed[0]["id"], id.as_str());
    assert_eq!(bd.json(&["conflicts"]), serde_json::json!([]));
    assert_eq!(bd.json(&["conflicts", "--all"])[0]["dismissed"], true);
}

/// A piped sync reports the merge on standard error. Overwritten text is listed before lost claims, which are
/// one line.
#[test]
fn overwritten_text_comes_before_lost_claims() {
    let remote = tempfile::tempdir().unwrap();
    git2::Repository::init_bare(remote.path()).unwrap();
    let replica = || {
        let bd = Sandbox::new(Mode::Embedded);
        bd.repository().remote("origin", remote.path().to_str().unwrap()).unwrap();
        bd.json(&["config", "set", "claim.scope", "local"]);
        bd
    };
    let (ann, bob) = (replica(), replica());
    for id in ["bd-1", "bd-2", "bd-3", "bd-4"] {
        ann.create(&["Start", "--id", id]);
    }
    ann.json(&["sync"]);
    bob.json(&["sync"]);
    for id in ["bd-1", "bd-2", "bd-3"] {
        ann.json(&["claim", id]);
        bob.json_as("bob", &["claim", id]);
    }
    ann.json(&["update", "bd-4", "--title", "Ann's"]);
    bob.json_as("bob", &["update", "bd-4", "--title", "Bob's"]);
    ann.json(&["sync"]);
    let run = bob.run(&["sync"]);
    let report = "Merged with origin and pushed\n4 values lost to concurrent writes and were kept; run bd conflicts list\n";
    assert_eq!((run.exit, run.stdout.as_str(), run.stderr.as_str()), (Some(0), "", report));
    let fields = |answer: Value| -> Vec<Value> {
        answer.as_array().unwrap().iter().map(|conflict| conflict["field"].clone()).collect()
    };
    assert_eq!(fields(bob.json(&["conflicts"])), ["title", "assignee", "assignee", "assignee"]);
    let line = "claims lost to another machine: 3 (bd-1, bd-2, bd-3)";
    let text = bob.text(&["conflicts"]);
    assert!(text.contains(line) && text.lines().count() == 4, "{text}");
    assert!(bob.text(&["status"]).contains(&format!("{line}\n")));
    let all = bob.run(&["conflicts", "-v"]).stdout;
    assert!(!all.contains("claims lost") && all.lines().count() == 12, "{all}");
}
