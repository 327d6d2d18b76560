//! The cycle of a worker (claim, work, give back or hand over, close) on every interface.

use std::collections::BTreeSet;
use std::io::Write;
use std::time::Duration;

use beads::operations::TABLE;
use serde_json::{Value, json};

use crate::mcp::client::Client as Mcp;
use crate::sandbox::{ACTOR, Mode, Sandbox, both, wait_until};
use crate::socket::Client as Socket;

fn tool(bd: &Sandbox, actor: &str, name: &str, input: &Value) -> Value {
    let run = bd.run_with_input(&["--actor", actor, "tool", name, "--apply"], input.to_string().as_bytes());
    serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{name} {input}: {run:?}"))
}

fn socket(bd: &Sandbox, actor: &str) -> Socket {
    bd.text(&["status"]);
    let mut client = Socket::connect(&bd.socket()).unwrap();
    client.actor = actor.to_owned();
    client
}

fn mcp(bd: &Sandbox, actor: &str) -> Mcp {
    Mcp::start_with(bd.command(&["--actor", actor, "mcp"]))
}

#[test]
fn a_request_id_never_returns_a_claim_that_ended() {
    both(|bd| {
        let id = bd.create(&["a"]);
        let claim = ["--request-id", "r1", "claim", &id];
        let first = bd.json(&claim);
        assert_eq!(bd.json(&claim)["fence"], first["fence"], "a retry gets the first answer");
        bd.json(&["unclaim", &id]);
        assert_eq!(bd.error(&claim, "stale_claim")["details"]["holder"], Value::Null);
        bd.json_as("bob", &["claim", &id]);
        let refused = bd.error(&claim, "stale_claim");
        assert_eq!(refused["details"]["holder"], "bob", "{refused}");

        let other = bd.create(&["b"]);
        let next = ["--request-id", "r2", "claim", "--next"];
        assert_eq!(bd.json(&next)["id"], other);
        bd.json(&["close", &other]);
        bd.error(&next, "stale_claim");
    });
}

#[test]
fn a_claim_is_confirmed_on_every_interface_and_under_a_request_id() {
    both(|bd| {
        let ids: Vec<String> = (0..4).map(|n| bd.create(&[&format!("bead {n}")])).collect();
        let confirmed = bd.json(&["--request-id", "c1", "claim", &ids[0], "--confirm"]);
        assert_eq!(confirmed["confirmed_by"], Value::Null, "there is no remote");
        let again = bd.json(&["--request-id", "c1", "claim", &ids[0], "--confirm"]);
        assert_eq!(again["fence"], confirmed["fence"]);
        let by_tool =
            tool(bd, "tom", "beads.claim", &json!({"id": ids[1], "confirm": true, "idempotency_key": "k"}));
        assert_eq!(by_tool["ok"], true, "{by_tool}");
        assert!(by_tool["result"].as_object().unwrap().contains_key("confirmed_by"), "{by_tool}");
        let mut client = mcp(bd, "mia");
        let answer =
            client.ask("tools/call", json!({"name": "next", "arguments": {"id": ids[2], "confirm": true}}));
        let data = &answer["result"]["structuredContent"];
        assert!(data.as_object().unwrap().contains_key("confirmed_by"), "{answer}");
        client.finish();
    });
    let bd = Sandbox::new(Mode::Daemon);
    let id = bd.create(&["a"]);
    let claim = json!({"confirm": {"call": {"mutate": {"ops": [{"op": "claim", "id": id}]}}}});
    let answer = socket(&bd, "sue").ask(&claim).unwrap();
    assert!(answer["result"].as_object().unwrap().contains_key("confirmed_by"), "{answer}");
}

