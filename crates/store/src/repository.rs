//! The interface to a git repository: snapshots under one ref, which is updated by compare-and-swap.

use std::collections::BTreeSet;

use beads_core::{Encoder, Lineage, Snapshot, State};

use crate::{RefSync, Result};

/// The sync ref: the branch that holds the store.
pub const REF: &str = "refs/heads/beads/store";

/// The branch that holds the content of archived beads (docs/adr/0083-archive.md).
pub const ARCHIVE_REF: &str = "refs/heads/beads/archive";

/// A branch of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Branch {
    /// The store itself.
    Store,
    /// The content of archived beads.
    Archive,
}

impl Branch {
    /// Returns the name of the branch's ref.
    pub(crate) fn reference(self) -> &'static str {
        match self {
            Self::Store => REF,
            Self::Archive => ARCHIVE_REF,
        }
    }

    /// Returns the ref that records where the branch of a remote is.
    pub(crate) fn tracking_ref(self, remote: &str) -> String {
        match self {
            Self::Store => format!("refs/remotes/{remote}/beads/store"),
            Self::Archive => format!("refs/remotes/{remote}/beads/archive"),
        }
    }
}

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

    /// Returns the commit that the archive's ref points at.
    fn archive_tip(&self) -> Result<Option<CommitId>> {
        Ok(None)
    }

    /// Returns where the archive of a remote was when it was last fetched or pushed.
    fn tracked_archive(&self, _remote: &str) -> Result<Option<CommitId>> {
        self.archive_tip()
    }

    /// Returns the beads that the store on the ref may have without something that the archive has, because
    /// the archive could not be reached when they were saved.
    fn unhealed(&self) -> Result<BTreeSet<Lineage>> {
        Ok(BTreeSet::new())
    }

    /// Records durably what [`unhealed`](Self::unhealed) returns.
    fn record_unhealed(&self, _beads: &BTreeSet<Lineage>) -> Result<()> {
        Ok(())
    }

    /// Moves the archive's ref to `to` if it still points at `from`. The move is durable when this returns
    /// `true`.
    fn compare_and_swap_archive(&self, _from: Option<&str>, _to: &str) -> Result<bool> {
        Ok(false)
    }

    /// Moves the sync ref to `to` if it still points at `from`. The move is durable when this returns `true`.
    fn compare_and_swap_ref(&self, from: Option<&str>, to: &str) -> Result<bool>;
}
