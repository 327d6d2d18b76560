//! Bugs on purpose, one at a time, to see that the suite catches them. The code asks [`is_planted`] where it would go wrong.
//! Without the feature `planted`, which nothing in the workspace turns on, that is the constant `false`: the compiler removes
//! the question and what stands behind it.

/// What is wrong. Named after what the program does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// A register takes the other write whether it is later or not.
    JoinTakesTheirs,
    /// A bead that has notes takes none of another replica.
    NotesLostInJoin,
    /// A new stamp may be lower than the last one minted here.
    ClockGoesBack,
    /// A write does not beat what it overwrites when that came from a clock ahead of ours.
    OverwriteNotBeaten,
    /// The removal of an edge does not spread.
    EdgeRemovalLost,
    /// A concurrent write that lost is not kept.
    ConflictsForgotten,
    /// The indexes do not follow a changed edge.
    IndexDrifts,
    /// The journal is written and not synced before the answer leaves.
    ReplyBeforeSync,
    /// A new segment's name is not made durable.
    RotationWithoutDirectorySync,
    /// The journal is trimmed when a checkpoint begins, not when the ref holds it.
    TrimBeforeSaved,
    /// A merge that failed half-way comes into memory all the same.
    FailedMergeKept,
    /// A first commit builds on what a fetch brought along without taking it in.
    TrackedNotJoined,
    /// The journal is trimmed although the ref was moved away from what was saved.
    TrimBehindLostRef,
    /// A receipt that the cache shows is taken for one that the disk has.
    ReceiptTakenForWritten,
    /// A stamp from the future is followed, so that every later write carries it on.
    FutureStampFollowed,
    /// The floor of garbage collection follows the wall clock, however far it is ahead of the others.
    FloorFromWallClock,
    /// Of claim refs: a claim replaces whatever value the ref has when its push arrives.
    ClaimWithoutExpectedValue,
    /// Of claim refs: the end of a claim is written over the claim of another machine.
    ReleaseWithoutFence,
    /// Of claim refs: whether another machine's lease ran out is judged by the wall clock here.
    ExpiryByWallClock,
    /// Of the daemon: answers leave before the journal is written at all.
    ReplyBeforeCommit,
    /// Of the daemon: a question is answered with what was true when it was asked first.
    StaleRead,
}

impl Bug {
    /// Those that the simulator can see.
    pub const SIMULATED: [Self; 16] = [
        Self::JoinTakesTheirs,
        Self::NotesLostInJoin,
        Self::ClockGoesBack,
        Self::OverwriteNotBeaten,
        Self::EdgeRemovalLost,
        Self::ConflictsForgotten,
        Self::IndexDrifts,
        Self::ReplyBeforeSync,
        Self::RotationWithoutDirectorySync,
        Self::TrimBeforeSaved,
        Self::FailedMergeKept,
        Self::TrackedNotJoined,
        Self::TrimBehindLostRef,
        Self::ReceiptTakenForWritten,
        Self::FutureStampFollowed,
        Self::FloorFromWallClock,
    ];

    /// Those that the simulator of claim refs can see.
    pub const OF_CLAIM_REFS: [Self; 3] =
        [Self::ClaimWithoutExpectedValue, Self::ReleaseWithoutFence, Self::ExpiryByWallClock];

    /// Those that only real processes show.
    pub const OF_THE_DAEMON: [Self; 2] = [Self::ReplyBeforeCommit, Self::StaleRead];
}

/// Whether this is wrong on purpose.
#[cfg(not(feature = "planted"))]
#[inline(always)]
pub const fn is_planted(_: Bug) -> bool {
    false
}

/// Plants nothing.
#[cfg(not(feature = "planted"))]
#[inline(always)]
pub fn plant_named_by(_: impl FnOnce() -> String) {}

#[cfg(feature = "planted")]
pub use chosen::{is_planted, plant, plant_named_by};

#[cfg(feature = "planted")]
mod chosen {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::Bug;

    /// The chosen bug plus one; 0 is none.
    static CHOSEN: AtomicUsize = AtomicUsize::new(0);

    /// From now on this is wrong, in the whole process, and nothing else.
    pub fn plant(bug: Option<Bug>) {
        CHOSEN.store(bug.map_or(0, |bug| bug as usize + 1), Ordering::SeqCst);
    }

    /// Plants a bug in a process by its name.
    pub fn plant_named_by(name: impl FnOnce() -> String) {
        let name = name();
        let mut all = Bug::SIMULATED.into_iter().chain(Bug::OF_CLAIM_REFS).chain(Bug::OF_THE_DAEMON);
        plant(all.find(|bug| format!("{bug:?}") == name));
    }

    /// Whether this is wrong on purpose.
    pub fn is_planted(bug: Bug) -> bool {
        CHOSEN.load(Ordering::SeqCst) == bug as usize + 1
    }
}
