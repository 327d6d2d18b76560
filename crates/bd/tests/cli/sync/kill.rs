//! `kill -9` at any point of a sync: no write is lost, no ref is invalid, and the next sync succeeds.

use std::time::{Duration, Instant};

use beads_store::REF;

use super::{Remote, sync_until_equal, titles};
use crate::concurrency::Dice;
use crate::sandbox::{Mode, Run, Sandbox, kill};

/// Asserts that the objects that the refs point to can be read, on both sides.
fn refs_are_valid(remote: &Remote, bd: &Sandbox) {
    for git in [&remote.git, &bd.repository()] {
        let Ok(reference) = git.find_reference(REF) else { continue };
        for entry in &reference.peel_to_commit().unwrap().tree().unwrap() {
            git.find_blob(entry.id()).unwrap();
        }
    }
}

fn killing_syncs(mode: Mode, kills: usize) {
    let remote = Remote::new();
    let (ann, ben) = (remote.replica(mode), remote.replica(Mode::Embedded));
    let mut dice = Dice::new();
    let mut acknowledged = Vec::new();
    // How long a sync takes here: kills are spread over a slightly longer time.
    let mut usual = Duration::from_millis(30);
    for number in 0..kills {
        let title = format!("bead {number:03}");
        ann.create(&[&title]);
        acknowledged.push(title);
        if number % 3 == 0 {
            // A change to merge.
            let title = format!("rival {number:03}");
            ben.create(&[&title]);
            ben.json(&["sync"]);
            acknowledged.push(title);
        }
        let pid = ann.daemon_pid();
        let mut child = ann.command(&["sync", "--json"]).spawn().unwrap();
        let moment = usize::try_from(usual.as_micros()).unwrap() * 3 / 2;
        std::thread::sleep(Duration::from_micros(dice.roll(moment) as u64));
        match pid {
            Some(pid) => kill(pid),
            None => child.kill().unwrap(),
        }
        Run::finish(child);
        refs_are_valid(&remote, &ann);
        let start = Instant::now();
        ann.json(&["sync"]);
        usual = (usual + start.elapsed()) / 2;
    }
    sync_until_equal(&[&ann, &ben]);
    acknowledged.sort_unstable();
    assert_eq!(titles(&ann), acknowledged);
    assert_eq!(ann.run(&["validate"]).exit, Some(0));
}

#[test]
fn killing_a_sync_loses_nothing() {
    killing_syncs(Mode::Embedded, 10);
    killing_syncs(Mode::Daemon, 10);
}

#[test]
#[ignore = "takes minutes"]
fn killing_a_sync_loses_nothing_at_length() {
    killing_syncs(Mode::Embedded, 100);
    killing_syncs(Mode::Daemon, 100);
}
