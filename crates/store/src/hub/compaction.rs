//! Folds the deltas of a hub into a snapshot.

use super::{Compaction, FoldOutcome, Hub, HubCopy, Snapshots, read_snapshot, snapshot_digest};
use crate::{Error, Result};

/// Deltas are folded into a snapshot when they are this many times as large as the last one, and larger than
/// a minimum.
const FOLD_FACTOR: u64 = 4;
/// The usual minimum.
pub const FOLD_MIN_BYTES: u64 = 1024 * 1024;

/// What a replica can do for the size of the hub.
enum Work {
    /// Propose a snapshot.
    Propose,
    /// Give a second opinion on the snapshot up to this number.
    Confirm(u64),
}

impl Compaction {
    fn work(&self, own: &str, min_bytes: u64) -> Option<Work> {
        match &self.proposed {
            Some((_, by)) if by == own => None,
            Some((upto, _)) => Some(Work::Confirm(*upto)),
            None if self.writing => None,
            None => {
                let is_due = self.delta_bytes > (FOLD_FACTOR * self.snapshot_bytes).max(min_bytes);
                is_due.then_some(Work::Propose)
            }
        }
    }

    /// Returns whether [`compact`] has something to do for a replica.
    pub fn is_due(&self, own: &str, min_bytes: u64) -> bool {
        self.leftover || self.work(own, min_bytes).is_some()
    }
}

/// Proposes a snapshot if the deltas have become much larger than the last one, or gives a second opinion on
/// that of another replica. Both fold what the hub holds, not what this replica knows. Also deletes what the hub
/// no longer needs. Returns the number up to which the snapshot goes and what became of it; `None` if there was
/// nothing to fold.
pub fn compact<H: Hub + Snapshots>(
    hub: &mut H,
    own: &str,
    min_bytes: u64,
) -> Result<Option<(u64, FoldOutcome)>> {
    let due = hub.compaction()?;
    if due.leftover {
        while hub.trim()? {}
    }
    let (upto, outcome) = match due.work(own, min_bytes) {
        None => return Ok(None),
        Some(Work::Propose) => {
            let copy = fold(hub, None)?;
            (copy.cursor.n, propose(hub, &copy, due.part_bytes)?)
        }
        Some(Work::Confirm(upto)) => {
            let copy = fold(hub, Some(upto))?;
            let digest = snapshot_digest(copy.encode()?.chunks(part_length(due.part_bytes)));
            (copy.cursor.n, hub.confirm(&copy.cursor, &digest)?)
        }
    };
    if outcome == FoldOutcome::Confirmed {
        while hub.trim()? {}
    }
    Ok(Some((upto, outcome)))
}

/// Folds the snapshot and the deltas of the hub, up to a number or the newest one.
fn fold<H: Hub + Snapshots>(hub: &mut H, upto: Option<u64>) -> Result<HubCopy> {
    let mut copy = read_snapshot(hub)?.unwrap_or_default();
    loop {
        let (before, fetched) = (copy.cursor.n, hub.fetch_since(&copy.cursor)?);
        let wanted = |n: u64| upto.is_none_or(|upto| n <= upto);
        for row in fetched.rows.iter().filter(|row| wanted(row.cursor.n)) {
            copy.fold(row)?;
        }
        if !fetched.more || upto.is_some_and(|upto| copy.cursor.n >= upto) {
            return Ok(copy);
        }
        // The next delta is gone, so this would go on forever: a snapshot that covers it was confirmed meanwhile.
        if copy.cursor.n == before {
            return Err(Error::HubHistory);
        }
    }
}

/// Writes a snapshot part by part, and proposes it. A crash in between leaves an attempt that no machine reads.
fn propose<H: Snapshots>(hub: &mut H, copy: &HubCopy, part_bytes: u32) -> Result<FoldOutcome> {
    let payload = copy.encode()?;
    let Some(token) = hub.begin_snapshot(&copy.cursor, part_bytes)? else { return Ok(FoldOutcome::Stale) };
    let mut count = 0;
    for part in payload.chunks(part_length(part_bytes)) {
        if !hub.put_part(&token, count, part)? {
            return Ok(FoldOutcome::Stale);
        }
        count += 1;
    }
    let digest = snapshot_digest(payload.chunks(part_length(part_bytes)));
    hub.propose(&token, count, &digest)
}

fn part_length(part_bytes: u32) -> usize {
    (part_bytes as usize).max(1)
}
