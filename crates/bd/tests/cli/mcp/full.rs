use serde_json::{Value, json};

use super::client::Client;
use crate::sandbox::{Mode, Sandbox, both};

/// Returns the envelope of a full view.
#[allow(clippy::needless_pass_by_value, reason = "a literal reads better without a reference")]
fn view(client: &mut Client, tool: &str, arguments: Value) -> Value {
    let result = client.ask("tools/call", json!({"name": tool, "arguments": arguments}))["result"].take();
    let envelope: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    let mut keys: Vec<&str> = envelope.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(
        keys,
        ["context", "error", "intent", "result", "success", "suggestions", "timestamp", "warnings"]
    );
    assert_eq!(envelope["success"], result.get("isError").is_none(), "{envelope}");
    assert_eq!(envelope["intent"], tool);
    if envelope["success"] == true {
        let used = envelope["result"]["budget"]["used_chars"].as_u64().unwrap();
        assert!(used <= envelope["result"]["budget"]["max_chars"].as_u64().unwrap(), "{envelope}");
    }
    envelope
}

/// Returns the code of a call that must fail. Its suggestions must be valid calls.
fn code(client: &mut Client, tool: &str, arguments: Value) -> String {
    let envelope = view(client, tool, arguments);
    assert!(!envelope["error"]["recovery"].as_str().unwrap().is_empty(), "{envelope}");
    for suggestion in envelope["suggestions"].as_array().unwrap() {
        assert_eq!(suggestion["validated"], true);
        if suggestion["action"] == "call_method" {
            let answer = client.ask(suggestion["method"].as_str().unwrap(), suggestion["params"].clone());
            assert!(answer.get("result").is_some(), "{suggestion}");
        } else {
            client.call(suggestion["target"].as_str().unwrap(), suggestion["params"].clone());
        }
    }
    envelope["error"]["code"].as_str().unwrap().to_owned()
}

#[test]
fn every_json_tool_is_there_under_its_name() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let mut client = Client::start(&sandbox);
    let tools = client.ask("tools/list", json!({"toolset": "full"}))["result"]["tools"].take();
    let names: Vec<&str> =
        tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    for tool in sandbox.json(&["tool"])["result"].as_array().unwrap() {
        let name = tool["name"].as_str().unwrap().replace('.', "_");
        assert!(names.contains(&name.as_str()), "{name}");
    }
    for tool in tools.as_array().unwrap() {
        let annotations = &tool["annotations"];
        assert_eq!(annotations["destructiveHint"] == true, tool["name"] == "beads_delete", "{tool}");
        assert!(tool["inputSchema"]["properties"]["max_chars"].is_object(), "{tool}");
    }
}

/// Adding or removing a dependency counts as a write to both beads.
#[test]
fn every_write_moves_the_revisions_of_the_beads_it_is_about() {
    both(|bd| {
        let (one, two) = (bd.create(&["one"]), bd.create(&["two"]));
        let mut client = Client::start(bd);
        let mut revisions = || {
            [&one, &two]
                .map(|id| view(&mut client, "beads_show", json!({"id": id}))["result"]["revision"].as_u64())
        };
        let mut before = revisions();
        for dependency in ["add", "remove"] {
            bd.json(&["dep", dependency, &one, &two]);
            let after = revisions();
            assert!(after[0] > before[0] && after[1] > before[1], "{dependency}: {before:?} {after:?}");
            before = after;
        }
        assert!(
            before.iter().all(|revision| revision.is_some_and(|revision| revision < 1 << 53)),
            "{before:?}"
        );
    });
}

#[test]
fn revisions_guard_writes() {
    both(|sandbox| {
        let id = sandbox.create(&["Contended"]);
        let mut client = Client::start(sandbox);
        let shown = view(&mut client, "beads_show", json!({"target": id}))["result"].take();
        assert_eq!(shown["qualified_id"], format!("repo:{id}"));
        assert_eq!((&shown["task_status"], &shown["task_priority"]), (&json!("TODO"), &json!("MEDIUM")));
        let revision = shown["revision"].clone();
        let write = json!({"target": {"id": id, "kind": "task"}, "title": "Mine", "status": "ACTIVE", "expected_revision": revision});
        let written = view(&mut client, "beads_update", write)["result"].take();
        assert_eq!((&written["title"], &written["status"]), (&json!("Mine"), &json!("in_progress")));
        assert!(written["revision"].as_u64() >= revision.as_u64());
        let late = json!({"id": id, "title": "Late", "expected_version": revision});
        assert_eq!(code(&mut client, "beads_update", late), "REVISION_MISMATCH");
        assert_eq!(sandbox.show(&id)["title"], "Mine");
    });
}

