//! Many processes at once, some of them killed at random: no message is lost, duplicated or torn.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::team::Team;

const PROCESSES: usize = 50;
const ROUNDS: usize = 20;
/// Threads whose processes are killed while they write.
const HUNTERS: usize = 4;

/// Pseudo-random numbers, the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// Returns a command that uses the real clock.
fn live(team: &Team, args: &[&str]) -> Command {
    let mut command = team.agent(&[args, &["--json"]].concat());
    command.env_remove("BB_NOW").stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// Kills a process after a random time. Returns its output if it finished before.
fn kill_at_random(mut child: Child, within_us: u64, dice: &mut Dice) -> Option<Value> {
    // Parking keeps the time precise enough; what matters is when the kill comes.
    thread::park_timeout(Duration::from_micros(dice.below(within_us)));
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    output.status.code().map(|_| serde_json::from_slice(&output.stdout).unwrap())
}

/// Kills a sender while it writes: once the store's pending record shows that it has started.
fn kill_while_writing(team: &Team, mut child: Child, subject: &str, dice: &mut Dice) -> Option<Value> {
    let begun = || {
        let pending = std::fs::read_to_string(team.store().join("pending.json"));
        pending.is_ok_and(|text| text.contains(subject))
    };
    while child.try_wait().unwrap().is_none() {
        if begun() {
            return kill_at_random(child, 20_000, dice);
        }
        thread::park_timeout(Duration::from_micros(500));
    }
    Some(finished(child))
}

fn finished(child: Child) -> Value {
    serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap()
}

/// Asserts that every file of the store parses, line by line.
fn assert_all_files_parse(team: &Team) {
    for dir in ["agents", "messages", "messages/index", "reservations"] {
        let Ok(files) = std::fs::read_dir(team.store().join(dir)) else { continue };
        for file in files.map(|file| file.unwrap().path()).filter(|file| file.is_file()) {
            let text = std::fs::read_to_string(&file).unwrap();
            match file.extension().and_then(|ext| ext.to_str()) {
                Some("json") => drop(serde_json::from_str::<Value>(&text).unwrap()),
                Some("jsonl") => {
                    assert!(text.ends_with('\n'), "{}", file.display());
                    text.lines().for_each(|line| drop(serde_json::from_str::<Value>(line).unwrap()));
                }
                // The record that a killed process was about to write.
                _ => assert_eq!(file.file_name().unwrap(), ".tmp"),
            }
        }
    }
    assert!(!team.store().join("pending.json").exists());
}

fn send(team: &Team, to: &str, subject: &str) -> Child {
    let args = ["send", "--from", "amber", "--bead", "b", "--category", "INFO", "--body", "b"];
    live(team, &[&args[..], &["--to", to, "--subject", subject]].concat()).spawn().unwrap()
}

#[test]
fn each_message_is_in_index_and_inbox_exactly_once() {
    let recipients = ["birch", "cedar", "dogwood"];
    let team = Team::of(&[&["amber"], &recipients[..]].concat());
    let acknowledged = Mutex::new(BTreeSet::new());
    let note = |answer: &Value| {
        assert_eq!(answer["ok"], true, "{answer}");
        let one = vec![answer["data"]["message_id"].clone()];
        let ids = answer["data"]["message_ids"].as_array().cloned().unwrap_or(one);
        acknowledged.lock().unwrap().extend(ids.iter().map(|id| id.as_str().unwrap().to_owned()));
    };
    thread::scope(|scope| {
        let (team, note) = (&team, &note);
        for worker in 0..PROCESSES {
            scope.spawn(move || {
                let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ (worker as u64 + 1));
                for n in 0..ROUNDS {
                    let to = recipients[(worker + n) % recipients.len()];
                    note(&finished(send(team, to, &format!("{worker}/{n}"))));
                    if dice.below(4) == 0 {
                        let victim = send(team, "broadcast", "victim");
                        kill_at_random(victim, 500_000, &mut dice).iter().for_each(note);
                    }
                }
            });
        }
        for hunter in 0..HUNTERS {
            scope.spawn(move || {
                let mut dice = Dice(0x2545_f491_4f6c_dd1d ^ (hunter as u64 + 1));
                for n in 0..ROUNDS / 2 {
                    let subject = format!("victim {hunter} {n}.");
                    let victim = send(team, "broadcast", &subject);
                    kill_while_writing(team, victim, &subject, &mut dice).iter().for_each(note);
                }
            });
        }
    });
    team.ok(&["heartbeat", "--agent", "amber"]);
    assert_all_files_parse(&team);

    let mut inbox: BTreeMap<String, Value> = BTreeMap::new();
    let mut broadcasts: BTreeMap<String, usize> = BTreeMap::new();
    for name in recipients {
        for message in team.lines(&format!("messages/{name}.jsonl")) {
            assert_eq!(message["to_agent"], name);
            let id = message["message_id"].as_str().unwrap().to_owned();
            if message["subject"].as_str().unwrap().starts_with("victim") {
                *broadcasts.entry(id.trim_end_matches(name).to_owned()).or_default() += 1;
            }
            assert!(inbox.insert(id.clone(), message).is_none(), "{id} twice");
        }
    }
    let index = std::fs::read_dir(team.store().join("messages/index")).unwrap();
    let index: BTreeSet<String> = index
        .filter_map(|file| {
            file.unwrap().file_name().to_str().unwrap().strip_suffix(".json").map(str::to_owned)
        })
        .collect();
    assert_eq!(index, inbox.keys().cloned().collect());
    for (id, message) in &inbox {
        assert_eq!(team.json(&format!("messages/index/{id}.json")), *message);
    }
    let acknowledged = acknowledged.into_inner().unwrap();
    assert!(acknowledged.is_subset(&index), "an acknowledged message is never lost");
    let subjects: BTreeSet<_> = inbox.values().map(|message| message["subject"].as_str().unwrap()).collect();
    assert_eq!(subjects.iter().filter(|subject| subject.contains('/')).count(), PROCESSES * ROUNDS);
    let unsaid = index.difference(&acknowledged).count();
    eprintln!("{} messages, {unsaid} of them from senders killed before they could say so", index.len());
    assert!(unsaid > 0, "no sender was killed while writing");
    assert!(broadcasts.values().all(|copies| *copies == recipients.len()), "all or none: {broadcasts:?}");
}

