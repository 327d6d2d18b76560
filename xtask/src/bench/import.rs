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
    let lines: Vec<_> = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
    let numbered: Vec<_> = lines.iter().enumerate().map(|(index, line)| (index + 1, *line)).collect();
    import.lines("issues.jsonl", &numbered);
    let mut catalog = Catalog::default();
    let plan = import.plan(&catalog);
    catalog.take(&plan.delta)?;
    let memory = lines.len() as f64 / start.elapsed().as_secs_f64();
    let whole = into.time(&["import", &name])?;
    Ok((memory, lines.len() as f64 / whole.as_secs_f64()))
}
