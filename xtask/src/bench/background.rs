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

/// The numbers of the fields in a `stat` file of `/proc`, after the name: the time in user mode, followed by
/// that in the kernel.
const OWN_TIME: usize = 11;
const CHILDREN_TIME: usize = 13;

/// Returns the processor time of a process.
fn cpu_ticks(pid: u64) -> Result<u64> {
    ticks(&format!("/proc/{pid}/stat"), OWN_TIME)
}

/// Returns a time from a `stat` file. The kernel counts in hundredths of a second.
fn ticks(path: &str, first: usize) -> Result<u64> {
    let stat = std::fs::read_to_string(path)?;
    // The name may contain spaces; the fields after its closing parenthesis do not.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let field = |index: usize| fields.get(index).and_then(|field| field.parse::<u64>().ok());
    field(first).zip(field(first + 1)).map(|(user, system)| user + system).ok_or_else(|| stat.clone().into())
}

/// Returns the processor time of all programs that this process started and that have ended.
pub fn children_time() -> Result<Duration> {
    Ok(Duration::from_millis(10 * ticks("/proc/self/stat", CHILDREN_TIME)?))
}

fn status(pid: u64, name: &str) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.ok_or_else(|| format!("/proc/{pid}/status has no {name}").into())
}

/// The saves of a daemon while a client keeps writing.
pub struct Saving {
    /// The processor time of the saves, as a share of one core.
    pub share: f64,
    pub saves: usize,
    /// The longest time without a save.
    pub longest_pause: Duration,
}

/// The pause between two writes.
const WRITE_PAUSE: Duration = Duration::from_millis(20);

/// How long to write before measuring, so that the saves have spent their reserve.
const WRITE_FIRST: Duration = Duration::from_secs(10);

/// Creates beads again and again, and measures the threads of the daemon that save them: all but the first,
/// which answers the client.
pub fn saving_share(store: &Store, during: Duration) -> Result<Saving> {
    store.some_id()?;
    let pid = store.daemon_pid()?;
    let saving_ticks = || -> Result<u64> {
        Ok(cpu_ticks(pid)?.saturating_sub(ticks(&format!("/proc/{pid}/task/{pid}/stat"), OWN_TIME)?))
    };
    let repository = git2::Repository::open(&store.dir)?;
    let tip = || repository.refname_to_id("refs/heads/beads/store");
    let mut connection = store.connect()?;
    let begin = Instant::now();
    let (mut before, mut saving) = (None, Saving { share: 0.0, saves: 0, longest_pause: Duration::ZERO });
    let (mut last_tip, mut last_save) = (tip()?, begin);
    while begin.elapsed() < WRITE_FIRST + during {
        connection.create("Created during a save")?;
        std::thread::sleep(WRITE_PAUSE);
        if before.is_none() && begin.elapsed() >= WRITE_FIRST {
            before = Some(saving_ticks()?);
        }
        let now = tip()?;
        if now != last_tip {
            saving.saves += usize::from(before.is_some());
            saving.longest_pause = saving.longest_pause.max(last_save.elapsed());
            (last_tip, last_save) = (now, Instant::now());
        }
    }
    saving.longest_pause = saving.longest_pause.max(last_save.elapsed());
    let used = saving_ticks()? - before.unwrap_or_default();
    saving.share = used as f64 / 100.0 / during.as_secs_f64();
    Ok(saving)
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
