use serde_json::{Value, json};

use super::client::Client;
use crate::sandbox::{Mode, Sandbox, both};

fn error(client: &mut Client, tool: &str, arguments: Value) -> String {
    let text = client.fail(tool, arguments);
    text.strip_prefix("ERROR: ").map_or_else(
        || serde_json::from_str::<Value>(&text).unwrap()["error"]["code"].as_str().unwrap().to_owned(),
        |line| line.split(' ').next().unwrap().to_owned(),
    )
}

#[test]
fn portals_act_only_on_the_expected_bead() {
    both(|sandbox| {
        let mine = sandbox.create(&["Mine", "-p", "0", "--external-ref", "TASK-001"]);
        let other = sandbox.create(&["Other"]);
        let mut client = Client::start(sandbox);
        let before = sandbox.everything();
        let strict = json!({"strict_targeting": true});
        assert_eq!(error(&mut client, "next", strict), "STRICT_TARGETING_REQUIRES_EXPECTED_TARGET_ID");
        let best = json!({"expected_target_id": other});
        assert_eq!(error(&mut client, "next", best), "EXPECTED_TARGET_MISMATCH");
        let named = json!({"id": mine, "expected_target_id": other});
        assert_eq!(error(&mut client, "next", named), "EXPECTED_TARGET_MISMATCH");
        assert_eq!(sandbox.everything(), before);
        let best = json!({"expected_target_id": "TASK-001", "strict_targeting": true});
        assert!(client.call("next", best).starts_with(&mine));

        let before = sandbox.everything();
        for (tool, own) in [("note", json!({"text": "x"})), ("done", json!({"reason": "x"}))] {
            let with = |field: &str, value: Value| {
                let mut arguments = own.clone();
                arguments[field] = value;
                arguments
            };
            let wrong = with("expected_target_id", json!(other));
            assert_eq!(error(&mut client, tool, wrong), "EXPECTED_TARGET_MISMATCH", "{tool}");
            let strict = with("strict_targeting", json!(true));
            let code = "STRICT_TARGETING_REQUIRES_EXPECTED_TARGET_ID";
            assert_eq!(error(&mut client, tool, strict), code, "{tool}");
            let other = with("expected_target_id", json!("bd-none"));
            assert_eq!(error(&mut client, tool, other), "EXPECTED_TARGET_MISMATCH", "{tool}");
        }
        assert_eq!(sandbox.everything(), before);
        client.call("note", json!({"text": "x", "expected_target_id": mine, "strict_targeting": true}));
        // An abbreviated id means the same bead.
        client.call("done", json!({"reason": "x", "expected_target_id": mine[..mine.len() - 1]}));
        assert_eq!(sandbox.show(&mine)["status"], "closed");
    });
}

#[test]
fn every_field_that_names_a_bead_takes_foreign_ids() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let plan = sandbox.create(&["Plan", "-t", "epic", "--external-ref", "PLAN-001"]);
    let task = sandbox.create(&["Task", "--external-ref", "TASK-001"]);
    let step = sandbox.create(&["Step", "--external-ref", "STEP-abcdefgh"]);
    let node = sandbox.create(&["Node", "--external-ref", "NODE-12345678"]);
    let mut client = Client::start(&sandbox);
    let mut view = |tool: &str, arguments: Value| -> Value {
        let mut envelope: Value = serde_json::from_str(&client.call(tool, arguments)).unwrap();
        envelope["result"].take()
    };
    let edge = view(
        "beads_dep_add",
        json!({"from": "TASK-001", "to": {"id": "repo:STEP-abcdefgh", "kind": "task"}}),
    );
    assert_eq!((&edge["issue_id"], &edge["depends_on_id"]), (&json!(task), &json!(step)), "{edge}");
    view("beads_dep_add", json!({"from": "NODE-12345678", "to": "PLAN-001", "kind": "Parent-Child"}));
    assert_eq!(view("beads_list", json!({"parent": "PLAN-001"}))["items"][0]["id"], json!(node));
    assert_eq!(view("beads_list", json!({"ids": ["TASK-001", plan]}))["count"], 2);
    let made = view(
        "beads_create",
        json!({"title": "New", "parent": "PLAN-001", "deps": ["TASK-001", "related:NODE-12345678"]}),
    );
    let waits: Vec<&Value> = made["dependencies"].as_array().unwrap().iter().map(|dep| &dep["id"]).collect();
    assert!(waits.contains(&&json!(task)) && waits.contains(&&json!(node)), "{made}");
    view("beads_update", json!({"target": "TASK-001", "parent": "PLAN-001"}));
    let claimed = view("beads_claim", json!({"next": {"parent": "PLAN-001"}}));
    assert_eq!(claimed["id"], json!(node), "{claimed}");
    view("beads_dep_remove", json!({"from": "TASK-001", "to": "STEP-abcdefgh"}));
    let made = client.call("make", json!({"title": "Last", "parent": "repo:PLAN-001", "deps": ["repo:TASK-001", "discovered-from:STEP-abcdefgh"]}));
    assert!(made.starts_with("made bd-"), "{made}");
    for (tool, arguments, code) in [
        ("beads_dep_add", json!({"from": "TASK-001", "to": "TASK-999"}), "UNKNOWN_ID"),
        ("beads_dep_add", json!({"from": "TASK-001", "to": format!("other:{step}")}), "UNKNOWN_WORKSPACE"),
        (
            "beads_dep_add",
            json!({"from": task, "to": {"id": plan, "kind": "task"}}),
            "EXPECTED_TARGET_MISMATCH",
        ),
        ("make", json!({"title": "x", "deps": ["TASK-999"]}), "UNKNOWN_ID"),
        ("next", json!({"id": "STEP-unknown00"}), "UNKNOWN_ID"),
    ] {
        assert_eq!(error(&mut client, tool, arguments.clone()), code, "{tool} {arguments}");
    }
}

#[test]
fn names_in_the_graph_are_bounded() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let (one, two) = (sandbox.create(&["One"]), sandbox.create(&["Two"]));
    let mut client = Client::start(&sandbox);
    let before = sandbox.everything();
    for bad in ["", " ", "a|b", "a\u{7}b", "a\nb", &"x".repeat(257)] {
        for (tool, arguments) in [
            ("beads_show", json!({"id": bad})),
            ("beads_show", json!({"target": {"id": bad}})),
            ("beads_dep_add", json!({"from": one, "to": bad})),
            ("beads_create", json!({"title": "x", "parent": bad})),
            ("next", json!({"id": bad})),
            ("make", json!({"title": "x", "parent": bad})),
        ] {
            assert_eq!(error(&mut client, tool, arguments.clone()), "INVALID_INPUT", "{tool} {arguments}");
        }
    }
    for bad in ["", "a|b", "a\tb", "blocks\u{0}", "unheard-of", &"x".repeat(129)] {
        let edge = json!({"from": one, "to": two, "kind": bad});
        assert_eq!(error(&mut client, "beads_dep_add", edge), "INVALID_INPUT", "{bad:?}");
    }
    for bad in ["", "a\tb", "unheard-of", &"x".repeat(129)] {
        let made = json!({"title": "x", "type": bad});
        assert_eq!(error(&mut client, "beads_create", made.clone()), "INVALID_INPUT", "{bad:?}");
        assert_eq!(error(&mut client, "make", made), "INVALID_INPUT", "{bad:?}");
    }
    assert_eq!(sandbox.everything(), before);
}
