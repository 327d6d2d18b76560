use crate::sandbox::{Sandbox, both};
use crate::schema::check_bead;

/// Five beads that differ in everything one can filter by.
fn garden(bd: &Sandbox) {
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
        garden(bd);
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
        garden(bd);
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
        garden(bd);
        bd.create(&["a longer id", "--id", "bd-longer"]);
        let text = bd.text(&["list"]);
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
        garden(bd);
        bd.create(&["nut", "--parent", "bd-4"]);
        assert_eq!(bd.ids(&["children", "bd-3"]), ["bd-4"]);
        assert_eq!(bd.ids(&["children", "bd-4"]), ["bd-4.1"]);
        assert_eq!(bd.ids(&["children", "bd-1"]), Vec::<String>::new());
        assert!(bd.text(&["children", "bd-3"]).starts_with("bd-4"));
    });
}
