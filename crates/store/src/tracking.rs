//! What a fetch brought.

use crate::git::GitRepository;
use crate::repository::{CommitId, Repository};

impl GitRepository {
    /// Returns the newest commit that a fetch is known to have brought: the tracking ref, unless it is behind
    /// the commit that the remote listed. Another thread that started earlier may have moved the tracking ref
    /// back; a claim that relied on it would not notice that its bead has been closed.
    pub(crate) fn newest_fetched(&self, listed: CommitId, tracked: Option<CommitId>) -> CommitId {
        match tracked {
            Some(tracked)
                if !self.has_commit(&listed) || self.is_ancestor(&listed, &tracked).unwrap_or(false) =>
            {
                tracked
            }
            _ => listed,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // failing is a test's job

    use git2::{Oid, Signature};

    use super::*;

    #[test]
    fn a_tracking_ref_that_was_moved_back_is_not_believed() {
        let dir = tempfile::tempdir().unwrap();
        git2::Repository::init_bare(dir.path()).unwrap();
        let repository = GitRepository::open(dir.path()).unwrap();
        let git = &repository.git;
        let tree = git.find_tree(git.treebuilder(None).unwrap().write().unwrap()).unwrap();
        let who = Signature::now("x", "x@localhost").unwrap();
        let commit = |parents: &[Oid]| {
            let parents: Vec<_> = parents.iter().map(|id| git.find_commit(*id).unwrap()).collect();
            let parents: Vec<_> = parents.iter().collect();
            git.commit(None, &who, &who, "x", &tree, &parents).unwrap()
        };
        let first = commit(&[]);
        let [old, listed, newer] = {
            let second = commit(&[first]);
            [first, second, commit(&[second])].map(|id| id.to_string())
        };
        let newest = |tracked: Option<&String>| repository.newest_fetched(listed.clone(), tracked.cloned());
        assert_eq!(newest(None), listed);
        assert_eq!(newest(Some(&old)), listed, "moved back by a fetch that began earlier");
        assert_eq!(newest(Some(&newer)), newer, "pushed after the listing");
        let gone = "1".repeat(40);
        assert_eq!(repository.newest_fetched(gone, Some(old.clone())), old, "rewound before it was fetched");
    }
}
