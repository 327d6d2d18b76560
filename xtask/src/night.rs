//! `cargo xtask night`: simulates a night in minutes. Three machines share one Git remote. Six agents on each
//! claim, work, crash, give up and finish. Daemons are killed, and the remote is sometimes unreachable.
//! Reports how much work was done twice.

mod agent;
mod machine;
mod report;

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use beads_sim::Dice;

use crate::arguments::{Arguments, Result};
use agent::{Agent, Habits, Shift};
use machine::{Machine, Remote};
use report::Report;

/// The lease of a claim. Short, so that the beads of crashed agents are free again within the run.
const LEASE: &str = "20s";
/// Beads per agent and minute, enough that no agent runs out of work.
const BEADS_PER_MINUTE: u64 = 12;
/// The average time between faults.
const FAULT_EVERY_MS: u64 = 9_000;
/// The longest outage of the remote.
const OUTAGE_MS: u64 = 4_000;
/// The number of beads in the drain.
const DRAIN_BEADS: u64 = 45;
/// Agents per machine in the drain.
const DRAIN_AGENTS: usize = 3;
/// How long each of them takes.
const DRAIN_WORK_MS: u64 = 2_000;

pub fn run(arguments: &Arguments) -> Result<()> {
    let bd: PathBuf = arguments.or("bd", PathBuf::from("target/release/bd"))?;
    let bd = bd.canonicalize().map_err(|error| format!("{}: {error}; build it first", bd.display()))?;
    let scopes: String = arguments.or("scopes", "local,auto,remote".to_owned())?;
    let seed = arguments.or("seed", 1_u64)?;
    let time = Duration::from_secs(arguments.or("seconds", 300_u64)?);
    let (machines, agents) = (arguments.or("machines", 3_usize)?, arguments.or("agents", 6_usize)?);
    for scope in scopes.split(',') {
        let root = std::env::temp_dir().join(format!("beads-night-{scope}-{}", std::process::id()));
        let night = Night { seed, time, machines, agents };
        let outcome = night.run(&bd, &root, scope);
        let drained = outcome.and_then(|()| drain(&bd, &root.join("drain"), scope, machines));
        std::fs::remove_dir_all(&root)?;
        drained?;
    }
    Ok(())
}

struct Night {
    seed: u64,
    time: Duration,
    machines: usize,
    agents: usize,
}

impl Night {
    fn run(&self, bd: &std::path::Path, root: &std::path::Path, scope: &str) -> Result<()> {
        let remote = Remote::new(root)?;
        let machines = Machine::fleet(bd, root, scope, self.machines)?;
        let minutes = self.time.as_secs().div_ceil(60);
        let all_agents = u64::try_from(self.machines * self.agents)?;
        machines[0].create_beads(all_agents * minutes * BEADS_PER_MINUTE / 3)?;
        machines.iter().try_for_each(Machine::sync)?;
        let before = remote.bytes();
        let over = AtomicBool::new(false);
        let shifts: Mutex<Vec<Shift>> = Mutex::default();
        std::thread::scope(|scope| {
            for (number, machine) in machines.iter().enumerate() {
                for agent in 0..self.agents {
                    let agent = Agent {
                        machine,
                        number,
                        name: format!("m{number}-a{agent}"),
                        dice: Dice::new(self.seed ^ ((number * 64 + agent + 1) as u64) << 32),
                        habits: Habits::for_night(),
                    };
                    let (over, shifts) = (&over, &shifts);
                    scope.spawn(move || agent.work(over, shifts));
                }
            }
            self.inject_faults(&machines, &remote);
            over.store(true, Ordering::Relaxed);
        });
        for machine in machines.iter().chain(&machines) {
            machine.sync()?;
        }
        let shifts = shifts.into_inner().unwrap_or_default();
        println!("{scope:7} {}", Report::of(&shifts, &machines[0].closed()?));
        println!(
            "        the remote grew by {:.1} MB with {} commits on the store's ref",
            (remote.bytes().saturating_sub(before)) as f64 / 1e6,
            remote.commits()?
        );
        machines.iter().for_each(Machine::stop);
        Ok(())
    }

    /// Kills daemons and disconnects the remote until the night is over.
    fn inject_faults(&self, machines: &[Machine], remote: &Remote) {
        let mut dice = Dice::new(self.seed);
        let end = Instant::now() + self.time;
        while Instant::now() < end {
            let pause = FAULT_EVERY_MS / 2 + dice.below(FAULT_EVERY_MS);
            std::thread::sleep(
                Duration::from_millis(pause).min(end.saturating_duration_since(Instant::now())),
            );
            if dice.chance(60) {
                machines[dice.index(machines.len())].kill_daemon();
            } else {
                remote.disconnect(Duration::from_millis(dice.below(OUTAGE_MS)));
            }
        }
    }
}

/// Claims and closes all beads without faults, and compares the time with that of agents that never wait.
fn drain(bd: &std::path::Path, root: &std::path::Path, scope: &str, machines: usize) -> Result<()> {
    Remote::new(root)?;
    let machines = Machine::fleet(bd, root, scope, machines)?;
    machines[0].create_beads(DRAIN_BEADS)?;
    for machine in machines.iter().chain(&machines) {
        machine.sync()?;
    }
    let shifts: Mutex<Vec<Shift>> = Mutex::default();
    let over = AtomicBool::new(false);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for (number, machine) in machines.iter().enumerate() {
            for agent in 0..DRAIN_AGENTS {
                let agent = Agent {
                    machine,
                    number,
                    name: format!("m{number}-a{agent}"),
                    dice: Dice::new(1),
                    habits: Habits::for_drain(DRAIN_WORK_MS),
                };
                let (over, shifts) = (&over, &shifts);
                scope.spawn(move || agent.work(over, shifts));
            }
        }
    });
    for machine in machines.iter().chain(&machines) {
        machine.sync()?;
    }
    let shifts = shifts.into_inner().unwrap_or_default();
    // Agents look for more work for a while before they stop.
    let last = shifts.iter().map(|shift| shift.ended).max().unwrap_or(start);
    let took = last.duration_since(start).as_secs_f64();
    let turns = DRAIN_BEADS.div_ceil((machines.len() * DRAIN_AGENTS) as u64);
    let perfect = (turns * DRAIN_WORK_MS) as f64 / 1e3;
    println!(
        "        drain of {DRAIN_BEADS} beads by {}×{DRAIN_AGENTS}: {} claims, {took:.1} s, {:.2} × the perfect time",
        machines.len(),
        shifts.len(),
        took / perfect,
    );
    machines.iter().for_each(Machine::stop);
    Ok(())
}
