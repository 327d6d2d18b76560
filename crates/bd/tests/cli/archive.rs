use std::process::Stdio;

use serde_json::{Value, json};

use crate::sandbox::{Mode, Sandbox, both};
use crate::sync::Remote;

const ARCHIVE_REF: &str = "refs/heads/beads/archive";

/// A time after every close in these tests.
const LATER: &str = "2099-01-01";

fn closed(bd: &Sandbox, id: &str, title: &str) {
    bd.create(&[title, "--id", id]);
    bd.json(&["close", id, "--reason", "done"]);
}

#[test]
fn archived_beads_leave_the_lists_and_can_be_read_and_restored() {
    both(|bd| {
        closed(bd, "bd-1", "old work");
        bd.create(&["new work", "--id", "bd-2", "--deps", "bd-1"]);
        let none = bd.json(&["archive", "--closed-before", "1d"]);
        assert_eq!(none["archived"], json!([]), "it was closed just now");
        let dry = bd.json(&["archive", "--closed-before", LATER, "--dry-run"]);
        assert_eq!((&dry["archived"], &dry["dry_run"]), (&json!(["bd-1"]), &json!(true)));
        assert_eq!(bd.ids(&["list"]), ["bd-1", "bd-2"]);
        let first = bd.run(&["archive", "--closed-before", LATER, "--json"]);
        assert_eq!(first.value()["archived"], json!(["bd-1"]));
        assert!(first.stderr.contains("now has format 3"), "{first:?}");
        for _ in 0..2 {
            // Before the content is moved, and after.
            assert_eq!(bd.ids(&["list"]), ["bd-2"]);
            assert_eq!(bd.ids(&["ready"]), ["bd-2"], "its blocker counts as closed");
            let listed = bd.json(&["list", "--archive"]);
            assert_eq!(
                (&listed[0]["id"], &listed[0]["title"], &listed[0]["archived"]),
                (&json!("bd-1"), &json!("old work"), &json!(true))
            );
            assert_eq!(bd.ids(&["list", "--archive", "--label", "x"]), Vec::<String>::new());
            let shown = bd.show("bd-1");
            assert_eq!((&shown["closed_reason"], &shown["archived"]), (&json!("done"), &json!(true)));
            bd.error(&["update", "bd-1", "--title", "x"], "archived");
            bd.error(&["delete", "bd-1"], "archived");
            bd.error(&["create", "again", "--id", "bd-1"], "id_taken");
            assert_eq!(bd.json(&["deleted"]), json!([]));
            assert_eq!(bd.json(&["repair-deps"])["orphans_found"], 0);
            assert_eq!(bd.json(&["status"])["summary"]["archived_issues"], 1);
            let exported = bd.text(&["export"]);
            assert!(exported.contains("old work") && !exported.contains("tombstone"), "{exported}");
            bd.json(&["sync"]);
        }
        bd.json(&["restore", "bd-1"]);
        assert_eq!(bd.ids(&["list"]), ["bd-1", "bd-2"]);
        assert_eq!(bd.show("bd-1")["title"], "old work");
        assert_eq!(bd.json(&["list", "--archive"]), json!([]));
        bd.json(&["update", "bd-1", "--title", "changed again"]);
        assert_eq!(bd.json(&["archive", "--closed-before", LATER])["archived"], json!(["bd-1"]));
        bd.json(&["sync"]);
        assert_eq!(bd.show("bd-1")["title"], "changed again");
    });
}

