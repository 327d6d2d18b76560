//! `cargo xtask night`: a night in minutes. Three machines share one Git remote; six agents on each claim, work, crash, give up
//! and finish; daemons are killed and the remote goes away at times. The report says how much work was done twice.

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

/// How long a lease lasts: short, so that the beads of crashed agents come back within the night.
const LEASE: &str = "20s";
/// Beads of the night for each agent and minute; agents that finish faster than they work would wait.
const BEADS_A_MINUTE: u64 = 12;
/// Something goes wrong about this often.
const TROUBLE_EVERY_MS: u64 = 9_000;
/// How long the remote stays away.
const OUTAGE_MS: u64 = 4_000;
/// The drain: so many beads, each taking its agent this long.
const DRAIN_BEADS: u64 = 45;
const DRAIN_AGENTS: usize = 3;
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
        let outcome = night.pass(&bd, &root, scope);
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
    fn pass(&self, bd: &std::path::Path, root: &std::path::Path, scope: &str) -> Result<()> {
        let remote = Remote::new(root)?;
        let machines = Machine::fleet(bd, root, scope, self.machines)?;
        let minutes = self.time.as_secs().div_ceil(60);
        let all_agents = u64::try_from(self.machines * self.agents)?;
        machines[0].stock(all_agents * minutes * BEADS_A_MINUTE / 3)?;
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
                        habits: Habits::of_a_night(),
                    };
                    let (over, shifts) = (&over, &shifts);
                    scope.spawn(move || agent.work(over, shifts));
                }
            }
            self.trouble(&machines, &remote);
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

    /// Kills daemons and takes the remote away, until the night is over.
    fn trouble(&self, machines: &[Machine], remote: &Remote) {
        let mut dice = Dice::new(self.seed);
        let end = Instant::now() + self.time;
        while Instant::now() < end {
            let pause = TROUBLE_EVERY_MS / 2 + dice.below(TROUBLE_EVERY_MS);
            std::thread::sleep(
                Duration::from_millis(pause).min(end.saturating_duration_since(Instant::now())),
            );
            if dice.chance(60) {
                machines[dice.index(machines.len())].kill_daemon();
            } else {
                remote.go_away(Duration::from_millis(dice.below(OUTAGE_MS)));
            }
        }
    }
}

/// Takes and closes everything there is, without trouble, and compares the time with that of agents who never wait.
fn drain(bd: &std::path::Path, root: &std::path::Path, scope: &str, machines: usize) -> Result<()> {
    Remote::new(root)?;
    let machines = Machine::fleet(bd, root, scope, machines)?;
    machines[0].stock(DRAIN_BEADS)?;
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
                    habits: Habits::of_a_drain(DRAIN_WORK_MS),
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
    // Agents look for more for a while before they leave.
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
