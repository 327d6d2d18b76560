//! Claim refs: one ref per claimed bead, moved by compare-and-swap on the remote. So a claim has exactly one winner among
//! all machines, with nothing but Git between them.

use std::collections::BTreeMap;

use beads_core::{CLAIM_FILE, ClaimRecord};
use git2::{ErrorCode, Oid, Signature};

use crate::git::GitRepository;
use crate::repository::CommitId;
use crate::vet::check_record;
use crate::{Guarded, Result};

/// What the remote has: the store's tip, and every claim ref by the last part of its name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClaimsSeen {
    pub tip: Option<CommitId>,
    pub refs: BTreeMap<String, ClaimValue>,
}

/// The value of a claim ref.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimValue {
    pub commit: CommitId,
    /// `None` when it is no record of that ref: broken, or of a later version.
    pub record: Option<ClaimRecord>,
}

/// One compare-and-swap of a claim ref.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefChange {
    /// The last part of the ref's name.
    pub name: String,
    /// Where the ref must be; `None`: it must not exist.
    pub expected: Option<CommitId>,
    /// Where it goes; `None` deletes it.
    pub new: Option<CommitId>,
}

/// How one compare-and-swap ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Swapped {
    Done,
    /// The ref is elsewhere: another machine was faster.
    Lost(String),
    /// The server does not let this ref be written, whatever its value.
    Refused(String),
}

/// The claim refs of a remote. An error means that the remote did not answer; a change may have happened all the same.
pub trait ClaimRemote {
    /// Lists the claim refs together with the store's tip, and brings the values that are not here.
    fn claims(&self, prefix: &str) -> Result<ClaimsSeen>;

    /// Makes each change on its own, and says for each how it ended.
    fn swap(&self, prefix: &str, changes: &[RefChange]) -> Result<Vec<Swapped>>;
}

impl<R: ClaimRemote> ClaimRemote for Guarded<R> {
    fn claims(&self, prefix: &str) -> Result<ClaimsSeen> {
        self.check()?;
        self.inner().claims(prefix)
    }

    fn swap(&self, prefix: &str, changes: &[RefChange]) -> Result<Vec<Swapped>> {
        self.check()?;
        self.inner().swap(prefix, changes)
    }
}

/// Where the claim refs of a remote were last seen. They keep the objects from being collected.
pub(crate) fn seen_refs(remote: &str) -> String {
    format!("refs/beads/seen/{remote}/")
}

impl GitRepository {
    /// Writes a value of a claim ref: a child of the one it replaces.
    pub fn write_claim(&self, record: &ClaimRecord, parent: Option<&str>) -> Result<CommitId> {
        let blob = self.git.blob(&record.encode())?;
        let mut builder = self.git.treebuilder(None)?;
        builder.insert(CLAIM_FILE, blob, 0o100_644)?;
        let tree = self.git.find_tree(builder.write()?)?;
        let parent = match parent {
            // A value that could not be brought here, such as one of a shallow fetch, is replaced all the same.
            Some(parent) => self.git.find_commit(Oid::from_str(parent)?).ok(),
            None => None,
        };
        let parents: Vec<_> = parent.iter().collect();
        let who = Signature::now("beads", "beads@localhost")?;
        let message = if record.is_live() { "beads: claim" } else { "beads: end of a claim" };
        Ok(self.git.commit(None, &who, &who, message, &tree, &parents)?.to_string())
    }

    /// The record in a commit, if it is here and one of the ref with this name.
    pub fn read_claim(&self, name: &str, commit: &str) -> Option<ClaimRecord> {
        let commit = Oid::from_str(commit).ok()?;
        check_record(&self.git, commit).ok()?;
        let tree = self.git.find_commit(commit).ok()?.tree().ok()?;
        let entry = tree.get_name(CLAIM_FILE).filter(|_| tree.len() == 1)?;
        let blob = self.git.find_blob(entry.id()).ok()?;
        ClaimRecord::decode(blob.content()).ok().filter(|record| record.lineage.claim_name() == name)
    }

    /// What was last seen of a claim ref, on whichever remote.
    pub fn last_seen_claim(&self, name: &str) -> Option<ClaimRecord> {
        let found = self.git.references_glob(&format!("refs/beads/seen/*/{name}")).ok()?;
        let mut found = found.flatten().filter_map(|reference| reference.target());
        found.find_map(|commit| self.read_claim(name, &commit.to_string()))
    }

    /// When a commit was made, by its maker's clock, in milliseconds.
    pub fn commit_time_ms(&self, commit: &str) -> Option<u64> {
        let commit = Oid::from_str(commit).ok()?;
        check_record(&self.git, commit).ok()?;
        let commit = self.git.find_commit(commit).ok()?;
        u64::try_from(commit.time().seconds()).ok()?.checked_mul(1_000)
    }

    /// Turns a listing of names and commits into what was seen, and keeps it for later. Values that cannot be read may have
    /// been replaced since they were listed; the fetch has brought what they were replaced by.
    pub(crate) fn seen_claims(
        &self,
        remote: &str,
        tip: Option<CommitId>,
        listed: BTreeMap<String, CommitId>,
    ) -> Result<ClaimsSeen> {
        let directory = seen_refs(remote);
        let mut refs = BTreeMap::new();
        for (name, listed) in listed {
            let place = format!("{directory}{name}");
            let kept = self.git.refname_to_id(&place).ok().map(|oid| oid.to_string());
            let commit = if self.has_commit(&listed) { listed } else { kept.clone().unwrap_or(listed) };
            if kept.as_ref() != Some(&commit) && self.has_commit(&commit) {
                self.keep_seen(&place, &commit);
            }
            let record = self.read_claim(&name, &commit);
            refs.insert(name, ClaimValue { commit, record });
        }
        self.forget_unseen(&directory, &refs)?;
        Ok(ClaimsSeen { tip, refs })
    }

    /// Only a note of what was seen; the next look makes it again.
    pub(crate) fn keep_seen(&self, place: &str, commit: &str) {
        if let Ok(oid) = Oid::from_str(commit) {
            let _ = self.git.reference(place, oid, true, "bd claims");
        }
    }

    fn forget_unseen(&self, directory: &str, refs: &BTreeMap<String, ClaimValue>) -> Result<()> {
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
