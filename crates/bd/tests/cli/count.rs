use serde_json::json;

use crate::sandbox::both;

#[test]
fn beads_are_counted_in_all_and_by_group() {
    both(|bd| {
        bd.create(&["a", "--id", "bd-1", "-t", "bug", "-p", "0", "-l", "red,big"]);
        bd.create(&["b", "--id", "bd-2", "-p", "2", "-l", "red"]);
        bd.create(&["c", "--id", "bd-3", "-p", "2", "-a", "bob"]);
        bd.json(&["close", "bd-3"]);
        assert_eq!(bd.json(&["count"]), json!({"count": 3}));
        assert_eq!(bd.text(&["count"]), "3\n");
        assert_eq!(bd.json(&["count", "--status", "open"]), json!({"count": 2}));
        let by = |flag: &str| bd.json(&["count", flag]);
        let groups = |rows: &[(&str, usize)]| -> Vec<_> {
            rows.iter().map(|(group, count)| json!({"group": group, "count": count})).collect()
        };
        let cases: [(&str, &[(&str, usize)]); 5] = [
            ("--by-status", &[("closed", 1), ("open", 2)]),
            ("--by-type", &[("bug", 1), ("task", 2)]),
            ("--by-priority", &[("P0", 1), ("P2", 2)]),
            ("--by-assignee", &[("(unassigned)", 2), ("bob", 1)]),
            ("--by-label", &[("(no labels)", 1), ("big", 1), ("red", 2)]),
        ];
        for (flag, rows) in cases {
            let answer = by(flag);
            assert_eq!(answer["groups"], json!(groups(rows)), "{flag}");
            assert_eq!(answer["total"], 3, "{flag}: a bead with two labels is still one bead");
        }
        assert_eq!(bd.text(&["count", "--by-type"]), "     1  bug\n     2  task\n");
        bd.error(&["count", "--by-type", "--by-status"], "usage");
        bd.error(&["count", "--limit", "1"], "usage");
    });
}
