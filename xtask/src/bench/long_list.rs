//! Measures lists of all beads, as JSON through a pipe.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::floor;
use super::samples::Samples;
use super::store::Store;
use crate::arguments::Result;

/// The floors and the lists, interleaved.
#[derive(Default)]
pub struct LongLists {
    /// `/bin/true`.
    pub process: Samples,
    /// `cat` of the same bytes.
    pub copy: Samples,
    pub list: Samples,
    pub ready: Samples,
    pub bytes: usize,
}

pub fn measure(store: &Store, root: &Path, runs: usize) -> Result<LongLists> {
    const LIST: [&str; 4] = ["list", "--json", "--limit", "0"];
    const READY: [&str; 4] = ["ready", "--json", "--limit", "0"];
    let file = root.join("list.json");
    let (_, printed) = through_pipe(&mut store.command(&LIST))?;
    std::fs::write(&file, &printed)?;
    let mut all = LongLists { bytes: printed.len(), ..LongLists::default() };
    for _ in 0..runs {
        all.process.push(floor::start_a_process()?);
        all.copy.push(through_pipe(Command::new("cat").arg(&file))?.0);
        all.list.push(through_pipe(&mut store.command(&LIST))?.0);
        all.ready.push(through_pipe(&mut store.command(&READY))?.0);
    }
    Ok(all)
}

/// Runs a command that must succeed, reads what it prints, and measures both.
fn through_pipe(command: &mut Command) -> Result<(Duration, Vec<u8>)> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let start = Instant::now();
    let output = command.output()?;
    let took = start.elapsed();
    if output.status.success() {
        Ok((took, output.stdout))
    } else {
        Err(format!("{command:?} failed").into())
    }
}
