use serde_json::json;

use crate::sandbox::{both, ids_of};
use crate::schema::check_bead;

#[test]
fn labels_come_and_go_on_several_beads() {
    both(|bd| {
        let (a, b) = (bd.create(&["a"]), bd.create(&["b", "-l", "old"]));
        let answer = bd.json(&["label", "add", &a, &b, "red"]);
        assert_eq!(ids_of(&answer), [a.clone(), b.clone()]);
        answer.as_array().unwrap().iter().for_each(check_bead);
        assert_eq!(bd.json(&["label", "list", &b]), json!(["old", "red"]));
        assert_eq!(bd.text(&["label", "list", &b]), "old\nred\n");
        assert_eq!(
            bd.json(&["label", "list-all"]),
            json!([{"label": "old", "count": 1}, {"label": "red", "count": 2}])
        );
        assert_eq!(bd.text(&["label", "list-all"]), "     1  old\n     2  red\n");
        bd.json(&["label", "remove", &a, &b, "red"]);
        assert_eq!(bd.json(&["label", "list", &a]), json!([]));
        assert_eq!(bd.json(&["label", "list", &b]), json!(["old"]));
        // A label that is there, or not there, already: nothing changes.
        let before = bd.everything();
        bd.json(&["label", "add", &b, "old"]);
        bd.json(&["label", "remove", &b, "red"]);
        assert_eq!(bd.everything(), before);
        let error = bd.error(&["label", "add", &a, "bd-nope", "blue"], "partial_failure");
        assert_eq!(ids_of(&error["details"]["failed"]), ["bd-nope"]);
        assert_eq!(bd.show(&a)["labels"], json!(["blue"]));
        bd.json(&["delete", &a]);
        assert_eq!(bd.json(&["label", "list-all"]), json!([{"label": "old", "count": 1}]));
    });
}

#[test]
fn labels_that_could_not_be_named_are_refused() {
    both(|bd| {
        let id = bd.create(&["a"]);
        let before = bd.everything();
        let long = "x".repeat(257);
        for bad in ["", " ", "a,b", "tab\there", long.as_str()] {
            bd.error(&["label", "add", &id, bad], "invalid_value");
        }
        bd.error(&["label", "add", &id], "usage");
        bd.error(&["label", "list", "bd-nope"], "not_found");
        assert_eq!(bd.everything(), before);
    });
}
