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
        // Adding a label that is there, or removing one that is not, changes nothing.
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
fn several_labels_are_added_to_one_bead() {
    both(|bd| {
        let (a, b) = (bd.create(&["a", "--id", "bd-a1"]), bd.create(&["b", "--id", "bd-b22"]));
        bd.json(&["label", "add", &a, "x", "front-end", "z"]);
        assert_eq!(bd.json(&["label", "list", &a]), json!(["front-end", "x", "z"]));
        bd.json(&["label", "add", &a, "b22", "one", "two"]);
        assert_eq!(bd.json(&["label", "list", &b]), json!(["one", "two"]), "b22 is a bead");
        bd.json(&["label", "rm", &a, "x", "z", "one"]);
        assert_eq!(bd.json(&["label", "list", &a]), json!(["front-end", "two"]));
        let error = bd.error(&["label", "add", &a, "bd-nope", "x", "y"], "partial_failure");
        assert_eq!(ids_of(&error["details"]["failed"]), ["bd-nope"]);
    });
}

#[test]
fn invalid_labels_are_refused() {
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
