//! Reads what is left of the sync ref: its tip, or else the nearest readable commits before it.

use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;

use beads_core::snapshot::{CONFLICTS, DEPS, META, STATE, TOMBSTONES};
use beads_core::{Code, Salvage, State};
use git2::ObjectType;

use crate::Result;
use crate::git::GitRepository;
use crate::repository::{CommitId, REF, Repository};

/// How many damaged commits are skipped on the way back to a good one.
const MAX_COMMITS: usize = 10_000;

/// The commit that the sync ref points at.
#[derive(Debug)]
pub(crate) enum Tip {
    /// There is no ref yet.
    Absent,
    /// It can be decoded.
    Sound { commit: CommitId, state: Box<State> },
    /// It cannot be decoded.
    Damaged { commit: CommitId, reason: String },
    /// The file of the ref does not contain a commit name.
    Unnamed { reason: String },
}

impl Tip {
    pub(crate) fn commit(&self) -> Option<&str> {
        match self {
            Self::Sound { commit, .. } | Self::Damaged { commit, .. } => Some(commit),
            Self::Absent | Self::Unnamed { .. } => None,
        }
    }

    pub(crate) fn damage(&self) -> Option<String> {
        match self {
            Self::Damaged { reason, .. } | Self::Unnamed { reason } => Some(reason.clone()),
            Self::Absent | Self::Sound { .. } => None,
        }
    }
}

/// Where the salvaged state came from.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) actions: Vec<String>,
    /// The tip, if its commit object can be read.
    pub(crate) tip_commit: Option<CommitId>,
    /// The parents of the new commit. Only complete commits, because a ref with gaps in its history could
    /// never be pushed.
    pub(crate) parents: Vec<CommitId>,
}

/// Reads the tip of the sync ref.
pub(crate) fn tip(repository: &GitRepository) -> Result<Tip> {
    let commit = match repository.tip() {
        Ok(None) => return Ok(Tip::Absent),
        Ok(Some(commit)) => commit,
        Err(error) => return Ok(Tip::Unnamed { reason: error.to_string() }),
    };
    match decode(repository, &commit) {
        Ok(state) => Ok(Tip::Sound { commit, state: Box::new(state) }),
        Err(error) if error.code() == Code::CorruptStore => {
            let reason = error.to_string();
            Ok(Tip::Damaged { commit, reason })
        }
        Err(error) => Err(error),
    }
}

/// Salvages everything that the commits still hold.
pub(crate) fn gather(repository: &GitRepository, tip: &Tip, salvage: &mut Salvage) -> Result<Found> {
    let mut found = Found::default();
    match tip {
        Tip::Absent => {}
        Tip::Sound { commit, state } => {
            salvage.add_state(state);
            (found.tip_commit, found.parents) = (Some(commit.clone()), vec![commit.clone()]);
        }
        Tip::Damaged { commit, .. } => {
            if repository.commit(commit).is_ok() {
                found.tip_commit = Some(commit.clone());
                let whole = read_files(repository, commit, salvage)?;
                let before = take_readable(repository, vec![commit.clone()], salvage, &mut found);
                found.parents = if whole { vec![commit.clone()] } else { before };
            } else {
                salvage.report(&format!("commit {commit}"), None, "the commit object cannot be read");
            }
        }
        Tip::Unnamed { reason } => salvage.report(REF, None, reason.as_str()),
    }
    if found.parents.is_empty() {
        found.parents = take_earlier_tips(repository, salvage, &mut found)?;
    }
    take_last_saved(repository, salvage, &mut found)?;
    Ok(found)
}

/// Salvages the newest readable commit of our own record, unless the commits found so far contain it.
fn take_last_saved(repository: &GitRepository, salvage: &mut Salvage, found: &mut Found) -> Result<()> {
    for saved in repository.past_tips()? {
        let Ok(state) = decode(repository, &saved) else { continue };
        let mut contained = false;
        for parent in &found.parents {
            contained |= repository.is_ancestor(&saved, parent)?;
        }
        if !contained {
            salvage.add_state(&state);
            found.actions.push(format!("take everything in commit {saved}, which was saved before"));
            found.parents.push(saved);
        }
        break;
    }
    Ok(())
}

