//! One slow query does not hold up other clients: the waiting time of a second client is compared with the
//! duration of the query.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use beads_store::{GitRepository, Repository, Rescue, RescueHeader};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::bystander::Bystander;
use crate::sandbox::{ACTOR, Mode, Sandbox, is_alive, wait_until};
use crate::socket::Client;

/// Imports beads, each the child of the previous one.
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
fn a_query_about_everything_does_not_delay_others() {
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
        let worst = (0..10).map(|_| bystander.ask()).max().unwrap();
        // Queued behind four such queries, it would wait four times as long.
        let bound = alone.max(Duration::from_millis(50));
        assert!(worst < bound, "{call}: a client waited {worst:?} for a bead; the question takes {alone:?}");
        for client in &mut slow {
            let reply = client.receive().unwrap();
            assert_eq!(reply["body"], answer["body"], "the same answer");
        }
    }
    assert_eq!(bd.daemon_pid(), Some(bystander.pid), "the daemon was not replaced");
}

/// The snapshot for a query is taken once all earlier writes are durable, so it contains them.
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

/// How many answers another client must get while a request is executed. A daemon that executes the request on its
/// engine thread gives one at most.
const ANSWERS: usize = 3;

/// Counts the answers that another client gets while a request is executed. On a busy machine that client may not run
/// meanwhile, so a request that changes nothing is repeated.
fn answers_meanwhile(bd: &Sandbox, call: &Value, bystander: &Bystander) -> (usize, Value) {
    let attempts = if call.to_string().contains(r#""dry_run":false"#) { 1 } else { 20 };
    let mut last = answers_to_one(bd, call, bystander);
    for _ in 1..attempts {
        if last.0 >= ANSWERS {
            break;
        }
        last = answers_to_one(bd, call, bystander);
    }
    last
}

fn answers_to_one(bd: &Sandbox, call: &Value, bystander: &Bystander) -> (usize, Value) {
    let mut slow = ask(bd, call, "value");
    let (done, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    let reply = std::thread::scope(|scope| {
        let reply = scope.spawn(|| {
            let reply = slow.receive().unwrap();
            done.store(true, Ordering::SeqCst);
            reply
        });
        while !done.load(Ordering::SeqCst) {
            bystander.ask();
            if !done.load(Ordering::SeqCst) {
                answered.fetch_add(1, Ordering::SeqCst);
            }
        }
        reply.join().unwrap()
    });
    (answered.into_inner(), reply)
}

/// The duration of history, validation and file reads does not depend on the beads alone.
#[test]
fn history_validation_and_files_do_not_delay_others() {
    let bd = Sandbox::new(Mode::Daemon);
    chain(&bd, 4_000);
    bd.json(&["sync"]);
    let git = git2::Repository::open(bd.dir()).unwrap();
    let first = git.refname_to_id("refs/heads/beads/store").unwrap().to_string();
    for n in 0..5 {
        bd.json(&["update", "bd-c0", "--title", &format!("version {n}")]);
        bd.json(&["sync"]);
    }
    let bystander = Bystander::of(&bd);
    let file = bd.root().join("issues.jsonl");
    let line = |n: usize| format!("{}\n", json!({"id": format!("bd-n{n}"), "title": format!("new {n}")}));
    std::fs::write(&file, (0..4_000).map(line).collect::<String>()).unwrap();
    let source = json!({"jsonl": {"path": file, "name": "issues.jsonl"}});
    let calls = [
        (json!({"query": {"log": {"id": "bd-c0"}}}), "/writes/5/changes"),
        (json!({"query": {"diff": {"from": {"revision": first}, "to": null}}}), "/0/id"),
        (json!({"query": {"show_as_of": {"ids": ["bd-c0"], "moment": {"revision": first}}}}), "/0/title"),
        (json!("validate"), ""),
        (json!({"query": "status"}), "/summary"),
        (json!({"compare_file": {"path": file, "name": "issues.jsonl"}}), ""),
        (json!({"import": {"source": source, "dry_run": true}}), "/created"),
        (json!({"import": {"source": source, "dry_run": false}}), "/created"),
    ];
    for (call, expected) in calls {
        let (answered, reply) = answers_meanwhile(&bd, &call, &bystander);
        assert!(reply["result"].pointer(expected).is_some(), "{call}: {reply}");
        assert!(answered >= ANSWERS, "{call}: another client got {answered} answers before this one");
    }
    assert_eq!(bd.json(&["count"])["count"], 8_001);
    assert_eq!(bd.daemon_pid(), Some(bystander.pid), "the daemon was not replaced");
}

/// An import is prepared on a snapshot and applied in parts. Concurrent writes are kept, and a retry gets the
/// first answer.
#[test]
fn writes_during_an_import_stay_and_its_retry_gets_the_same_answer() {
    let bd = Sandbox::new(Mode::Daemon);
    let bystander = Bystander::of(&bd);
    let file = bd.root().join("issues.jsonl");
    let line = |n: usize| {
        let dependencies = json!([{"depends_on_id": format!("bd-n{}", (n + 1) % 3_000), "type": "related"}]);
        let bead = json!({
            "id": format!("bd-n{n}"), "title": "new", "description": "long text ".repeat(150), "priority": 1,
            "created_at": "2025-12-02T05:05:53Z", "dependencies": dependencies,
        });
        format!("{bead}\n")
    };
    std::fs::write(&file, (0..3_000).map(line).collect::<String>()).unwrap();
    let request = json!({
        "client": env!("CARGO_PKG_VERSION"), "actor": ACTOR, "request_id": "import-1",
        "call": {"import": {"source": {"jsonl": {"path": file, "name": "issues.jsonl"}}, "dry_run": false}},
        "output": {"format": "value"},
    });
    let send = || {
        let mut client = Client::connect(&bd.socket()).unwrap();
        client.send(format!("{request}\n").as_bytes()).unwrap();
        client
    };
    let (mut import, mut twin) = (send(), send());
    let mut writer = Client::connect(&bd.socket()).unwrap();
    let made: Vec<String> = (0..20)
        .map(|n| {
            let reply = writer.mutate(&json!({"op": "create", "title": format!("written {n}")})).unwrap();
            reply["result"]["id"].as_str().unwrap().to_owned()
        })
        .collect();
    let (first, second) = (import.receive().unwrap(), twin.receive().unwrap());
    assert_eq!(first["result"]["created"], 3_000, "{first}");
    assert_eq!(first["result"], second["result"], "one import, one answer");
    assert_eq!(send().receive().unwrap()["result"], first["result"]);
    assert_eq!(bd.json(&["count"])["count"], 3_021);
    // No part is missing, and everything is durable.
    kill_process(Pid::from_raw(i32::try_from(bystander.pid).unwrap()).unwrap(), Signal::KILL).unwrap();
    wait_until("the daemon is gone", || !is_alive(bystander.pid));
    assert_eq!(bd.json(&["count"])["count"], 3_021);
    let verified = bd.json(&["import", "--verify", file.to_str().unwrap()]);
    assert_eq!(verified["differences"], json!([]), "{verified}");
    for id in made {
        bd.json(&["show", &id]);
    }
}

/// A rescue file holds a whole store, and a repair plan reads all of it.
#[test]
fn a_rescue_file_and_a_repair_plan_do_not_delay_others() {
    let lost = Sandbox::new(Mode::Daemon);
    chain(&lost, 4_000);
    lost.json(&["sync"]);
    let repository = GitRepository::open(&lost.dir().join(".git")).unwrap();
    let state = repository.state_of(&repository.tip().unwrap().unwrap()).unwrap();
    let header = RescueHeader {
        version: 0,
        git_dir: lost.dir().display().to_string(),
        at_ms: 0,
        position: 4_000,
        pushed_position: 0,
        base: None,
        remote: None,
    };
    let bd = Sandbox::new(Mode::Daemon);
    let bystander = Bystander::of(&bd);
    let file = bd.root().join("lost.journal");
    Rescue::write(&file, &header, &state).unwrap();
    let rescue = |force: bool, dry_run: bool| {
        let call = json!({"import_rescued": {"path": file, "force": force, "dry_run": dry_run}});
        answers_meanwhile(&bd, &call, &bystander)
    };
    let (_, refused) = rescue(false, false);
    assert_eq!(refused["error"]["code"], "unrelated_store", "{refused}");
    for (dry_run, count) in [(true, 1), (false, 4_001)] {
        let (answered, reply) = rescue(true, dry_run);
        assert_eq!(reply["result"]["added"], 4_000, "{reply}");
        assert!(answered >= ANSWERS, "{reply}: another client got {answered} answers before this one");
        assert_eq!(bd.json(&["count"])["count"], count);
    }
    assert!(!file.exists(), "an imported file is renamed");
    assert_eq!(bd.json(&["status"])["unsaved"], 0, "it is saved together with the checkpoint");
    let (answered, plan) = answers_meanwhile(&bd, &json!({"repair": {"apply": false}}), &bystander);
    assert_eq!(plan["result"]["damage"], json!([]), "{plan}");
    assert!(answered >= ANSWERS, "another client got {answered} answers before the plan");
    assert_eq!(bd.json(&["validate"]), json!([]));
    assert_eq!(bd.daemon_pid(), Some(bystander.pid), "the daemon was not replaced");
}
