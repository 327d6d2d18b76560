//! A clock for leases that cannot be set: the time since this machine was started, including sleep.

use std::sync::OnceLock;

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

#[cfg(target_os = "linux")]
const CLOCK: ClockId = ClockId::Boottime;
#[cfg(not(target_os = "linux"))]
const CLOCK: ClockId = ClockId::Monotonic;

/// A clock that runs steadily, even while its machine sleeps, and cannot be set.
pub trait SteadyClock {
    /// Returns the current time.
    fn now(&self) -> Uptime;
}

/// The system's steady clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemUptime;

impl SteadyClock for SystemUptime {
    fn now(&self) -> Uptime {
        let time = clock_gettime(CLOCK);
        let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
        let ms = u64::try_from(time.tv_nsec).unwrap_or_default() / 1_000_000;
        Uptime::new(run(), seconds * 1_000 + ms)
    }
}

/// A time within one boot of a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Uptime {
    /// Identifies the boot. Times of different boots cannot be compared.
    run: String,
    ms: u64,
}

impl Uptime {
    /// Returns a time within the boot named `run`.
    pub fn new(run: &str, ms: u64) -> Self {
        Self { run: run.to_owned(), ms }
    }

    /// Returns the time that has passed until `now`, or `None` if the machine was restarted in between.
    pub fn elapsed_ms(&self, now: &Self) -> Option<u64> {
        (now.run == self.run).then(|| now.ms.saturating_sub(self.ms))
    }
}

/// Returns the id of this boot. If the system has none, every process counts as a separate boot.
fn run() -> &'static str {
    static RUN: OnceLock<String> = OnceLock::new();
    RUN.get_or_init(|| {
        let name = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        if name.trim().is_empty() {
            format!("{:016x}", crate::random_u64().unwrap_or_else(|_| std::process::id().into()))
        } else {
            name.trim().to_owned()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_different_boots_are_not_compared() {
        let (first, later) = (SystemUptime.now(), SystemUptime.now());
        assert!(first.elapsed_ms(&later).is_some());
        assert_eq!(Uptime::new("another", first.ms).elapsed_ms(&later), None);
        let earlier = Uptime::new(&first.run, first.ms.saturating_sub(1_000));
        assert_eq!(earlier.elapsed_ms(&first), Some(1_000.min(first.ms)));
    }
}
