use serde_json::{Value, json};

use super::client::Client;
use crate::sandbox::{Mode, Sandbox, both};

/// Returns the metadata of a request in revision 2026-07-28.
fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "robot", "version": "1"},
    })
}

#[test]
fn a_handshake_in_each_revision() {
    let sandbox = Sandbox::new(Mode::Embedded);
    for version in ["2025-11-25", "2025-06-18", "2024-11-05"] {
        let mut client = Client::spawn(sandbox.command(&["mcp"]));
        let hello = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
        let answer = client.ask("initialize", hello)["result"].take();
        assert_eq!(answer["protocolVersion"], version);
        assert_eq!(answer["serverInfo"]["name"], "beads");
        assert_eq!(answer["capabilities"], json!({"tools": {}, "logging": {}}));
        assert_eq!(answer["instructions"].as_str().unwrap().matches(". ").count(), 1, "two sentences");
        assert!(answer.get("resultType").is_none());
        assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
        assert!(client.ask("tools/list", json!({}))["result"].get("ttlMs").is_none());
        assert!(client.finish().is_empty());
    }
}

#[test]
fn without_a_handshake_each_request_is_independent() {
    both(|sandbox| {
        let mut client = Client::spawn(sandbox.command(&["mcp"]));
        let found = client.ask("server/discover", json!({"_meta": meta()}))["result"].take();
        assert_eq!(found["resultType"], "complete");
        assert_eq!(
            found["supportedVersions"],
            json!(["2026-07-28", "2025-11-25", "2025-06-18", "2024-11-05"])
        );
        assert_eq!(found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "beads");
        let tools = client.ask("tools/list", json!({"_meta": meta()}))["result"].take();
        assert_eq!((&tools["ttlMs"], &tools["cacheScope"]), (&json!(0), &json!("private")));
        let call = json!({"_meta": meta(), "name": "make", "arguments": {"title": "Stateless"}});
        let made = client.ask("tools/call", call)["result"].take();
        assert_eq!(made["resultType"], "complete");
        assert!(made["content"][0]["text"].as_str().unwrap().starts_with("made bd-"), "{made}");
        for removed in ["ping", "initialize"] {
            let params = json!({"_meta": meta(), "protocolVersion": "2025-11-25", "capabilities": {}});
            assert_eq!(client.ask(removed, params)["error"]["code"], -32601, "{removed}");
        }
    });
}

#[test]
fn an_unknown_revision_is_refused_with_the_supported_ones() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let mut client = Client::spawn(sandbox.command(&["mcp"]));
    let mut later = meta();
    later["io.modelcontextprotocol/protocolVersion"] = json!("2031-01-01");
    let error = client.ask("tools/list", json!({"_meta": later}))["error"].take();
    assert_eq!(error["code"], -32022);
    assert_eq!(error["data"]["supported"][0], "2026-07-28");
    let mut bare = meta();
    bare.as_object_mut().unwrap().remove("io.modelcontextprotocol/clientCapabilities");
    assert_eq!(client.ask("tools/list", json!({"_meta": bare}))["error"]["code"], -32602);
}

