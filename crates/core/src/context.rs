//! The context of an operation: the actor, the time and a source of random numbers.

use crate::{Actor, Clock, Line, Mark, Result, Stamp, Timestamp};

/// All external inputs of an operation.
pub struct Context<'a> {
    /// The actor who runs the operation.
    pub actor: Actor,
    /// The wall clock, in milliseconds since 1970.
    pub now_ms: u64,
    /// The clock that mints stamps.
    pub clock: &'a mut Clock,
    /// Returns a random number.
    pub random: &'a mut dyn FnMut() -> u64,
    /// The git branch that the caller has checked out; empty if there is none.
    pub branch: Line,
    /// The default length of a lease.
    pub lease_ms: u64,
}

impl Context<'_> {
    /// Returns the mark for this write, which is later than every stamp in `overwritten`.
    pub fn mark(&mut self, overwritten: impl IntoIterator<Item = Stamp>) -> Result<Mark> {
        Ok(Mark::new(self.clock.mint(self.now_ms, overwritten)?, self.actor.clone()))
    }

    /// Returns the time by which leases are judged: that of the hub if it is known, else the wall clock.
    pub fn lease_now_ms(&self) -> u64 {
        self.now_ms.saturating_add_signed(self.clock.leases_ahead_ms())
    }

    /// Returns the end of a lease that starts now.
    pub fn lease_end(&self, lease_ms: Option<u64>) -> Result<Timestamp> {
        Timestamp::from_ms(self.lease_now_ms().saturating_add(lease_ms.unwrap_or(self.lease_ms)))
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