#[test]
fn beads_with_words_are_patched_and_guarded() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let id = sandbox.create(&["Worded"]);
    assert_eq!(sandbox.run(&["update", &id, "--status", "blocked"]).exit, Some(0));
    let mut client = Client::start(&sandbox);
    let shown = view(&mut client, "beads_show", json!({"target": id}))["result"].take();
    let write = json!({"target": id, "title": "Mine", "expected_revision": shown["revision"]});
    assert_eq!(view(&mut client, "beads_update", write)["result"]["title"], "Mine");
    let ops = json!([{"op": "set", "field": "title", "value": "Patched"}]);
    assert_eq!(
        view(&mut client, "beads_patch", json!({"target": id, "ops": ops}))["result"]["title"],
        "Patched"
    );
}

#[test]
fn both_spellings_of_status_and_priority_are_understood() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let (urgent, later) = (sandbox.create(&["Urgent", "-p", "1"]), sandbox.create(&["Later", "-p", "3"]));
    sandbox.json(&["close", &later]);
    let mut client = Client::start(&sandbox);
    let mut ids = |tool: &str, arguments: Value| -> Vec<String> {
        let items = view(&mut client, tool, arguments)["result"]["items"].take();
        items.as_array().unwrap().iter().map(|bead| bead["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids("beads_list", json!({"status": ["DONE"]})), [later.as_str()]);
    assert_eq!(
        ids("beads_list", json!({"status": ["TODO", "closed"], "priority_max": "MEDIUM"})),
        [urgent.as_str()]
    );
    let made = json!({"title": "New", "priority": "HIGH"});
    assert_eq!(view(&mut client, "beads_create", made)["result"]["priority"], 1);
    let claimed =
        view(&mut client, "beads_claim", json!({"next": {"priority_max": "HIGH"}}))["result"].take();
    assert_eq!((&claimed["task_status"], &claimed["task_priority"]), (&json!("ACTIVE"), &json!("HIGH")));
}

#[test]
fn patches_change_single_fields_all_or_none() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let id = sandbox.create(&["Patched", "-d", "One", "-l", "a"]);
    let mut client = Client::start(&sandbox);
    let ops = json!([
        {"op": "append", "field": "description", "value": "Two"},
        {"op": "append", "field": "labels", "value": "b"},
        {"op": "remove", "field": "labels", "value": "a"},
        {"op": "set", "field": "priority", "value": "LOW"},
    ]);
    view(&mut client, "beads_patch", json!({"target": id, "ops": ops}));
    let bead = sandbox.show(&id);
    assert_eq!(
        (&bead["description"], &bead["labels"], &bead["priority"]),
        (&json!("One\n\nTwo"), &json!(["b"]), &json!(3))
    );
    let bad = json!([{"op": "set", "field": "title", "value": "New"}, {"op": "unset", "field": "title"}]);
    assert_eq!(code(&mut client, "beads_patch", json!({"target": id, "ops": bad})), "INVALID_INPUT");
    assert_eq!(sandbox.show(&id)["title"], "Patched");
}

#[test]
fn targets_are_the_expected_beads() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let epic = sandbox.create(&["Plan", "-t", "epic", "--external-ref", "PLAN-007"]);
    let first = sandbox.create(&["First", "--parent", &epic]);
    let second = sandbox.create(&["Second", "--parent", &first]);
    let mut client = Client::start(&sandbox);
    let mut id = |arguments: Value| view(&mut client, "beads_show", arguments)["result"]["id"].take();
    assert_eq!(id(json!({"target": {"id": "PLAN-007", "kind": "plan"}})), json!(epic));
    assert_eq!(id(json!({"target": epic, "path": "s:0"})), json!(first));
    assert_eq!(id(json!({"target": epic, "path": "s:0.s:0"})), json!(second));
    assert_eq!(
        id(json!({"target": epic, "strict_targeting": true, "expected_target_id": "PLAN-007"})),
        json!(epic)
    );
    for (arguments, wanted) in [
        (json!({"target": epic, "path": "s:1"}), "UNKNOWN_ID"),
        (json!({"target": epic, "path": "first"}), "INVALID_INPUT"),
        (json!({"target": {"id": epic, "kind": "task"}}), "EXPECTED_TARGET_MISMATCH"),
        (json!({"target": epic, "expected_target_id": first}), "EXPECTED_TARGET_MISMATCH"),
        (json!({"target": epic, "strict_targeting": true}), "STRICT_TARGETING_REQUIRES_EXPECTED_TARGET_ID"),
        (json!({"target": "STEP-abcdef12"}), "UNKNOWN_ID"),
        (json!({"target": "NODE-abcdef12"}), "UNKNOWN_ID"),
        (json!({"target": epic, "workspace": "other"}), "UNKNOWN_WORKSPACE"),
        (json!({"target": 7}), "INVALID_INPUT"),
        (json!({"target": epic, "repo": "/"}), "INVALID_INPUT"),
    ] {
        assert_eq!(code(&mut client, "beads_show", arguments.clone()), wanted, "{arguments}");
    }
    let cycle = json!({"from": epic, "to": epic, "kind": "blocks"});
    let refused = code(&mut client, "beads_dep_add", cycle);
    assert!(["INVALID_INPUT", "CONFLICT"].contains(&refused.as_str()), "{refused}");
}

