//! Planted bugs, to check that the test suite catches them. At most one is active. The code calls
//! [`is_planted`] where the bug would be. Without the feature `planted`, which nothing in the workspace turns
//! on, that is the constant `false`, and the compiler removes the branch.

/// A planted bug, named after the wrong behavior.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// A register takes the other write even if it is not later.
    JoinTakesTheirs,
    /// A bead with notes ignores the notes of other replicas.
    NotesLostInJoin,
    /// A new stamp may be lower than the last one minted here.
    ClockGoesBack,
    /// A write does not win over an earlier one that came from a clock ahead of ours.
    OverwriteNotBeaten,
    /// The removal of an edge does not reach other replicas.
    EdgeRemovalLost,
    /// A value that lost to a concurrent write is not kept.
    ConflictsForgotten,
    /// The indexes do not follow a changed edge.
    IndexDrifts,
    /// The reply is sent before the journal is synced.
    ReplyBeforeSync,
    /// The directory is not synced after a new segment is created.
    RotationWithoutDirectorySync,
    /// The journal is trimmed when a checkpoint begins, before the ref contains it.
    TrimBeforeSaved,
    /// A merge that failed is kept in memory.
    FailedMergeKept,
    /// The first commit has a fetched commit as its parent without joining its state.
    TrackedNotJoined,
    /// The journal is trimmed although the ref no longer contains the saved commit.
    TrimBehindLostRef,
    /// A receipt in the cache is assumed to be on disk.
    ReceiptTakenForWritten,
    /// The clock follows a stamp from the future, so that all later writes carry it on.
    FutureStampFollowed,
    /// The floor of garbage collection follows the wall clock even if it is far ahead of other machines.
    FloorFromWallClock,
    /// Claim refs: a push replaces the ref without comparing its value.
    ClaimWithoutExpectedValue,
    /// Claim refs: the end of a claim overwrites the claim of another machine.
    ReleaseWithoutFence,
    /// Claim refs: the local wall clock decides whether the lease of another machine has ended.
    ExpiryByWallClock,
    /// Claim refs: a claim ends on its ref although the remote's store does not have its end yet.
    EndBeforeStore,
    /// Daemon: replies are sent before the journal is written.
    ReplyBeforeCommit,
    /// Daemon: a query returns the answer to the first query of the same kind.
    StaleRead,
}

impl Bug {
    /// Bugs that the simulator detects.
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

    /// Bugs that the simulator of claim refs detects.
    pub const CLAIM_REFS: [Self; 4] = [
        Self::ClaimWithoutExpectedValue,
        Self::ReleaseWithoutFence,
        Self::ExpiryByWallClock,
        Self::EndBeforeStore,
    ];

    /// Bugs that only show in real processes.
    pub const DAEMON: [Self; 2] = [Self::ReplyBeforeCommit, Self::StaleRead];
}

/// Returns whether a bug is planted.
#[cfg(not(feature = "planted"))]
#[inline(always)]
pub const fn is_planted(_: Bug) -> bool {
    false
}

/// Does nothing without the feature `planted`.
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

    /// Plants a bug in the whole process and removes the previous one.
    pub fn plant(bug: Option<Bug>) {
        CHOSEN.store(bug.map_or(0, |bug| bug as usize + 1), Ordering::SeqCst);
    }

    /// Plants the bug with this name.
    pub fn plant_named_by(name: impl FnOnce() -> String) {
        let name = name();
        let mut all = Bug::SIMULATED.into_iter().chain(Bug::CLAIM_REFS).chain(Bug::DAEMON);
        plant(all.find(|bug| format!("{bug:?}") == name));
    }

    /// Returns whether a bug is planted.
    pub fn is_planted(bug: Bug) -> bool {
        CHOSEN.load(Ordering::SeqCst) == bug as usize + 1
    }
}