#[test]
fn a_subscription_is_acknowledged_and_ends_with_the_server_or_when_cancelled() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let mut client = Client::spawn(sandbox.command(&["mcp"]));
    for id in ["stays", "goes"] {
        let params = json!({"_meta": meta(), "notifications": {"toolsListChanged": true}});
        client.send(&json!({"jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params}));
        let acknowledged = client.receive().unwrap();
        assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
        assert_eq!(acknowledged["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
        assert_eq!(acknowledged["params"]["notifications"], json!({}), "the list of tools never changes");
    }
    client.notify("notifications/cancelled", json!({"requestId": "goes"}));
    let rest = client.finish();
    assert_eq!(rest.len(), 1, "{rest:?}");
    assert_eq!((&rest[0]["id"], &rest[0]["result"]["resultType"]), (&json!("stays"), &json!("complete")));
}

#[test]
fn requests_read_before_the_end_of_input_are_answered() {
    both(|sandbox| {
        let mut client = Client::start(sandbox);
        for id in 100..120 {
            let params = json!({"name": "make", "arguments": {"title": format!("Bead {id}")}});
            client.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
        }
        let answers = client.finish();
        let ids: Vec<u64> = answers.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
        assert_eq!(ids, (100..120).collect::<Vec<_>>(), "in order, and all of them");
        assert_eq!(sandbox.ids(&["list"]).len(), 20);
    });
}

#[test]
fn nonsense_is_refused_and_the_connection_stays() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let mut client = Client::start(&sandbox);
    client.send(&json!([1, 2]));
    assert_eq!(client.receive().unwrap()["error"]["code"], -32600);
    assert_eq!(client.ask("resources/list", json!({}))["error"]["code"], -32601);
    assert_eq!(client.ask("tools/call", json!({"name": "rm"}))["error"]["code"], -32602);
    assert_eq!(client.ask("tools/call", json!({"name": "next", "arguments": 3}))["error"]["code"], -32602);
    assert_eq!(client.ask("tools/list", json!({"toolset": "huge"}))["error"]["code"], -32602);
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
}

#[test]
fn toolsets_by_flag_and_by_request() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let names = |client: &mut Client, params: Value| -> Vec<String> {
        let tools = client.ask("tools/list", params)["result"]["tools"].take();
        tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    let mut client = Client::start_with(sandbox.command(&["mcp", "--toolset", "core"]));
    assert_eq!(names(&mut client, json!({})), ["status", "next", "done"]);
    let daily = ["status", "next", "done", "note", "make", "mail"];
    assert_eq!(names(&mut client, json!({"toolset": "daily"})), daily);
    assert_eq!(names(&mut Client::start(&sandbox), json!({})), daily);
    let tools = client.ask("tools/list", json!({"toolset": "daily"}))["result"]["tools"].take();
    for tool in tools.as_array().unwrap() {
        let read_only = tool["name"] == "status";
        assert_eq!(tool["annotations"].get("readOnlyHint").is_some(), read_only, "{tool}");
        assert_eq!(tool["inputSchema"]["type"], "object");
        assert!(!tool["description"].as_str().unwrap().is_empty());
    }
}

#[test]
fn a_long_wait_shows_progress_and_does_not_delay_others() {
    let sandbox = Sandbox::new(Mode::Daemon);
    let mut client = Client::start(&sandbox);
    let params = json!({"name": "next", "arguments": {"wait_s": 600}, "_meta": {"progressToken": "p"}});
    client.send(&json!({"jsonrpc": "2.0", "id": "wait", "method": "tools/call", "params": params}));
    let progress = client.receive().unwrap();
    assert_eq!(progress["method"], "notifications/progress", "{progress}");
    assert_eq!(
        (&progress["params"]["progressToken"], &progress["params"]["total"]),
        (&json!("p"), &json!(600))
    );
    client.send(&json!({"jsonrpc": "2.0", "id": "make", "method": "tools/call",
        "params": {"name": "make", "arguments": {"title": "At last"}}}));
    let mut answers = Vec::new();
    while answers.len() < 2 {
        let message = client.receive().unwrap();
        if message.get("id").is_some() {
            answers.push(message);
        }
    }
    answers.sort_by_key(|answer| answer["id"].to_string());
    let claimed = answers[1]["result"]["content"][0]["text"].as_str().unwrap();
    assert!(claimed.contains("At last ACTIVE"), "{claimed}");
}

#[test]
fn a_sync_shows_progress_on_request() {
    let sandbox = Sandbox::new(Mode::Embedded);
    sandbox.create(&["Something"]);
    let mut client = Client::start(&sandbox);
    let call = |token: Option<u64>| {
        let mut params = json!({"name": "beads_sync", "arguments": {}});
        if let Some(token) = token {
            params["_meta"] = json!({"progressToken": token});
        }
        params
    };
    client.send(&json!({"jsonrpc": "2.0", "id": "sync", "method": "tools/call", "params": call(Some(7))}));
    let mut progress = Vec::new();
    loop {
        let message = client.receive().unwrap();
        if message.get("id").is_some() {
            break;
        }
        assert_eq!(message["params"]["progressToken"], 7, "{message}");
        progress.push(message["params"]["progress"].as_u64().unwrap());
    }
    assert!(!progress.is_empty() && progress.is_sorted(), "{progress:?}");
    assert!(
        client.ask("tools/call", call(None))["result"].get("isError").is_none(),
        "and nothing in between"
    );
}

#[test]
fn a_cancelled_call_claims_nothing_and_is_not_answered() {
    let sandbox = Sandbox::new(Mode::Daemon);
    let mut client = Client::start(&sandbox);
    let params = json!({"name": "next", "arguments": {"wait_s": 600}, "_meta": {"progressToken": 1}});
    client.send(&json!({"jsonrpc": "2.0", "id": "wait", "method": "tools/call", "params": params}));
    assert_eq!(client.receive().unwrap()["method"], "notifications/progress");
    client.notify("notifications/cancelled", json!({"requestId": "wait"}));
    // A waiting call notices the cancellation within a time slice; one more progress message may already be
    // on its way.
    let rest = client.finish();
    assert!(rest.iter().all(|message| message.get("id").is_none()), "{rest:?}");
    let bead = sandbox.create(&["Nobody's"]);
    assert_eq!(sandbox.show(&bead)["status"], "open");
}

#[test]
fn waiting_calls_are_answered_soon_after_the_input_ends() {
    let sandbox = Sandbox::new(Mode::Daemon);
    sandbox.create(&["Blocked by nothing", "--defer", "2090-01-01"]);
    let mut client = Client::start(&sandbox);
    for (id, name, arguments) in [
        ("next", "next", json!({"wait_s": 600})),
        (
            "watch",
            "beads_watch",
            json!({"since": sandbox.json(&["status"])["cursor"], "timeout_ms": 600_000}),
        ),
    ] {
        let params = json!({"name": name, "arguments": arguments});
        client.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
    }
    let mut answered: Vec<String> =
        client.finish().iter().filter_map(|message| message["id"].as_str().map(str::to_owned)).collect();
    answered.sort();
    assert_eq!(answered, ["next", "watch"]);
}

/// Claude Code and Codex show their model the structured data of an answer instead of its text, so they get
/// the text alone.
#[test]
fn clients_that_would_hide_the_text_get_no_structured_data() {
    let sandbox = Sandbox::new(Mode::Embedded);
    let bead = sandbox.create(&["Work"]);
    for (name, has_data) in [("claude-code", false), ("codex-mcp-client", false), ("robot", true)] {
        let mut client = Client::spawn(sandbox.command(&["mcp"]));
        let info = json!({"name": name, "version": "1"});
        client.ask(
            "initialize",
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}),
        );
        for arguments in [json!({"id": bead}), json!({"id": "bd-nowhere"})] {
            let answer =
                client.ask("tools/call", json!({"name": "next", "arguments": arguments}))["result"].take();
            assert!(!answer["content"][0]["text"].as_str().unwrap().is_empty());
            assert_eq!(answer.get("structuredContent").is_some(), has_data, "{name}: {answer}");
        }
    }
    // The same for a client that identifies itself in each request.
    let mut client = Client::spawn(sandbox.command(&["mcp"]));
    let mut meta = meta();
    meta["io.modelcontextprotocol/clientInfo"]["name"] = json!("claude-code");
    let answer = client.ask("tools/call", json!({"name": "status", "arguments": {}, "_meta": meta}));
    assert!(answer["result"].get("structuredContent").is_none(), "{answer}");
}
