//! One slow question does not hold up other clients: the second client's waiting time is compared with what the question itself takes.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bystander::Bystander;
use crate::sandbox::{ACTOR, Mode, Sandbox};
use crate::socket::Client;

/// Imports beads that are each the child of the one before.
fn chain(bd: &Sandbox, length: usize) {
    let line = |n: usize| {
        let parent =
            (n > 0).then(|| json!({"depends_on_id": format!("bd-c{}", n - 1), "type": "parent-child"}));
        let dependencies: Vec<Value> = parent.into_iter().collect();
        json!({"id": format!("bd-c{n}"), "title": format!("link {n}"), "dependencies": dependencies})
    };
    let lines: String = (0..length).map(|n| format!("{}\n", line(n))).collect();
    bd.run_with_input(&["import", "-"], lines.as_bytes()).succeeded("import");
}

fn ask(bd: &Sandbox, call: &Value, format: &str) -> Client {
    let mut client = Client::connect(&bd.socket()).unwrap();
    let request = json!({
        "client": env!("CARGO_PKG_VERSION"), "actor": ACTOR, "call": call, "output": {"format": format},
    });
    client.send(format!("{request}\n").as_bytes()).unwrap();
    client
}

#[test]
fn nobody_waits_behind_a_question_about_everything() {
    let bd = Sandbox::new(Mode::Daemon);
    chain(&bd, 5_000);
    let bystander = Bystander::of(&bd);
    let all = json!({"limit": null});
    let questions = [
        (json!({"export": {"format": "md"}}), "text"),
        (json!({"query": {"forest": all}}), "text"),
        (json!({"query": {"details": all}}), "json"),
    ];
    for (call, format) in questions {
        let started = Instant::now();
        let answer = ask(&bd, &call, format).receive().unwrap();
        let alone = started.elapsed();
        assert!(answer["body"].as_u64().is_some_and(|bytes| bytes > 100_000), "{answer}");
        let mut slow: Vec<Client> = (0..4).map(|_| ask(&bd, &call, format)).collect();
        let worst = (0..10).map(|_| bystander.waits()).max().unwrap();
        // Behind four such questions it would wait for four times this.
        let bound = alone.max(Duration::from_millis(50));
        assert!(worst < bound, "{call}: a client waited {worst:?} for a bead; the question takes {alone:?}");
        for client in &mut slow {
            let reply = client.receive().unwrap();
            assert_eq!(reply["body"], answer["body"], "the same answer");
        }
    }
    assert_eq!(bd.daemon_pid(), Some(bystander.pid), "the same daemon goes on");
}

/// A snapshot is taken when what was written before the question is durable, so it shows it.
#[test]
fn a_long_answer_shows_what_was_written_before() {
    let bd = Sandbox::new(Mode::Daemon);
    chain(&bd, 2_500);
    let mut client = Client::connect(&bd.socket()).unwrap();
    for n in 0..3 {
        let title = format!("written {n}");
        let made = client.mutate(&json!({"op": "create", "title": title})).unwrap();
        assert_eq!(made["exit"], 0, "{made}");
        let listed = client.ask(&json!({"query": {"list": {}}})).unwrap();
        let beads = listed["result"].as_array().unwrap();
        assert_eq!(beads.len(), 2_501 + n);
        assert!(beads.iter().any(|bead| bead["title"] == title.as_str()), "{title}");
        assert!(listed["position"].as_u64() >= made["position"].as_u64(), "{}", listed["position"]);
    }
}
