use crate::sandbox::{Sandbox, both};
use crate::schema::check_bead;

/// Creates five beads that differ in every field that can be filtered by.
fn create_varied_beads(bd: &Sandbox) {
    bd.create(&["rose", "--id", "bd-1", "-t", "bug", "-p", "0", "-l", "red,big", "-d", "Thorns"]);
    bd.create(&["tulip", "--id", "bd-2", "-t", "feature", "-p", "1", "-l", "red"]);
    bd.create(&["oak", "--id", "bd-3", "-t", "epic", "-p", "3", "-l", "big", "-a", "bob"]);
    bd.create(&["acorn", "--id", "bd-4", "-t", "task", "-p", "3", "--parent", "bd-3"]);
    bd.create(&["moss", "--id", "bd-5", "-t", "chore", "-p", "4"]);
    bd.json(&["close", "bd-2"]);
    bd.json(&["claim", "bd-5"]);
    bd.json(&["dep", "add", "bd-1", "bd-4"]);
}

#[test]
fn every_filter_and_their_conjunction() {
    both(|bd| {
        create_varied_beads(bd);
        let cases: &[(&[&str], &[&str])] = &[
            (&[], &["bd-1", "bd-2", "bd-3", "bd-4", "bd-5"]),
            (&["--all"], &["bd-1", "bd-2", "bd-3", "bd-4", "bd-5"]),
            (&["--limit", "0"], &["bd-1", "bd-2", "bd-3", "bd-4", "bd-5"]),
            (&["--limit", "2"], &["bd-1", "bd-2"]),
            (&["--status", "open"], &["bd-1", "bd-3", "bd-4"]),
            (&["-s", "closed,in_progress"], &["bd-2", "bd-5"]),
            (&["--status", "blocked"], &["bd-1"]),
            (&["--type", "bug"], &["bd-1"]),
            (&["-t", "epic,chore"], &["bd-3", "bd-5"]),
            (&["-p", "3"], &["bd-3", "bd-4"]),
            (&["--priority-min", "1", "--priority-max", "3"], &["bd-2", "bd-3", "bd-4"]),
            (&["--assignee", "bob"], &["bd-3"]),
            (&["--unassigned"], &["bd-1", "bd-2", "bd-4"]),
            (&["--label", "red,big"], &["bd-1"]),
            (&["--label-any", "red,big"], &["bd-1", "bd-2", "bd-3"]),
            (&["--parent", "bd-3"], &["bd-4"]),
            (&["--id", "bd-5,bd-1,bd-nope"], &["bd-1", "bd-5"]),
            (&["--title-contains", "O"], &["bd-1", "bd-3", "bd-4", "bd-5"]),
            (&["--label", "red", "--status", "open"], &["bd-1"]),
            (&["--created-after", "1h"], &["bd-1", "bd-2", "bd-3", "bd-4", "bd-5"]),
            (&["--created-before", "1h"], &[]),
            (&["--created-after", "2020-01-01", "--created-before", "2020-01-02"], &[]),
            (&["--updated-after", "2020-01-01T00:00:00Z"], &["bd-1", "bd-2", "bd-3", "bd-4", "bd-5"]),
            (&["--updated-before", "1d"], &[]),
            (&["--closed-after", "1h"], &["bd-2"]),
            (&["--closed-before", "1h"], &[]),
        ];
        for (filter, expected) in cases {
            assert_eq!(bd.ids(&[&["list"], *filter].concat()), *expected, "{filter:?}");
        }
    });
}

#[test]
fn every_order() {
    both(|bd| {
        create_varied_beads(bd);
        let cases: &[(&[&str], &[&str])] = &[
            (&["priority"], &["bd-1", "bd-2", "bd-3", "bd-4", "bd-5"]),
            (&["priority", "--reverse"], &["bd-5", "bd-3", "bd-4", "bd-2", "bd-1"]),
            (&["created"], &["bd-1", "bd-2", "bd-3", "bd-4", "bd-5"]),
            (&["created", "-r"], &["bd-5", "bd-4", "bd-3", "bd-2", "bd-1"]),
            (&["id", "-r"], &["bd-5", "bd-4", "bd-3", "bd-2", "bd-1"]),
            (&["title"], &["bd-4", "bd-5", "bd-3", "bd-1", "bd-2"]),
            (&["updated", "-n", "2"], &["bd-5", "bd-2"]),
            (&["closed", "-n", "1"], &["bd-2"]),
            (&["status"], &["bd-1", "bd-3", "bd-4", "bd-5", "bd-2"]),
            (&["assignee", "-n", "2"], &["bd-5", "bd-3"]),
            (&["type", "-n", "1"], &["bd-1"]),
        ];
        for (order, expected) in cases {
            assert_eq!(bd.ids(&[&["list", "--sort"], *order].concat()), *expected, "{order:?}");
        }
        bd.error(&["list", "--sort", "colour"], "invalid_value");
        bd.error(&["list", "--all", "--status", "open"], "usage");
    });
}

