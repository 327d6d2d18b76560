//! The seeds of the default run.

/// Every seed below this one.
pub const SEEDS: u64 = 300;
/// The number of steps per seed.
pub const STEPS: usize = 150;

/// `(seed, steps)` that once found a bug.
///
/// - 223: a merge that failed half-way still reached memory, and the journal then mentioned beads that the
///   ref did not have.
/// - 635, 830: a first sync failed after its fetch; the next one made a commit that built on the fetched
///   commit but had none of its content.
/// - 920: a lasting receipt was in the cache, but after a failed sync not on the disk. After reopening it was
///   treated as written, and the journal that had it was trimmed. 1291 finds the same bug since the fix for
///   15992 added a write to each opening, which moved the fault of 920 elsewhere.
/// - 3804: a store without its own ref built on a tracking ref that a power loss removed, and could not be
///   opened again.
/// - 15992: zeros that should clear a torn tail were only in the cache after a failed sync, and the tail came
///   back.
/// - 17346: a sync was interrupted between its fetch and its merge. After reopening, the store derived its
///   events from the tracking ref, and its content reached memory although the ref did not have it.
/// - 17794: a store without a ref built on a tracking ref; then another machine pushed a ref here that did
///   not contain it.
/// - 1203, 2071, 2211, 5354: a moved ref lacked beads of the journal. The commit that had them was joined
///   before its writes were compared with those on the ref, and the writes that lost were in neither.
/// - 4157: records were replayed on a state whose garbage-collection floor was above the birth of a bead that
///   it lacked. They were skipped, although another commit had the bead.
/// - 19564: the ref was moved back and the store opened, which joined the saved commit again. A write to a
///   bead that only that commit had was compared with nothing when the ref had moved on and the store was
///   opened once more.
pub const REGRESSION_SEEDS: [(u64, usize); 15] = [
    (223, 150),
    (635, 150),
    (830, 150),
    (920, 150),
    (1203, 150),
    (1291, 150),
    (2071, 150),
    (2211, 150),
    (3804, 150),
    (4157, 150),
    (5354, 150),
    (15_992, 150),
    (17_346, 150),
    (17_794, 150),
    (19_564, 150),
];
