//! `--fields`.

use serde_json::json;

use crate::sandbox::both;

#[test]
fn only_the_named_fields_are_printed() {
    both(|bd| {
        bd.create(&["first", "--id", "bd-1", "-l", "a,b", "-d", "two\nlines"]);
        bd.create(&["third", "--id", "bd-3", "-p", "4", "-t", "epic"]);
        bd.create(&["second", "--id", "bd-2", "--parent", "bd-3", "--deps", "bd-1"]);
        let asked = ["--fields", "title,id,status"];
        for verb in ["list", "ready"] {
            let answer = bd.json(&[&[verb], &asked[..]].concat());
            assert_eq!(answer[0], json!({"title": "first", "id": "bd-1", "status": "open"}), "{verb}");
        }
        let text = bd.run(&["list", "--fields", "title,id", "--json"]).stdout;
        assert!(text.find("title").unwrap() < text.find("\"id\"").unwrap(), "the order is kept: {text}");
        let blocked = bd.json(&["blocked", "--fields", "id,blocked_by"]);
        assert_eq!(blocked, json!([{"id": "bd-2", "blocked_by": ["bd-1"]}]));
        let shown = bd.json(&["show", "bd-2", "--fields", "parent,assignee,open_children"]);
        assert_eq!(shown, json!([{"parent": "bd-3", "assignee": null, "open_children": null}]));
        assert_eq!(bd.json(&["search", "second", "--fields", "id"]), json!([{"id": "bd-2"}]));
        assert_eq!(
            bd.text(&["list", "--fields", "id, labels,description"]),
            "bd-1\ta,b\ttwo\\nlines\nbd-2\t\t\nbd-3\t\t\n"
        );
        // Fields that a row of a list does not have.
        assert_eq!(
            bd.text(&["list", "--id", "bd-2", "--fields", "parent,dependencies"]),
            "bd-3\tbd-1,bd-3\n"
        );
    });
}

#[test]
fn an_unknown_field_is_an_error_that_lists_the_names() {
    both(|bd| {
        let error = bd.error(&["list", "--fields", "id,colour"], "invalid_value");
        let message = error["message"].as_str().unwrap();
        assert!(
            message.contains("\"colour\"") && message.contains("id, title, description, status"),
            "{error}"
        );
        bd.error(&["list", "--tree", "--fields", "id"], "usage");
    });
}
