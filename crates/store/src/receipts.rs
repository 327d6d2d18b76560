//! Receipts: what callers were told, so that a repeated request gets the first answer.
//!
//! Two kinds. A passing one (its id begins with `~`, `bd` mints such) only has to outlive the loss of one reply; the
//! journal's headers carry it along. A lasting one has an id that its caller chose and is kept for a day; before the journal
//! that holds it is trimmed, it goes into files of its own.

use std::collections::{BTreeMap, VecDeque};

use beads_core::planted::{Bug, is_planted};

use crate::disk::{Disk, DiskFile};
use crate::log_file::{Frames, LogFile, io, line, lines, numbers};
use crate::{Asked, Error, Receipt, Result};

const NAME: &str = "receipts.";

/// A file that has grown past this is followed by a new one, so that old receipts can go.
const FILE_BYTES: u64 = 4 * 1024 * 1024;

/// Lasting receipts of one replica at a time. They are read at each opening, so there must be an end to them.
pub const MAX_LASTING: usize = 100_000;

/// Passing receipts at a time; each header of the journal carries them all.
pub const MAX_PASSING: usize = 50_000;

/// A passing receipt may go before its time when there are too many, but never sooner than this: clients ask again for
/// fifteen seconds.
const LEAST_AGE_MS: u64 = 20_000;

#[derive(Debug)]
pub struct Receipts<F> {
    kept: BTreeMap<String, Receipt>,
    /// In the order in which they were made.
    passing: VecDeque<String>,
    lasting: VecDeque<String>,
    /// Lasting ones that only the journal holds.
    unwritten: Vec<String>,
    /// Each file with the time until which it is of use.
    files: Vec<(u64, u64)>,
    file: Option<LogFile<F>>,
}

impl<F: DiskFile> Receipts<F> {
    /// Reads what was kept. What cannot be read is passed over: it is not data, and the rest is still good.
    pub fn open<D: Disk<File = F>>(disk: &D, now_ms: u64) -> Result<Self> {
        let mut receipts = Self {
            kept: BTreeMap::new(),
            passing: VecDeque::new(),
            lasting: VecDeque::new(),
            unwritten: Vec::new(),
            files: Vec::new(),
            file: None,
        };
        for number in numbers(disk, NAME)? {
            let name = file_name(number);
            let bytes = disk.read(&name).map_err(|error| io(disk, "read", &name, error))?;
            let mut until_ms = 0;
            for payload in Frames::read(&bytes).payloads {
                let read = lines(payload).filter_map(|line| serde_json::from_slice::<Receipt>(line).ok());
                for receipt in read {
                    until_ms = receipt.until_ms.max(until_ms);
                    receipts.keep(receipt, now_ms);
                }
            }
            receipts.files.push((number, until_ms));
        }
        receipts.unwritten.clear();
        Ok(receipts)
    }

    /// The receipt of a request that was answered before. Another request under the same id is refused.
    pub fn find(&self, asked: &Asked, now_ms: u64) -> Result<Option<&Receipt>> {
        let Some(receipt) = self.kept.get(&asked.id).filter(|receipt| receipt.until_ms > now_ms) else {
            return Ok(None);
        };
        if receipt.digest != asked.digest {
            // Each operation of a request has its own number behind the id that was given.
            let given = asked.id.rsplit_once('/').map_or(asked.id.as_str(), |(given, _)| given);
            return Err(Error::RequestReused(given.to_owned()));
        }
        Ok(Some(receipt))
    }

    /// Refuses a request whose receipt could not be kept for as long as was promised.
    pub fn check_room(&self, asked: &Asked, now_ms: u64) -> Result<()> {
        let (order, most, least_ms) = if asked.is_passing() {
            (&self.passing, MAX_PASSING, LEAST_AGE_MS)
        } else {
            (&self.lasting, MAX_LASTING, u64::MAX)
        };
        let oldest = order.front().and_then(|id| self.kept.get(id));
        let needed = oldest.is_some_and(|oldest| {
            let left_ms = oldest.until_ms.saturating_sub(now_ms);
            left_ms > 0 && asked.keep_ms.saturating_sub(left_ms) < least_ms
        });
        if order.len() >= most && needed { Err(Error::TooManyRequests(most)) } else { Ok(()) }
    }

