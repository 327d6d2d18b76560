//! A sync ref that the earlier Rust implementation wrote: another format under the same name. It is recognized, never taken for
//! damage, and replaced only by a store that holds everything it holds.

use beads_core::import::{Import, LEGACY_FILES, LegacyFile, Plan};
use beads_core::snapshot::META;
use beads_core::{Actor, Catalog, Clock, Stamp, Timestamp};
use git2::ObjectType;
use serde_json::Value;

use crate::absorb::grant_leases;
use crate::checkpoint::state_of;
use crate::git::GitRepository;
use crate::remote::{Pushed, Remote};
use crate::repository::{CommitId, REF, Repository};
use crate::{Error, Result, World};

/// The references under which replaced commits are kept.
pub(crate) const BACKUP_REFS: &str = "refs/beads/backup/";

/// An earlier store that was replaced.
#[derive(Debug)]
pub struct TakenOver {
    /// The commits that were read.
    pub replaced: Vec<CommitId>,
    /// Where they are kept.
    pub backups: Vec<String>,
    /// The commit that holds everything now.
    pub commit: CommitId,
    /// The remote has it too.
    pub pushed: bool,
    pub summary: beads_core::import::Summary,
}

/// Whether `meta.json` is one of the earlier implementation: ours always names the prefix.
pub(crate) fn is_earlier(meta: &[u8]) -> bool {
    let Ok(Value::Object(meta)) = serde_json::from_slice(meta) else { return false };
    let ours = ["prefix", "sha256", "checkpoint_format_version"];
    // It never wrote another version; a higher one is a later format of ours.
    meta.get("format_version").and_then(Value::as_u64) == Some(1)
        && ours.iter().all(|name| !meta.contains_key(*name))
}

impl GitRepository {
    /// Whether a commit was written by the earlier implementation.
    pub fn is_earlier(&self, commit: &str) -> Result<bool> {
        let tree = self.tree(commit)?;
        let Some(entry) = tree.get_name(META).filter(|entry| entry.kind() == Some(ObjectType::Blob)) else {
            return Ok(false);
        };
        Ok(self.blob(entry.id(), |_| false).is_ok_and(|meta| is_earlier(&meta)))
    }

    /// Reads the beads of a commit of the earlier implementation.
    pub fn read_earlier(&self, commit: &str, import: &mut Import) -> Result<()> {
        let tree = self.tree(commit)?;
        for name in LEGACY_FILES {
            debug_assert!(LegacyFile::of_path(name).is_some());
            if tree.get_name(name).is_none() {
                continue;
            }
            let content = self.file(commit, &tree, name)?;
            for (index, line) in content.split(|byte| *byte == b'\n').enumerate() {
                import.legacy_line(name, index + 1, line);
            }
        }
        Ok(())
    }

    /// The commits of the earlier implementation that a store would be opened from: the sync ref or, without one, what a
    /// clone brought along.
    pub fn earlier_commits(&self) -> Result<Vec<CommitId>> {
        let tips = match self.tip()? {
            Some(tip) => vec![tip],
            None => self.tracked()?,
        };
        let mut earlier = Vec::new();
        for commit in tips {
            if self.is_earlier(&commit)? {
                earlier.push(commit);
            }
        }
        Ok(earlier)
    }
}

/// The reference that keeps a replaced commit.
pub fn backup_of(commit: &str) -> String {
    format!("{BACKUP_REFS}{commit}")
}

/// Replaces the earlier store on the local ref by ours, with everything it holds, and with `remote` the one there too; `None`
/// when there is no earlier store. The caller holds the lock.
///
/// The first commit of our own has no parents: it must not reach the remote as if it were a newer version of what is there,
/// because programs that still run the earlier implementation could not read it.
pub fn take_over(
    repository: &GitRepository,
    world: &mut impl World,
    (actor, lease_ms): (&Actor, u64),
    remote: Option<&impl Remote>,
) -> Result<Option<TakenOver>> {
    let local = repository.earlier_commits()?;
    let there = match remote {
        Some(remote) => remote.fetch()?,
        None => None,
    };
    let there = match there {
        Some(commit) if repository.is_earlier(&commit)? => Some(commit),
        _ => None,
    };
    let mut replaced = local.clone();
    replaced.extend(there.clone().filter(|commit| !local.contains(commit)));
    if replaced.is_empty() {
        return Ok(None);
    }
    let mut import = Import::default();
    for commit in &replaced {
        repository.read_earlier(commit, &mut import)?;
    }
    let tip = repository.tip()?;
    let ours = tip.clone().filter(|tip| !local.contains(tip));
    let mut catalog = match &ours {
        Some(tip) => Catalog::from(state_of(repository, tip)?),
        None => Catalog::default(),
    };
    let Plan { mut delta, leases, summary, .. } = import.plan(&catalog);
    let now_ms = world.now_ms();
    let tag = u16::try_from(world.random() % 0xffff).unwrap_or(0) + 1;
    let end = Timestamp::from_ms(now_ms.saturating_add(lease_ms))?;
    grant_leases(&mut delta, &leases, &mut Clock::new(Stamp::ZERO, tag), (now_ms, actor, end))?;
    catalog.take(&delta)?;
    let backups: Vec<_> = replaced.iter().map(|commit| backup_of(commit)).collect();
    for (reference, commit) in backups.iter().zip(&replaced) {
        repository.keep_as(reference, commit, "bd migrate")?;
    }
    let commit = match &ours {
        Some(tip) if delta.is_empty() => tip.clone(),
        _ => {
            let parents: Vec<_> = ours.into_iter().collect();
            let message = "beads: take over the earlier store";
            let commit = repository.write(&catalog.state().encode(), &parents, message)?;
            repository.snapshot(&commit)?.decode()?;
            if !repository.swing(tip.as_deref(), &commit)? {
                return Err(Error::RefMoved(REF));
            }
            commit
        }
    };
    let pushed = match (remote, &there) {
        (Some(remote), Some(there)) => {
            if matches!(remote.push(Some(there), &commit)?, Pushed::Lost(_)) {
                return Err(Error::Contention(1));
            }
            true
        }
        _ => false,
    };
    Ok(Some(TakenOver { replaced, backups, commit, pushed, summary }))
}
