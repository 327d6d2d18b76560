//! Measures many concurrent clients.

use std::path::Path;
use std::time::Instant;

use super::floor;
use super::samples::Samples;
use super::store::Store;
use crate::arguments::Result;

/// The floor and the store alternate in rounds, so that both see the same machine load.
const ROUNDS: usize = 3;

/// Returns the combined rate of `clients` threads that each work `each` times.
fn rate(clients: usize, each: usize, work: impl Fn(usize, usize) -> Result<()> + Sync) -> Result<f64> {
    let work = &work;
    let start = Instant::now();
    let all = std::thread::scope(|scope| {
        let working: Vec<_> = (0..clients)
            .map(|client| {
                scope.spawn(move || {
                    (0..each).try_for_each(|turn| work(client, turn)).map_err(|error| error.to_string())
                })
            })
            .collect();
        working.into_iter().try_for_each(|one| one.join().unwrap_or_else(|_| Err("a client died".into())))
    });
    all?;
    Ok((clients * each) as f64 / start.elapsed().as_secs_f64())
}

/// Returns processes per second, for `/bin/true` and `bd create`.
pub fn processes(store: &Store, clients: usize, each: usize) -> Result<(f64, f64)> {
    let (mut floors, mut creates) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        floors.push(rate(clients, each, |_, _| floor::start_a_process().map(drop))?);
        creates.push(rate(clients, each, |client, turn| {
            // Quiet, because the titles are similar and each create would warn about it.
            let title = format!("Bead {turn} of client {client} in round {round}");
            store.time(&["create", &title, "--quiet"]).map(drop)
        })?);
    }
    Ok((middle(floors), middle(creates)))
}

/// Durable creates over persistent connections, compared with a raw group commit.
pub struct Connections {
    pub floor: f64,
    pub rate: f64,
    pub times: Samples,
}

pub fn connections(store: &Store, root: &Path, clients: usize, each: usize) -> Result<Connections> {
    let (mut floors, mut rates, mut times) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        floors.push(floor::group_commit(root, clients, each)?.0);
        let connected: Vec<_> = (0..clients).map(|_| store.connect()).collect::<Result<_>>()?;
        let start = Instant::now();
        let took = std::thread::scope(|scope| {
            let working: Vec<_> = connected
                .into_iter()
                .enumerate()
                .map(|(client, mut connection)| {
                    scope.spawn(move || {
                        let create = |turn| connection.create(&format!("Bead {turn} of {client} in {round}"));
                        let took: Result<Vec<_>> = (0..each).map(create).collect();
                        took.map_err(|error| error.to_string())
                    })
                })
                .collect();
            let took =
                working.into_iter().map(|one| one.join().unwrap_or_else(|_| Err("a client died".into())));
            took.collect::<std::result::Result<Vec<_>, String>>()
        })?;
        rates.push((clients * each) as f64 / start.elapsed().as_secs_f64());
        times.extend(took.into_iter().flatten());
    }
    Ok(Connections { floor: middle(floors), rate: middle(rates), times: times.into_iter().collect() })
}

fn middle(mut all: Vec<f64>) -> f64 {
    all.sort_unstable_by(f64::total_cmp);
    all[all.len() / 2]
}
