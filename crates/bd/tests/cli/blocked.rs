use serde_json::json;

use crate::sandbox::both;
use crate::schema::check_bead;

#[test]
fn blocked_beads_are_listed_with_their_blockers() {
    both(|bd| {
        for id in ["bd-1", "bd-2", "bd-3", "bd-4"] {
            bd.create(&["x", "--id", id]);
        }
        bd.json(&["dep", "add", "bd-1", "bd-2"]);
        bd.json(&["dep", "add", "bd-1", "bd-3"]);
        bd.json(&["dep", "add", "bd-4", "bd-2", "--type", "related"]);
        let blocked = bd.json(&["blocked"]);
        check_bead(&blocked[0]);
        assert_eq!(crate::sandbox::ids_of(&blocked), ["bd-1"]);
        assert_eq!(blocked[0]["blocked_by"], json!(["bd-2", "bd-3"]));
        assert!(bd.text(&["blocked"]).contains("blocked by bd-2, bd-3"));
        bd.json(&["close", "bd-2"]);
        assert_eq!(bd.json(&["blocked"])[0]["blocked_by"], json!(["bd-3"]));
        bd.json(&["delete", "bd-3"]);
        assert_eq!(bd.json(&["blocked"]), json!([]), "a blocker that was deleted does not block");
        bd.json(&["restore", "bd-3"]);
        assert_eq!(bd.ids(&["blocked"]), ["bd-1"]);
        bd.json(&["close", "bd-1"]);
        assert_eq!(bd.json(&["blocked"]), json!([]), "a closed bead is not blocked");
        bd.error(&["blocked", "--sort", "title"], "usage");
    });
}
