//! Measures what an idle daemon costs, and how much saving delays clients.

use std::time::{Duration, Instant};

use super::samples::Samples;
use super::store::Store;
use crate::arguments::Result;

/// The cost of an idle daemon.
pub struct Idle {
    /// The CPU share, of one core.
    pub share: f64,
    pub wake_ups: u64,
    pub resident_bytes: u64,
}

pub fn idle(store: &Store, seconds: u64) -> Result<Idle> {
    store.some_id()?;
    let pid = store.daemon_pid()?;
    // Let the daemon finish the work of earlier commands.
    std::thread::sleep(Duration::from_secs(7));
    let before = (cpu_ticks(pid)?, status(pid, "voluntary_ctxt_switches:")?);
    std::thread::sleep(Duration::from_secs(seconds));
    let after = (cpu_ticks(pid)?, status(pid, "voluntary_ctxt_switches:")?);
    Ok(Idle {
        // The kernel counts in hundredths of a second.
        share: (after.0 - before.0) as f64 / (seconds * 100) as f64,
        wake_ups: after.1 - before.1,
        resident_bytes: status(pid, "VmRSS:")? * 1024,
    })
}

fn cpu_ticks(pid: u64) -> Result<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name may contain spaces; the fields after its closing parenthesis do not.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let field = |index: usize| fields.get(index).and_then(|field| field.parse::<u64>().ok());
    field(11).zip(field(12)).map(|(user, system)| user + system).ok_or_else(|| stat.clone().into())
}

fn status(pid: u64, name: &str) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.ok_or_else(|| format!("/proc/{pid}/status has no {name}").into())
}

/// Creates beads for some seconds: first without saves, then with a commit again and again.
pub fn saving(store: &Store, seconds: u64) -> Result<(Samples, Samples)> {
    let creates = |delay: &str| -> Result<Samples> {
        store.json(&["config", "set", "sync.max_delay", delay])?;
        store.json(&["config", "set", "sync.quiet", delay])?;
        let mut connection = store.connect()?;
        let mut times = Samples::default();
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(seconds) {
            times.push(connection.create("Created during a save")?);
        }
        Ok(times)
    };
    Ok((creates("1h")?, creates("200ms")?))
}
