//! Keeps the indexes of long queries, which are answered from snapshots in threads of their own.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use beads_core::{Catalog, State};

use super::row_cache::LIFETIME;

/// The catalog of the last long query. The next one only indexes what has changed since.
#[derive(Debug, Default)]
pub(super) struct Indexes(Mutex<Option<Kept>>);

#[derive(Debug)]
struct Kept {
    catalog: Arc<Catalog>,
    last_used: Instant,
}

impl Indexes {
    /// Returns the catalog of a state.
    pub(super) fn of(&self, state: State) -> Arc<Catalog> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let catalog = match kept.take() {
            Some(Kept { catalog, .. }) if catalog.state().is_same_copy(&state) => catalog,
            Some(Kept { catalog, .. }) => Arc::new(moved_to(catalog, state)),
            None => Arc::new(Catalog::from(state)),
        };
        *kept = Some(Kept { catalog: catalog.clone(), last_used: Instant::now() });
        catalog
    }

    /// Returns when the catalog expires, if there is one.
    pub(super) fn expires_at(&self) -> Option<Instant> {
        // A thread that is using it extends its life; the engine looks again at its next wake-up.
        Some(self.0.try_lock().ok()?.as_ref()?.last_used + LIFETIME)
    }

    /// Drops the catalog if no long query came in a while.
    pub(super) fn expire(&self, now: Instant) {
        if let Ok(mut kept) = self.0.try_lock() {
            kept.take_if(|kept| kept.last_used + LIFETIME <= now);
        }
    }
}

/// Returns the catalog of another state. Indexes everything if another query still reads this one.
fn moved_to(catalog: Arc<Catalog>, state: State) -> Catalog {
    match Arc::try_unwrap(catalog) {
        Ok(mut catalog) => {
            catalog.follow(state);
            catalog
        }
        Err(_) => Catalog::from(state),
    }
}

#[cfg(test)]
mod tests {
    use beads_core::op::{Create, Op};
    use beads_core::{Clock, Context, Stamp};

    use super::*;

    fn create(catalog: &mut Catalog, clock: &mut Clock, number: u64) {
        let title = format!("Bead {number}").parse().unwrap();
        let mut context = Context {
            actor: "ann".parse().unwrap(),
            now_ms: 1_700_000_000_000 + number,
            clock,
            random: &mut || number,
            branch: Default::default(),
            lease_ms: 1,
        };
        let applied = Op::Create(Box::new(Create::titled(title))).apply(catalog, &mut context).unwrap();
        catalog.join_delta(&applied.delta).unwrap();
    }

    #[test]
    fn the_catalog_follows_the_state_until_nobody_asks() {
        let (mut catalog, mut clock) = (Catalog::default(), Clock::new(Stamp::ZERO, 1));
        let indexes = Indexes::default();
        assert_eq!(indexes.expires_at(), None);
        let mut reading = Vec::new();
        for number in 1..=6 {
            create(&mut catalog, &mut clock, number);
            let read = indexes.of(catalog.state().clone());
            assert!(*read == catalog);
            if number > 3 {
                // Another query still reads the catalog of an earlier state.
                reading.push((read, catalog.clone()));
            }
        }
        assert!(reading.iter().all(|(read, then)| **read == *then));
        let earlier = reading[0].1.state().clone();
        assert!(*indexes.of(earlier) == reading[0].1, "queries may overtake each other");
        indexes.expire(Instant::now());
        assert!(indexes.expires_at().is_some(), "it was just used");
        indexes.expire(Instant::now() + LIFETIME);
        assert_eq!(indexes.expires_at(), None);
    }
}