/// Salvages what the tip itself holds, as far as it can be read.
pub(crate) fn tip_alone(repository: &GitRepository, tip: &Tip, salvage: &mut Salvage) -> Result<()> {
    match tip {
        Tip::Sound { state, .. } => salvage.add_state(state),
        Tip::Damaged { commit, .. } if repository.commit(commit).is_ok() => {
            read_files(repository, commit, salvage)?;
        }
        Tip::Damaged { .. } | Tip::Absent | Tip::Unnamed { .. } => {}
    }
    Ok(())
}

/// Salvages the nearest commits that decode, going back from each start, and returns them.
fn take_readable(
    repository: &GitRepository,
    starts: Vec<CommitId>,
    salvage: &mut Salvage,
    found: &mut Found,
) -> Vec<CommitId> {
    let mut seen: BTreeSet<CommitId> = starts.iter().cloned().collect();
    let mut queue = VecDeque::from(starts);
    let mut readable = Vec::new();
    for _ in 0..MAX_COMMITS {
        let Some(commit) = queue.pop_front() else { break };
        if let Ok(state) = decode(repository, &commit) {
            salvage.add_state(&state);
            found.actions.push(format!("take everything in commit {commit}"));
            readable.push(commit);
            continue;
        }
        let damaged = repository.commit(&commit);
        for parent in damaged.iter().flat_map(git2::Commit::parent_ids) {
            if seen.insert(parent.to_string()) {
                queue.push_back(parent.to_string());
            }
        }
    }
    readable
}

/// Salvages earlier tips if nothing leads back from the current one: previous values of the ref, tracking
/// refs, and backups of earlier repairs.
fn take_earlier_tips(
    repository: &GitRepository,
    salvage: &mut Salvage,
    found: &mut Found,
) -> Result<Vec<CommitId>> {
    let mut starts = repository.past_tips()?;
    // The newest readable one contains those before it.
    starts = starts.into_iter().find(|commit| decode(repository, commit).is_ok()).into_iter().collect();
    // libgit2 creates a missing reflog as soon as it is opened.
    let log = repository.git.commondir().join("logs").join(REF);
    if log.is_file()
        && let Ok(log) = repository.git.reflog(REF)
    {
        let mut earlier = log.iter().map(|entry| entry.id_new().to_string());
        starts.extend(earlier.find(|commit| decode(repository, commit).is_ok()));
    }
    for names in ["refs/remotes/*/beads/store", "refs/beads/*"] {
        if let Ok(named) = repository.git.references_glob(names) {
            starts.extend(
                named.flatten().filter_map(|reference| reference.target()).map(|oid| oid.to_string()),
            );
        }
    }
    starts.sort_unstable();
    starts.dedup();
    Ok(take_readable(repository, starts, salvage, found))
}

/// Salvages the lines of a commit that does not decode. Returns whether all its objects exist.
fn read_files(repository: &GitRepository, commit: &str, salvage: &mut Salvage) -> Result<bool> {
    let place = |name: &str| format!("{name} of commit {commit}");
    let tree = match repository.tree(commit) {
        Ok(tree) => tree,
        Err(error) => {
            salvage.report(&format!("the tree of commit {commit}"), None, error.to_string());
            return Ok(false);
        }
    };
    let (mut files, mut whole) = (Vec::new(), true);
    for entry in &tree {
        let name = String::from_utf8_lossy(entry.name_bytes()).into_owned();
        if ![STATE, TOMBSTONES, DEPS, META, CONFLICTS].contains(&name.as_str()) {
            salvage.report(&place(&name), None, "not part of the format");
            continue;
        }
        match repository.blob(entry.id(), |_| false) {
            Ok(content) => files.push((name, content)),
            Err(reason) => {
                whole &= entry.kind() != Some(ObjectType::Blob);
                salvage.report(&place(&name), None, reason);
            }
        }
    }
    for name in [DEPS, META, STATE, TOMBSTONES] {
        if tree.get_name(name).is_none() {
            salvage.report(&place(name), None, "the file is missing");
        }
    }
    salvage.add_files(&files)?;
    Ok(whole)
}

fn decode(repository: &GitRepository, commit: &str) -> Result<State> {
    Ok(repository.snapshot(commit)?.decode()?.state)
}

/// Returns the file in which git keeps the sync ref.
pub(crate) fn ref_file(repository: &GitRepository) -> PathBuf {
    repository.git.commondir().join(REF)
}
