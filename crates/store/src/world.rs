//! The wall clock and random numbers, behind a trait so that the simulator controls both.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::random::random_u64;

/// The inputs of a replica that differ on every run.
pub trait World: Send {
    /// Returns the time in milliseconds since 1970.
    fn now_ms(&self) -> u64;
    /// Returns a random number.
    fn random(&mut self) -> u64;
}

/// The system's clock and random numbers.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealWorld;

impl World for RealWorld {
    /// Treats a clock before 1970 as 1970; stamps still grow from there.
    fn now_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    fn random(&mut self) -> u64 {
        // Without the kernel's random numbers ids would repeat. The time at least differs.
        random_u64().unwrap_or_else(|_| self.now_ms().wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}
