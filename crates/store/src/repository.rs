//! The interface to a git repository: snapshots under one ref, which is updated by compare-and-swap.

use beads_core::{Encoder, Snapshot, State};

use crate::{RefSync, Result};

/// The sync ref: the branch that holds the store.
pub const REF: &str = "refs/heads/beads/store";

/// A branch with this name prevents the sync ref: git cannot have both a branch and a directory of one name.
pub(crate) const CONFLICTING_BRANCH: &str = "refs/heads/beads";

/// The hexadecimal name of a commit.
pub type CommitId = String;

/// A repository with the sync ref. [`GitRepository`](crate::GitRepository) is the real one; the simulator has
/// another.
pub trait Repository: Send {
    /// Returns the commit that the sync ref points at.
    fn tip(&self) -> Result<Option<CommitId>>;

    /// Returns the files of a commit. Fails if the commit has other files than a store.
    ///
    /// Only decoding the snapshot shows whether the content is intact.
    fn snapshot(&self, commit: &str) -> Result<Snapshot>;

    /// Returns the state of a commit from a derived copy, if there is an intact one. Otherwise the caller decodes
    /// the [snapshot](Self::snapshot).
    fn cached_state(&self, _commit: &str) -> Option<State> {
        None
    }

    /// Keeps a derived copy of the state of a commit, if it is what the encoder encoded last. Nothing depends on
    /// it.
    fn cache_state(&self, _commit: &str, _encoder: &Encoder) {}

    /// Writes a commit with these files. When this returns, its objects are on stable storage, including
    /// those that it shares with fetched commits.
    fn write(&self, snapshot: &Snapshot, parents: &[CommitId], message: &str) -> Result<CommitId>;

    /// Checks a fetched commit before any of it is read. Returns the reason if an object in its history that
    /// `known` does not have is longer than anything this store writes.
    fn vet(&self, _theirs: &str, _known: &str) -> Result<(), String> {
        Ok(())
    }

    /// Returns whether a commit has exactly these files.
    fn holds(&self, commit: &str, snapshot: &Snapshot) -> Result<bool>;

    /// Returns whether the history of `commit` contains `ancestor`.
    fn is_ancestor(&self, ancestor: &str, commit: &str) -> Result<bool>;

    /// Returns the last commit that both have in common, if any.
    fn merge_base(&self, one: &str, other: &str) -> Result<Option<CommitId>>;

    /// Returns the tips of the sync ref on remotes, as of the last clone or fetch.
    fn tracked(&self) -> Result<Vec<CommitId>>;

    /// Returns the commits that [`record_saved`](Self::record_saved) recorded last.
    ///
    /// The sync ref must contain them, because their part of the journal may be trimmed. If it does not, the
    /// ref was rewound, replaced or deleted.
    fn saved(&self) -> Result<Vec<CommitId>>;

    /// Records durably, outside the sync ref, that the ref contains this commit.
    fn record_saved(&self, commit: &str) -> Result<()>;

    /// Makes the ref durable. The process that moved it may have died before syncing it.
    fn sync_ref(&self) -> Result<()>;

    /// Returns a way to [make the ref durable](Self::sync_ref) later.
    fn sync_ref_later(&self) -> RefSync;

    /// Moves the sync ref to `to` if it still points at `from`. The move is durable when this returns `true`.
    fn compare_and_swap_ref(&self, from: Option<&str>, to: &str) -> Result<bool>;
}
