//! A legacy store: one that the earlier Rust implementation wrote, in another format under the same ref name.
//! It is recognized, never treated as damage, and only replaced by a store that holds all of its content.

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

/// The prefix of refs that keep replaced commits.
pub(crate) const BACKUP_REFS: &str = "refs/beads/backup/";

/// A legacy store that was replaced.
#[derive(Debug)]
pub struct TakenOver {
    /// The commits that were replaced.
    pub replaced: Vec<CommitId>,
    /// The refs that keep them.
    pub backups: Vec<String>,
    /// The commit that holds everything now.
    pub commit: CommitId,
    /// Whether the remote has that commit.
    pub pushed: bool,
    /// How much was imported.
    pub summary: beads_core::import::Summary,
}

/// Returns whether this is the `meta.json` of a legacy store. Ours always contains the prefix.
pub(crate) fn is_legacy(meta: &[u8]) -> bool {
    let Ok(Value::Object(meta)) = serde_json::from_slice(meta) else { return false };
    let ours = ["prefix", "sha256", "checkpoint_format_version"];
    // Legacy stores have version 1 only; a higher version is a later format of ours.
    meta.get("format_version").and_then(Value::as_u64) == Some(1)
        && ours.iter().all(|name| !meta.contains_key(*name))
}

impl GitRepository {
    /// Returns whether a commit is of a legacy store.
    pub(crate) fn is_legacy(&self, commit: &str) -> Result<bool> {
        let tree = self.tree(commit)?;
        let Some(entry) = tree.get_name(META).filter(|entry| entry.kind() == Some(ObjectType::Blob)) else {
            return Ok(false);
        };
        Ok(self.blob(entry.id(), |_| false).is_ok_and(|meta| is_legacy(&meta)))
    }

    /// Reads the beads of a commit of a legacy store.
    pub(crate) fn read_legacy(&self, commit: &str, import: &mut Import) -> Result<()> {
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

    /// Returns the legacy commits that a store would be opened from: the sync ref or, without one, the
    /// tracking refs.
    pub fn legacy_commits(&self) -> Result<Vec<CommitId>> {
        let tips = match self.tip()? {
            Some(tip) => vec![tip],
            None => self.tracked()?,
        };
        let mut earlier = Vec::new();
        for commit in tips {
            if self.is_legacy(&commit)? {
                earlier.push(commit);
            }
        }
        Ok(earlier)
    }
}

/// Returns the ref that keeps a replaced commit.
pub(crate) fn backup_of(commit: &str) -> String {
    format!("{BACKUP_REFS}{commit}")
}

/// Replaces the legacy store on the local ref, and with `remote` the one there too, with a store that has all
/// of its content. Returns `None` if there is no legacy store. The caller holds the lock.
///
/// Our first commit has no parents. Programs that still run the earlier implementation could not read it, so
/// it must not look like a newer version of the remote's commit.
pub fn take_over(
    repository: &GitRepository,
    world: &mut impl World,
    (actor, lease_ms): (&Actor, u64),
    remote: Option<&impl Remote>,
) -> Result<Option<TakenOver>> {
    let local = repository.legacy_commits()?;
    let there = match remote {
        Some(remote) => remote.fetch()?,
        None => None,
    };
    let there = match there {
        Some(commit) if repository.is_legacy(&commit)? => Some(commit),
        _ => None,
    };
    let mut replaced = local.clone();
    replaced.extend(there.clone().filter(|commit| !local.contains(commit)));
    if replaced.is_empty() {
        return Ok(None);
    }
    let mut import = Import::default();
    for commit in &replaced {
        repository.read_legacy(commit, &mut import)?;
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
    catalog.join_delta(&delta)?;
    let backups: Vec<_> = replaced.iter().map(|commit| backup_of(commit)).collect();
    for (reference, commit) in backups.iter().zip(&replaced) {
        repository.keep_commit_as(reference, commit, "bd migrate")?;
    }
    let commit = match &ours {
        Some(tip) if delta.is_empty() => tip.clone(),
        _ => {
            let parents: Vec<_> = ours.into_iter().collect();
            let message = "beads: take over the earlier store";
            let commit = repository.write(&catalog.state().encode(), &parents, message)?;
            repository.snapshot(&commit)?.decode()?;
            if !repository.compare_and_swap_ref(tip.as_deref(), &commit)? {
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