    pub fn keep(&mut self, receipt: Receipt, now_ms: u64) {
        if receipt.until_ms <= now_ms {
            return;
        }
        let (id, passing) = (receipt.id.clone(), receipt.is_passing());
        let known = self.kept.get(&id) == Some(&receipt);
        if known && is_planted(Bug::ReceiptTakenForWritten) {
            return;
        }
        // The journal tells it, so it must be written, even if a file shows it already: after a failed sync the
        // system's cache shows what the disk does not have.
        if !passing {
            self.unwritten.push(id.clone());
        }
        if known {
            return;
        }
        // An id that was used again after its receipt ran out keeps its place in the order.
        let new = self.kept.insert(id.clone(), receipt).is_none();
        if new {
            let order = if passing { &mut self.passing } else { &mut self.lasting };
            order.push_back(id);
        }
        let kept = &mut self.kept;
        let mut drop_old = |order: &mut VecDeque<String>, most: usize| {
            while let Some(oldest) = order.front() {
                let expired = kept.get(oldest).is_none_or(|receipt| receipt.until_ms <= now_ms);
                if !expired && order.len() <= most {
                    break;
                }
                if let Some(oldest) = order.pop_front() {
                    kept.remove(&oldest);
                }
            }
        };
        drop_old(&mut self.passing, MAX_PASSING);
        // Whether there is room for lasting ones was asked before; none of them goes before its time.
        drop_old(&mut self.lasting, usize::MAX);
    }

    /// What a new segment of the journal must carry.
    pub fn passing(&self, now_ms: u64) -> Vec<Receipt> {
        let alive = self.passing.iter().filter_map(|id| self.kept.get(id));
        alive.filter(|receipt| receipt.until_ms > now_ms).cloned().collect()
    }

    /// Makes all lasting ones durable outside the journal, and lets go of files that nobody needs any more.
    pub fn write<D: Disk<File = F>>(&mut self, disk: &D, now_ms: u64) -> Result<()> {
        let mut payload = Vec::new();
        let mut until_ms = 0;
        for receipt in self.unwritten.iter().filter_map(|id| self.kept.get(id)) {
            until_ms = receipt.until_ms.max(until_ms);
            payload.extend(line(receipt)?);
        }
        if !payload.is_empty() {
            match &mut self.file {
                Some(file) if file.bytes <= FILE_BYTES => {
                    file.append(&payload).map_err(|error| io(disk, "write", NAME, error))?;
                    self.files.iter_mut().rev().take(1).for_each(|(_, until)| *until = until_ms.max(*until));
                }
                _ => {
                    let number = self.files.last().map_or(1, |(last, _)| last + 1);
                    self.file = Some(LogFile::create(disk, &file_name(number), &payload)?);
                    self.files.push((number, until_ms));
                }
            }
        }
        self.unwritten.clear();
        while let Some((number, _)) = self.files.first().copied().filter(|(_, until_ms)| *until_ms <= now_ms)
        {
            let name = file_name(number);
            disk.remove(&name).map_err(|error| io(disk, "remove", &name, error))?;
            self.files.remove(0);
            if self.files.is_empty() {
                self.file = None;
            }
        }
        Ok(())
    }
}

fn file_name(number: u64) -> String {
    format!("{NAME}{number:012}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RealDisk;

    fn receipts() -> Receipts<<RealDisk as Disk>::File> {
        Receipts::open(&RealDisk::new("/nowhere/at/all"), 0).unwrap()
    }

    fn asked(id: String, keep_ms: u64) -> Asked {
        Asked { id, digest: String::new(), keep_ms }
    }

    fn fill(receipts: &mut Receipts<<RealDisk as Disk>::File>, mark: &str, count: usize, keep_ms: u64) {
        for n in 0..count {
            let receipt = Receipt::new(&asked(format!("{mark}{n}"), keep_ms), 0, &Default::default());
            receipts.keep(receipt, 0);
        }
    }

    #[test]
    fn a_lasting_receipt_is_never_forgotten_for_a_new_one() {
        let mut receipts = receipts();
        fill(&mut receipts, "r", MAX_LASTING, 1_000);
        let next = asked("next".into(), 1_000);
        assert_eq!(receipts.check_room(&next, 999).unwrap_err().code(), beads_core::Code::TooManyRequests);
        assert!(receipts.find(&asked("r0".into(), 1_000), 999).unwrap().is_some());
        assert!(receipts.check_room(&asked("~next".into(), 1_000), 999).is_ok(), "the others have room");
        assert!(receipts.check_room(&next, 1_000).is_ok(), "the oldest has had its time");
    }

    #[test]
    fn a_passing_receipt_may_go_when_its_client_has_given_up() {
        let mut receipts = receipts();
        fill(&mut receipts, "~r", MAX_PASSING, 60_000);
        let next = asked("~next".into(), 60_000);
        assert!(receipts.check_room(&next, LEAST_AGE_MS - 1).is_err());
        assert!(receipts.check_room(&next, LEAST_AGE_MS).is_ok());
        receipts.keep(Receipt::new(&next, LEAST_AGE_MS, &Default::default()), LEAST_AGE_MS);
        assert!(receipts.find(&asked("~r0".into(), 0), LEAST_AGE_MS).unwrap().is_none());
        assert_eq!(receipts.passing(LEAST_AGE_MS).len(), MAX_PASSING);
    }
}
