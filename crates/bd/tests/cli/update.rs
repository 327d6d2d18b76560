use serde_json::json;

use crate::sandbox::both;
use crate::schema::check_bead;

#[test]
fn each_field_can_be_changed_alone() {
    both(|bd| {
        let id = bd.create(&["before", "-d", "kept", "-p", "3"]);
        let cases: &[(&[&str], &str, serde_json::Value)] = &[
            (&["--title", "after"], "title", json!("after")),
            (&["-p", "0"], "priority", json!(0)),
            (&["-t", "chore"], "type", json!("chore")),
            (&["--design", "thus"], "design", json!("thus")),
            (&["--acceptance", "then"], "acceptance_criteria", json!("then")),
            (&["--external-ref", "jira-1"], "external_ref", json!("jira-1")),
            (&["-a", "bob"], "assignee", json!("bob")),
            (&["-a", ""], "assignee", json!(null)),
            (&["--design", ""], "design", json!(null)),
            (&["--status", "in_progress"], "status", json!("in_progress")),
            (&["-d", "changed"], "description", json!("changed")),
            (&["-d", ""], "description", json!("")),
        ];
        let mut expected = bd.show(&id);
        for (change, field, value) in cases {
            let answer = bd.json_as("bob", &[&["update", &id], *change].concat());
            assert_eq!(answer.as_array().unwrap().len(), 1, "several ids make an array, so one does too");
            let bead = &answer[0];
            check_bead(bead);
            assert_eq!(bead[*field], *value, "{change:?}");
            assert_eq!(bead["updated_by"], "bob");
            for (name, old) in expected.as_object().unwrap() {
                let follows = ["updated_at", "updated_by", "content_hash", "assignee_at", "issue_type"];
                if name != field && !follows.contains(&name.as_str()) {
                    assert_eq!(bead[name], *old, "{change:?} changed {name}");
                }
            }
            expected = bead.clone();
        }
        assert_eq!(bd.show(&id), expected);
    });
}

#[test]
fn labels_are_added_removed_and_set() {
    both(|bd| {
        let id = bd.create(&["labelled", "-l", "a"]);
        let labels = |args: &[&str]| bd.json(&[&["update", &id], args].concat())[0]["labels"].clone();
        assert_eq!(labels(&["--add-label", "c,b", "--add-label", "a"]), json!(["a", "b", "c"]));
        assert_eq!(labels(&["--remove-label", "b", "--add-label", "d"]), json!(["a", "c", "d"]));
        assert_eq!(labels(&["--set-labels", "z,y"]), json!(["y", "z"]));
        assert_eq!(labels(&["--set-labels", ""]), json!([]));
    });
}

#[test]
fn the_parent_moves() {
    both(|bd| {
        let (a, b, child) = (bd.create(&["a"]), bd.create(&["b"]), bd.create(&["child"]));
        let moved = |args: &[&str]| bd.json(&[&["update", &child], args].concat())[0]["parent"].clone();
        assert_eq!(moved(&["--parent", &a]), json!(a));
        assert_eq!(moved(&["--parent", &b]), json!(b));
        assert_eq!(bd.ids(&["children", &a]), Vec::<String>::new());
        assert_eq!(bd.ids(&["children", &b]), [child.as_str()]);
        bd.error(&["update", &b, "--parent", &child], "cycle");
        bd.error(&["update", &b, "--parent", &b], "self_dependency");
        assert_eq!(moved(&["--no-parent"]), json!(null));
    });
}

#[test]
fn notes_are_appended_and_never_replaced() {
    both(|bd| {
        let id = bd.create(&["x", "--notes", "one"]);
        let bead = bd.json(&["update", &id, "--notes", "two"])[0].clone();
        let contents: Vec<_> =
            bead["notes"].as_array().unwrap().iter().map(|note| note["content"].clone()).collect();
        assert_eq!(contents, ["one", "two"]);
        // A note is a change like any other.
        let last = &bead["notes"][1]["at"][0];
        assert_eq!(
            bead["updated_at"].as_str().unwrap().get(20..23),
            Some(&*format!("{:03}", last.as_u64().unwrap() % 1000))
        );
    });
}

#[test]
fn a_status_can_be_set_by_update() {
    both(|bd| {
        let id = bd.create(&["x"]);
        let closed = bd.json_as("bob", &["update", &id, "--status", "closed"])[0].clone();
        check_bead(&closed);
        assert_eq!(closed["closed_by"], "bob");
        assert_eq!(closed["closed_on_branch"], "main");
        let open = bd.json(&["update", &id, "--status", "open"])[0].clone();
        check_bead(&open);
        assert!(open["closed_at"].is_null() && open["closed_on_branch"].is_null());
    });
}

#[test]
fn claiming_by_update_is_claiming() {
    both(|bd| {
        let id = bd.create(&["x"]);
        let bead = bd.json(&["update", &id, "--claim", "-p", "1"])[0].clone();
        assert_eq!(bead["status"], "in_progress");
        assert_eq!(bead["assignee"], crate::sandbox::ACTOR);
        assert!(bead["assignee_expires"].is_string());
        bd.error_as("bob", &["update", &id, "--claim"], "already_claimed");
        bd.error(&["update", &id, "--claim", "--status", "open"], "usage");
    });
}

#[test]
fn several_at_once_and_those_that_fail_are_named() {
    both(|bd| {
        let (a, b) = (bd.create(&["a"]), bd.create(&["b"]));
        let answer = bd.json(&["update", &a, &b, "-p", "1"]);
        assert_eq!(crate::sandbox::ids_of(&answer), [a.clone(), b.clone()]);
        let error = bd.error(&["update", &a, "bd-nope", &b, "-p", "0"], "partial_failure");
        assert_eq!(error["details"]["failed"][0]["id"], "bd-nope");
        assert_eq!(error["details"]["failed"][0]["code"], "not_found");
        assert_eq!(crate::sandbox::ids_of(&error["details"]["succeeded"]), [a.clone(), b.clone()]);
        assert_eq!(bd.show(&a)["priority"], 0);
        assert_eq!(bd.show(&b)["priority"], 0);
        assert_eq!(bd.text(&["update", &a, &b, "-p", "4"]), format!("updated {a}: a\nupdated {b}: b\n"));
    });
}

#[test]
fn a_missing_change_is_a_usage_error_and_an_equal_value_is_not() {
    both(|bd| {
        let id = bd.create(&["x"]);
        let before = bd.everything();
        bd.error(&["update", &id], "usage");
        bd.json(&["update", &id, "--title", "x", "-p", "2"]);
        assert_eq!(bd.everything(), before, "writing equal values changes nothing");
    });
}
