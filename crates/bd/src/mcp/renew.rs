//! While a client is connected, what its agents hold stays theirs.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use beads_core::op::{ClaimBead, Guard};
use beads_core::{Actor, Op};
use beads_engine::config::parse_duration;
use beads_engine::request::Call;
use serde_json::Value;

use super::session::Session;

/// A lease shorter than this is not meant to be kept by anybody.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

/// When the store cannot be asked how long a lease is.
const UNKNOWN_LEASE: Duration = Duration::from_secs(60 * 60);

/// Renews at once and then three times in each lease, until the sender of `wake` is gone.
pub fn keep(session: &Session, wake: &Receiver<()>) {
    loop {
        let mut lease = UNKNOWN_LEASE;
        for actor in session.actors() {
            lease = lease_of(session, &actor).unwrap_or(UNKNOWN_LEASE);
            renew(session, &actor);
        }
        match wake.recv_timeout(pause(lease)) {
            // Somebody new acts here, or it is time again.
            Ok(()) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn pause(lease: Duration) -> Duration {
    (lease / 3).max(SHORTEST_PAUSE)
}

fn lease_of(session: &Session, actor: &Actor) -> Option<Duration> {
    let setting = session.ask(actor, Call::ConfigGet { key: "claim.lease".into() }).ok()?;
    parse_duration(setting["value"].as_str()?).ok()
}

/// Only leases that still run: what has run out is anybody's.
fn renew(session: &Session, actor: &Actor) {
    let now = jiff::Timestamp::now().to_string();
    for bead in session.mine(actor).unwrap_or_default() {
        let runs = bead["assignee_expires"].as_str().is_some_and(|expires| expires > now.as_str());
        // An offer that is not taken up runs out.
        let runs = runs && bead["offered"] != true;
        let stamp = &bead["assignee_at"];
        let fence = format!("{}.{}", stamp[0], stamp[1]).parse().ok();
        if let (true, Some(_), Value::String(id)) = (runs, fence, &bead["id"]) {
            let guard = Guard { fence, ..Guard::default() };
            // Somebody may just have given it back, taken or closed it; then there is nothing to renew.
            let _ = session.ask(
                actor,
                Call::one(Op::Claim(ClaimBead { id: id.clone(), guard, ..ClaimBead::default() })),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_times_in_each_lease() {
        assert_eq!(pause(Duration::from_secs(90)), Duration::from_secs(30));
        assert_eq!(pause(Duration::from_millis(3)), SHORTEST_PAUSE);
    }
}
