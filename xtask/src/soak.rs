//! `cargo xtask soak`: runs two machines with a shared remote and clients that never stop. One daemon is
//! killed again and again; the other must survive without growing.

mod verdict;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use beads_sim::Dice;
use serde_json::Value;

use crate::arguments::{Arguments, Result};
use verdict::{RING, Sample, Verdict};

/// Beads per client. Their number is constant, so memory must not grow.
const BEADS: usize = 20;
const SAMPLE_EVERY: Duration = Duration::from_secs(5);
const KILL_EVERY: Duration = Duration::from_secs(11);

/// A repository with its daemon, in a separate directory.
struct Machine {
    bd: PathBuf,
    root: PathBuf,
}

#[derive(Default)]
struct Counts {
    done: AtomicU64,
    refused: AtomicU64,
    kills: AtomicU64,
    syncs: AtomicU64,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let time = Duration::from_secs(arguments.or("minutes", 10_u64)? * 60);
    let clients: usize = arguments.or("clients", 4)?;
    let bd: PathBuf = arguments.or("bd", PathBuf::from("target/release/bd"))?;
    let bd = bd.canonicalize().map_err(|error| format!("{}: {error}; build it first", bd.display()))?;
    let root = std::env::temp_dir().join(format!("beads-soak-{}", std::process::id()));
    std::fs::create_dir_all(&root)?;
    git2::Repository::init_bare(root.join("remote.git"))?;
    let machines = [Machine::new(&bd, &root, "steady")?, Machine::new(&bd, &root, "killed")?];
    let outcome = soak(&machines, clients, time);
    machines.iter().for_each(|machine| drop(machine.run(&["daemon", "stop"])));
    outcome?;
    std::fs::remove_dir_all(&root)?;
    Ok(())
}

fn soak(machines: &[Machine; 2], clients: usize, time: Duration) -> Result<()> {
    let (counts, over) = (Counts::default(), AtomicBool::new(false));
    let acknowledged = Mutex::new(BTreeMap::new());
    let samples = std::thread::scope(|scope| {
        for client in 0..clients {
            let (machine, counts, over, acknowledged) =
                (&machines[client % 2], &counts, &over, &acknowledged);
            scope.spawn(move || work(machine, client, counts, over, acknowledged));
        }
        let samples = watch(machines, time, &counts);
        over.store(true, Ordering::Relaxed);
        samples
    });
    for machine in machines.iter().chain(machines) {
        machine.json(&["sync"])?;
    }
    println!(
        "{} writes acknowledged, {} refused, {} kills, {} syncs asked for, in {} s",
        counts.done.load(Ordering::Relaxed),
        counts.refused.load(Ordering::Relaxed),
        counts.kills.load(Ordering::Relaxed),
        counts.syncs.load(Ordering::Relaxed),
        time.as_secs(),
    );
    check_nothing_lost(machines, &acknowledged.into_inner().unwrap_or_default())?;
    println!("outside of git the store keeps {} kB of journal, events and receipts", machines[0].kept_kb());
    judge(&samples)
}

/// Rewrites the beads of one client until the run is over. The last acknowledged value must be there in the
/// end.
fn work(
    machine: &Machine,
    client: usize,
    counts: &Counts,
    over: &AtomicBool,
    acknowledged: &Mutex<BTreeMap<String, String>>,
) {
    let mut dice = Dice::new(client as u64);
    let mut mine = Vec::new();
    for turn in 0_u64.. {
        if over.load(Ordering::Relaxed) {
            return;
        }
        let title = format!("bead of {client} at {turn}");
        let written = if mine.len() < BEADS {
            machine.json(&["create", &title])
        } else {
            let id: &String = &mine[dice.index(mine.len())];
            let priority = dice.below(5).to_string();
            machine.json(&["update", id, "--title", &title, "-p", &priority])
        };
        if dice.chance(3) && machine.json(&["sync"]).is_ok() {
            counts.syncs.fetch_add(1, Ordering::Relaxed);
        }
        // A create answers with its bead, an update with a list.
        let id =
            |answer: Value| Some(answer.get("id").or_else(|| answer.get(0)?.get("id"))?.as_str()?.to_owned());
        let Some(id) = written.ok().and_then(id) else {
            counts.refused.fetch_add(1, Ordering::Relaxed);
            continue;
        };
        counts.done.fetch_add(1, Ordering::Relaxed);
        if mine.len() < BEADS {
            mine.push(id.clone());
        }
        if let Ok(mut acknowledged) = acknowledged.lock() {
            acknowledged.insert(id, title);
        }
    }
}

