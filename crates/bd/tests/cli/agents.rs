use serde_json::json;

use crate::sandbox::both;

#[test]
fn agents_are_listed_with_what_they_hold_and_did() {
    both(|bd| {
        bd.create(&["first", "--id", "bd-1"]);
        bd.create(&["second", "--id", "bd-2"]);
        bd.json_as("bob", &["claim", "bd-1", "--session", "s1"]);
        bd.json_as("cy", &["claim", "bd-2"]);
        bd.json_as("cy", &["close", "bd-2"]);
        let agents = bd.json(&["agents"]);
        let of = |name: &str| agents.as_array().unwrap().iter().find(|one| one["actor"] == name).unwrap();
        let bob = of("bob");
        assert_eq!((&bob["state"], &bob["holds"][0]["id"]), (&json!("working"), &json!("bd-1")));
        assert_eq!(bob["sessions"][0]["session"], "s1");
        let cy = of("cy");
        assert_eq!((&cy["state"], &cy["closed"], &cy["mail"]), (&json!("idle"), &json!(1), &json!(null)));
        assert!(cy["last_seen"].is_string(), "{cy}");
        let text = bd.text(&["agents"]);
        assert!(
            text.contains("bob  working, 0 closed") && text.contains("  bd-1  first, held since "),
            "{text}"
        );
        // What dee wrote was overwritten, so only the events tell of it, also those that were read before.
        bd.json_as("dee", &["update", "bd-1", "--priority", "1"]);
        bd.json(&["update", "bd-1", "--priority", "3"]);
        for _ in 0..2 {
            let agents = bd.json(&["agents"]);
            let dee = agents.as_array().unwrap().iter().find(|one| one["actor"] == "dee");
            assert!(dee.is_some_and(|dee| dee["last_write"].is_string()), "{agents}");
            bd.json_as("bob", &["note", "bd-1", "still here"]);
        }
    });
}
