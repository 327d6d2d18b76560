//! `cargo xtask fleet`: what many machines on one remote have to expect, in virtual time.

use beads_sim::fleet::{Fleet, Policy};

use crate::arguments::{Arguments, Result};

pub fn run(arguments: &Arguments) -> Result<()> {
    let fleet = Fleet {
        seed: arguments.or("seed", 1)?,
        machines: arguments.or("machines", 64)?,
        writing_ms: arguments.or("seconds", 30_u64)? * 1_000,
        write_every_ms: arguments.or("every", 1_000)?,
        round_trip_ms: arguments.or("rtt", 300)?,
        policy: Policy {
            interval_ms: arguments.or("interval", 60_000)?,
            pause_ms: (arguments.or("pause", 50)?, arguments.or("step", 50)?),
            quiet_ms: arguments.or("quiet", 500)?,
            max_delay_ms: arguments.or("max-delay", 5_000)?,
            paced: arguments.or("paced", true)?,
            ..Policy::default()
        },
    };
    let mut report = fleet.sail();
    report.everywhere_ms.sort_unstable();
    report.remote_ms.sort_unstable();
    let races = report.pushes_won + report.pushes_lost;
    println!(
        "{} machines, {} ms to the remote, a write each {} ms",
        fleet.machines, fleet.round_trip_ms, fleet.write_every_ms
    );
    println!("on the remote after   {}", spread(&report.remote_ms));
    println!("everywhere after      {}", spread(&report.everywhere_ms));
    println!("pushes                {races}, of which {} lost their race", report.pushes_lost);
    println!("syncs that gave up    {}", report.gave_up);
    println!("longest unpushed      {} ms", report.longest_unpushed_ms);
    println!("not everywhere        {} writes", report.missing);
    Ok(())
}

fn spread(sorted: &[u64]) -> String {
    let at =
        |percent: usize| sorted.get(sorted.len().saturating_sub(1) * percent / 100).copied().unwrap_or(0);
    format!("p50 {} ms, p95 {} ms, max {} ms", at(50), at(95), at(100))
}