/// Samples the steady daemon, and kills the other one.
fn watch(machines: &[Machine; 2], time: Duration, counts: &Counts) -> Vec<Sample> {
    let started = Instant::now();
    let (mut samples, mut killed) = (Vec::new(), Instant::now());
    while started.elapsed() < time {
        std::thread::sleep(SAMPLE_EVERY);
        if let Some(sample) = machines[0].sample() {
            let (after, Sample { pid, memory_kb, files, events }) = (started.elapsed().as_secs(), sample);
            println!("after {after:5} s: daemon {pid}: {memory_kb} kB, {files} files, {events} events");
            samples.push(sample);
        }
        if killed.elapsed() >= KILL_EVERY
            && let Some(victim) = machines[1].sample()
            && Command::new("kill").args(["-9", &victim.pid.to_string()]).status().is_ok_and(|s| s.success())
        {
            counts.kills.fetch_add(1, Ordering::Relaxed);
            killed = Instant::now();
        }
    }
    samples
}

fn check_nothing_lost(machines: &[Machine; 2], acknowledged: &BTreeMap<String, String>) -> Result<()> {
    let prints: Vec<Value> =
        machines.iter().map(|machine| machine.json(&["verify"])).collect::<Result<_>>()?;
    if prints[0]["fingerprint"] != prints[1]["fingerprint"] {
        return Err("the machines hold different states".into());
    }
    let beads = machines[0].json(&["list"])?;
    let titles: BTreeMap<&str, &str> = beads
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|bead| Some((bead["id"].as_str()?, bead["title"].as_str()?)))
        .collect();
    for (id, title) in acknowledged {
        if titles.get(id.as_str()) != Some(&title.as_str()) {
            return Err(format!(
                "{id} was acknowledged as {title:?}, and is now {:?}",
                titles.get(id.as_str())
            )
            .into());
        }
    }
    println!("{} beads, each as it was last acknowledged, on both machines", acknowledged.len());
    Ok(())
}

/// Checks that the steady daemon survived, and that its memory stayed flat once its ring of events was full.
/// The amount of data is constant, so nothing else may grow either.
fn judge(samples: &[Sample]) -> Result<()> {
    match Verdict::of(samples) {
        Verdict::Died => Err("the steady daemon died".into()),
        Verdict::TooShort { counted, events } => {
            println!(
                "memory was NOT checked: the steady daemon had {events} events, and its ring of {RING} must fill first; \
                 only {counted} samples came after that. Use more --minutes"
            );
            Ok(())
        }
        Verdict::Flat(growth) => {
            println!("{growth}\nthe steady daemon is flat");
            Ok(())
        }
        Verdict::Grew(growth) => Err(format!("{growth}\nthe steady daemon grew").into()),
    }
}

impl Machine {
    fn new(bd: &Path, root: &Path, name: &str) -> Result<Self> {
        let root = root.join(name);
        for directory in ["home", "run", "repository"] {
            std::fs::create_dir_all(root.join(directory))?;
        }
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(root.join("run"), std::fs::Permissions::from_mode(0o700))?;
        let git = git2::Repository::init(root.join("repository"))?;
        let remote = root.join("../remote.git").canonicalize()?;
        git.remote("origin", &remote.display().to_string())?;
        let machine = Self { bd: bd.to_owned(), root };
        for (key, value) in [
            ("sync.auto", "true"),
            ("sync.quiet", "100ms"),
            ("sync.max_delay", "1s"),
            ("sync.interval", "3s"),
        ] {
            machine.json(&["config", "set", key, value])?;
        }
        Ok(machine)
    }

    fn run(&self, args: &[&str]) -> Result<Output> {
        let mut command = Command::new(&self.bd);
        command.args(args).current_dir(self.root.join("repository")).env_clear().stdin(Stdio::null());
        command.env("HOME", self.root.join("home")).env("BD_RUNTIME_DIR", self.root.join("run"));
        command.env("BD_ACTOR", "soak@here");
        Ok(command.output()?)
    }

    fn json(&self, args: &[&str]) -> Result<Value> {
        let output = self.run(&[args, &["--json"]].concat())?;
        if !output.status.success() {
            return Err(format!("{args:?}: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    fn kept_kb(&self) -> u64 {
        let files =
            std::fs::read_dir(self.root.join("repository/.git/beads")).into_iter().flatten().flatten();
        files.filter_map(|file| Some(file.metadata().ok()?.len())).sum::<u64>() / 1024
    }

    fn sample(&self) -> Option<Sample> {
        let pid = self.json(&["daemon", "status"]).ok()?["pid"].as_u64()?;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        let memory_kb = resident.trim().trim_end_matches(" kB").parse().ok()?;
        let files = std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count();
        // A cursor is a position between events. The number after its dash is the event count.
        let cursor = self.json(&["status"]).ok()?["cursor"].as_str()?.to_owned();
        let events = cursor.rsplit('-').next()?.parse().ok()?;
        Some(Sample { pid, memory_kb, files, events })
    }
}
