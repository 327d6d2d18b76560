//! Importing, in this process and as a command.

use std::path::Path;
use std::time::Instant;

use beads_core::Catalog;
use beads_core::import::Import;

use super::store::Store;
use crate::arguments::Result;

/// Lines a second: read into memory and compared, and by `bd import` with everything durable.
pub fn measure(from: &Store, into: &Store, root: &Path) -> Result<(f64, f64)> {
    let file = root.join("issues.jsonl");
    let name = file.to_string_lossy().into_owned();
    from.time(&["export", "--format", "jsonl", "-o", &name])?;
    let bytes = std::fs::read(&file)?;
    let start = Instant::now();
    let mut import = Import::default();
    let mut lines = 0;
    for (number, line) in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).enumerate() {
        import.line("issues.jsonl", number + 1, line);
        lines += 1;
    }
    let mut catalog = Catalog::default();
    let plan = import.plan(&catalog);
    catalog.take(&plan.delta)?;
    let memory = f64::from(lines) / start.elapsed().as_secs_f64();
    let whole = into.time(&["import", &name])?;
    Ok((memory, f64::from(lines) / whole.as_secs_f64()))
}
