//! Many processes claim work at once while the daemon is killed.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::sandbox::{Mode, Sandbox, kill, wait_until};
use crate::socket::Client;

fn fill(bd: &Sandbox, beads: usize) {
    bd.text(&["init"]);
    let mut client = Client::connect(&bd.socket()).unwrap();
    let ops: Vec<_> = (0..beads).map(|n| json!({"op": "create", "title": format!("bead {n}")})).collect();
    let reply = client.ask(&json!({"mutate": {"ops": ops, "many": true}})).unwrap();
    assert_eq!(reply["exit"], 0, "{reply}");
}

/// Each process claims beads until none are left. Every bead must go to exactly one process.
fn claim_all(processes: usize, beads: usize, kills: usize) {
    let bd = Sandbox::new(Mode::Daemon);
    fill(&bd, beads);
    let claimed = Mutex::new(Vec::new());
    let made = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for process in 0..processes {
            let (bd, claimed, made) = (&bd, &claimed, &made);
            scope.spawn(move || {
                let actor = format!("agent{process}");
                loop {
                    let run = bd.run(&["--actor", &actor, "claim", "--next", "--json"]);
                    if run.exit != Some(0) {
                        assert_eq!(run.value()["error"]["code"], "nothing_ready", "{run:?}");
                        return;
                    }
                    made.fetch_add(1, Ordering::Relaxed);
                    claimed.lock().unwrap().push((actor.clone(), run.value()));
                }
            });
        }
        for round in 1..=kills {
            // Kills are spread over the whole run.
            wait_until("claims are made", || made.load(Ordering::Relaxed) >= beads * round / (kills + 1));
            if let Some(pid) = bd.daemon_pid() {
                kill(pid);
            }
        }
    });
    let claimed = claimed.into_inner().unwrap();
    let ids: BTreeSet<&str> = claimed.iter().map(|(_, bead)| bead["id"].as_str().unwrap()).collect();
    assert_eq!((claimed.len(), ids.len()), (beads, beads), "none twice, none lost");
    let now = bd.json(&["list"]);
    for (actor, bead) in &claimed {
        let same = |other: &&Value| other["id"] == bead["id"];
        let stored = now.as_array().unwrap().iter().find(same).unwrap();
        assert_eq!(
            (&stored["assignee"], &stored["assignee_at"]),
            (&actor.as_str().into(), &bead["assignee_at"])
        );
    }
}

#[test]
fn every_bead_goes_to_exactly_one_process() {
    claim_all(20, 60, 0);
}

#[test]
fn every_bead_goes_to_exactly_one_process_although_the_daemon_is_killed() {
    claim_all(20, 60, 3);
}

#[test]
#[ignore = "takes long: fifty processes and a thousand beads, without and with kills"]
fn fifty_processes_and_a_thousand_beads() {
    claim_all(50, 1_000, 0);
    claim_all(50, 1_000, 8);
}

/// A client disconnects before the reply, and another one repeats the request with the same id. Sometimes the
/// daemon is killed too.
fn repeat_requests(tries: usize) {
    let bd = Sandbox::new(Mode::Daemon);
    bd.create(&["x", "--id", "bd-x"]);
    let connect = || loop {
        if let Some(client) = Client::connect(&bd.socket()) {
            return client;
        }
        bd.show("bd-x");
    };
    for n in 0..tries {
        let op = match n % 3 {
            0 => json!({"op": "create", "title": format!("bead {n}")}),
            1 => json!({"op": "note_add", "id": "bd-x", "content": format!("note {n}")}),
            _ => json!({"op": "claim_next", "lease_ms": 60_000}),
        };
        let request = json!({
            "client": "0", "actor": "ann", "request_id": format!("try-{n}"), "call": {"mutate": {"ops": [op]}},
        });
        let line = format!("{request}\n");
        let mut first = connect();
        first.send(line.as_bytes()).unwrap();
        drop(first);
        if n % 50 == 49 {
            kill(bd.daemon_pid().unwrap());
        }
        let answers: Vec<Value> = (0..2)
            .map(|_| {
                loop {
                    let mut again = connect();
                    again.send(line.as_bytes()).unwrap();
                    if let Some(reply) = again.receive() {
                        break reply;
                    }
                }
            })
            .collect();
        assert_eq!((&answers[0]["exit"], &answers[0]["result"]), (&0.into(), &answers[1]["result"]), "{n}");
        // The same id with a different request is refused.
        let other = request.to_string().replace("ann", "eve");
        let mut client = connect();
        client.send(format!("{other}\n").as_bytes()).unwrap();
        assert_eq!(client.receive().unwrap()["error"]["code"], "request_id_reused");
    }
    let beads = bd.json(&["list"]);
    let beads = beads.as_array().unwrap();
    assert_eq!(beads.len(), 1 + tries.div_ceil(3));
    let notes = bd.show("bd-x")["notes"].as_array().unwrap().len();
    assert_eq!(notes, (tries + 1) / 3);
    let held = beads.iter().filter(|bead| bead["status"] == "in_progress").count();
    assert_eq!(held, tries / 3, "one claim each");
}

#[test]
fn a_repeated_request_is_executed_once() {
    repeat_requests(100);
}

#[test]
#[ignore = "takes long: the same a thousand times"]
fn a_thousand_repeated_requests_are_executed_once() {
    repeat_requests(1_000);
}
