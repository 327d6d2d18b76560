//! Measures the first command of the day, and commands without a daemon.

use super::floor;
use super::samples::Samples;
use super::store::Store;
use crate::arguments::Result;

/// Measures a command that finds no daemon and starts one.
pub fn first_command(store: &Store, runs: usize) -> Result<Samples> {
    let id = store.some_id()?;
    let mut times = Samples::default();
    for _ in 0..runs {
        store.time(&["daemon", "stop"])?;
        times.push(store.time(&["show", &id])?);
    }
    Ok(times)
}

/// Measures a command that opens the store itself, and `/bin/true`.
pub fn embedded(store: &Store, runs: usize) -> Result<(Samples, Samples)> {
    let id = store.some_id()?;
    store.time(&["daemon", "stop"])?;
    let (mut floor, mut times) = (Samples::default(), Samples::default());
    for _ in 0..runs {
        floor.push(floor::start_a_process()?);
        times.push(store.time(&["show", &id, "--no-daemon"])?);
    }
    Ok((floor, times))
}
