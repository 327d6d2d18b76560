//! Frames that `bd` itself never sends.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;

use serde_json::json;

use crate::sandbox::{Mode, Sandbox, is_alive, wait_until};
use crate::socket::Client;

fn serving() -> (Sandbox, u32) {
    let bd = Sandbox::new(Mode::Daemon);
    bd.create(&["x", "--id", "bd-1"]);
    let pid = bd.daemon_pid().unwrap();
    (bd, pid)
}

fn still_serves(bd: &Sandbox, pid: u32) {
    assert_eq!(bd.show("bd-1")["title"], "x");
    assert_eq!(bd.daemon_pid(), Some(pid), "the daemon was not replaced");
    assert_eq!(bd.json(&["list"]).as_array().unwrap().len(), 1);
}

#[test]
fn garbage_is_answered_and_the_connection_stays_open() {
    let (bd, pid) = serving();
    let mut client = Client::connect(&bd.socket()).unwrap();
    let unknown_field = r#"{"client":"1","actor":"a","call":"sync","colour":"red"}"#;
    let no_actor = r#"{"client":"1","actor":"","call":"sync"}"#;
    for garbage in ["nonsense", "", "{}", "[1,2]", "\u{1b}[31m", "{\"client\":1}", unknown_field, no_actor] {
        client.send(format!("{garbage}\n").as_bytes()).unwrap();
        let reply = client.receive().unwrap();
        assert_eq!(reply["error"]["code"], "invalid_request", "{garbage:?}");
        assert_ne!(reply["exit"], 0);
    }
    client.send(b"caf\xe9\n").unwrap();
    assert_eq!(client.receive().unwrap()["error"]["code"], "invalid_request");
    let reply = client.ask(&json!({"query": {"show": {"ids": ["bd-1"]}}})).unwrap();
    assert_eq!(reply["result"][0]["title"], "x");
    still_serves(&bd, pid);
}

#[test]
fn an_incomplete_line_is_not_a_request() {
    let (bd, pid) = serving();
    for half in ["{\"client\":\"1\"", "x", "{\"client\":\"0.9.0\",\"actor\":\"a\",\"call\":\"daemon_stop\"}"]
    {
        let mut client = Client::connect(&bd.socket()).unwrap();
        client.send(half.as_bytes()).unwrap();
        drop(client);
    }
    // A client that stops in the middle of a line does not delay others.
    let mut slow = Client::connect(&bd.socket()).unwrap();
    slow.send(b"{\"client\":").unwrap();
    still_serves(&bd, pid);
}

#[test]
fn a_frame_that_is_too_long_is_refused() {
    let (bd, pid) = serving();
    let mut client = Client::connect(&bd.socket()).unwrap();
    let chunk = vec![b'x'; 1024 * 1024];
    // The daemon may close the connection before the whole frame was sent.
    let sent = (0..17).map_while(|_| client.send(&chunk).ok()).count();
    assert!(sent >= 15, "{sent}");
    if let Some(reply) = client.receive() {
        assert_eq!(reply["error"]["code"], "too_large");
        assert!(client.receive().is_none(), "and the connection is closed");
    }
    still_serves(&bd, pid);
}

#[test]
fn several_requests_on_one_connection_are_answered_in_order() {
    let (bd, pid) = serving();
    let mut client = Client::connect(&bd.socket()).unwrap();
    let request = |n: usize| {
        let op = json!({"op": "update", "id": "bd-1", "priority": n % 5});
        let call = json!({"mutate": {"ops": [op]}});
        format!("{}\n", json!({"client": "0", "actor": "a", "call": call}))
    };
    let all: String = (0..20).map(request).collect();
    client.send(all.as_bytes()).unwrap();
    for n in 0..20 {
        assert_eq!(client.receive().unwrap()["result"]["priority"], n % 5);
    }
    still_serves(&bd, pid);
}

#[test]
fn an_older_daemon_exits_for_a_newer_client() {
    let (bd, pid) = serving();
    bd.json(&["note", "add", "bd-1", "not saved yet"]);
    let mut client = Client::connect(&bd.socket()).unwrap();
    client.version = "999.0.0";
    let op = json!({"op": "create", "title": "must not be taken by the old one"});
    let reply = client.mutate(&op).expect("it says why it exits");
    assert_eq!(reply["error"]["code"], "daemon_older");
    wait_until("the old daemon exits", || !is_alive(pid));
    assert_eq!(bd.show("bd-1")["notes"][0]["content"], "not saved yet");
    assert_ne!(bd.daemon_pid(), Some(pid));
    assert_eq!(bd.json(&["list"]).as_array().unwrap().len(), 1);
    // An older client is served.
    let mut client = Client::connect(&bd.socket()).unwrap();
    client.version = "0.0.1";
    assert_eq!(client.ask(&json!({"query": "status"})).unwrap()["exit"], 0);
}

