//! What an operation may know of the world: who asks, what time it is, and dice.

use crate::{Actor, Clock, Line, Mark, Result, Stamp, Timestamp};

/// Everything impure that an operation needs, as arguments.
pub struct Context<'a> {
    pub actor: Actor,
    pub now_ms: u64,
    pub clock: &'a mut Clock,
    pub random: &'a mut dyn FnMut() -> u64,
    /// The git branch that is checked out where the caller stands; empty when there is none.
    pub branch: Line,
    /// How long a claim lasts when nobody says otherwise.
    pub lease_ms: u64,
}

impl Context<'_> {
    /// The mark of this write: later than all it overwrites.
    pub fn mark(&mut self, overwritten: impl IntoIterator<Item = Stamp>) -> Result<Mark> {
        Ok(Mark::new(self.clock.mint(self.now_ms, overwritten)?, self.actor.clone()))
    }

    /// When a lease that starts now runs out.
    pub fn lease_end(&self, lease_ms: Option<u64>) -> Result<Timestamp> {
        Timestamp::from_ms(self.now_ms.saturating_add(lease_ms.unwrap_or(self.lease_ms)))
    }
}

impl std::fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context")
            .field("actor", &self.actor)
            .field("now_ms", &self.now_ms)
            .finish_non_exhaustive()
    }
}
