use crate::sandbox::{both, ids_of};
use crate::schema::check_bead;

#[test]
fn epics_show_progress_and_finished_ones_can_be_closed() {
    both(|bd| {
        bd.create(&["done", "--id", "bd-d", "-t", "epic", "-p", "0"]);
        bd.create(&["half", "--id", "bd-h", "-t", "epic", "-p", "1"]);
        bd.create(&["empty", "--id", "bd-e", "-t", "epic", "-p", "2"]);
        bd.create(&["a", "--id", "bd-1", "--parent", "bd-d"]);
        bd.create(&["b", "--id", "bd-2", "--parent", "bd-h"]);
        bd.create(&["c", "--id", "bd-3", "--parent", "bd-h"]);
        bd.json(&["close", "bd-1", "bd-2"]);
        let status = bd.json(&["epic", "status"]);
        let rows: Vec<_> = status
            .as_array()
            .unwrap()
            .iter()
            .map(|row| {
                check_bead(&row["epic"]);
                let number = |name: &str| row[name].as_u64().unwrap();
                let id = row["epic"]["id"].as_str().unwrap();
                (
                    id,
                    number("closed_children"),
                    number("total_children"),
                    row["eligible_for_close"].as_bool().unwrap(),
                )
            })
            .collect();
        assert_eq!(rows, [("bd-d", 1, 1, true), ("bd-h", 1, 2, false), ("bd-e", 0, 0, false)]);
        let text = bd.text(&["epic", "status"]);
        assert!(text.contains("1/2") && text.lines().next().unwrap().ends_with("ready to close"), "{text}");

        let before = bd.everything();
        assert_eq!(ids_of(&bd.json(&["epic", "close-eligible", "--dry-run"])), ["bd-d"]);
        assert_eq!(bd.everything(), before);
        let closed = bd.json(&["epic", "close-eligible"]);
        assert_eq!(ids_of(&closed), ["bd-d"]);
        assert_eq!(closed[0]["status"], "closed");
        assert_eq!(bd.json(&["epic", "close-eligible"]), serde_json::json!([]));
        assert_eq!(bd.json(&["epic", "status"]).as_array().unwrap().len(), 2);
        // A deleted child does not keep an epic open.
        bd.json(&["delete", "bd-3"]);
        assert_eq!(ids_of(&bd.json(&["epic", "close-eligible"])), ["bd-h"]);
    });
}
