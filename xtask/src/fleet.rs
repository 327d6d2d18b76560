//! `cargo xtask fleet`: simulates many machines on one remote, in virtual time.

use beads_sim::drain::Drain;
use beads_sim::fleet::{Fleet, Policy};
use beads_sim::hub::{HubDrain, HubFleet};

use crate::arguments::{Arguments, Result};

pub fn run(arguments: &Arguments) -> Result<()> {
    let policy = Policy {
        interval_ms: arguments.or("interval", 60_000)?,
        pause_ms: (arguments.or("pause", 50)?, arguments.or("step", 50)?),
        quiet_ms: arguments.or("quiet", 500)?,
        max_delay_ms: arguments.or("max-delay", 5_000)?,
        paced: arguments.or("paced", true)?,
        push_rate: Some(arguments.or("push-rate", 0)?).filter(|rate| *rate > 0),
        ..Policy::default()
    };
    let beads = arguments.or("drain", 0)?;
    if arguments.or("hub", false)? {
        return if beads > 0 { drain_hub(arguments, beads) } else { write_hub(arguments) };
    }
    if beads > 0 { drain(arguments, policy, beads) } else { write(arguments, policy) }
}

/// Every machine writes, and waits for the others' writes.
fn write(arguments: &Arguments, policy: Policy) -> Result<()> {
    let fleet = Fleet {
        seed: arguments.or("seed", 1)?,
        machines: arguments.or("machines", 64)?,
        writing_ms: arguments.or("seconds", 30_u64)? * 1_000,
        write_every_ms: arguments.or("every", 1_000)?,
        round_trip_ms: arguments.or("rtt", 300)?,
        policy,
    };
    let mut report = fleet.run();
    report.everywhere_ms.sort_unstable();
    report.remote_ms.sort_unstable();
    let races = report.pushes_won + report.pushes_lost;
    println!(
        "{} machines, {} ms to the remote, a write every {} ms, {}",
        fleet.machines,
        fleet.round_trip_ms,
        fleet.write_every_ms,
        rate(&fleet.policy)
    );
    println!("on the remote after   {}", spread(&report.remote_ms));
    println!("everywhere after      {}", spread(&report.everywhere_ms));
    println!("pushes                {races}, of which {} lost their race", report.pushes_lost);
    println!("syncs that gave up    {}", report.gave_up);
    println!("longest unpushed      {} ms", report.longest_unpushed_ms);
    println!("not everywhere        {} writes", report.missing);
    Ok(())
}

/// The machines claim and close beads until none are left, with exclusive claims.
fn drain(arguments: &Arguments, policy: Policy, beads: usize) -> Result<()> {
    let drain = Drain {
        seed: arguments.or("seed", 1)?,
        machines: arguments.or("machines", 64)?,
        beads,
        work_ms: arguments.or("work", 0)?,
        round_trip_ms: arguments.or("rtt", 300)?,
        policy,
    };
    let mut report = drain.run();
    report.claim_ms.sort_unstable();
    let claims = report.claim_ms.len();
    let seconds = report.ended_ms as f64 / 1_000.0;
    println!(
        "{} machines, {} ms to the remote, {beads} beads of {} ms each, {}",
        drain.machines,
        drain.round_trip_ms,
        drain.work_ms,
        rate(&drain.policy)
    );
    println!("claims                {claims} in {seconds:.0} s: {:.1} per second", claims as f64 / seconds);
    println!("tries per claim       {:.2}", report.tries as f64 / claims.max(1) as f64);
    println!("a claim took          {}", spread(&report.claim_ms));
    println!("done twice            {}", report.double);
    println!("pushes of the store   {} won, {} lost their race", report.pushes_won, report.pushes_lost);
    Ok(())
}

/// Every machine writes, and gets the others' writes through a hub.
fn write_hub(arguments: &Arguments) -> Result<()> {
    let fleet = HubFleet {
        seed: arguments.or("seed", 1)?,
        machines: arguments.or("machines", 64)?,
        writing_ms: arguments.or("seconds", 30_u64)? * 1_000,
        write_every_ms: arguments.or("every", 1_000)?,
        round_trip_ms: arguments.or("rtt", 300)?,
    };
    let mut report = fleet.run();
    report.everywhere_ms.sort_unstable();
    report.hub_ms.sort_unstable();
    println!(
        "{} machines, {} ms to the hub, a write every {} ms",
        fleet.machines, fleet.round_trip_ms, fleet.write_every_ms
    );
    println!("on the hub after      {}", spread(&report.hub_ms));
    println!("everywhere after      {}", spread(&report.everywhere_ms));
    println!("appends               {}, of which {} were repeated", report.appends, report.repeated);
    println!("not everywhere        {} writes", report.missing);
    Ok(())
}

/// The machines claim and close beads until none are left, and a hub decides the claims.
fn drain_hub(arguments: &Arguments, beads: usize) -> Result<()> {
    let drain = HubDrain {
        seed: arguments.or("seed", 1)?,
        machines: arguments.or("machines", 64)?,
        beads,
        round_trip_ms: arguments.or("rtt", 300)?,
    };
    let mut report = drain.run();
    report.claim_ms.sort_unstable();
    let (claims, seconds) = (report.claim_ms.len(), report.ended_ms as f64 / 1_000.0);
    println!("{} machines, {} ms to the hub, {beads} beads", drain.machines, drain.round_trip_ms);
    println!("claims                {claims} in {seconds:.0} s: {:.1} per second", claims as f64 / seconds);
    println!("distinct beads        {}", report.distinct);
    println!("round trips per claim {:.2}", report.round_trips as f64 / claims.max(1) as f64);
    println!("a claim took          {}", spread(&report.claim_ms));
    Ok(())
}

fn rate(policy: &Policy) -> String {
    policy
        .push_rate
        .map_or("unlimited pushes".to_owned(), |rate| format!("{rate} pushes per minute in total"))
}

fn spread(sorted: &[u64]) -> String {
    let at =
        |percent: usize| sorted.get(sorted.len().saturating_sub(1) * percent / 100).copied().unwrap_or(0);
    format!("p50 {} ms, p95 {} ms, max {} ms", at(50), at(95), at(100))
}
