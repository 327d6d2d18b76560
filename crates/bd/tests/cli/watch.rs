//! `bd watch`: events in order, each exactly once.

use std::io::{BufRead, BufReader};
use std::process::Child;

use serde_json::{Value, json};

use crate::sandbox::{Mode, Run, Sandbox, both, kill};
use crate::socket::Client;

/// Returns all events after a cursor up to now.
fn events(bd: &Sandbox, since: &str) -> Vec<Value> {
    let args = ["watch", "--since", since, "--timeout", "0", "--json"];
    lines(&bd.run(&args).succeeded(args).stdout)
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn types_and_ids(events: &[Value]) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    events.iter().map(|event| (text(&event["type"]), text(&event["id"]))).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(kind, id)| ((*kind).to_owned(), (*id).to_owned())).collect()
}

fn cursor(bd: &Sandbox) -> String {
    bd.json(&["status"])["cursor"].as_str().unwrap().to_owned()
}

#[test]
fn every_kind_of_event_is_reported_in_order() {
    both(|bd| {
        bd.create(&["a", "--id", "bd-a"]);
        bd.create(&["b", "--id", "bd-b", "--deps", "bd-a"]);
        bd.json(&["claim", "bd-a"]);
        bd.json(&["note", "add", "bd-a", "found it"]);
        bd.json(&["update", "bd-b", "--priority", "1", "--title", "better"]);
        bd.json(&["close", "bd-a", "-r", "fixed"]);
        bd.json(&["dep", "add", "bd-b", "bd-a", "--type", "related"]);
        bd.json(&["delete", "bd-b", "--reason", "not needed"]);
        bd.json(&["restore", "bd-b"]);
        let all = events(bd, "0");
        let expected = [
            ("created", "bd-a"),
            ("created", "bd-b"),
            ("claimed", "bd-a"),
            ("note", "bd-a"),
            ("updated", "bd-b"),
            ("closed", "bd-a"),
            ("unblocked", "bd-b"),
            ("updated", "bd-b"),
            ("deleted", "bd-b"),
            ("note", "bd-b"),
            ("updated", "bd-b"),
        ];
        assert_eq!(types_and_ids(&all), pairs(&expected), "{all:#?}");
        assert_eq!(all[2]["assignee"], crate::sandbox::ACTOR);
        assert!(all[2]["fence"].is_string());
        assert_eq!(all[3]["text"], "found it");
        assert_eq!(all[4]["fields"], json!(["title", "priority"]));
        assert_eq!((&all[5]["text"], &all[5]["by"]), (&"fixed".into(), &crate::sandbox::ACTOR.into()));
        assert_eq!(all[6]["title"], "better");
        // Positions and cursors only grow, and watching can resume from every cursor.
        assert!(all.windows(2).all(|pair| pair[0]["position"].as_u64() <= pair[1]["position"].as_u64()));
        for (index, event) in all.iter().enumerate() {
            assert_eq!(events(bd, event["cursor"].as_str().unwrap()), all[index + 1..]);
        }
        // The same events after a checkpoint and a restart.
        bd.text(&["sync"]);
        bd.text(&["daemon", "stop"]);
        assert_eq!(events(bd, "0"), all);
        assert_eq!(cursor(bd), all.last().unwrap()["cursor"]);
        // Only events of some beads, as text.
        let some = bd.text(&["watch", "--since", "0", "--timeout", "0", "--ids", "bd-a"]);
        assert_eq!(some.lines().count(), 4);
        assert!(some.lines().next().unwrap().ends_with(" created   bd-a a by ann@here"), "{some}");
        // Without a cursor only new events are shown.
        assert_eq!(bd.text(&["watch", "--timeout", "0"]), "");
    });
}

#[test]
fn invalid_cursors_are_refused() {
    both(|bd| {
        bd.create(&["a", "--id", "bd-a"]);
        let here = cursor(bd);
        let (log, seq) = here.rsplit_once('-').unwrap();
        assert_eq!(seq, "1");
        let watch = |since: &str, code: &str| bd.error(&["watch", "--since", since, "--timeout", "0"], code);
        assert_eq!(watch(&format!("{log}-2"), "cursor_ahead")["details"]["newest"], *here);
        let expired = watch("00c0ffee-1", "cursor_expired");
        assert_eq!(expired["details"]["oldest"], format!("{log}-0"));
        for nonsense in ["x", "7", "-", "a-b", "é-1", ""] {
            watch(nonsense, "invalid_value");
        }
        bd.error(&["watch", "--ids", "bd-nope", "--since", "0", "--timeout", "0"], "not_found");
        bd.error(&["watch", "--until", "closed"], "usage");
        // Regression: a list ignores unknown ids, so they counted as closed.
        for condition in ["closed", "ready", "changed"] {
            for since in [vec![], vec!["--since", "0"]] {
                let args = ["watch", "--ids", "bd-a,bd-nope", "--until", condition, "--timeout", "0"];
                bd.error(&[&args[..], &since[..]].concat(), "not_found");
            }
        }
        // A store that lost its local files has a new event log.
        bd.text(&["sync"]);
        bd.text(&["daemon", "stop"]);
        std::fs::remove_dir_all(bd.dir().join(".git/beads")).unwrap();
        bd.json(&["note", "add", "bd-a", "x"]);
        watch(&here, "cursor_expired");
    });
}

