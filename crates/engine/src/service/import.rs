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
            if let ImportSource::Jsonl { path, copy_of: None, .. } = source {
                self.expect_clients(path)?;
            }
        }
        Ok(Answer::Imported(Box::new(plan.summary)))
    }
}

fn read(source: &ImportSource) -> Result<Import, Failure> {
    let mut import = Import::default();
    match source {
        ImportSource::Jsonl { path, name, deletions, .. } => {
            each_batch(&mut import, path, name, |import, lines| import.lines(name, lines))?;
            if let Some(path) = deletions {
                let name = name_of(path);
                each_batch(&mut import, path, &name, |import, lines| {
                    lines.iter().for_each(|(number, line)| import.deletion_line(&name, *number, line));
                })?;
            }
        }
        ImportSource::LegacyStore { directory, .. } => {
            for name in LEGACY_FILES {
                let path = directory.join(name);
                if name != "state.jsonl" && !path.exists() {
                    continue;
                }
                each_batch(&mut import, &path, name, |import, lines| {
                    lines.iter().for_each(|(number, line)| import.legacy_line(name, *number, line));
                })?;
            }
        }
    }
    Ok(import)
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// So many lines, or so many bytes of them, are in memory at once, besides what was understood.
const BATCH_LINES: usize = 4_096;
const BATCH_BYTES: usize = 8 * 1024 * 1024;

/// Lines with their numbers, some at a time. A line past the bound is reported and passed over.
fn each_batch(
    import: &mut Import,
    path: &Path,
    name: &str,
    take: impl Fn(&mut Import, &[(usize, Vec<u8>)]),
) -> Result<(), Failure> {
    let failed = |error: &std::io::Error| Failure::io("read", path, error);
    let mut reader = BufReader::with_capacity(1 << 18, File::open(path).map_err(|error| failed(&error))?);
    let (mut batch, mut bytes) = (Vec::new(), 0);
    for number in 1.. {
        let mut line = Vec::new();
        let mut bounded = (&mut reader).take(MAX_FOREIGN_LINE_BYTES as u64 + 1);
        let read = bounded.read_until(b'\n', &mut line).map_err(|error| failed(&error))?;
        let too_long = line.len() > MAX_FOREIGN_LINE_BYTES && line.last() != Some(&b'\n');
        if read > 0 && !too_long {
            line.truncate(line.trim_ascii_end().len());
            bytes += line.len();
            batch.push((number, line));
        }
        if read == 0 || too_long || batch.len() >= BATCH_LINES || bytes >= BATCH_BYTES {
            take(import, &batch);
            batch.clear();
            bytes = 0;
        }
        if too_long {
            let reason = format!("it is longer than {MAX_FOREIGN_LINE_BYTES} bytes");
            import.refuse(name, number, &reason);
            reader.skip_until(b'\n').map_err(|error| failed(&error))?;
        }
        if read == 0 {
            break;
        }
    }
    Ok(())
}