#[test]
fn a_lease_is_ended_by_its_holder_or_by_force_with_a_reason() {
    both(|bd| {
        let id = bd.create(&["a"]);
        bd.json_as("ann", &["claim", &id]);
        for assignee in ["bob", ""] {
            let refused = bd.error_as("bob", &["update", &id, "--assignee", assignee], "not_holder");
            assert_eq!(refused["details"]["holder"], "ann");
        }
        bd.error_as("bob", &["update", &id, "--status", "open"], "not_holder");
        for input in [json!({"id": id, "assignee": null}), json!({"id": id, "status": "closed"})] {
            let refused = tool(bd, "bob", "beads.update", &input);
            assert_eq!(refused["details"]["code"], "not_holder", "{refused}");
        }
        let refused = tool(bd, "bob", "beads.close", &json!({"id": id}));
        assert_eq!(refused["details"]["holder"], "ann", "{refused}");
        let mut client = mcp(bd, "bob");
        let refused = client.fail("done", json!({"id": id, "reason": "mine now"}));
        assert!(refused.contains("held by ann"), "{refused}");
        client.finish();
        let forced = ["update", &id, "--assignee", "bob", "--force", "--reason", "ann is on leave"];
        bd.json_as("bob", &forced);
        let now = bd.show(&id);
        assert_eq!((&now["status"], &now["assignee"]), (&json!("open"), &json!("bob")));
        assert_eq!(now["notes"][0]["content"], "ann is on leave");
        assert_eq!(bd.json_as("bob", &["claim", "--next"])["id"], id, "and bob finds it");
    });
}

#[test]
fn stuck_beads_are_listed_with_the_command_that_frees_them() {
    both(|bd| {
        let id = bd.create(&["a"]);
        bd.json(&["update", &id, "--status", "in_progress"]);
        bd.error_as("bob", &["claim", "--next"], "nothing_ready");
        let stuck = bd.json(&["status"])["stuck"].clone();
        assert_eq!(stuck, json!([id]));
        assert!(bd.text(&["doctor"]).contains(&format!("bd update {id} --status open")));
        assert!(bd.text(&["status"]).contains("bd update ID --status open"));
        bd.json(&["update", &id, "--status", "open"]);
        assert_eq!(bd.json(&["status"])["stuck"], json!([]));
        assert_eq!(bd.json_as("bob", &["claim", "--next"])["id"], id);
    });
}

#[test]
fn closing_a_bead_with_open_blockers_or_children_warns_people_and_refuses_programs() {
    both(|bd| {
        let (waits, blocker) = (bd.create(&["waits"]), bd.create(&["blocker"]));
        bd.json(&["dep", "add", &waits, &blocker]);
        let epic = bd.create(&["epic", "-t", "epic"]);
        let child = bd.create(&["child", "--parent", &epic]);
        let refused = tool(bd, "tom", "beads.close", &json!({"id": waits}));
        assert_eq!(refused["details"]["blocked_by"], json!([blocker]), "{refused}");
        let refused = tool(bd, "tom", "beads.close", &json!({"id": epic}));
        assert_eq!(refused["details"]["open_children"], json!([child]), "{refused}");
        let mut client = mcp(bd, "mia");
        let refused = client.fail("done", json!({"id": waits, "reason": "done"}));
        assert!(refused.contains(&blocker) && refused.starts_with("ERROR: CONFLICT"), "{refused}");
        let closed = client.call("done", json!({"id": waits, "reason": "done", "force": true}));
        assert!(closed.contains("DONE"), "{closed}");
        client.finish();
        bd.json_as("ann", &["claim", &epic]);
        let run = bd.run(&["--actor", "bob", "close", &epic]);
        assert_eq!(run.exit, Some(0), "{run:?}");
        assert!(run.stderr.contains("claimed by ann") && run.stderr.contains(&child), "{run:?}");
        let log = bd.text(&["log", &epic]);
        assert!(log.contains("ann") && log.contains("bob"), "{log}");
        let other = bd.create(&["again", "--deps", &blocker]);
        let run = bd.run(&["close", &other, "--force"]).succeeded("close");
        assert_eq!(run.stderr, format!("closed {other}: again\n"), "no warning");
    });
}