fn watching(bd: &Sandbox, args: &[&str]) -> Child {
    bd.command(&[&["watch", "--json", "--timeout", "60s"], args].concat()).spawn().unwrap()
}

#[test]
fn watching_ends_when_the_condition_holds() {
    both(|bd| {
        bd.create(&["a", "--id", "bd-a"]);
        bd.create(&["b", "--id", "bd-b", "--deps", "bd-a"]);
        let start = cursor(bd);
        let changed = watching(bd, &["--until", "changed", "--since", &start]);
        let closed = watching(bd, &["--until", "closed", "--ids", "bd-a,bd-b", "--since", &start]);
        let ready = watching(bd, &["--until", "ready", "--ids", "bd-b", "--since", &start]);
        bd.json(&["close", "bd-a"]);
        let events = |child: Child| lines(&Run::finish(child).succeeded("a watch").stdout);
        assert_eq!(events(changed)[0]["type"], "closed");
        events(ready);
        bd.json(&["close", "bd-b"]);
        let closed = events(closed);
        assert_eq!(closed.last().unwrap()["id"], "bd-b", "{closed:?}");
        // If the condition holds already, the watch ends at once. A timeout is an error with the cursor to
        // resume from.
        assert_eq!(events(watching(bd, &["--until", "closed", "--ids", "bd-a"])), [] as [Value; 0]);
        // A deleted bead counts as closed.
        bd.json(&["delete", "bd-b"]);
        assert_eq!(events(watching(bd, &["--until", "closed", "--ids", "bd-a,bd-b"])), [] as [Value; 0]);
        let error = bd.error(&["watch", "--until", "ready", "--timeout", "10ms"], "timeout");
        assert_eq!(error["details"]["cursor"], *cursor(bd));
    });
}

/// Notes are written while a client watches and the daemon is killed or stopped now and then.
fn each_event_once(notes: usize, per_request: usize) {
    let bd = Sandbox::new(Mode::Daemon);
    bd.create(&["a", "--id", "bd-a"]);
    let mut child = bd.command(&["watch", "--since", "0", "--json"]).spawn().unwrap();
    let requests = notes / per_request;
    for request in 0..requests {
        let ops: Vec<_> = (0..per_request)
            .map(|n| json!({"op": "note_add", "id": "bd-a", "content": (request * per_request + n).to_string()}))
            .collect();
        // A daemon that was killed may still accept connections; with an id the request can be sent again to
        // the next one.
        let line = json!({
            "client": "0", "actor": "ann", "request_id": format!("notes-{request}"),
            "call": {"mutate": {"ops": ops, "many": true}},
        });
        let reply = loop {
            let client = Client::connect(&bd.socket());
            let asked = client.and_then(|mut client| {
                client.send(format!("{line}\n").as_bytes()).ok()?;
                client.receive()
            });
            match asked {
                Some(reply) => break reply,
                None => drop(bd.show("bd-a")),
            }
        };
        assert_eq!(reply["exit"], 0, "{reply}");
        if (request + 1) % (requests / 4).max(1) == 0 {
            match request * 4 / requests {
                0 | 2 => kill(bd.daemon_pid().unwrap()),
                1 => drop(bd.text(&["daemon", "stop"])),
                _ => {}
            }
        }
    }
    let seen = BufReader::new(child.stdout.take().unwrap()).lines();
    let events: Vec<Value> =
        seen.take(notes + 1).map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(events[0]["type"], "created");
    for (n, event) in events[1..].iter().enumerate() {
        assert_eq!((&event["type"], &event["text"]), (&"note".into(), &n.to_string().into()));
    }
    assert_eq!(self::events(&bd, "0"), events);
    assert_eq!(cursor(&bd), events.last().unwrap()["cursor"]);
}

#[test]
fn no_event_is_missed_or_repeated_across_restarts() {
    each_event_once(1_000, 25);
}

#[test]
#[ignore = "takes long: the same with more events"]
fn ten_thousand_events_over_three_restarts() {
    each_event_once(10_000, 100);
}