#[test]
fn due_and_deferred_beads() {
    both(|bd| {
        bd.create(&["overdue", "--id", "bd-1", "--due", "2020-01-02"]);
        bd.create(&["soon", "--id", "bd-2", "--due", "+1d", "-p", "0"]);
        bd.create(&["done", "--id", "bd-3", "--due", "2020-01-01"]);
        bd.create(&["later", "--id", "bd-4", "--defer", "+2d"]);
        bd.create(&["word", "--id", "bd-5"]);
        bd.create(&["no longer deferred", "--id", "bd-6", "--defer", "2020-01-01"]);
        bd.json(&["close", "bd-3"]);
        // The first custom word raises the format, which standard error reports.
        bd.run(&["update", "bd-5", "--status", "deferred"]);
        let cases: &[(&[&str], &[&str])] = &[
            (&["--overdue"], &["bd-1"]),
            (&["--overdue", "-s", "all"], &["bd-1", "bd-3"]),
            (&["--due-before", "+2d", "--sort", "due"], &["bd-3", "bd-1", "bd-2"]),
            (&["--due-before", "2020-01-02"], &["bd-3"]),
            (&["-s", "deferred"], &["bd-4", "bd-5"]),
            (&["-s", "closed,deferred"], &["bd-3", "bd-4", "bd-5"]),
            (&["--sort", "due"], &["bd-3", "bd-1", "bd-2", "bd-4", "bd-5", "bd-6"]),
        ];
        for (filter, expected) in cases {
            assert_eq!(bd.ids(&[&["list"], *filter].concat()), *expected, "{filter:?}");
        }
        bd.error(&["list", "--overdue", "--due-before", "+1d"], "usage");
    });
}

#[test]
fn an_empty_store_lists_nothing() {
    both(|bd| {
        assert_eq!(bd.json(&["list"]), serde_json::json!([]));
        assert_eq!(bd.text(&["list"]), "");
        for verb in ["ready", "blocked", "deleted"] {
            assert_eq!(bd.json(&[verb]), serde_json::json!([]), "{verb}");
            assert_eq!(bd.text(&[verb]), "", "{verb}");
        }
    });
}

#[test]
fn rows_are_aligned_and_beads_are_whole() {
    both(|bd| {
        create_varied_beads(bd);
        bd.create(&["a longer id", "--id", "bd-longer"]);
        let text = bd.text(&["list", "--all"]);
        let columns: Vec<_> = ["rose", "tulip", "oak", "acorn", "moss", "a longer id"]
            .iter()
            .map(|title| text.lines().find_map(|line| line.find(title)).unwrap())
            .collect();
        assert!(columns.iter().all(|column| *column == columns[0]), "{text}");
        assert_eq!(text.lines().count(), 6);
        assert!(text.contains("@bob") && text.contains("#red"));
        bd.json(&["list"]).as_array().unwrap().iter().for_each(check_bead);
        assert_eq!(bd.json(&["list", "--id", "bd-1"])[0], bd.show("bd-1"));
    });
}

#[test]
fn children_are_direct_ones() {
    both(|bd| {
        create_varied_beads(bd);
        bd.create(&["nut", "--parent", "bd-4"]);
        assert_eq!(bd.ids(&["children", "bd-3"]), ["bd-4"]);
        assert_eq!(bd.ids(&["children", "bd-4"]), ["bd-4.1"]);
        assert_eq!(bd.ids(&["children", "bd-1"]), Vec::<String>::new());
        assert!(bd.text(&["children", "bd-3"]).starts_with("bd-4"));
    });
}