#[test]
fn a_request_id_is_remembered_across_restarts() {
    let (bd, _) = serving();
    let request = json!({
        "client": "0", "actor": "a", "request_id": "once",
        "call": {"mutate": {"ops": [{"op": "create", "title": "only one of it"}]}},
    });
    let mut ids = Vec::new();
    for round in 0..3 {
        bd.show("bd-1");
        let mut client = Client::connect(&bd.socket()).unwrap();
        // The field has two names.
        let name = if round == 1 { "idempotency_key" } else { "request_id" };
        let request = request.to_string().replace("request_id", name);
        client.send(format!("{request}\n").as_bytes()).unwrap();
        ids.push(client.receive().unwrap()["result"]["id"].clone());
        match round {
            0 => crate::sandbox::kill(bd.daemon_pid().unwrap()),
            _ => drop(bd.text(&["daemon", "stop"])),
        }
    }
    assert!(ids.iter().all(|id| id.is_string() && *id == ids[0]), "{ids:?}");
    assert_eq!(bd.json(&["list"]).as_array().unwrap().len(), 2);
}

/// Answers given before the daemon was asked to stop reach their clients, even in the same batch.
#[test]
fn the_last_replies_are_delivered() {
    let (bd, pid) = serving();
    let mut clients: Vec<_> = (0..20).map(|_| Client::connect(&bd.socket()).unwrap()).collect();
    let ask = |call: serde_json::Value| format!("{}\n", json!({"client": "0", "actor": "a", "call": call}));
    for client in &mut clients {
        let op = json!({"op": "note_add", "id": "bd-1", "content": "n"});
        client.send(ask(json!({"mutate": {"ops": [op]}})).as_bytes()).unwrap();
    }
    let mut stopper = Client::connect(&bd.socket()).unwrap();
    stopper.send(ask(json!("daemon_stop")).as_bytes()).unwrap();
    assert_eq!(stopper.receive().expect("a reply to stop")["result"]["pid"], pid);
    let answered = clients.iter_mut().filter_map(Client::receive).filter(|reply| reply["exit"] == 0).count();
    wait_until("the daemon exits", || !is_alive(pid));
    let stored = bd.json(&["note", "list", "bd-1"]).as_array().unwrap().len();
    assert_eq!(stored, answered, "every applied write was acknowledged");
}

/// Returns a request for the rendered list, from a client of this version.
fn list(version: &str, format: &str) -> Vec<u8> {
    let output = json!({"format": format});
    format!(
        "{}\n",
        json!({"client": version, "actor": "a", "call": {"query": {"list": {}}}, "output": output})
    )
    .into_bytes()
}

#[test]
fn standard_output_follows_the_line_or_is_inside_it_for_an_older_client() {
    let (bd, _) = serving();
    // One output is short, the other too long for one chunk.
    for description in ["\"é\"\n".to_owned(), "line\n".repeat(20_000)] {
        bd.json(&["update", "bd-1", "--description", &description]);
        let printed = bd.text(&["list", "--json"]);
        assert!(printed.len() > description.len());
        let mut client = Client::connect(&bd.socket()).unwrap();
        for _ in 0..2 {
            client.send(&list(env!("CARGO_PKG_VERSION"), "json")).unwrap();
            let reply = client.receive().unwrap();
            assert!(reply.get("stdout").is_none());
            assert!(client.body(&reply) == printed.as_bytes());
        }
        client.send(&list("0.9.9", "json")).unwrap();
        let reply = client.receive().unwrap();
        assert!(reply["stdout"] == printed.as_str() && reply.get("body").is_none());
        client.send(&list(env!("CARGO_PKG_VERSION"), "value")).unwrap();
        let reply = client.receive().unwrap();
        assert_eq!(reply["result"][0]["id"], "bd-1", "a value is one line");
        assert!(reply.get("body").is_none());
    }
}

/// A daemon dies in the middle of a long answer.
#[test]
fn truncated_output_is_reported() {
    let (bd, pid) = serving();
    let socket = bd.socket();
    bd.text(&["daemon", "stop"]);
    wait_until("the daemon exits", || !is_alive(pid));
    let _ = std::fs::remove_file(&socket);
    // Clients talk only to the process that holds the lock.
    let lock = beads_store::StoreLock::try_take(&bd.dir().join(".git/beads/lock")).unwrap().unwrap();
    let listener = UnixListener::bind(&socket).unwrap();
    let daemon = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut stream = BufReader::new(stream);
        stream.read_line(&mut String::new()).unwrap();
        let head = json!({"position": 1, "exit": 0, "body": 300_000});
        stream.get_mut().write_all(format!("{head}\n{}", "x".repeat(200_000)).as_bytes()).unwrap();
    });
    let output = bd.run(&["list"]);
    daemon.join().unwrap();
    drop(lock);
    std::fs::remove_file(&socket).unwrap();
    assert_eq!(output.exit, Some(1), "{}", output.stderr);
    assert_eq!(output.stdout, "x".repeat(200_000));
    assert!(output.stderr.contains("incomplete"), "{}", output.stderr);
}