#[test]
fn two_agents_behind_one_mcp_server_do_not_close_each_others_beads() {
    let bd = Sandbox::new(Mode::Daemon);
    let ids: Vec<String> = (0..3).map(|n| bd.create(&[&format!("bead {n}"), "-p", &n.to_string()])).collect();
    let mut client = mcp(&bd, "mia");
    assert!(client.call("next", json!({"agent": "one"})).starts_with(&ids[0]));
    assert!(client.call("next", json!({"agent": "two"})).starts_with(&ids[1]));
    assert_eq!(bd.show(&ids[0])["assignee"], "mia/one");
    client.call("done", json!({"agent": "one", "reason": "done"}));
    assert_eq!(bd.show(&ids[0])["status"], "closed");
    assert_eq!(bd.show(&ids[1])["status"], "in_progress");
    let held = client.fail("next", json!({"agent": "two"}));
    assert!(held.contains(&ids[1]) && held.contains("more"), "{held}");
    assert!(client.call("next", json!({"agent": "two", "more": true})).starts_with(&ids[2]));
    for (tool, arguments) in
        [("done", json!({"agent": "two", "reason": "x"})), ("note", json!({"agent": "two", "text": "x"}))]
    {
        let refused = client.fail(tool, arguments);
        assert!(refused.contains(&ids[1]) && refused.contains(&ids[2]), "{refused}");
    }
    client.call("done", json!({"agent": "two", "id": ids[2], "reason": "done"}));
    client.call("note", json!({"agent": "two", "text": "only one is left"}));
    client.finish();
}

#[test]
fn a_claim_whose_reply_is_lost_is_given_back_unless_it_can_be_retried() {
    let bd = Sandbox::new(Mode::Daemon);
    let id = bd.create(&["a"]);
    let claim = |request_id: Option<&str>| {
        let mut request = json!({"client": env!("CARGO_PKG_VERSION"), "actor": "gone", "output": {"format": "value"},
            "call": {"mutate": {"ops": [{"op": "claim", "id": id}]}}});
        request["request_id"] = request_id.into();
        // Sends the request and disconnects without reading the reply.
        let mut stream = std::os::unix::net::UnixStream::connect(bd.socket()).unwrap();
        stream.write_all(format!("{request}\n").as_bytes()).unwrap();
        let mut byte = [0];
        std::io::Read::read_exact(&mut stream, &mut byte).unwrap();
    };
    claim(None);
    wait_until("the claim is given back", || bd.show(&id)["assignee"].is_null());
    assert!(bd.show(&id)["notes"][0]["content"].as_str().unwrap().contains("could not be delivered"));
    claim(Some("mine"));
    bd.text(&["status"]);
    assert_eq!(bd.show(&id)["assignee"], "gone", "kept for the retry");
}

#[test]
fn a_cancelled_next_leaves_no_claim_behind() {
    let bd = Sandbox::new(Mode::Daemon);
    let mut dice = 0x5eed_u64;
    let mut client = mcp(&bd, "mia");
    for round in 0..200 {
        let request = 1_000 + round;
        client.send(&json!({"jsonrpc": "2.0", "id": request, "method": "tools/call",
            "params": {"name": "next", "arguments": {"wait_s": 30, "more": true}}}));
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_micros((dice >> 40) % 8_000));
        let id = (round % 2 == 0).then(|| bd.create(&["work"]));
        client.notify("notifications/cancelled", json!({"requestId": request}));
        let id = id.unwrap_or_else(|| bd.create(&["work"]));
        // Either the claim was given back, or its answer was sent before the cancellation arrived.
        let mut answered = false;
        let mut pings = 0;
        while !answered && !bd.show(&id)["assignee"].is_null() {
            assert!(pings < 2_000, "round {round}: a claim is left without an answer");
            pings += 1;
            let ping = 1_000_000 + round * 10_000 + pings;
            client.send(&json!({"jsonrpc": "2.0", "id": ping, "method": "ping"}));
            loop {
                let message = client.receive().unwrap();
                answered |= message["id"] == request;
                if message["id"] == ping {
                    break;
                }
            }
        }
        bd.json(&["close", &id, "--force"]);
    }
    client.finish();
}

