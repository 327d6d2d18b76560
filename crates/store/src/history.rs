//! The history of the sync ref. Reading it changes nothing and is bounded, because a daemon has other
//! requests.

use std::collections::{BTreeSet, VecDeque};

use beads_core::snapshot::{DEPS, STATE, TOMBSTONES};
use beads_core::{Bead, Edge, History, Lineage, State, find_bead, find_edges, is_hollow_in};
use git2::Oid;

use crate::git::GitRepository;
use crate::repository::{CommitId, REF, Repository};
use crate::vet::{Depth, vet};
use crate::{Error, Result};

/// How many commits are examined for one query.
const MAX_COMMITS: usize = 10_000;

/// How many bytes of old snapshots are read for the log of one bead.
const MAX_BYTES: usize = 256 * 1024 * 1024;

/// A commit in the history of the sync ref.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastCommit {
    /// The commit.
    pub commit: CommitId,
    /// The last millisecond of the second in which it was made. Everything in it was written before.
    pub at_ms: u64,
}

impl GitRepository {
    /// Returns the history of `tip`, newest first.
    pub fn history(&self, tip: &str) -> Result<Vec<PastCommit>> {
        let refused = |reason| Error::RefDamaged { reference: REF, commit: tip.to_owned(), reason };
        vet(&self.git, Oid::from_str(tip)?, &[], Depth::Commits).map_err(refused)?;
        let mut walk = self.git.revwalk()?;
        walk.set_sorting(git2::Sort::TOPOLOGICAL | git2::Sort::TIME)?;
        walk.push(Oid::from_str(tip)?)?;
        let mut past = Vec::new();
        for id in walk.take(MAX_COMMITS) {
            let id = id?;
            let seconds = u64::try_from(self.git.find_commit(id)?.time().seconds()).unwrap_or(0);
            past.push(PastCommit {
                commit: id.to_string(),
                at_ms: seconds.saturating_mul(1000).saturating_add(999),
            });
        }
        Ok(past)
    }

    /// Decodes the state of a commit.
    pub fn state_of(&self, commit: &str) -> Result<State> {
        Ok(self.snapshot(commit)?.decode()?.state)
    }

    /// Returns a bead as of a commit.
    pub fn bead_of(&self, commit: &str, lineage: &Lineage) -> Result<Option<Bead>> {
        let tree = self.tree(commit)?;
        let (state, tombstones) = (self.file(commit, &tree, STATE)?, self.file(commit, &tree, TOMBSTONES)?);
        Ok(find_bead(&state, &tombstones, lineage).map(|(_, bead)| bead))
    }

    /// Collects the changes of one bead from the history of `tip`. Returns whether the whole history was
    /// examined.
    ///
    /// A commit holds everything that its ancestors held, except the content of archived beads, so the walk stops where the bead is missing or has
    /// not been changed since its creation.
    pub fn gather_history(&self, tip: &str, lineage: &Lineage, history: &mut History) -> Result<bool> {
        let mut seen: BTreeSet<CommitId> = BTreeSet::from([tip.to_owned()]);
        let mut files_seen = BTreeSet::new();
        let mut queue = VecDeque::from([tip.to_owned()]);
        let (mut commits, mut bytes) = (0, 0);
        while let Some(commit) = queue.pop_front() {
            commits += 1;
            if commits > MAX_COMMITS || bytes > MAX_BYTES {
                return Ok(false);
            }
            let tree = self.tree(&commit)?;
            let name = |file: &str| tree.get_name(file).map(|entry| entry.id());
            if files_seen.insert((name(STATE), name(TOMBSTONES), name(DEPS))) {
                let (state, tombstones) =
                    (self.file(&commit, &tree, STATE)?, self.file(&commit, &tree, TOMBSTONES)?);
                let deps = self.file(&commit, &tree, DEPS)?;
                bytes += state.len() + tombstones.len() + deps.len();
                let found = find_bead(&state, &tombstones, lineage);
                if found.is_none() && !is_hollow_in(&tombstones, lineage) {
                    continue;
                }
                if let Some((id, bead)) = found {
                    history.record(&bead);
                    let edges = find_edges(&deps, &id);
                    edges.iter().for_each(|(kind, to, edge)| history.record_edge(*kind, to, edge));
                    if is_untouched(lineage, &bead, edges.iter().map(|(_, _, edge)| edge)) {
                        continue;
                    }
                }
            }
            let found = self.git.find_commit(Oid::from_str(&commit)?);
            let parents: Vec<_> = found.iter().flat_map(git2::Commit::parent_ids).collect();
            queue.extend(parents.into_iter().map(|id| id.to_string()).filter(|id| seen.insert(id.clone())));
        }
        Ok(true)
    }

    /// Returns the commit whose name begins with `name`.
    pub fn revision(&self, past: &[PastCommit], name: &str) -> Result<CommitId> {
        let mut found = past.iter().filter(|past| past.commit.starts_with(name)).map(|past| &past.commit);
        match (found.next(), found.next()) {
            (Some(one), None) => Ok(one.clone()),
            (None, _) => Err(Error::NoRevision(name.to_owned())),
            (Some(_), Some(_)) => Err(Error::AmbiguousRevision(name.to_owned())),
        }
    }
}

/// Returns whether a bead and its edges are as they were created.
fn is_untouched<'a>(lineage: &Lineage, bead: &Bead, mut edges: impl Iterator<Item = &'a Edge>) -> bool {
    let birth = lineage.mark();
    bead.notes.is_empty()
        && bead.deletion.is_none()
        && *bead.top_mark() == birth
        && edges.all(|edge| edge.changed == birth)
}
