//! `cargo xtask sim`: runs many seeds of the simulator.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::arguments::{Arguments, Result};

/// How many seeds to run between two progress messages.
const REPORT_EVERY: u64 = 1_000;

/// Stop after this many failures; more would only repeat them.
const MAX_FAILURES: usize = 5;

struct Campaign {
    seeds: u64,
    from: u64,
    steps: usize,
    /// Whether to simulate exclusive claims instead of the rest.
    claims: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    run_campaign(arguments, 1_000)
}

/// Runs the seeds that the arguments name, by default this many.
pub fn run_campaign(arguments: &Arguments, seeds: u64) -> Result<()> {
    let claims = arguments.or("claims", false)?;
    let campaign = Campaign {
        seeds: arguments.or("seeds", seeds)?.max(1),
        from: arguments.or("from", 0)?,
        steps: arguments.or("ops", if claims { beads_sim::claims::STEPS } else { 150 })?,
        claims,
    };
    let started = Instant::now();
    let failures = campaign.run();
    let last = campaign.from + campaign.seeds - 1;
    let seconds = started.elapsed().as_secs();
    println!("seeds {} to {last}, {} steps each, in {seconds} s", campaign.from, campaign.steps);
    if failures.is_empty() {
        return Ok(());
    }
    Err(format!("failed: seeds {failures:?}").into())
}

impl Campaign {
    /// Runs all seeds in parallel and returns those that failed.
    fn run(&self) -> Vec<u64> {
        let next = AtomicU64::new(0);
        let failures = Mutex::new(Vec::new());
        let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| self.work(&next, &failures));
            }
        });
        failures.into_inner().unwrap_or_default()
    }

    fn run_seed(&self, seed: u64) -> std::result::Result<(), String> {
        match self.claims {
            true => beads_sim::claims::run_seed(seed, self.steps).map(drop),
            false => beads_sim::run_seed(seed, self.steps).map(drop),
        }
    }

    fn work(&self, next: &AtomicU64, failures: &Mutex<Vec<u64>>) {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let enough = failures.lock().is_ok_and(|failures| failures.len() >= MAX_FAILURES);
            if index >= self.seeds || enough {
                return;
            }
            if let Err(report) = self.run_seed(self.from + index)
                && let Ok(mut failures) = failures.lock()
            {
                // Report at once, in case the campaign is interrupted.
                eprintln!("{report}");
                failures.push(self.from + index);
            }
            if (index + 1).is_multiple_of(REPORT_EVERY) {
                eprintln!("{} of {} seeds", index + 1, self.seeds);
            }
        }
    }
}
