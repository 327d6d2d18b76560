//! Reads what is left of the journal: every good frame, even after a bad one.

use beads_core::{Code, Salvage, State, counted};

use crate::disk::{Disk, RealDisk};
use crate::frame::{self, Found};
use crate::journal::{FIRST_VERSION, Journal, NAME, Recovered, VERSION};
use crate::recovery::recovered_clock;
use crate::{CarriedOperations, Error, Header, Record, Result};

/// The journal as far as it can be read.
#[derive(Debug)]
pub(crate) struct Frames {
    pub(crate) damage: Option<String>,
    /// The names of all segments.
    pub(crate) segments: Vec<String>,
    /// The header for a segment that follows them.
    pub(crate) header: Header,
    records: Vec<Record>,
}

impl Frames {
    /// Returns whether opening the store again could apply every record.
    pub(crate) fn fits(&self, mut state: State) -> bool {
        self.records.iter().all(|record| state.join_delta(&record.delta).is_ok())
    }
}

/// Salvages every readable record of the journal.
pub(crate) fn gather(disk: &RealDisk, salvage: &mut Salvage, actions: &mut Vec<String>) -> Result<Frames> {
    let (damage, recovered) = match Journal::recover(disk.clone()) {
        Ok((_, recovered)) => (None, recovered),
        Err(error) if error.code() == Code::CorruptStore => (Some(error.to_string()), read(disk, salvage)?),
        Err(error) => return Err(error),
    };
    for record in &recovered.records {
        salvage.add_delta(&format!("journal record {}", record.position), &record.delta);
    }
    if !recovered.records.is_empty() {
        actions.push(format!("take {} of the journal", counted(recovered.records.len(), "record")));
    }
    let header = next_header(&recovered);
    Ok(Frames { damage, segments: segments(disk)?, header, records: recovered.records })
}

fn next_header(recovered: &Recovered) -> Header {
    let carried = recovered.header.iter().map(|header| header.position);
    let written = recovered.records.iter().map(|record| record.position);
    let kept = recovered.header.iter().flat_map(|header| header.receipts.iter());
    let fresh = recovered.records.iter().filter_map(|record| record.request.as_ref());
    Header {
        version: recovered.header.as_ref().map_or(FIRST_VERSION, |header| header.version),
        position: carried.chain(written).max().unwrap_or_default(),
        // The tag of the clock does not matter: only its last stamp is used. Opening the store checks the
        // time.
        last: recovered_clock(recovered, 1, u64::MAX).last(),
        receipts: kept.chain(fresh).cloned().collect(),
        // Damaged records may have come in between, so nothing before them can be undone.
        last_operations: CarriedOperations::default(),
        base_commit: None,
    }
}

/// Reads all segments, skips damaged parts, and reports them.
fn read(disk: &RealDisk, salvage: &mut Salvage) -> Result<Recovered> {
    let mut recovered = Recovered::default();
    for name in segments(disk)? {
        let bytes = disk.read(&name).map_err(|source| io(disk, "read", &name, source))?;
        let mut offset = 0;
        loop {
            match frame::find(&bytes, offset) {
                Found::Frame { number, payload, end } => {
                    let place = format!("{name} at byte {offset}");
                    take_frame(number, payload, &place, salvage, &mut recovered)?;
                    offset = end;
                }
                Found::Bad { good_later } => {
                    let until = good_later.unwrap_or(bytes.len());
                    let reason = format!("{} bytes that are not a frame", until - offset);
                    salvage.report(&format!("{name} at byte {offset}"), None, reason);
                    let Some(later) = good_later else { break };
                    offset = later;
                }
                Found::End => break,
            }
        }
    }
    Ok(recovered)
}

fn take_frame(
    number: u64,
    payload: &[u8],
    place: &str,
    salvage: &mut Salvage,
    recovered: &mut Recovered,
) -> Result<()> {
    if number == 0 {
        if let Some(found) = version(payload).filter(|found| *found > u64::from(VERSION)) {
            return Err(beads_core::Error::NewerFormat { found, known: VERSION.into() }.into());
        }
        match serde_json::from_slice::<Header>(payload) {
            Ok(header) => take_header(header, recovered),
            Err(error) => salvage.report(place, None, format!("the header: {error}")),
        }
        return Ok(());
    }
    let lines = payload.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty());
    for (index, line) in lines {
        match serde_json::from_slice(line) {
            Ok(record) => recovered.records.push(record),
            Err(error) => salvage.report(place, Some(index + 1), error.to_string()),
        }
    }
    Ok(())
}

/// Merges a header. Later headers know everything that earlier ones did, but an earlier one may be the only
/// one left.
fn take_header(header: Header, recovered: &mut Recovered) {
    match &mut recovered.header {
        None => recovered.header = Some(header),
        Some(known) => {
            known.position = known.position.max(header.position);
            known.last = known.last.max(header.last);
            known.receipts.extend(header.receipts);
        }
    }
}

fn version(payload: &[u8]) -> Option<u64> {
    let value: serde_json::Value = serde_json::from_slice(payload).ok()?;
    value["version"].as_u64()
}

fn segments(disk: &RealDisk) -> Result<Vec<String>> {
    let names = disk.names().map_err(|source| io(disk, "list", NAME, source))?;
    let is_segment =
        |name: &String| name.strip_prefix(NAME).is_some_and(|number| number.parse::<u64>().is_ok());
    Ok(names.into_iter().filter(is_segment).collect())
}

fn io(disk: &RealDisk, action: &'static str, name: &str, source: std::io::Error) -> Error {
    Error::Io { action, path: disk.describe(name).into(), source }
}
