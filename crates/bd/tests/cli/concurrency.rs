//! Fifty clients at once. All replies must be consistent with a single order of all operations: the order of
//! the journal.

use std::sync::Mutex;
use std::time::Instant;

use beads_store::REF;
use serde_json::Value;

use crate::model::{Ask, Model};
use crate::sandbox::{Mode, Sandbox};
use crate::socket::Client;

const CLIENTS: usize = 50;
const ASKS: usize = 20;

/// Pseudo-random numbers from a seed that is printed when a test fails.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    pub fn new() -> Self {
        let mut seed = [0; 8];
        getrandom::fill(&mut seed).unwrap();
        let seed = u64::from_le_bytes(seed) | 1;
        eprintln!("seed: {seed}");
        Self(seed)
    }

    pub fn fork(&self, number: usize) -> Self {
        Self((self.0 ^ (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)) | 1)
    }

    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap()
    }
}

/// A request of one client and its reply.
#[derive(Debug)]
struct Exchange {
    actor: String,
    ask: Ask,
    reply: Value,
    /// When the request was sent and when the reply arrived.
    during: (Instant, Instant),
}

impl Exchange {
    fn position(&self) -> u64 {
        self.reply["position"].as_u64().unwrap()
    }
}

/// Mostly requests about a few beads that all clients compete for.
fn next(dice: &mut Dice, who: usize, turn: usize, known: &Mutex<Vec<String>>) -> Ask {
    let known = known.lock().unwrap();
    let few = known.len().min(8);
    let range = if dice.roll(4) == 0 { known.len() } else { few };
    let id = known[dice.roll(range)].clone();
    match dice.roll(10) {
        0 | 1 => Ask::Create { title: format!("bead {who}.{turn}") },
        2 | 3 => Ask::Retitle { id, title: format!("title {who}.{turn}") },
        4 => Ask::Claim { id },
        5 => Ask::Close { id },
        6 | 7 => Ask::Note { id, text: format!("note {who}.{turn}") },
        8 => Ask::Show { id },
        _ => Ask::List,
    }
}

#[test]
fn replies_over_the_socket_are_explained_by_the_order_of_the_journal() {
    linearizable(ASKS);
}

#[test]
#[ignore = "takes minutes: ten times as many"]
fn replies_over_the_socket_are_explained_by_the_order_of_the_journal_at_length() {
    linearizable(10 * ASKS);
}

/// Asserts that a request that was sent after another reply had arrived is answered from the same position or
/// a later one.
fn assert_respects_real_time(exchanges: &[Exchange]) {
    let mut by_start: Vec<_> = exchanges.iter().collect();
    by_start.sort_unstable_by_key(|exchange| exchange.during.0);
    let mut by_end: Vec<_> = exchanges.iter().collect();
    by_end.sort_unstable_by_key(|exchange| exchange.during.1);
    let (mut ended, mut reached) = (by_end.into_iter().peekable(), 0);
    for later in by_start {
        while let Some(earlier) = ended.next_if(|earlier| earlier.during.1 < later.during.0) {
            reached = reached.max(earlier.position());
        }
        assert!(later.position() >= reached, "{later:?} was answered from before {reached}");
    }
}

