//! Refs that keep a commit.
use git2::{ErrorCode, Oid};

use crate::Result;
use crate::git::{GitRepository, sync_all};

impl GitRepository {
    /// Points a new ref at a commit, durably. Does nothing if the ref already points there.
    pub(crate) fn keep_commit_as(&self, reference: &str, commit: &str, reason: &str) -> Result<()> {
        match self.git.reference(reference, Oid::from_str(commit)?, false, reason) {
            Err(error) if error.code() == ErrorCode::Exists => {
                if self.git.refname_to_id(reference)?.to_string() != commit {
                    return Err(error.into());
                }
            }
            named => drop(named?),
        }
        let file = self.git.commondir().join(reference);
        let directories: Vec<_> = file.ancestors().skip(1).take(3).map(ToOwned::to_owned).collect();
        sync_all(&directories)
    }
}
