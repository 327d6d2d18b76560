//! Command lines that a client forwards to the daemon instead of parsing them.

use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixListener;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::sandbox::{Mode, Run, Sandbox, both, is_alive, wait_until};
use crate::socket::Client;

/// An option without effect here, which makes the client parse the command line itself.
const PARSED_BY_CLIENT: [&str; 2] = ["--lock-timeout", "30s"];

/// Creates two stores with the same beads, for commands that change something.
fn two_equal_stores() -> [Sandbox; 2] {
    [(); 2].map(|()| {
        let bd = Sandbox::new(Mode::Daemon);
        bd.create(&["one", "--id", "bd-1", "--labels", "red"]);
        bd.create(&["two", "--id", "bd-2", "--deps", "bd-1"]);
        bd
    })
}

/// Removes words that differ between any two runs: times, and digests of them.
fn without_times(text: &str) -> String {
    let is_moment = |word: &str| word.len() == 24 && word.ends_with('Z') && word.as_bytes()[10] == b'T';
    let is_digest = |word: &str| word.len() == 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let stable = |word: &&str| !is_moment(word) && !is_digest(word);
    text.split([' ', '"', '\n', ',', '(', ')']).filter(stable).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_forwarded_command_line_has_the_same_result() {
    let [short, long] = two_equal_stores();
    for args in [
        "show bd-1",
        "show bd-1 --json",
        "show bd-1 --json=compat",
        "list --sort id",
        "list --json --label red",
        "list --no-auto-flush --json",
        "--json ready",
        "ready --limit 1",
        "blocked -q",
        "update bd-1 --title uno --actor ann",
        "update bd-1 -p 9",
        "update bd-1",
        "claim bd-1 --actor bob",
        "claim bd-1 --actor ann --json",
        "note add bd-1 so it goes",
        "note list bd-1",
        "label list-all --json",
        "dep add bd-1 bd-2",
        "dep tree bd-2",
        "create three --id bd-3 --silent",
        "create three --id bd-3 --json",
        "close bd-1 --reason done --actor bob",
        "count --json",
        "status --nonsense",
        "show",
        "show nope --json",
        "lost",
    ] {
        let args: Vec<&str> = args.split(' ').collect();
        let (forwarded, parsed) =
            (short.run(&args), long.run(&[args.as_slice(), &PARSED_BY_CLIENT].concat()));
        assert_eq!(forwarded.exit, parsed.exit, "{args:?}");
        assert_eq!(without_times(&forwarded.stdout), without_times(&parsed.stdout), "{args:?}");
        assert_eq!(without_times(&forwarded.stderr), without_times(&parsed.stderr), "{args:?}");
    }
}

#[test]
fn the_daemon_refuses_command_lines_that_need_the_client() {
    let bd = Sandbox::new(Mode::Daemon);
    bd.create(&["one", "--id", "bd-1"]);
    let file = bd.root().join("text");
    std::fs::write(&file, "from a file").unwrap();
    let at = format!("@{}", file.display());
    bd.run_with_input(&["update", "bd-1", "-d", "-"], b"from the input").succeeded("-d -");
    assert_eq!(bd.show("bd-1")["description"], "from the input");
    bd.json(&["update", "bd-1", "--design", &at]);
    assert_eq!(bd.show("bd-1")["design"], "from a file");

    let mut client = Client::connect(&bd.socket()).unwrap();
    for args in [
        json!(["update", "bd-1", "--description=-"]),
        json!(["update", "bd-1", "--design", at]),
        json!(["create", "x", "--body-file", file]),
        json!(["create", "--graph", "-"]),
        json!(["-C", "/", "list"]),
        json!(["list", "--db", "/nowhere/beads.db"]),
        json!(["ready", "--wait", "10s"]),
        json!(["claim", "--next", "--wait", "1s"]),
        json!(["show", "bd-1", "--verbose"]),
        json!(["sync"]),
        json!(["daemon", "stop"]),
        json!(["show"]),
        json!([]),
    ] {
        let reply = client.ask(&json!({"words": args})).unwrap();
        assert_eq!(reply["error"]["code"], "not_read", "{args}: {reply}");
    }
    let reply = client.ask(&json!({"words": ["show", "bd-1", "--json"]})).unwrap();
    let printed = String::from_utf8(client.body(&reply)).unwrap();
    assert!(printed.contains("from a file"), "{printed}");
}

/// A daemon started in the store's directory, or with the variables that name it, must not connect to itself
/// and wait forever.
#[test]
fn a_daemon_started_in_its_own_store_does_not_forward_to_itself() {
    let bd = Sandbox::new(Mode::Daemon);
    bd.create(&["one", "--id", "bd-1"]);
    let (socket, pid) = (bd.socket(), bd.daemon_pid().unwrap());
    bd.text(&["daemon", "stop"]);
    wait_until("the daemon exits", || !is_alive(pid));
    let mut daemon = bd.command(&["daemon", "run"]).spawn().unwrap();
    wait_until("another one listens", || Client::connect(&socket).is_some());
    let mut client = Client::connect(&socket).unwrap();
    let reply = client.ask(&json!({"words": ["import", "bd-1"]})).unwrap();
    assert_eq!(reply["error"]["code"], "not_read", "{reply}");
    assert_eq!(bd.show("bd-1")["status"], "open", "the daemon claimed the bead itself");
    drop(client);
    bd.text(&["daemon", "stop"]);
    assert!(daemon.wait().unwrap().success());
}

#[test]
fn a_request_id_works_for_forwarded_command_lines() {
    let bd = Sandbox::new(Mode::Daemon);
    let args = ["create", "once", "--request-id", "k1"];
    let (first, again) = (bd.json(&args), bd.json(&args));
    assert_eq!(first["id"], again["id"]);
    assert_eq!(bd.json(&["list"]).as_array().unwrap().len(), 1);
}

/// A relative time such as `+2d` is a different time in each attempt.
#[test]
fn a_request_with_a_relative_time_can_be_repeated() {
    both(|bd| {
        let args = ["create", "once", "--due", "+2d", "--defer", "+1h", "--request-id", "k1"];
        let (first, again) = (bd.json(&args), bd.json(&args));
        assert_eq!(first["id"], again["id"]);
        bd.error(&["create", "once", "--due", "+2d", "--request-id", "k1"], "request_id_reused");
    });
}

/// A daemon that read the command line and exited without a reply may have executed it.
#[test]
fn a_forwarded_command_line_without_a_reply_is_retried_with_the_same_id() {
    let bd = Sandbox::new(Mode::Daemon);
    bd.create(&["first", "--id", "bd-1"]);
    bd.text(&["daemon", "stop"]);
    // Clients talk only to the process that holds the lock.
    let lock = beads_store::StoreLock::try_take(&bd.dir().join(".git/beads/lock")).unwrap().unwrap();
    let listener = UnixListener::bind(bd.socket()).unwrap();
    let child = bd.command(&["create", "once", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let (taken, _) = listener.accept().unwrap();
    BufReader::new(&taken).read_line(&mut line).unwrap();
    std::fs::remove_file(bd.socket()).unwrap();
    drop((taken, listener, lock));
    assert_eq!(Run::finish(child).exit, Some(0));

    let sent: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(sent["call"], json!({"words": ["create", "once", "--json"]}));
    let other = json!({"mutate": {"ops": [{"op": "create", "title": "another"}]}});
    let request =
        json!({"client": "0", "actor": sent["actor"], "request_id": sent["request_id"], "call": other});
    let mut client = Client::connect(&bd.socket()).unwrap();
    client.send(format!("{request}\n").as_bytes()).unwrap();
    let reply = client.receive().unwrap();
    assert_eq!(reply["result"]["title"], "once", "the cached answer: {reply}");
}
