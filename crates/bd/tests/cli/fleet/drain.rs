//! Machines that claim all beads at the same time.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::machines;
use crate::sandbox::{Mode, Sandbox};
use crate::sync::Remote;

/// Lets each claimer claim beads until none are left. Returns which claimer got which beads.
fn drain(
    machines: &[Sandbox],
    claimers: usize,
    disturb: impl Fn(&Sandbox) + Sync,
) -> BTreeMap<String, Vec<String>> {
    let taken: Mutex<BTreeMap<String, Vec<String>>> = Mutex::default();
    std::thread::scope(|scope| {
        for (number, machine) in machines.iter().enumerate() {
            for claimer in 0..claimers {
                let (taken, disturb) = (&taken, &disturb);
                scope.spawn(move || {
                    let actor = format!("m{number}-{claimer}");
                    loop {
                        let run = machine.run(&["--actor", &actor, "claim", "--next", "--json"]);
                        let answer = run.value();
                        if answer["error"]["code"] == "nothing_ready" {
                            return;
                        }
                        assert!(run.exit == Some(0) && answer["confirmed"] == true, "{run:?}");
                        let id = answer["id"].as_str().unwrap().to_owned();
                        taken.lock().unwrap().entry(id.clone()).or_default().push(actor.clone());
                        let fence = answer["fence"].as_str().unwrap();
                        let close =
                            machine.run(&["--actor", &actor, "close", &id, "--fence", fence, "--json"]);
                        assert_eq!(close.exit, Some(0), "{close:?}");
                        if claimer == 0 {
                            disturb(machine);
                        }
                    }
                });
            }
        }
    });
    taken.into_inner().unwrap()
}

fn every_bead_once(taken: &BTreeMap<String, Vec<String>>, beads: usize) {
    let twice: Vec<_> = taken.iter().filter(|(_, by)| by.len() > 1).collect();
    assert!(twice.is_empty(), "claimed twice: {twice:?}");
    assert_eq!(taken.len(), beads);
}

#[test]
fn three_machines_with_three_claimers_each_take_every_bead_once() {
    let remote = Remote::new();
    let all = machines(&remote, &[Mode::Daemon; 3], 30);
    every_bead_once(&drain(&all, 3, |_| ()), 30);
}

#[test]
fn nothing_is_claimed_twice_when_daemons_are_killed_in_the_middle_of_claims() {
    let remote = Remote::new();
    let all = machines(&remote, &[Mode::Daemon; 3], 24);
    let taken = drain(&all, 2, Sandbox::kill_daemon);
    let twice: Vec<_> = taken.iter().filter(|(_, by)| by.len() > 1).collect();
    assert!(twice.is_empty(), "claimed twice: {twice:?}");
}
