//! Signs of life. Calls and progress notifications renew what the client's agents hold. An open connection proves nothing:
//! a hung agent keeps its connection open.

use std::collections::BTreeMap;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use beads_core::Actor;
use beads_engine::request::Call;

use super::session::Session;

/// A lease shorter than this is not meant to be kept by anybody.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

/// A session that calls is never shown as silent.
const LONGEST_PAUSE: Duration = Duration::from_secs(20);

/// Sends a heartbeat for each actor that was heard from, a few times in each lease at most, until the sender is gone.
pub fn keep(session: &Session, heard: &Receiver<Actor>) {
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

/// Returns how long a lease is, when the store could be asked.
fn heartbeat(session: &Session, actor: &Actor) -> Option<Duration> {
    let answer = session.ask(actor, Call::Heartbeat).ok()?;
    answer["lease_ms"].as_u64().map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_times_in_each_lease() {
        assert_eq!(pause(Some(Duration::from_secs(30))), Duration::from_secs(10));
        assert_eq!(pause(Some(Duration::from_millis(3))), SHORTEST_PAUSE);
        assert_eq!(pause(None), LONGEST_PAUSE);
    }
}
