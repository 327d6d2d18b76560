//! Folds the deltas of a hub into a snapshot.

use sha2::{Digest, Sha256};

use super::{Hub, HubCopy};
use crate::Result;

/// Deltas are folded into a snapshot when they are this many times as large as the last one, and larger than
/// a minimum.
const FOLD_FACTOR: u64 = 4;
/// The usual minimum.
pub const FOLD_MIN_BYTES: u64 = 1024 * 1024;

/// Proposes a snapshot if the deltas have become much larger than the last one, or gives a second opinion on
/// that of another replica. Both fold what the hub holds, not what this replica knows. Returns the number up
/// to which the snapshot goes and what the hub answered; `None` if there is nothing to do.
pub fn compact(hub: &mut impl Hub, own: &str, min_bytes: u64) -> Result<Option<(u64, String)>> {
    let due = hub.compaction()?;
    let upto = match &due.proposed {
        Some((_, by)) if by == own => return Ok(None),
        Some((upto, _)) => Some(*upto),
        None if due.delta_bytes > (FOLD_FACTOR * due.snapshot_bytes).max(min_bytes) => None,
        None => return Ok(None),
    };
    let mut copy = match hub.snapshot()? {
        Some((cursor, payload)) => HubCopy::from_snapshot(cursor, &payload)?,
        None => HubCopy::default(),
    };
    loop {
        let fetched = hub.fetch_since(&copy.cursor)?;
        let wanted = |n: u64| upto.is_none_or(|upto| n <= upto);
        for row in fetched.rows.iter().filter(|row| wanted(row.cursor.n)) {
            copy.fold(row)?;
        }
        if !fetched.more || upto.is_some_and(|upto| copy.cursor.n >= upto) {
            break;
        }
    }
    let payload = copy.encode()?;
    let digest = Sha256::digest(&payload).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let outcome = hub.fold(&copy.cursor, &digest, &payload)?;
    Ok(Some((copy.cursor.n, outcome)))
}
