//! Receipts: the answers to past requests, so that a repeated request gets the first answer.
//!
//! There are two kinds. A short-lived receipt only has to survive one retry; its id begins with `~`, and `bd`
//! generates it. The journal's headers carry it along. A long-lived receipt has an id that its caller chose,
//! and is kept for a day. Before the journal that holds it is trimmed, it is written to a separate file.

use std::collections::{BTreeMap, VecDeque};

use beads_core::planted::{Bug, is_planted};

use crate::disk::{Disk, DiskFile};
use crate::log_file::{Frames, LogFile, io, line, lines, numbers};
use crate::{Error, Receipt, RequestKey, Result};

const NAME: &str = "receipts.";

/// A file above this size is followed by a new one, so that old receipts can be deleted.
const FILE_BYTES: u64 = 4 * 1024 * 1024;

/// How many long-lived receipts are kept. All of them are read at each opening, so their number is limited.
pub const MAX_LONG_LIVED_RECEIPTS: usize = 100_000;

/// How many short-lived receipts are kept. Each header of the journal carries all of them.
pub const MAX_SHORT_LIVED_RECEIPTS: usize = 50_000;

/// If there are too many, a short-lived receipt may be dropped early, but not before this age: clients retry
/// for fifteen seconds.
const MIN_AGE_MS: u64 = 20_000;

/// All receipts of a replica that have not expired.
#[derive(Debug)]
pub(crate) struct Receipts<F> {
    kept: BTreeMap<String, Receipt>,
    /// Ids in the order in which they were added.
    short_lived: VecDeque<String>,
    long_lived: VecDeque<String>,
    /// Long-lived ones that only the journal holds.
    unwritten: Vec<String>,
    /// The number of each file, and when its last receipt expires.
    files: Vec<(u64, u64)>,
    file: Option<LogFile<F>>,
}

impl<F: DiskFile> Receipts<F> {
    /// Reads the files. Skips what cannot be read: receipts are not data, and the rest is still useful.
    pub(crate) fn open<D: Disk<File = F>>(disk: &D, now_ms: u64) -> Result<Self> {
        let mut receipts = Self {
            kept: BTreeMap::new(),
            short_lived: VecDeque::new(),
            long_lived: VecDeque::new(),
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

    /// Returns the receipt of a request that was answered before. Refuses another request under the same id.
    pub(crate) fn find(&self, key: &RequestKey, now_ms: u64) -> Result<Option<&Receipt>> {
        let Some(receipt) = self.kept.get(&key.id).filter(|receipt| receipt.until_ms > now_ms) else {
            return Ok(None);
        };
        if receipt.digest != key.digest {
            // Each operation of a request has its own number after the id that the caller chose.
            let given = key.id.rsplit_once('/').map_or(key.id.as_str(), |(given, _)| given);
            return Err(Error::RequestReused(given.to_owned()));
        }
        Ok(Some(receipt))
    }

    /// Refuses a request whose receipt could not be kept for as long as promised.
    pub(crate) fn check_capacity(&self, key: &RequestKey, now_ms: u64) -> Result<()> {
        let (order, most, least_ms) = if key.is_short_lived() {
            (&self.short_lived, MAX_SHORT_LIVED_RECEIPTS, MIN_AGE_MS)
        } else {
            (&self.long_lived, MAX_LONG_LIVED_RECEIPTS, u64::MAX)
        };
        let oldest = order.front().and_then(|id| self.kept.get(id));
        let needed = oldest.is_some_and(|oldest| {
            let left_ms = oldest.until_ms.saturating_sub(now_ms);
            left_ms > 0 && key.keep_ms.saturating_sub(left_ms) < least_ms
        });
        if order.len() >= most && needed { Err(Error::TooManyRequests(most)) } else { Ok(()) }
    }

    /// Adds a receipt, and drops expired ones.
    pub(crate) fn keep(&mut self, receipt: Receipt, now_ms: u64) {
        if receipt.until_ms <= now_ms {
            return;
        }
        let (id, short_lived) = (receipt.id.clone(), receipt.is_short_lived());
        let known = self.kept.get(&id) == Some(&receipt);
        if known && is_planted(Bug::ReceiptTakenForWritten) {
            return;
        }
        // The journal has it, so it must be written, even if a file seems to have it: after a failed sync,
        // the system's cache shows data that the disk does not have.
        if !short_lived {
            self.unwritten.push(id.clone());
        }
        if known {
            return;
        }
        // An id that is used again after its receipt expired keeps its place in the order.
        let new = self.kept.insert(id.clone(), receipt).is_none();
        if new {
            let order = if short_lived { &mut self.short_lived } else { &mut self.long_lived };
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
        drop_old(&mut self.short_lived, MAX_SHORT_LIVED_RECEIPTS);
        // `check_capacity` limits long-lived ones beforehand; none of them is dropped early.
        drop_old(&mut self.long_lived, usize::MAX);
    }

    /// Returns the receipts that a new segment of the journal must carry.
    pub(crate) fn short_lived(&self, now_ms: u64) -> Vec<Receipt> {
        let alive = self.short_lived.iter().filter_map(|id| self.kept.get(id));
        alive.filter(|receipt| receipt.until_ms > now_ms).cloned().collect()
    }

    /// Makes all long-lived receipts durable outside the journal, and deletes files whose receipts have
    /// expired.
    pub(crate) fn write<D: Disk<File = F>>(&mut self, disk: &D, now_ms: u64) -> Result<()> {
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
        Receipts::open(&RealDisk::new("/nonexistent"), 0).unwrap()
    }

    fn key(id: String, keep_ms: u64) -> RequestKey {
        RequestKey { id, digest: String::new(), keep_ms }
    }

    fn fill(receipts: &mut Receipts<<RealDisk as Disk>::File>, mark: &str, count: usize, keep_ms: u64) {
        for n in 0..count {
            let receipt = Receipt::new(&key(format!("{mark}{n}"), keep_ms), 0, &Default::default());
            receipts.keep(receipt, 0);
        }
    }

    #[test]
    fn a_long_lived_receipt_is_never_dropped_for_a_new_one() {
        let mut receipts = receipts();
        fill(&mut receipts, "r", MAX_LONG_LIVED_RECEIPTS, 1_000);
        let next = key("next".into(), 1_000);
        assert_eq!(
            receipts.check_capacity(&next, 999).unwrap_err().code(),
            beads_core::Code::TooManyRequests
        );
        assert!(receipts.find(&key("r0".into(), 1_000), 999).unwrap().is_some());
        assert!(
            receipts.check_capacity(&key("~next".into(), 1_000), 999).is_ok(),
            "short-lived ones have room"
        );
        assert!(receipts.check_capacity(&next, 1_000).is_ok(), "the oldest has expired");
    }

    #[test]
    fn a_short_lived_receipt_may_be_dropped_once_its_client_has_given_up() {
        let mut receipts = receipts();
        fill(&mut receipts, "~r", MAX_SHORT_LIVED_RECEIPTS, 60_000);
        let next = key("~next".into(), 60_000);
        assert!(receipts.check_capacity(&next, MIN_AGE_MS - 1).is_err());
        assert!(receipts.check_capacity(&next, MIN_AGE_MS).is_ok());
        receipts.keep(Receipt::new(&next, MIN_AGE_MS, &Default::default()), MIN_AGE_MS);
        assert!(receipts.find(&key("~r0".into(), 0), MIN_AGE_MS).unwrap().is_none());
        assert_eq!(receipts.short_lived(MIN_AGE_MS).len(), MAX_SHORT_LIVED_RECEIPTS);
    }
}
