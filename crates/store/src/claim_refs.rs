//! Claim refs: one ref per claimed bead, moved by compare-and-swap on the remote. So a claim has exactly one
//! winner among all machines, without any server but Git.

use std::collections::BTreeMap;

use beads_core::{CLAIM_FILE, ClaimRecord};
use git2::{ErrorCode, Oid, Signature};

use crate::git::GitRepository;
use crate::repository::CommitId;
use crate::vet::check_record;
use crate::{Guarded, Result};

/// A listing of a remote: the store's tip, and every claim ref by the last part of its name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClaimListing {
    /// The tip of the remote's store, if there is one.
    pub tip: Option<CommitId>,
    /// The claim refs.
    pub refs: BTreeMap<String, ClaimValue>,
}

/// The value of a claim ref.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimValue {
    /// The commit that the ref points at.
    pub commit: CommitId,
    /// The record in the commit; `None` if it is broken, of a later version, or belongs to another ref.
    pub record: Option<ClaimRecord>,
}

/// One compare-and-swap of a claim ref.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefChange {
    /// The last part of the ref's name.
    pub name: String,
    /// The commit that the ref must point at; `None` if it must not exist.
    pub expected: Option<CommitId>,
    /// The commit to move the ref to; `None` deletes it.
    pub new: Option<CommitId>,
}

/// The result of one compare-and-swap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Swapped {
    /// The ref was moved.
    Done,
    /// The ref was not where it was expected: another machine moved it first.
    Lost(String),
    /// The server does not allow writes to this ref.
    Refused(String),
}

/// A remote with claim refs. After an error the remote's state is unknown: a change may still have happened.
pub trait ClaimRemote {
    /// Lists the claim refs together with the store's tip, and fetches the values that are not here.
    fn claims(&self, prefix: &str) -> Result<ClaimListing>;

    /// Makes each change separately, and returns the result of each.
    fn swap(&self, prefix: &str, changes: &[RefChange]) -> Result<Vec<Swapped>>;
}

impl<R: ClaimRemote> ClaimRemote for Guarded<R> {
    fn claims(&self, prefix: &str) -> Result<ClaimListing> {
        self.check()?;
        self.inner().claims(prefix)
    }

    fn swap(&self, prefix: &str, changes: &[RefChange]) -> Result<Vec<Swapped>> {
        self.check()?;
        self.inner().swap(prefix, changes)
    }
}

/// Returns the prefix of the refs that track a remote's claim refs. They protect the objects from git gc.
pub(crate) fn claim_tracking_prefix(remote: &str) -> String {
    format!("refs/beads/seen/{remote}/")
}

impl GitRepository {
    /// Writes a value of a claim ref as a child of the one it replaces.
    pub fn write_claim(&self, record: &ClaimRecord, parent: Option<&str>) -> Result<CommitId> {
        let blob = self.git.blob(&record.encode())?;
        let mut builder = self.git.treebuilder(None)?;
        builder.insert(CLAIM_FILE, blob, 0o100_644)?;
        let tree = self.git.find_tree(builder.write()?)?;
        let parent = match parent {
            // The previous value may not be here, for example after a shallow fetch. It is replaced anyway.
            Some(parent) => self.git.find_commit(Oid::from_str(parent)?).ok(),
            None => None,
        };
        let parents: Vec<_> = parent.iter().collect();
        let who = Signature::now("beads", "beads@localhost")?;
        let message = if record.is_live() { "beads: claim" } else { "beads: end of a claim" };
        Ok(self.git.commit(None, &who, &who, message, &tree, &parents)?.to_string())
    }

    /// Returns the record in a commit, if the commit is here and the record belongs to the ref with this
    /// name.
    pub(crate) fn read_claim(&self, name: &str, commit: &str) -> Option<ClaimRecord> {
        let commit = Oid::from_str(commit).ok()?;
        check_record(&self.git, commit).ok()?;
        let tree = self.git.find_commit(commit).ok()?.tree().ok()?;
        let entry = tree.get_name(CLAIM_FILE).filter(|_| tree.len() == 1)?;
        let blob = self.git.find_blob(entry.id()).ok()?;
        ClaimRecord::decode(blob.content()).ok().filter(|record| record.lineage.claim_name() == name)
    }

    /// Returns the record last seen under a claim ref, on any remote.
    pub fn last_seen_claim(&self, name: &str) -> Option<ClaimRecord> {
        let found = self.git.references_glob(&format!("refs/beads/seen/*/{name}")).ok()?;
        let mut found = found.flatten().filter_map(|reference| reference.target());
        found.find_map(|commit| self.read_claim(name, &commit.to_string()))
    }

    /// Returns when a commit was made, by its author's clock, in milliseconds.
    pub fn commit_time_ms(&self, commit: &str) -> Option<u64> {
        let commit = Oid::from_str(commit).ok()?;
        check_record(&self.git, commit).ok()?;
        let commit = self.git.find_commit(commit).ok()?;
        u64::try_from(commit.time().seconds()).ok()?.checked_mul(1_000)
    }

    /// Turns a listing of names and commits into [`ClaimListing`], and updates the tracking refs.
    ///
    /// A value that cannot be read may have been replaced since it was listed; then the fetch brought its
    /// replacement.
    pub(crate) fn claim_listing(
        &self,
        remote: &str,
        tip: Option<CommitId>,
        listed: BTreeMap<String, CommitId>,
    ) -> Result<ClaimListing> {
        let directory = claim_tracking_prefix(remote);
        let mut refs = BTreeMap::new();
        for (name, listed) in listed {
            let place = format!("{directory}{name}");
            let kept = self.git.refname_to_id(&place).ok().map(|oid| oid.to_string());
            let commit = if self.has_commit(&listed) { listed } else { kept.clone().unwrap_or(listed) };
            if kept.as_ref() != Some(&commit) && self.has_commit(&commit) {
                self.update_claim_tracking_ref(&place, &commit);
            }
            let record = self.read_claim(&name, &commit);
            refs.insert(name, ClaimValue { commit, record });
        }
        self.delete_stale_tracking_refs(&directory, &refs)?;
        Ok(ClaimListing { tip, refs })
    }

    /// Updates a tracking ref. Errors are ignored, because the next listing updates it again.
    pub(crate) fn update_claim_tracking_ref(&self, place: &str, commit: &str) {
        if let Ok(oid) = Oid::from_str(commit) {
            let _ = self.git.reference(place, oid, true, "bd claims");
        }
    }

    /// Deletes the tracking refs of claim refs that no longer exist.
    fn delete_stale_tracking_refs(&self, directory: &str, refs: &BTreeMap<String, ClaimValue>) -> Result<()> {
        for reference in self.git.references_glob(&format!("{directory}*"))? {
            let mut reference = match reference {
                Err(error) if error.code() == ErrorCode::NotFound => continue,
                reference => reference?,
            };
            let name = reference.name().ok().and_then(|name| name.strip_prefix(directory));
            if name.is_some_and(|name| !refs.contains_key(name)) {
                let _ = reference.delete();
            }
        }
        Ok(())
    }
}
