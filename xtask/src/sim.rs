//! `cargo xtask sim`: a campaign of the simulator.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// How often the campaign says that it is alive.
const REPORT_EVERY: u64 = 1_000;

/// After this many failures the rest would only repeat them.
const MAX_FAILURES: usize = 5;

struct Campaign {
    seeds: u64,
    from: u64,
    steps: usize,
}

pub fn run(arguments: &[String]) -> Result<(), String> {
    let campaign = Campaign::parse(arguments)?;
    let started = Instant::now();
    let failures = campaign.play();
    let last = campaign.from + campaign.seeds - 1;
    let seconds = started.elapsed().as_secs();
    eprintln!("seeds {} to {last}, {} steps each, in {seconds} s", campaign.from, campaign.steps);
    if failures.is_empty() {
        return Ok(());
    }
    Err(format!("failed: seeds {failures:?}"))
}

impl Campaign {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut campaign = Self { seeds: 1_000, from: 0, steps: 150 };
        for pair in arguments.chunks(2) {
            let [name, value] = pair else { return Err(format!("{} needs a number", pair[0])) };
            let number: u64 = value.parse().map_err(|_| format!("{name} {value} is not a number"))?;
            match name.as_str() {
                "--seeds" => campaign.seeds = number.max(1),
                "--ops" => campaign.steps = usize::try_from(number).map_err(|error| error.to_string())?,
                "--from" => campaign.from = number,
                _ => return Err(format!("unknown option {name}; there are --seeds, --ops and --from")),
            }
        }
        Ok(campaign)
    }

    /// Seeds are independent, so every processor takes the next one.
    fn play(&self) -> Vec<u64> {
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

    fn work(&self, next: &AtomicU64, failures: &Mutex<Vec<u64>>) {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let enough = failures.lock().is_ok_and(|failures| failures.len() >= MAX_FAILURES);
            if index >= self.seeds || enough {
                return;
            }
            if let Err(report) = beads_sim::run_seed(self.from + index, self.steps)
                && let Ok(mut failures) = failures.lock()
            {
                // At once: a campaign that is cut short has still said what it found.
                eprintln!("{report}");
                failures.push(self.from + index);
            }
            if (index + 1).is_multiple_of(REPORT_EVERY) {
                eprintln!("{} of {} seeds", index + 1, self.seeds);
            }
        }
    }
}