fn linearizable(asks: usize) {
    let bd = Sandbox::new(Mode::Daemon);
    // So that checkpoints happen between the replies.
    bd.text(&["config", "set", "sync.max_delay", "200ms"]);
    let seeds: Vec<String> = (0..8).map(|_| bd.create(&["seed"])).collect();
    let start = bd.json(&["status"])["position"].as_u64().unwrap();
    let socket = bd.socket();
    let known = Mutex::new(seeds.clone());
    let exchanges = Mutex::new(Vec::new());
    let dice = Dice::new();
    std::thread::scope(|scope| {
        for who in 0..CLIENTS {
            let (mut dice, known, exchanges, socket) = (dice.fork(who), &known, &exchanges, &socket);
            scope.spawn(move || {
                let mut client = Client::connect(socket).unwrap();
                client.actor = format!("agent{who}");
                for turn in 0..asks {
                    let ask = next(&mut dice, who, turn, known);
                    let sent = Instant::now();
                    let reply = client.ask(&ask.call()).unwrap();
                    let during = (sent, Instant::now());
                    if let (Ask::Create { .. }, Some(id)) = (&ask, reply["result"]["id"].as_str()) {
                        known.lock().unwrap().push(id.to_owned());
                    }
                    exchanges.lock().unwrap().push(Exchange {
                        actor: client.actor.clone(),
                        ask,
                        reply,
                        during,
                    });
                }
            });
        }
    });
    let exchanges = exchanges.into_inner().unwrap();
    assert_respects_real_time(&exchanges);
    let mut model = Model::default();
    for id in &seeds {
        let seed = serde_json::json!({
            "result": {"id": id, "title": "seed", "status": "open", "assignee": null, "notes": []},
        });
        model.replay("", &Ask::Create { title: "seed".into() }, &seed).unwrap();
    }
    let silent = replay(&mut model, exchanges, start);
    let after = bd.json(&["list"]);
    model.agrees(&after).unwrap();
    let checkpoints = checkpoints(&bd);
    eprintln!("{checkpoints} checkpoints, {silent} positions of their own");
    assert!(silent <= checkpoints, "{silent} positions for {checkpoints} checkpoints");
    // All changes are on disk.
    bd.text(&["daemon", "stop"]);
    assert_eq!(bd.json(&["--no-daemon", "list"]), after);
    assert_eq!(bd.json(&["--no-daemon", "validate"]), serde_json::json!([]));
}

/// Returns how many commits the daemon has made.
fn checkpoints(bd: &Sandbox) -> usize {
    let git = git2::Repository::open(bd.dir()).unwrap();
    let mut walk = git.revwalk().unwrap();
    walk.push_ref(REF).unwrap();
    walk.count()
}

/// Replays all replies in the order of their positions. Each position belongs to exactly one mutation, or to
/// a checkpoint that recorded its base commit. All other replies with that position came after it and before
/// the next one, and changed nothing. Returns the number of positions without a request.
fn replay(model: &mut Model, exchanges: Vec<Exchange>, start: u64) -> usize {
    let mut silent = 0;
    let mut by_position = std::collections::BTreeMap::<u64, Vec<Exchange>>::new();
    for exchange in exchanges {
        by_position.entry(exchange.position()).or_default().push(exchange);
    }
    let end = *by_position.keys().last().unwrap();
    for position in start..=end {
        let mut group = by_position.remove(&position).unwrap_or_default();
        if position > start {
            let before = model.clone();
            let moves = |exchange: &Exchange| {
                let mut after = before.clone();
                // Renewing a claim appends a journal record, although nothing changes in the model.
                let renewed = exchange.reply["result"]["renewed"] == true;
                after.replay(&exchange.actor, &exchange.ask, &exchange.reply).is_ok()
                    && (renewed || after != before)
            };
            match group.iter().position(moves) {
                Some(mover) => {
                    let mover = group.remove(mover);
                    model.replay(&mover.actor, &mover.ask, &mover.reply).unwrap();
                }
                None => silent += 1,
            }
        }
        for exchange in group {
            let before = model.clone();
            let explained = model.replay(&exchange.actor, &exchange.ask, &exchange.reply);
            assert!(
                explained.is_ok(),
                "at {position}: {explained:?} for {:?} of {}",
                exchange.ask,
                exchange.actor
            );
            assert_eq!(*model, before, "at {position} two changes: {:?} of {}", exchange.ask, exchange.actor);
        }
    }
    silent
}

