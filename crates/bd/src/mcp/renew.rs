//! Heartbeats. Calls and progress notifications renew the claims of the client's agents. An open connection
//! alone does not: a hung agent keeps its connection open.

use std::collections::BTreeMap;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use beads_core::Actor;
use beads_engine::request::Call;

use super::session::Session;

/// The shortest time between heartbeats, for very short leases.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

/// The longest time between heartbeats, short enough that an active session never counts as silent.
const LONGEST_PAUSE: Duration = Duration::from_secs(20);

/// Sends a heartbeat for each active actor, at most a few times per lease, until the channel is closed.
pub fn send_heartbeats(session: &Session, heard: &Receiver<Actor>) {
    let mut last: BTreeMap<Actor, (Instant, Duration)> = BTreeMap::new();
    for actor in heard {
        if last.get(&actor).is_none_or(|(at, pause)| at.elapsed() >= *pause) {
            let lease = heartbeat(session, &actor);
            last.insert(actor, (Instant::now(), pause(lease)));
        }
    }
}

fn pause(lease: Option<Duration>) -> Duration {
    lease.map_or(LONGEST_PAUSE, |lease| (lease / 3).clamp(SHORTEST_PAUSE, LONGEST_PAUSE))
}

/// Sends a heartbeat. Returns the length of the lease, if the store answered.
fn heartbeat(session: &Session, actor: &Actor) -> Option<Duration> {
    let answer = session.ask(actor, Call::Heartbeat).ok()?;
    answer["lease_ms"].as_u64().map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_renewed_a_few_times_per_lease() {
        assert_eq!(pause(Some(Duration::from_secs(30))), Duration::from_secs(10));
        assert_eq!(pause(Some(Duration::from_millis(3))), SHORTEST_PAUSE);
        assert_eq!(pause(None), LONGEST_PAUSE);
    }
}
