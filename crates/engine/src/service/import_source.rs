//! Reads the files of an import.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use beads_core::State;
use beads_core::import::{
    Compare, Import, LEGACY_FILES, LEGACY_NAMESPACES, LegacyFile, MAX_FOREIGN_LINE_BYTES,
};
use beads_store::open_regular;
use beads_store::progress::Step;

use super::archived::WithArchive;
use super::import::IMPORT;
use crate::failure::{Code, Failure};
use crate::place::Place;
use crate::render::Answer;
use crate::request::ImportSource;

/// Compares a file with the beads, archived ones included, field by field.
pub(super) fn compare_file(place: &Place, path: &Path, name: &str, state: &State) -> Result<Answer, Failure> {
    let whole = WithArchive::read(place, state)?;
    let state = whole.as_ref().map_or(state, |whole| whole.catalog.state());
    let mut compare = Compare::default();
    each_batch(path, &mut |_| (), |batch| match batch {
        Batch::Lines(lines) => {
            lines.iter().for_each(|(number, line)| compare.line(name, *number, line));
        }
        Batch::TooLong(number, reason) => compare.refuse(name, number, reason),
    })?;
    Ok(Answer::Compared(Box::new(compare.finish(state))))
}

/// Reads and parses all lines.
pub(super) fn read(source: &ImportSource) -> Result<Import, Failure> {
    let mut import = Import::default();
    match source {
        ImportSource::Jsonl { path, name, deletions, .. } => {
            let reading = &mut record_reading(std::iter::once(path).chain(deletions));
            each_batch(path, reading, |batch| match batch {
                Batch::Lines(lines) => import.lines(name, lines),
                Batch::TooLong(number, reason) => import.refuse(name, number, reason),
            })?;
            if let Some(path) = deletions {
                read_lines(&mut import, path, &name_of(path), reading, Import::deletion_line)?;
            }
        }
        ImportSource::LegacyStore { directory, .. } => {
            let names = legacy_files(directory)?;
            let reading = &mut record_reading(names.iter().map(|name| directory.join(name)));
            for name in &names {
                read_lines(&mut import, &directory.join(name), name, reading, Import::legacy_line)?;
            }
        }
    }
    Ok(import)
}

/// Returns a function that records how many bytes of the files were read.
fn record_reading(files: impl IntoIterator<Item = impl AsRef<Path>>) -> impl FnMut(u64) {
    let size = |file| std::fs::metadata(file).map_or(0, |file| file.len());
    let total: u64 = files.into_iter().map(|file| size(file.as_ref().to_owned())).sum();
    let mut done = 0;
    move |bytes| {
        done += bytes;
        IMPORT.record(Step::Reading, done, total);
    }
}

fn read_lines(
    import: &mut Import,
    path: &Path,
    name: &str,
    reading: &mut dyn FnMut(u64),
    take: impl Fn(&mut Import, &str, usize, &[u8]),
) -> Result<(), Failure> {
    each_batch(path, reading, |batch| match batch {
        Batch::Lines(lines) => lines.iter().for_each(|(number, line)| take(import, name, *number, line)),
        Batch::TooLong(number, reason) => import.refuse(name, number, reason),
    })
}

/// Returns the files of a legacy store in a directory, relative to it, with beads before what refers to
/// them.
fn legacy_files(directory: &Path) -> Result<Vec<String>, Failure> {
    let failed = |path: &Path, error: &std::io::Error| Failure::io("read", path, error);
    let mut found: Vec<String> = LEGACY_FILES
        .iter()
        .filter(|name| directory.join(name).exists())
        .map(|name| (*name).to_owned())
        .collect();
    let mut open = vec![LEGACY_NAMESPACES.to_owned()];
    while let Some(name) = open.pop() {
        let path = directory.join(&name);
        if !path.is_dir() {
            continue;
        }
        for entry in std::fs::read_dir(&path).map_err(|error| failed(&path, &error))? {
            let entry = entry.map_err(|error| failed(&path, &error))?;
            let inner = format!("{name}/{}", entry.file_name().to_string_lossy());
            if LegacyFile::of_path(&inner).is_some() {
                found.push(inner);
            } else if inner.split('/').count() < 4 {
                open.push(inner);
            }
        }
    }
    let kind = |name: &String| LegacyFile::of_path(name);
    if !found.iter().any(|name| kind(name) == Some(LegacyFile::State)) {
        return Err(Failure::new(
            Code::NotFound,
            format!(
                "{} has neither {} nor {LEGACY_NAMESPACES}/, so it is not a legacy store",
                directory.display(),
                LEGACY_FILES[0]
            ),
        ));
    }
    found.sort_by_key(|name| (kind(name), name.clone()));
    Ok(found)
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The maximum number of unparsed lines in memory.
const BATCH_LINES: usize = 4_096;
/// The maximum size of unparsed lines in memory.
const BATCH_BYTES: usize = 8 * 1024 * 1024;

/// Some lines of a file, with their numbers.
enum Batch<'a> {
    Lines(&'a [(usize, Vec<u8>)]),
    /// A line that is too long, and was skipped.
    TooLong(usize, &'a str),
}

/// Reads a file in batches of lines. `reading` gets the number of bytes of each batch.
fn each_batch(
    path: &Path,
    reading: &mut dyn FnMut(u64),
    mut take: impl FnMut(Batch<'_>),
) -> Result<(), Failure> {
    let failed = |error: &std::io::Error| Failure::io("read", path, error);
    let mut reader = BufReader::with_capacity(1 << 18, open_regular(path).map_err(|error| failed(&error))?);
    let (mut batch, mut bytes, mut read_since) = (Vec::new(), 0, 0);
    for number in 1.. {
        let mut line = Vec::new();
        let mut bounded = (&mut reader).take(MAX_FOREIGN_LINE_BYTES as u64 + 1);
        let read = bounded.read_until(b'\n', &mut line).map_err(|error| failed(&error))?;
        read_since += read as u64;
        let too_long = line.len() > MAX_FOREIGN_LINE_BYTES && line.last() != Some(&b'\n');
        if read > 0 && !too_long {
            line.truncate(line.trim_ascii_end().len());
            bytes += line.len();
            batch.push((number, line));
        }
        if read == 0 || too_long || batch.len() >= BATCH_LINES || bytes >= BATCH_BYTES {
            take(Batch::Lines(&batch));
            batch.clear();
            bytes = 0;
            reading(std::mem::take(&mut read_since));
        }
        if too_long {
            let reason = format!("it is longer than {MAX_FOREIGN_LINE_BYTES} bytes");
            take(Batch::TooLong(number, &reason));
            read_since += reader.skip_until(b'\n').map_err(|error| failed(&error))? as u64;
        }
        if read == 0 {
            break;
        }
    }
    Ok(())
}
