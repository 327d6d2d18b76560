//! Command lines that the daemon reads in place of the process they were typed into.

use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixListener;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::sandbox::{Mode, Run, Sandbox, both, is_alive, wait_until};
use crate::socket::Client;

/// Says nothing that matters, but something that only the typed-in process may read.
const READ_HERE: [&str; 2] = ["--lock-timeout", "30s"];

/// Two stores with the same beads, for commands that change something.
fn twins() -> [Sandbox; 2] {
    [(); 2].map(|()| {
        let bd = Sandbox::new(Mode::Daemon);
        bd.create(&["one", "--id", "bd-1", "--labels", "red"]);
        bd.create(&["two", "--id", "bd-2", "--deps", "bd-1"]);
        bd
    })
}

/// Without what differs between any two runs: moments, and digests of them.
fn without_times(text: &str) -> String {
    let is_moment = |word: &str| word.len() == 24 && word.ends_with('Z') && word.as_bytes()[10] == b'T';
    let is_digest = |word: &str| word.len() == 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let stable = |word: &&str| !is_moment(word) && !is_digest(word);
    text.split([' ', '"', '\n', ',', '(', ')']).filter(stable).collect::<Vec<_>>().join(" ")
}

#[test]
fn who_reads_the_words_makes_no_difference() {
    let [short, long] = twins();
    for words in [
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
        let words: Vec<&str> = words.split(' ').collect();
        let (unread, read) = (short.run(&words), long.run(&[words.as_slice(), &READ_HERE].concat()));
        assert_eq!(unread.exit, read.exit, "{words:?}");
        assert_eq!(without_times(&unread.stdout), without_times(&read.stdout), "{words:?}");
        assert_eq!(without_times(&unread.stderr), without_times(&read.stderr), "{words:?}");
    }
}

#[test]
fn what_belongs_to_the_caller_is_read_by_the_caller() {
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
    for words in [
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
        let reply = client.ask(&json!({"words": words})).unwrap();
        assert_eq!(reply["error"]["code"], "not_read", "{words}: {reply}");
    }
    let reply = client.ask(&json!({"words": ["show", "bd-1", "--json"]})).unwrap();
    let printed = String::from_utf8(client.body(&reply)).unwrap();
    assert!(printed.contains("from a file"), "{printed}");
}

/// One that was started where the store is, or with the variables that name it, would ask itself and wait for ever.
#[test]
fn a_daemon_that_finds_its_own_store_does_not_act_on_words() {
    let bd = Sandbox::new(Mode::Daemon);
    bd.create(&["one", "--id", "bd-1"]);
    let (socket, pid) = (bd.socket(), bd.daemon_pid().unwrap());
    bd.text(&["daemon", "stop"]);
    wait_until("the daemon ends", || !is_alive(pid));
    let mut daemon = bd.command(&["daemon", "run"]).spawn().unwrap();
    wait_until("another one listens", || Client::connect(&socket).is_some());
    let mut client = Client::connect(&socket).unwrap();
    let reply = client.ask(&json!({"words": ["import", "bd-1"]})).unwrap();
    assert_eq!(reply["error"]["code"], "not_read", "{reply}");
    assert_eq!(bd.show("bd-1")["status"], "open", "it claimed something by itself");
    drop(client);
    bd.text(&["daemon", "stop"]);
    assert!(daemon.wait().unwrap().success());
}

#[test]
fn a_request_id_holds_for_words_too() {
    let bd = Sandbox::new(Mode::Daemon);
    let words = ["create", "once", "--request-id", "k1"];
    let (first, again) = (bd.json(&words), bd.json(&words));
    assert_eq!(first["id"], again["id"]);
    assert_eq!(bd.json(&["list"]).as_array().unwrap().len(), 1);
}

/// In two days is another moment each time it is said.
#[test]
fn a_request_with_a_span_of_time_is_the_same_when_it_is_repeated() {
    both(|bd| {
        let words = ["create", "once", "--due", "+2d", "--defer", "+1h", "--request-id", "k1"];
        let (first, again) = (bd.json(&words), bd.json(&words));
        assert_eq!(first["id"], again["id"]);
        bd.error(&["create", "once", "--due", "+2d", "--request-id", "k1"], "request_id_reused");
    });
}

/// A daemon that took the words and went away without a reply may have done what they ask.
#[test]
fn words_that_got_no_reply_are_asked_again_under_the_same_id() {
    let bd = Sandbox::new(Mode::Daemon);
    bd.create(&["first", "--id", "bd-1"]);
    bd.text(&["daemon", "stop"]);
    // Only the holder of the lock is asked.
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
    assert_eq!(reply["result"]["title"], "once", "the answer that was kept under the id: {reply}");
}
