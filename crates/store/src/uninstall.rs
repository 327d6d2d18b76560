//! Removes a store. Its last commit stays reachable through a backup ref.

use git2::ErrorCode;

use crate::claim_refs::{ClaimRemote, RefChange, Swapped};
use crate::legacy::BACKUP_REFS;
use crate::remote::Remote;
use crate::repository::{ARCHIVE_REF, CommitId, REF, Repository};
use crate::{Error, GitRepository, Result};

/// The refs of a store besides the sync ref.
const OWN_REFS: [&str; 4] =
    ["refs/remotes/*/beads/store", "refs/remotes/*/beads/archive", "refs/beads/seen/*", "refs/beads/sav*"];

impl GitRepository {
    /// Keeps the commits of the sync ref and of the archive under backup refs and deletes every ref of the store.
    /// Returns the backup ref of the sync ref, if there was a commit. The caller holds the lock and has saved
    /// everything.
    pub fn remove_store(&self, name: &str) -> Result<Option<String>> {
        let keep = |tip: Option<CommitId>, backup: String| match tip {
            Some(tip) => self.keep_commit_as(&backup, &tip, "bd uninstall").map(|_| Some(backup)),
            None => Ok(None),
        };
        let backup = keep(self.tip()?, format!("{BACKUP_REFS}{name}"))?;
        keep(self.archive_tip()?, format!("{BACKUP_REFS}{}", of_archive(name)))?;
        for reference in [REF, ARCHIVE_REF] {
            match self.git.find_reference(reference) {
                Ok(mut reference) => reference.delete()?,
                Err(error) if error.code() == ErrorCode::NotFound => {}
                Err(error) => return Err(error.into()),
            }
        }
        for pattern in OWN_REFS {
            for reference in self.git.references_glob(pattern)? {
                reference?.delete()?;
            }
        }
        Ok(backup)
    }
}

/// Returns the name of an archive's backup.
fn of_archive(name: &str) -> String {
    format!("{name}-archive")
}

/// Keeps the store and the archive of a remote under backup refs there, and deletes them together with the claim
/// refs. Returns the backup ref of the store, if there was one. Deletes nothing unless the backup refs exist.
pub fn remove_remote_store(
    remote: &(impl Remote + ClaimRemote),
    name: &str,
    claim_prefix: &str,
) -> Result<Option<String>> {
    let Some(tip) = remote.fetch()? else { return Ok(None) };
    let archive = remote.fetch_archive()?;
    let delete =
        |name: &str, commit: CommitId| RefChange { name: name.to_owned(), expected: Some(commit), new: None };
    let both = [(REF, name.to_owned(), Some(tip)), (ARCHIVE_REF, of_archive(name), archive)];
    let both = both.into_iter().filter_map(|(branch, name, tip)| Some((branch, name, tip?)));
    let both: Vec<_> = both.collect();
    for (_, name, tip) in &both {
        let keep = RefChange { name: name.clone(), expected: None, new: Some(tip.clone()) };
        change(remote, BACKUP_REFS, keep)?;
    }
    for (branch, _, tip) in both {
        let (prefix, name) = branch.rsplit_once('/').unwrap_or_default();
        change(remote, &format!("{prefix}/"), delete(name, tip))?;
    }
    let claims = remote.claims(claim_prefix)?.refs;
    let ended: Vec<RefChange> = claims.into_iter().map(|(name, value)| delete(&name, value.commit)).collect();
    // Without a store a claim ref has no effect, so one that stays is harmless.
    let _ = remote.swap(claim_prefix, &ended);
    Ok(Some(format!("{BACKUP_REFS}{name}")))
}

fn change(remote: &(impl Remote + ClaimRemote), prefix: &str, change: RefChange) -> Result<()> {
    match remote.swap(prefix, &[change])?.pop() {
        Some(Swapped::Done) => Ok(()),
        Some(Swapped::Lost(reason) | Swapped::Refused(reason)) => {
            Err(Error::PushRefused { remote: remote.name().to_owned(), reason })
        }
        None => Err(Error::PushRefused { remote: remote.name().to_owned(), reason: "it did not say".into() }),
    }
}
