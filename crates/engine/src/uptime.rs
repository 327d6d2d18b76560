//! A clock for leases that nobody can set: time since this machine was started. It also runs while the machine sleeps.

use std::sync::OnceLock;

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

#[cfg(target_os = "linux")]
const CLOCK: ClockId = ClockId::Boottime;
#[cfg(not(target_os = "linux"))]
const CLOCK: ClockId = ClockId::Monotonic;

/// A moment of one run of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Uptime {
    /// Which run: moments of different runs cannot be compared.
    run: String,
    ms: u64,
}

impl Uptime {
    pub fn now() -> Self {
        let time = clock_gettime(CLOCK);
        let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
        let ms = u64::try_from(time.tv_nsec).unwrap_or_default() / 1_000_000;
        Self { run: run().to_owned(), ms: seconds * 1_000 + ms }
    }

    /// How much time has passed since; `None` when the machine was started anew meanwhile.
    pub fn elapsed_ms(&self) -> Option<u64> {
        let now = Self::now();
        (now.run == self.run).then(|| now.ms.saturating_sub(self.ms))
    }
}

/// The name of this run of the machine. Where the system has none, every process counts as a run of its own.
fn run() -> &'static str {
    static RUN: OnceLock<String> = OnceLock::new();
    RUN.get_or_init(|| {
        let name = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        if name.trim().is_empty() {
            format!("{:016x}", getrandom::u64().unwrap_or_else(|_| std::process::id().into()))
        } else {
            name.trim().to_owned()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_another_run_are_not_compared() {
        let now = Uptime::now();
        assert!(now.elapsed_ms().is_some());
        assert_eq!(Uptime { run: "another".into(), ..now.clone() }.elapsed_ms(), None);
        let earlier = Uptime { ms: now.ms.saturating_sub(1_000), ..now };
        assert!(earlier.elapsed_ms() >= Some(1_000).min(earlier.elapsed_ms()));
    }
}