#[test]
fn a_server_whose_input_ends_while_it_waits_exits_at_once_and_claims_nothing() {
    let bd = Sandbox::new(Mode::Daemon);
    bd.text(&["status"]);
    let mut client = mcp(&bd, "mia");
    client.send(&json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": {"name": "next", "arguments": {"wait_s": 600}}}));
    client.ask("ping", json!({}));
    client.close_input();
    // A bead that is created while the server may still be shutting down.
    let id = bd.create(&["work"]);
    let answers = client.finish();
    let was_handed_out = answers.iter().any(|answer| answer["result"]["structuredContent"]["id"] == *id);
    assert!(was_handed_out || bd.show(&id)["assignee"].is_null(), "{answers:?}");
}

#[test]
fn a_worker_is_told_that_its_claim_ended() {
    let bd = Sandbox::new(Mode::Daemon);
    let ids: Vec<String> = (0..4).map(|n| bd.create(&[&format!("bead {n}")])).collect();
    let fences: Vec<String> = ids
        .iter()
        .map(|id| bd.json_as("ann", &["claim", id])["fence"].as_str().unwrap().to_owned())
        .collect();
    bd.error(&["watch", "--claim", &fences[0], "--until", "over", "--timeout", "0s"], "timeout");
    let waits = bd.command(&["watch", "--claim", &fences[0], "--until", "over", "--json"]).spawn().unwrap();
    bd.json_as("bob", &["close", &ids[0], "--reason", "not needed"]);
    let ended = crate::sandbox::Run::finish(waits).succeeded("watch").value();
    assert_eq!(ended["claim_over"]["reason"], "closed", "{ended}");
    assert_eq!(ended["claim_over"]["by"], "bob");
    bd.json_as("bob", &["unclaim", &ids[1], "--force", "--reason", "stale"]);
    bd.json_as("bob", &["update", &ids[2], "-a", "cy", "--force", "--reason", "urgent"]);
    bd.json_as("bob", &["delete", &ids[3]]);
    let over = |fence: &str| {
        let ended = bd.json(&["watch", "--claim", fence, "--until", "over"]);
        ended["claim_over"]["reason"].as_str().unwrap().to_owned()
    };
    assert_eq!([over(&fences[1]), over(&fences[2]), over(&fences[3])], ["released", "taken", "deleted"]);
    // The next answer to the worker says so, once.
    let answer = socket(&bd, "ann").ask(&json!({"query": "status"})).unwrap();
    let reported: BTreeSet<_> =
        answer["claim_over"].as_array().unwrap().iter().map(|over| over["fence"].as_str().unwrap()).collect();
    assert_eq!(reported, fences.iter().map(String::as_str).collect(), "{answer}");
    let answer = socket(&bd, "ann").ask(&json!({"query": "status"})).unwrap();
    assert_eq!(answer.get("claim_over"), None);
    let waited = socket(&bd, "ann")
        .ask(&json!({"wait": {"ms": 1, "call": {"query": {"claim_over": {"fence": fences[0]}}}}}));
    assert_eq!(waited.unwrap()["result"]["over"], true);
}

#[test]
fn an_mcp_client_is_notified_when_others_end_its_claim() {
    let bd = Sandbox::new(Mode::Daemon);
    let (lost, done) = (bd.create(&["lost", "-p", "0"]), bd.create(&["done", "-p", "1"]));
    let mut client = mcp(&bd, "mia");
    assert!(client.call("next", json!({})).starts_with(&lost));
    bd.json_as("bob", &["unclaim", &lost, "--force", "--reason", "another machine has it"]);
    let message = client.receive().unwrap();
    assert_eq!(message["method"], "notifications/message", "{message}");
    let over = &message["params"]["data"]["claim_over"];
    assert_eq!(
        (&over["id"], &over["reason"], &over["by"]),
        (&json!(lost), &json!("released"), &json!("bob"))
    );
    // A worker is not notified about claims it ends itself, and a client can turn notifications off.
    assert!(client.call("next", json!({"id": done})).starts_with(&done));
    client.call("done", json!({"reason": "done"}));
    assert_eq!(client.ask("logging/setLevel", json!({"level": "error"}))["result"], json!({}));
    assert!(client.ask("logging/setLevel", json!({"level": "loud"}))["error"]["code"].is_i64());
    client.call("next", json!({"id": lost}));
    bd.json_as("bob", &["delete", &lost, "--force"]);
    client.send(&json!({"jsonrpc": "2.0", "id": "last", "method": "ping"}));
    assert_eq!(client.receive().unwrap()["id"], "last");
    client.finish();
}

#[test]
fn the_next_bead_comes_in_the_order_asked_for() {
    both(|bd| {
        let (oldest, urgent) = (bd.create(&["old", "-p", "3"]), bd.create(&["urgent", "-p", "0"]));
        let deep = bd.create(&["deep", "-p", "0"]);
        bd.create(&["behind", "--deps", &deep]);
        for (order, first) in
            [("oldest", &oldest), ("priority", &urgent), ("impact", &deep), ("hybrid", &urgent)]
        {
            let claimed = bd.json(&["claim", "--next", "--sort", order]);
            assert_eq!(claimed["id"], *first, "{order}");
            assert_ne!(bd.ids(&["ready", "--sort", order]).first(), Some(first));
            bd.json(&["unclaim", first]);
            assert_eq!(bd.ids(&["ready", "--sort", order]).first(), Some(first), "{order}");
        }
        bd.error(&["claim", "--next", "--sort", "title"], "invalid_value");
    });
}

/// Everything a worker needs, on every interface (issue 22).
#[test]
fn the_cycle_is_the_same_on_every_interface() {
    let bd = Sandbox::new(Mode::Daemon);
    let fresh = |title: &str| bd.create(&[title]);

    // Wait for work: the wait ends when a bead is ready or when the time is up.
    bd.error(&["claim", "--next", "--wait", "1ms"], "nothing_ready");
    let waited = tool(&bd, "tom", "beads.claim", &json!({"wait_ms": 1}));
    assert_eq!(waited["details"]["code"], "nothing_ready", "{waited}");
    let mut client = mcp(&bd, "mia");
    let mut line = socket(&bd, "sue");
    let next = json!({"mutate": {"ops": [{"op": "claim_next"}]}});
    let none = line.ask(&json!({"wait": {"ms": 1, "call": next}})).unwrap();
    assert_eq!(none["error"]["code"], "nothing_ready", "{none}");
    client.send(&json!({"jsonrpc": "2.0", "id": 1_000, "method": "tools/call",
        "params": {"name": "next", "arguments": {"wait_s": 60}}}));
    let awaited = fresh("awaited");
    let answer = std::iter::from_fn(|| client.receive()).find(|message| message["id"] == 1_000).unwrap();
    assert_eq!(answer["result"]["structuredContent"]["id"], *awaited, "{answer}");
    client.call("done", json!({"reason": "done"}));

    // Claim: the structured answer has a fence, and a retry with the same request id gets the same answer.
    let (a, b, c, d) = (fresh("cli"), fresh("tool"), fresh("mcp"), fresh("socket"));
    let cli = bd.json(&["--request-id", "q", "claim", &a]);
    assert_eq!(bd.json(&["--request-id", "q", "claim", &a])["fence"], cli["fence"]);
    let claim = json!({"id": b, "idempotency_key": "q2"});
    let by_tool = tool(&bd, "tom", "beads.claim", &claim)["result"].clone();
    assert_eq!(tool(&bd, "tom", "beads.claim", &claim)["result"]["fence"], by_tool["fence"]);
    let data = |client: &mut Mcp, tool: &str, arguments: Value| {
        let answer = client.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        answer["result"]["structuredContent"].clone()
    };
    let by_mcp = data(&mut client, "next", json!({"id": c, "request_id": "q3"}));
    assert_eq!(data(&mut client, "next", json!({"id": c, "request_id": "q3"}))["fence"], by_mcp["fence"]);
    let request = json!({
        "client": env!("CARGO_PKG_VERSION"), "actor": "sue", "request_id": "q4",
        "call": {"mutate": {"ops": [{"op": "claim", "id": d}]}}, "output": {"format": "value"},
    });
    let mut claim = || {
        line.send(format!("{request}\n").as_bytes()).unwrap();
        line.receive().unwrap()["result"].clone()
    };
    let one = claim();
    assert_eq!(claim()["fence"], one["fence"]);
    for claimed in [&cli, &by_tool, &by_mcp, &one] {
        assert!(claimed["fence"].is_string(), "{claimed}");
    }

    // A note with the right fence is added; with another fence it is refused.
    let wrong = "1.1";
    bd.error(&["note", "add", &a, "x", "--fence", wrong], "stale_claim");
    let refused = tool(&bd, "tom", "beads.note_add", &json!({"id": b, "content": "x", "fence": wrong}));
    assert_eq!(refused["details"]["code"], "stale_claim", "{refused}");
    client.fail("note", json!({"text": "x", "fence": wrong}));
    let refused = line.mutate(&json!({"op": "note_add", "id": d, "content": "x", "fence": wrong})).unwrap();
    assert_eq!(refused["error"]["code"], "stale_claim", "{refused}");
    let note = json!({"text": "once", "fence": by_mcp["fence"], "request_id": "n1"});
    data(&mut client, "note", note.clone());
    data(&mut client, "note", note);
    assert_eq!(bd.show(&c)["notes"].as_array().unwrap().len(), 1, "a retry is not noted twice");

    // Give the bead back.
    bd.json(&["unclaim", &a, "--fence", cli["fence"].as_str().unwrap()]);
    let back = tool(&bd, "tom", "beads.unclaim", &json!({"id": b, "fence": by_tool["fence"]}));
    assert_eq!(back["result"]["status"], "open", "{back}");
    let back = data(
        &mut client,
        "done",
        json!({"reason": "no time", "outcome": "release", "fence": by_mcp["fence"]}),
    );
    assert_eq!(back["released"]["assignee"], Value::Null, "{back}");
    line.mutate(&json!({"op": "unclaim", "id": d})).unwrap();
    for id in [&a, &b, &c, &d] {
        assert_eq!(bd.show(id)["status"], "open");
    }

    // Close it.
    bd.json(&["close", &a]);
    tool(&bd, "tom", "beads.close", &json!({"id": b}));
    let closed = data(&mut client, "done", json!({"id": c, "reason": "done"}));
    assert_eq!(closed["closed"][0]["status"], "closed", "{closed}");
    line.mutate(&json!({"op": "close", "id": d})).unwrap();
    assert_eq!(bd.json(&["status"])["summary"]["closed_issues"], 5);

    // Create a bead.
    let open = || bd.json(&["status"])["summary"]["open_issues"].clone();
    assert_eq!(open(), 0);
    fresh("by the command line");
    tool(&bd, "tom", "beads.create", &json!({"title": "by a tool"}));
    data(&mut client, "make", json!({"title": "by mcp"}));
    line.mutate(&json!({"op": "create", "title": "by the socket"})).unwrap();
    assert_eq!(open(), 4);

    let everywhere =
        TABLE.iter().filter(|row| row.tool.is_some() && row.portal.is_some() && !row.ops.is_empty());
    let everywhere: Vec<_> = everywhere.map(|row| row.verb).collect();
    assert_eq!(
        everywhere,
        ["create", "claim", "close", "note"],
        "this test must try what every interface has"
    );
    client.finish();
    assert_ne!(ACTOR, "tom");
}

#[test]
fn a_watch_does_not_start_a_daemon_that_was_stopped() {
    let bd = Sandbox::new(Mode::Daemon);
    bd.create(&["before"]);
    let mut watch = bd.command(&["watch", "--since", "0", "--json"]).spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(watch.stdout.take().unwrap()));
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    assert_eq!(next()["title"], "before");
    let pid = bd.daemon_pid().unwrap();
    bd.text(&["daemon", "stop"]);
    wait_until("the daemon exits", || !crate::sandbox::is_alive(pid));
    bd.text(&["--no-daemon", "create", "after"]);
    assert_eq!(next()["title"], "after", "the watch continues without a daemon");
    assert_eq!(bd.daemon_pid(), None);
    watch.kill().unwrap();
    watch.wait().unwrap();
}

