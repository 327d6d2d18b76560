//! Removes a store. Its last commit stays reachable through a backup ref.

use git2::ErrorCode;

use crate::claim_refs::{ClaimRemote, RefChange, Swapped};
use crate::legacy::BACKUP_REFS;
use crate::remote::Remote;
use crate::repository::{CommitId, REF, Repository};
use crate::{Error, GitRepository, Result};

/// The refs of a store besides the sync ref.
const OWN_REFS: [&str; 3] = ["refs/remotes/*/beads/store", "refs/beads/seen/*", "refs/beads/sav*"];

impl GitRepository {
    /// Keeps the sync ref's commit under a backup ref and deletes every ref of the store. Returns the backup
    /// ref, if there was a commit. The caller holds the lock and has saved everything.
    pub fn remove_store(&self, name: &str) -> Result<Option<String>> {
        let backup = match self.tip()? {
            Some(tip) => {
                let backup = format!("{BACKUP_REFS}{name}");
                self.keep_commit_as(&backup, &tip, "bd uninstall")?;
                Some(backup)
            }
            None => None,
        };
        match self.git.find_reference(REF) {
            Ok(mut reference) => reference.delete()?,
            Err(error) if error.code() == ErrorCode::NotFound => {}
            Err(error) => return Err(error.into()),
        }
        for pattern in OWN_REFS {
            for reference in self.git.references_glob(pattern)? {
                reference?.delete()?;
            }
        }
        Ok(backup)
    }
}

/// Keeps the store of a remote under a backup ref there, and deletes it together with its claim refs. Returns
/// the backup ref, if there was a store. Deletes nothing unless the backup ref exists.
pub fn remove_remote_store(
    remote: &(impl Remote + ClaimRemote),
    name: &str,
    claim_prefix: &str,
) -> Result<Option<String>> {
    let Some(tip) = remote.fetch()? else { return Ok(None) };
    let keep = RefChange { name: name.to_owned(), expected: None, new: Some(tip.clone()) };
    change(remote, BACKUP_REFS, keep)?;
    let (prefix, store) = REF.rsplit_once('/').unwrap_or(("refs/heads/beads", "store"));
    let delete =
        |name: &str, commit: CommitId| RefChange { name: name.to_owned(), expected: Some(commit), new: None };
    change(remote, &format!("{prefix}/"), delete(store, tip))?;
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