fn findings(bd: &Sandbox, check: &str) -> Vec<String> {
    let doctor = bd.run(&["doctor", &format!("--check={check}"), "--json"]).value();
    let checks = doctor["checks"].as_array().unwrap().clone();
    let found = checks.iter().flat_map(|check| check["findings"].as_array().unwrap().clone());
    found.map(|finding| finding["code"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn only_the_first_archived_bead_raises_the_format() {
    both(|bd| {
        closed(bd, "bd-1", "done");
        bd.json(&["archive", "--closed-before", "1d"]);
        bd.json(&["archive", "--closed-before", LATER, "--dry-run"]);
        assert_eq!(bd.json(&["status"])["format_version"], 1);
        assert_eq!(bd.json(&["migrate"])["current_version"], 2, "only bd archive raises it further");
        bd.json(&["archive", "--closed-before", LATER]);
        let migration = bd.json(&["migrate", "--inspect"]);
        assert_eq!((&migration["current_version"], &migration["latest_version"]), (&json!(3), &json!(3)));
    });
}

#[test]
fn an_archived_bead_cannot_be_changed_and_says_how_to_get_it_back() {
    both(|bd| {
        bd.create(&["epic", "--id", "bd-e", "-t", "epic"]);
        bd.create(&["open child", "--id", "bd-2", "--parent", "bd-e"]);
        closed(bd, "bd-1", "old");
        bd.json(&["update", "bd-1", "--parent", "bd-e"]);
        bd.json(&["note", "bd-1", "see the log"]);
        bd.json(&["archive", "--closed-before", LATER]);
        for _ in 0..2 {
            let changes: [&[&str]; 9] = [
                &["claim", "bd-1"],
                &["reopen", "bd-1"],
                &["close", "bd-1"],
                &["update", "bd-1", "--status", "open"],
                &["note", "bd-1", "x"],
                &["delete", "bd-1"],
                &["dep", "add", "bd-2", "bd-1"],
                &["create", "child", "--parent", "bd-1"],
                &["label", "add", "bd-1", "x"],
            ];
            for change in changes {
                let run = bd.run(change);
                assert!(run.exit == Some(1) && run.stderr.contains("bd restore"), "{change:?}: {run:?}");
            }
            bd.error(&["create", "again", "--id", "bd-1"], "id_taken");
            bd.error(&["undo"], "cannot_undo");
            let epic = &bd.json(&["epic", "status"])[0];
            assert_eq!((&epic["closed_children"], &epic["total_children"]), (&json!(1), &json!(2)));
            assert!(bd.text(&["show", "bd-1"]).contains("archived on branch beads/archive; bd restore bd-1"));
            assert!(bd.text(&["log", "bd-1"]).contains("see the log"));
            let file = bd.root().join("export.jsonl");
            let file = file.to_str().unwrap();
            std::fs::write(file, bd.text(&["export"])).unwrap();
            bd.json(&["import", "--verify", file]);
            bd.json(&["import", file]);
            assert_eq!(bd.ids(&["list"]), ["bd-e", "bd-2"], "an import of the same beads changes nothing");
            bd.json(&["sync"]);
        }
        assert!(findings(bd, "validate").is_empty());
    });
}

#[test]
fn a_fresh_clone_reads_and_restores_what_others_archived() {
    for mode in [Mode::Daemon, Mode::Embedded] {
        let remote = Remote::new();
        let bd = remote.replica(mode);
        closed(&bd, "bd-1", "old work");
        bd.create(&["new work", "--id", "bd-2"]);
        bd.json(&["archive", "--closed-before", LATER]);
        bd.json(&["sync"]);
        assert!(bd.repository().find_reference(ARCHIVE_REF).is_ok());
        let other = remote.replica(mode);
        other.json(&["sync"]);
        assert_eq!(other.ids(&["list"]), ["bd-2"]);
        assert_eq!(other.json(&["list", "--archive"])[0]["title"], "old work");
        other.json(&["restore", "bd-1"]);
        other.json(&["sync"]);
        bd.json(&["sync"]);
        assert_eq!(bd.ids(&["list"]), ["bd-1", "bd-2"]);
        assert_eq!(bd.json(&["conflicts", "list"]), json!([]));
    }
}

#[test]
fn doctor_finds_an_archive_that_is_missing_here_or_on_the_remote() {
    let remote = Remote::new();
    let bd = remote.replica(Mode::Embedded);
    closed(&bd, "bd-1", "old work");
    bd.json(&["sync"]);
    bd.json(&["archive", "--closed-before", LATER]);
    bd.json(&["sync"]);
    assert!(findings(&bd, "archive").is_empty() && findings(&bd, "validate").is_empty());
    let git = git2::Repository::open(remote.path()).unwrap();
    let tip = git.refname_to_id(ARCHIVE_REF).unwrap();
    git.find_reference(ARCHIVE_REF).unwrap().delete().unwrap();
    assert_eq!(findings(&bd, "archive"), ["archive_missing"]);
    git.reference(ARCHIVE_REF, tip, false, "").unwrap();
    for name in [ARCHIVE_REF, "refs/remotes/origin/beads/archive"] {
        bd.repository().find_reference(name).unwrap().delete().unwrap();
    }
    assert_eq!(findings(&bd, "validate"), ["archive_incomplete"]);
    bd.error(&["show", "bd-1"], "archive_incomplete");
    bd.error(&["restore", "bd-1"], "archive_incomplete");
    assert_eq!(bd.json(&["list", "--archive"]), json!([]));
    bd.json(&["sync"]);
    assert!(findings(&bd, "validate").is_empty(), "bd sync fetched it");
    bd.json(&["restore", "bd-1"]);
}

/// Kills a sync at many moments. Nothing may be lost, and the next sync must finish the move.
#[test]
fn a_killed_sync_loses_nothing() {
    let remote = Remote::new();
    let bd = remote.replica(Mode::Embedded);
    for round in 0..12 {
        let id = format!("bd-{round}");
        closed(&bd, &id, &format!("work {round}"));
        bd.json(&["archive", "--closed-before", LATER]);
        let mut child =
            bd.command(&["sync"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("bd starts");
        std::thread::sleep(std::time::Duration::from_millis(4 * round));
        let _ = child.kill();
        child.wait().unwrap();
        let listed = bd.json(&["list", "--archive"]);
        let titles: Vec<&Value> = listed.as_array().unwrap().iter().map(|bead| &bead["title"]).collect();
        assert!(titles.contains(&&json!(format!("work {round}"))), "round {round}: {listed}");
    }
    bd.json(&["sync"]);
    let other = remote.replica(Mode::Embedded);
    other.json(&["sync"]);
    assert_eq!(other.json(&["list", "--archive"]).as_array().unwrap().len(), 12);
    assert!(findings(&other, "validate").is_empty() && findings(&bd, "archive").is_empty());
}

#[test]
fn uninstalling_keeps_the_archive_as_a_backup_only() {
    let remote = Remote::new();
    let bd = remote.replica(Mode::Embedded);
    closed(&bd, "bd-1", "old work");
    bd.json(&["archive", "--closed-before", LATER]);
    bd.json(&["sync"]);
    let removed = bd.json(&["uninstall", "--remote"]);
    for git in [bd.repository(), git2::Repository::open(remote.path()).unwrap()] {
        let names: Vec<String> =
            git.references().unwrap().names().map(|name| name.unwrap().to_owned()).collect();
        assert!(!names.iter().any(|name| name.ends_with("beads/archive")), "{names:?}");
        assert!(names.iter().any(|name| name.ends_with("-archive")), "{names:?} {removed}");
    }
}
