//! Several machines with one Git remote, where a ref decides who gets a bead (docs/FLEET.md). Each sandbox is
//! a machine.

mod drain;
mod exclusive;
mod pace;
mod refused;
mod unreachable;

use serde_json::Value;

use crate::sandbox::{Mode, Sandbox};
use crate::sync::Remote;

/// Creates machines whose claims are decided on the remote, with these beads on all of them.
pub fn machines(remote: &Remote, modes: &[Mode], beads: usize) -> Vec<Sandbox> {
    let machines: Vec<Sandbox> = modes.iter().map(|mode| remote.replica(*mode)).collect();
    for number in 0..beads {
        let (title, id) = (format!("work {number}"), format!("bd-{number:02}"));
        machines[0].create(&[&title, "--id", &id]);
    }
    machines[0].json(&["sync"]);
    for machine in &machines {
        machine.json(&["sync"]);
        machine.json(&["config", "set", "claim.scope", "remote"]);
        // A machine that is busy with other tests may be slow.
        machine.json(&["config", "set", "claim.timeout", "60s"]);
    }
    machines
}

/// Returns the records of the claim refs on the remote.
pub fn records(remote: &Remote) -> Vec<Value> {
    let git = git2::Repository::open(remote.path()).unwrap();
    let refs = git.references_glob("refs/beads/claims/*").unwrap();
    let record = |reference: Result<git2::Reference<'_>, git2::Error>| {
        let tree = reference.unwrap().peel_to_tree().unwrap();
        let blob = git.find_blob(tree.get_name("claim.json").unwrap().id()).unwrap();
        serde_json::from_slice(blob.content()).unwrap()
    };
    refs.map(record).collect()
}
