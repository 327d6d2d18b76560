//! What the ordinary run plays.

pub const SEEDS: u64 = 300;
pub const STEPS: usize = 150;

/// `(seed, steps)` that once found something.
///
/// - 223: a merge that failed half-way came into memory all the same, and the journal then spoke of beads that the ref
///   did not have.
/// - 635, 830: a first sync failed after its fetch; the next one made a commit that built on what was fetched and held
///   nothing of it.
/// - 920: a lasting receipt was in the cache, but after a failed sync not on the disk; opened again, it was taken for
///   written, and the journal that had it was trimmed. 1291 finds the same since the mend of 15992 added a write to each
///   opening, which moved the fault of 920 elsewhere.
/// - 3804: a store without a ref of its own built on a tracking ref that a power loss took away, and did not open again.
/// - 15992: zeros that should clear a torn tail were in the cache alone after a failed sync, and the tail came back.
/// - 17346: a sync was cut off between its fetch and its merge; opened again, the store told its events from the tracking ref,
///   and what that had came into memory although the ref did not hold it.
/// - 17794: a store without a ref built on a tracking ref; then somebody pushed here a ref of his own that did not hold that.
/// - 1203, 2071, 2211, 5354: a ref that was moved lacked beads of the journal; the commit that had them was joined before its
///   writes were compared with those on the ref, and those that lost against it were in neither.
/// - 4157: records were replayed on a state whose floor of garbage collection was above the birth of a bead that it lacked, and
///   what they said about the bead was passed over, although another commit had it.
pub const ONCE_BROKEN: [(u64, usize); 14] = [
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
];