#[test]
fn budgets_and_pages() {
    let sandbox = Sandbox::new(Mode::Daemon);
    for number in 0..5 {
        sandbox.create(&[&format!("Bead {number}"), "-d", &"Long text. ".repeat(100)]);
    }
    let mut client = Client::start(&sandbox);
    for max_chars in [0, 100, 500, 3_000, 1_000_000] {
        let envelope = view(&mut client, "beads_list", json!({"max_chars": max_chars}));
        let mut result = envelope["result"].clone();
        let budget = result.as_object_mut().unwrap().remove("budget").unwrap();
        assert_eq!(json!(result.to_string().len()), budget["used_chars"]);
        assert_eq!(budget["truncated"] == true, max_chars < 1_000_000, "{envelope}");
        assert_eq!(envelope["warnings"].as_array().unwrap().is_empty(), max_chars == 1_000_000);
    }
    let page = view(&mut client, "beads_list", json!({"limit": 3}));
    assert_eq!(page["result"]["count"], 3);
    let more = &page["suggestions"][0];
    assert_eq!((&more["target"], &more["params"]), (&json!("beads_list"), &json!({"limit": 3, "offset": 3})));
    let rest = view(&mut client, "beads_list", more["params"].clone());
    assert_eq!(rest["result"]["count"], 2);
    assert_eq!(rest["result"].get("next_offset"), None);
}

#[test]
fn no_view_shows_secrets() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let id = sandbox.create(&["Key", "-d", "password=hunter2hunter2 and ghp_abcdefghijkl"]);
    let mut client = Client::start(&sandbox);
    let text = client.call("beads_show", json!({"id": id}));
    assert!(!text.contains("hunter2") && !text.contains("abcdefghijkl"), "{text}");
    assert!(sandbox.show(&id)["description"].as_str().unwrap().contains("hunter2"));
}

/// A page is shown without reading the whole store.
#[test]
fn lists_without_a_limit_ask_for_what_fits() {
    let sandbox = Sandbox::new(Mode::Daemon);
    let lines: String =
        (0..1_200).map(|n| format!("{}\n", json!({"id": format!("bd-n{n}"), "title": "needle"}))).collect();
    sandbox.run_with_input(&["import", "-"], lines.as_bytes()).succeeded("import");
    let mut client = Client::start(&sandbox);
    for (tool, arguments) in [
        ("beads_list", json!({})),
        ("beads_ready", json!({"limit": 0})),
        ("beads_search", json!({"query": "needle"})),
    ] {
        let envelope = view(&mut client, tool, arguments);
        let (count, next) = (&envelope["result"]["count"], &envelope["result"]["next_offset"]);
        assert!(count.as_u64().unwrap() < 600, "{tool} read {count} beads");
        assert!(next.as_u64().unwrap() > 0, "{tool}: {envelope}");
        let more = envelope["suggestions"][0]["params"].clone();
        assert_eq!(&more["offset"], next, "{tool}");
    }
}
