//! What the replica asks of a git repository: snapshots under one reference, compared and swapped.

use beads_core::Snapshot;

use crate::Result;

/// The sync ref (§5.1).
pub const REF: &str = "refs/heads/beads/store";

/// A branch of this name keeps the sync ref from existing: git cannot have both a branch and a directory of that name.
pub const BRANCH_IN_THE_WAY: &str = "refs/heads/beads";

/// A commit, by its hexadecimal name.
pub type CommitId = String;

/// Objects and the sync ref. Written through the git library, or simulated.
pub trait Repository: Send {
    /// The commit the sync ref points at.
    fn tip(&self) -> Result<Option<CommitId>>;

    /// The files of a commit. Anything but exactly our files is an error. That their content is what was committed is only
    /// known once it is decoded.
    fn snapshot(&self, commit: &str) -> Result<Snapshot>;

    /// Writes a commit with these files. When this returns, the objects are on stable storage, as those are that a fetch
    /// brought and that it has in common with them.
    fn write(&self, snapshot: &Snapshot, parents: &[CommitId], message: &str) -> Result<CommitId>;

    /// Refuses a commit that came from elsewhere when anything in its history that `known` does not have is longer than this
    /// store ever writes, and says why. Nothing of it was read before.
    fn vet(&self, _theirs: &str, _known: &str) -> Result<(), String> {
        Ok(())
    }

    /// Whether a commit has exactly these files.
    fn holds(&self, commit: &str, snapshot: &Snapshot) -> Result<bool>;

    /// Whether the history of `commit` contains `ancestor`.
    fn is_ancestor(&self, ancestor: &str, commit: &str) -> Result<bool>;

    /// The last commit that both have in common, if they have any.
    fn merge_base(&self, one: &str, other: &str) -> Result<Option<CommitId>>;

    /// What a clone brought along or a fetch has seen: the tips of the sync ref on remotes.
    fn tracked(&self) -> Result<Vec<CommitId>>;

    /// The commits that [`record_saved`](Self::record_saved) recorded last. The journal behind them may be gone, so the sync
    /// ref must contain them; where it does not, it was rewound, replaced or deleted.
    fn saved(&self) -> Result<Vec<CommitId>>;

    /// Records, durably and apart from the sync ref, that the ref contains this commit.
    fn record_saved(&self, commit: &str) -> Result<()>;

    /// Makes the ref durable as it stands: whoever moved it may have died before its sync.
    fn settle(&self) -> Result<()>;

    /// Moves the sync ref if it still points at `from`; durable when this returns `true`.
    fn swing(&self, from: Option<&str>, to: &str) -> Result<bool>;
}
