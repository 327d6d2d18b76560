//! Measures an import, in this process and as a command.

use std::path::Path;
use std::time::Instant;

use beads_core::Catalog;
use beads_core::import::Import;

use super::samples::Samples;
use super::store::Store;
use crate::arguments::Result;

/// How often the import into memory is repeated. The median counts.
const RUNS: usize = 5;

/// Returns lines per second: parsed and planned in memory, and with `bd import` including durability.
pub fn measure(from: &Store, into: &Store, root: &Path) -> Result<(f64, f64)> {
    let file = root.join("issues.jsonl");
    let name = file.to_string_lossy().into_owned();
    from.time(&["export", "--format", "jsonl", "-o", &name])?;
    let bytes = std::fs::read(&file)?;
    let mut times = Samples::default();
    let mut lines = 0;
    for _ in 0..RUNS {
        let start = Instant::now();
        let catalog = read(&bytes)?;
        times.push(start.elapsed());
        lines = catalog.state().beads().len();
    }
    let whole = into.time(&["import", &name])?;
    Ok((lines as f64 / times.median(), lines as f64 / whole.as_secs_f64()))
}

fn read(bytes: &[u8]) -> Result<Catalog> {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let numbered: Vec<_> = lines.enumerate().map(|(index, line)| (index + 1, line)).collect();
    let mut import = Import::default();
    import.lines("issues.jsonl", &numbered);
    let mut catalog = Catalog::default();
    let plan = import.plan(&catalog);
    catalog.join_delta(&plan.delta)?;
    Ok(catalog)
}