#[test]
fn a_cancelled_bead_stays_cancelled_until_it_is_reopened() {
    both(|bd| {
        bd.run(&["migrate"]);
        let id = bd.create(&["a"]);
        let claimed = bd.json_as("ann", &["claim", &id]);
        bd.error(&["cancel", &id], "usage");
        let cancelled = bd.json(&["cancel", &id, "--reason", "the feature was dropped"])[0].clone();
        assert_eq!((&cancelled["status"], &cancelled["state"]), (&json!("closed"), &json!("cancelled")));
        let fence = claimed["fence"].as_str().unwrap();
        for close in [&["close", &id][..], &["close", &id, "--fence", fence], &["close", &id, "--force"]] {
            let refused = bd.error_as("ann", close, "cancelled");
            assert_eq!(refused["details"]["reason"], "the feature was dropped");
        }
        bd.error_as("ann", &["update", &id, "--status", "closed"], "cancelled");
        let refused = tool(bd, "ann", "beads.close", &json!({"id": id, "force": true}));
        assert_eq!(refused["details"]["code"], "cancelled", "{refused}");
        let mut client = mcp(bd, "ann");
        assert!(client.fail("done", json!({"id": id, "reason": "x"})).contains("dropped"));
        client.finish();
        bd.json(&["reopen", &id]);
        bd.json(&["close", &id]);
        assert_eq!(bd.show(&id)["state"], Value::Null);
        let other = bd.create(&["b"]);
        let by_tool = tool(bd, "tom", "beads.cancel", &json!({"id": other, "reason": "no"}));
        assert_eq!(by_tool["result"]["state"], "cancelled", "{by_tool}");
    });
}