/// The same with real processes, like agents on one machine. Their replies carry no position, so each is
/// checked for what holds in every order.
fn processes(mode: Mode, asks: usize) {
    let bd = Sandbox::new(mode);
    let hot: Vec<String> = (0..5).map(|n| bd.create(&[&format!("hot {n}")])).collect();
    let claims = Mutex::new(std::collections::BTreeMap::<String, std::collections::BTreeSet<String>>::new());
    let written = Mutex::new(Vec::<(String, String)>::new());
    let dice = Dice::new();
    std::thread::scope(|scope| {
        for who in 0..CLIENTS {
            let (mut dice, bd, hot, claims, written) = (dice.fork(who), &bd, &hot, &claims, &written);
            scope.spawn(move || {
                let actor = format!("agent{who}");
                let mine = bd.json_as(&actor, &["create", &format!("mine {who}")]);
                let mine = mine["id"].as_str().unwrap();
                for turn in 1..asks {
                    let id = &hot[dice.roll(hot.len())];
                    match dice.roll(7) {
                        0 | 1 => {
                            let text = format!("note {who}.{turn}");
                            let note = bd.json_as(&actor, &["note", "add", id, &text]);
                            assert_eq!(note["content"], text);
                            written.lock().unwrap().push((id.clone(), text));
                        }
                        2 => {
                            let title = format!("mine {who}.{turn}");
                            bd.json_as(&actor, &["update", mine, "--title", &title]);
                            assert_eq!(bd.show(mine)["title"], title, "read your own write");
                        }
                        3 => {
                            let run = bd.run(&["--actor", &actor, "claim", id, "--json"]);
                            if run.exit == Some(0) {
                                claims.lock().unwrap().entry(id.clone()).or_default().insert(actor.clone());
                            } else {
                                run.failed("claim", "already_claimed");
                            }
                        }
                        4 => {
                            let closed = bd.json_as(&actor, &["close", mine]);
                            assert_eq!(closed[0]["status"], "closed");
                            assert_eq!(bd.json_as(&actor, &["reopen", mine])[0]["status"], "open");
                        }
                        5 => assert_eq!(bd.show(id)["id"], *id),
                        _ => assert!(bd.json(&["list"]).as_array().unwrap().len() > hot.len()),
                    }
                }
            });
        }
    });
    for (id, holders) in claims.into_inner().unwrap() {
        assert_eq!(holders.len(), 1, "{id} was given to {holders:?}");
        assert_eq!(bd.show(&id)["assignee"], *holders.first().unwrap());
    }
    for id in &hot {
        let bead = bd.show(id);
        let stored: Vec<_> =
            bead["notes"].as_array().unwrap().iter().map(|note| note["content"].clone()).collect();
        let written = written.lock().unwrap();
        let ours: Vec<_> = written.iter().filter(|(on, _)| on == id).map(|(_, text)| text).collect();
        assert_eq!(stored.len(), ours.len(), "each note once, and none is lost");
        assert!(ours.iter().all(|text| stored.iter().any(|note| note == text.as_str())));
        let stamps: Vec<_> =
            bead["notes"].as_array().unwrap().iter().map(|note| note["at"].to_string()).collect();
        let unique: std::collections::BTreeSet<_> = stamps.iter().collect();
        assert_eq!(unique.len(), stamps.len(), "no stamp is minted twice");
    }
    assert_eq!(bd.json(&["count"])["count"], CLIENTS + hot.len());
    assert_eq!(bd.json(&["validate"]), serde_json::json!([]));
}

#[test]
fn fifty_processes_with_a_daemon() {
    processes(Mode::Daemon, ASKS);
}

/// Without a daemon each command opens the store, so the default run starts fewer of them.
#[test]
fn fifty_processes_without_a_daemon() {
    processes(Mode::Embedded, 4);
}

#[test]
#[ignore = "takes minutes: every command opens the store by itself"]
fn fifty_processes_without_a_daemon_at_length() {
    processes(Mode::Embedded, ASKS);
}
