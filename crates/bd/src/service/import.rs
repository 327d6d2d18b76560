use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use beads_core::import::{Import, LEGACY_FILES, MAX_FOREIGN_LINE_BYTES};

use super::Service;
use crate::failure::Failure;
use crate::render::Answer;
use crate::request::{ImportSource, Request};

impl Service {
    /// Reads a foreign store and joins it, in one commit of the journal. The input is only read.
    pub(super) fn import(
        &mut self,
        request: &Request,
        source: &ImportSource,
        dry_run: bool,
    ) -> Result<Answer, Failure> {
        let caller = self.caller(request, 0);
        if !dry_run && let Some(summary) = self.told(&caller)? {
            return Ok(Answer::Imported(Box::new(summary)));
        }
        let mut plan = read(source)?.plan(self.replica.catalog());
        plan.summary.dry_run = dry_run;
        if !dry_run {
            let told = serde_json::to_value(&plan.summary).map_err(Failure::internal)?;
            self.replica.absorb(plan.delta, &caller, &told)?;
        }
        Ok(Answer::Imported(Box::new(plan.summary)))
    }
}

fn read(source: &ImportSource) -> Result<Import, Failure> {
    let mut import = Import::default();
    match source {
        ImportSource::Jsonl { path, name, deletions, .. } => {
            each_line(&mut import, path, name, |import, number, line| import.line(name, number, line))?;
            if let Some(path) = deletions {
                let name = name_of(path);
                let take =
                    |import: &mut Import, number, line: &[u8]| import.deletion_line(&name, number, line);
                each_line(&mut import, path, &name, take)?;
            }
        }
        ImportSource::LegacyStore { directory, .. } => {
            for name in LEGACY_FILES {
                let path = directory.join(name);
                if name != "state.jsonl" && !path.exists() {
                    continue;
                }
                let take = |import: &mut Import, number, line: &[u8]| import.legacy_line(name, number, line);
                each_line(&mut import, &path, name, take)?;
            }
        }
    }
    Ok(import)
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Line by line, so that memory holds one line and what was understood. A line past the bound is reported and passed over.
fn each_line(
    import: &mut Import,
    path: &Path,
    name: &str,
    take: impl Fn(&mut Import, usize, &[u8]),
) -> Result<(), Failure> {
    let failed = |error: &std::io::Error| Failure::io("read", path, error);
    let mut reader = BufReader::with_capacity(1 << 18, File::open(path).map_err(|error| failed(&error))?);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let mut bounded = (&mut reader).take(MAX_FOREIGN_LINE_BYTES as u64 + 1);
        if bounded.read_until(b'\n', &mut line).map_err(|error| failed(&error))? == 0 {
            break;
        }
        if line.len() > MAX_FOREIGN_LINE_BYTES && line.last() != Some(&b'\n') {
            let reason = format!("it is longer than {MAX_FOREIGN_LINE_BYTES} bytes");
            import.refuse(name, number, &reason);
            reader.skip_until(b'\n').map_err(|error| failed(&error))?;
            continue;
        }
        take(import, number, line.trim_ascii_end());
    }
    Ok(())
}
