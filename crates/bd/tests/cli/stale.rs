use crate::sandbox::both;

#[test]
fn beads_that_have_not_changed_for_long() {
    both(|bd| {
        bd.create(&["first", "--id", "bd-1"]);
        bd.create(&["second", "--id", "bd-2"]);
        bd.create(&["done", "--id", "bd-3"]);
        bd.json(&["close", "bd-3"]);
        bd.json(&["note", "add", "bd-1", "touched"]);
        bd.json(&["claim", "bd-2"]);
        assert_eq!(bd.ids(&["stale"]), Vec::<String>::new());
        assert_eq!(bd.ids(&["stale", "--days", "30"]), Vec::<String>::new());
        // Zero days ago is now: all unfinished beads, longest untouched first.
        assert_eq!(bd.ids(&["stale", "--days", "0"]), ["bd-1", "bd-2"]);
        assert_eq!(bd.ids(&["stale", "--days", "0", "--limit", "1"]), ["bd-1"]);
        assert_eq!(bd.ids(&["stale", "--days", "0", "--status", "in_progress"]), ["bd-2"]);
        assert!(bd.text(&["stale", "-d", "0"]).starts_with("bd-1"));
        bd.error(&["stale", "--days", "many"], "invalid_value");
    });
}