/// A worker closes a bead before it hears that the bead was cancelled. One of the two writes wins, and the
/// other is kept as a conflict.
#[test]
fn a_close_on_another_machine_does_not_overwrite_a_cancellation_silently() {
    let remote = crate::sync::Remote::new();
    let (one, two) = (remote.replica(Mode::Embedded), remote.replica(Mode::Embedded));
    one.run(&["migrate"]);
    let id = one.create(&["a"]);
    one.run(&["sync"]);
    two.run(&["sync"]);
    one.json(&["cancel", &id, "--reason", "the feature was dropped"]);
    two.json(&["close", &id, "--reason", "done"]);
    one.run(&["sync"]);
    two.run(&["sync"]);
    one.run(&["sync"]);
    let conflicts = [&one, &two].map(|bd| bd.text(&["conflicts", "list"]));
    assert!(conflicts.iter().any(|text| text.contains(&id)), "{conflicts:?}");
    assert_eq!(one.show(&id)["state"], two.show(&id)["state"]);
    // If the cancellation arrives first, closing is refused.
    let other = one.create(&["b"]);
    one.json(&["cancel", &other, "--reason", "no"]);
    one.run(&["sync"]);
    two.run(&["sync"]);
    two.error(&["close", &other], "cancelled");
}

#[test]
fn a_bead_that_is_handed_over_goes_to_that_agent_first_and_then_to_anyone() {
    both(|bd| {
        bd.run(&["migrate"]);
        let (urgent, id) = (bd.create(&["urgent", "-p", "0"]), bd.create(&["a", "-p", "3"]));
        bd.json_as("ann", &["claim", &id]);
        bd.error_as("eve", &["handover", &id, "--to", "bob"], "not_holder");
        bd.json_as("ann", &["handover", &id, "--to", "bob", "-m", "the tests are missing"]);
        assert!(bd.text(&["show", &id]).contains("offered to @bob until "), "an offer is not a claim yet");
        assert_eq!(bd.show(&id)["offered"], true);
        bd.error_as("eve", &["claim", &id], "already_claimed");
        let taken = bd.json_as("bob", &["claim", "--next"]);
        assert_eq!((&taken["id"], &taken["renewed"]), (&json!(id), &json!(false)), "before {urgent}");
        assert_eq!(taken["brief"]["notes"][0]["content"], "the tests are missing");
        assert_eq!(taken["offered"], Value::Null);
        bd.json_as("bob", &["handover", &id, "--to", "cy", "--within", "1ms"]);
        wait_until("the offer runs out", || bd.ids(&["ready"]).contains(&id));
        assert_eq!(bd.json_as("eve", &["claim", &id])["assignee"], "eve");
        let offered = tool(bd, "eve", "beads.handover", &json!({"id": id, "to": "mia", "text": "yours"}));
        assert_eq!(offered["result"]["offered"], true, "{offered}");
        let mut client = mcp(bd, "mia");
        let brief = client.call("next", json!({}));
        assert!(brief.starts_with(&id) && brief.contains("yours"), "{brief}");
        client.call("done", json!({"reason": "go on", "outcome": "to:ann"}));
        assert_eq!(bd.show(&id)["assignee"], "ann");
        client.finish();
        assert_eq!(bd.json_as("ann", &["claim", "--next"])["id"], id);
        if bd.daemon_pid().is_some() {
            let over = json!({"op": "hand_over", "id": id, "to": "sue", "text": "the last step"});
            let offered = socket(bd, "ann").mutate(&over).unwrap();
            assert_eq!(offered["result"]["offered"], true, "{offered}");
            let next = socket(bd, "sue").mutate(&json!({"op": "claim_next"})).unwrap()["result"].clone();
            assert_eq!((&next["id"], &next["assignee"]), (&json!(id), &json!("sue")), "{next}");
        }
    });
}

