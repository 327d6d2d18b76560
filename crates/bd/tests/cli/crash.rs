//! `kill -9` at any time: every acknowledged change is in the store exactly once, and the store is valid.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::concurrency::Dice;
use crate::sandbox::{Mode, Run, Sandbox, both, kill};

const WRITERS: usize = 3;
const MANY_WRITERS: usize = 20;

/// Returns the titles of all beads and how often each occurs.
fn titles(bd: &Sandbox) -> BTreeMap<String, usize> {
    let mut titles = BTreeMap::new();
    for bead in bd.json(&["list"]).as_array().unwrap() {
        *titles.entry(bead["title"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    titles
}

fn sound(bd: &Sandbox) {
    assert_eq!(bd.run(&["validate"]).succeeded("validate").stdout, "");
    bd.text(&["sync"]);
    assert_eq!(bd.run(&["validate"]).succeeded("validate").stdout, "");
    // Reads the ref alone, as another machine would.
    let before = bd.everything();
    bd.text(&["daemon", "stop"]);
    std::fs::remove_dir_all(bd.dir().join(".git/beads")).unwrap();
    assert_eq!(bd.everything(), before);
}

/// Sleeps for a random time up to this many microseconds, so that kills come at any point.
fn sleep_randomly(dice: &mut Dice, up_to_us: usize) {
    std::thread::sleep(Duration::from_micros(dice.roll(up_to_us) as u64));
}

/// Stops the killing thread when a writer panics; it would otherwise wait for a daemon to kill.
struct StopOnPanic<'a>(&'a AtomicBool);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// Clients write through a daemon that is killed again and again. None of them notices.
fn killing_the_daemon(kills: usize, writers: usize) {
    let bd = Sandbox::new(Mode::Daemon);
    // So that kills hit checkpoints too.
    bd.text(&["config", "set", "sync.quiet", "1ms"]);
    bd.text(&["config", "set", "sync.max_delay", "5ms"]);
    let acknowledged = Mutex::new(Vec::new());
    let over = AtomicBool::new(false);
    let mut dice = Dice::new();
    std::thread::scope(|scope| {
        for who in 0..writers {
            let (bd, acknowledged, over) = (&bd, &acknowledged, &over);
            scope.spawn(move || {
                let _over = StopOnPanic(over);
                for turn in 0.. {
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                    let title = format!("bead {who}.{turn}");
                    let id = bd.create(&[&title]);
                    assert_eq!(bd.show(&id)["title"], title, "seen at once by its writer");
                    acknowledged.lock().unwrap().push(title);
                }
            });
        }
        let mut killed = 0;
        while killed < kills && !over.load(Ordering::Relaxed) {
            sleep_randomly(&mut dice, 60_000);
            if let Some(pid) = bd.daemon_pid() {
                sleep_randomly(&mut dice, 10_000);
                kill(pid);
                killed += 1;
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    let titles = titles(&bd);
    let acknowledged = acknowledged.into_inner().unwrap();
    assert!(acknowledged.len() >= writers, "{acknowledged:?}");
    for title in &acknowledged {
        assert_eq!(titles.get(title), Some(&1), "{title}: a retry must not write twice");
    }
    assert_eq!(titles.len(), acknowledged.len());
    sound(&bd);
}

/// Commands that write to the store themselves are killed at random while others keep working.
fn killing_commands(kills: usize) {
    let bd = Sandbox::new(Mode::Embedded);
    let seed = bd.create(&["seed"]);
    let acknowledged = Mutex::new(Vec::<String>::new());
    let tried = Mutex::new(Vec::<String>::new());
    let over = AtomicBool::new(false);
    let mut dice = Dice::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for turn in 0.. {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                let title = format!("survivor {turn}");
                bd.create(&[&title]);
                acknowledged.lock().unwrap().push(title);
            }
        });
        for victim in 0..kills {
            let title = format!("victim {victim}");
            let mut child = match victim % 3 {
                0 => bd.command(&["sync", "--json"]).spawn().unwrap(),
                1 => bd.command(&["note", "add", &seed, &title, "--json"]).spawn().unwrap(),
                _ => bd.command(&["create", &title, "--json"]).spawn().unwrap(),
            };
            sleep_randomly(&mut dice, 40_000);
            let _ = child.kill();
            let run = Run::finish(child);
            if victim % 3 == 2 {
                tried.lock().unwrap().push(title.clone());
                // Both a command that was killed after it had printed the bead and one that was not killed
                // acknowledged the change.
                let promised =
                    serde_json::from_str::<Value>(&run.stdout).is_ok_and(|bead| bead["id"].is_string());
                if promised {
                    acknowledged.lock().unwrap().push(title);
                }
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    let titles = titles(&bd);
    for title in acknowledged.into_inner().unwrap() {
        assert_eq!(titles.get(&title), Some(&1), "{title}");
    }
    assert!(titles.values().all(|count| *count == 1), "{titles:?}");
    let tried = tried.into_inner().unwrap();
    assert!(titles.keys().all(|title| !title.starts_with("victim") || tried.contains(title)));
    sound(&bd);
}

#[test]
fn killing_the_daemon_loses_nothing() {
    killing_the_daemon(30, WRITERS);
}

#[test]
fn killing_commands_loses_nothing() {
    killing_commands(60);
}

/// A process that is killed while it moves the ref leaves this file, and no other process removes it.
#[test]
fn a_stale_lock_file_of_the_ref_does_not_prevent_saving() {
    both(|bd| {
        bd.create(&["x"]);
        bd.text(&["sync"]);
        let id = bd.create(&["y"]);
        std::fs::write(bd.dir().join(".git/refs/heads/beads/store.lock"), "").unwrap();
        bd.text(&["sync"]);
        assert_eq!(bd.json(&["status"])["unsaved"], 0);
        bd.text(&["daemon", "stop"]);
        std::fs::remove_dir_all(bd.dir().join(".git/beads")).unwrap();
        assert_eq!(bd.show(&id)["title"], "y");
    });
}

#[test]
#[ignore = "takes minutes"]
fn killing_the_daemon_at_length() {
    killing_the_daemon(500, MANY_WRITERS);
}

#[test]
#[ignore = "takes minutes"]
fn killing_commands_at_length() {
    killing_commands(1_500);
}