#[test]
fn one_winner_per_race() {
    let names: Vec<String> = (0..PROCESSES).map(|n| format!("agent-{n}")).collect();
    let team = Team::of(&names.iter().map(String::as_str).collect::<Vec<_>>());
    for round in 0..ROUNDS {
        let scope = format!("src/{round}/**");
        let answers: Vec<Option<Value>> = thread::scope(|threads| {
            let racers: Vec<_> = names
                .iter()
                .enumerate()
                .map(|(n, name)| {
                    let (team, scope) = (&team, &scope);
                    let mut dice =
                        Dice(((round * PROCESSES + n + 1) as u64).wrapping_mul(0x2545_f491_4f6c_dd1d));
                    threads.spawn(move || {
                        let args = ["reserve", "--agent", name, "--scope", scope, "--bead", "b"];
                        let child = live(team, &args).spawn().unwrap();
                        if dice.below(5) == 0 {
                            kill_at_random(child, 150_000, &mut dice)
                        } else {
                            Some(finished(child))
                        }
                    })
                })
                .collect();
            racers.into_iter().map(|racer| racer.join().unwrap()).collect()
        });
        let winners: Vec<usize> = (0..PROCESSES)
            .filter(|n| answers[*n].as_ref().is_some_and(|answer| answer["ok"] == true))
            .collect();
        let active = team.json("reservations/active.json")["reservations"].as_array().unwrap().clone();
        let holders: Vec<&Value> = active.iter().filter(|held| held["scope"] == scope.as_str()).collect();
        assert_eq!((holders.len(), active.len()), (1, round + 1), "one winner in round {round}");
        let holder = holders[0]["agent_id"].as_str().unwrap();
        match winners[..] {
            [winner] => assert_eq!(holder, names[winner]),
            // The winner was killed before it could print its answer.
            [] => assert!(answers[names.iter().position(|name| name == holder).unwrap()].is_none()),
            _ => panic!("several winners: {winners:?}"),
        }
        for answer in answers.iter().flatten().filter(|answer| answer["ok"] == false) {
            assert_eq!(answer["error"]["code"], "RESERVATION_CONFLICT");
            assert_eq!(answer["error"]["details"]["holder"], holder);
        }
    }
    team.ok(&["heartbeat", "--agent", "agent-0"]);
    assert_all_files_parse(&team);
}