#[test]
fn evidence_is_kept_and_can_be_required() {
    both(|bd| {
        bd.run(&["migrate"]);
        let head = bd.repository().head().unwrap().peel_to_commit().unwrap().id().to_string();
        let id = bd.create(&["a"]);
        bd.error(&["close", &id, "--evidence", "commit:0123456789abcdef"], "invalid_value");
        bd.error(&["close", &id, "--evidence", "said:so"], "invalid_value");
        let commit = format!("commit:{head}");
        bd.json(&["close", &id, "--evidence", &commit, "--evidence", "cmd:cargo test"]);
        let notes = bd.show(&id)["notes"].clone();
        let kinds: Vec<_> = notes.as_array().unwrap().iter().map(|note| note["kind"].clone()).collect();
        assert_eq!(kinds, ["evidence", "evidence"], "{notes}");
        assert!(
            bd.text(&["show", &id]).contains(&commit) && bd.text(&["log", &id]).contains("cmd:cargo test")
        );
        let other = bd.create(&["b"]);
        bd.run(&["config", "set", "close.require_evidence", "require"]);
        bd.error(&["close", &other], "evidence_required");
        let done =
            tool(bd, "tom", "beads.close", &json!({"id": other, "evidence": ["url:https://x.example/1"]}));
        assert_eq!(done["ok"], true, "{done}");
        bd.error(&["config", "set", "close.check", "perhaps"], "invalid_value");
        bd.run(&["config", "set", "close.check", "refuse"]);
        let blocker = bd.create(&["blocker"]);
        let waits = bd.create(&["waits", "--deps", &blocker]);
        bd.error(&["close", &waits, "--evidence", "cmd:true"], "blocked");
    });
}
