//! The past of the sync ref. Reading it never changes anything, and is bounded: a daemon answers others meanwhile.

use std::collections::{BTreeSet, VecDeque};

use beads_core::snapshot::{DEPS, STATE, TOMBSTONES};
use beads_core::{Bead, Edge, History, Lineage, State, find_bead, find_edges};
use git2::Oid;

use crate::git::GitRepository;
use crate::repository::{CommitId, REF, Repository};
use crate::vet::{Depth, vet};
use crate::{Error, Result};

/// How many commits are looked at for one question.
const MAX_COMMITS: usize = 10_000;

/// How many bytes of old snapshots are read for the log of one bead.
const MAX_BYTES: usize = 256 * 1024 * 1024;

/// A commit of the sync ref.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Past {
    pub commit: CommitId,
    /// The last millisecond of the second in which it was made: everything in it was written before.
    pub at_ms: u64,
}

impl GitRepository {
    /// The commits that led to `tip`, newest first.
    pub fn past(&self, tip: &str) -> Result<Vec<Past>> {
        let refused = |reason| Error::RefDamaged { reference: REF, commit: tip.to_owned(), reason };
        vet(&self.git, Oid::from_str(tip)?, &[], Depth::Commits).map_err(refused)?;
        let mut walk = self.git.revwalk()?;
        walk.set_sorting(git2::Sort::TOPOLOGICAL | git2::Sort::TIME)?;
        walk.push(Oid::from_str(tip)?)?;
        let mut past = Vec::new();
        for id in walk.take(MAX_COMMITS) {
            let id = id?;
            let seconds = u64::try_from(self.git.find_commit(id)?.time().seconds()).unwrap_or(0);
            past.push(Past {
                commit: id.to_string(),
                at_ms: seconds.saturating_mul(1000).saturating_add(999),
            });
        }
        Ok(past)
    }

    /// The state that a commit of the past holds.
    pub fn state_of(&self, commit: &str) -> Result<State> {
        Ok(self.snapshot(commit)?.decode()?.state)
    }

    /// A bead as a commit has it.
    pub fn bead_of(&self, commit: &str, lineage: &Lineage) -> Result<Option<Bead>> {
        let tree = self.tree(commit)?;
        let (state, tombstones) = (self.file(commit, &tree, STATE)?, self.file(commit, &tree, TOMBSTONES)?);
        Ok(find_bead(&state, &tombstones, lineage).map(|(_, bead)| bead))
    }

    /// Gathers what the commits before `tip` say about one bead. Returns whether all of them could be looked at.
    ///
    /// A commit holds everything that those before it held, so the walk ends where the bead is missing or untouched.
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
                let Some((id, bead)) = find_bead(&state, &tombstones, lineage) else { continue };
                history.take(&bead);
                let edges = find_edges(&deps, &id);
                edges.iter().for_each(|(kind, to, edge)| history.take_edge(*kind, to, edge));
                if is_untouched(lineage, &bead, edges.iter().map(|(_, _, edge)| edge)) {
                    continue;
                }
            }
            let found = self.git.find_commit(Oid::from_str(&commit)?);
            let parents: Vec<_> = found.iter().flat_map(git2::Commit::parent_ids).collect();
            queue.extend(parents.into_iter().map(|id| id.to_string()).filter(|id| seen.insert(id.clone())));
        }
        Ok(true)
    }

    /// The commit of the past that a caller means by the beginning of its name.
    pub fn revision(&self, past: &[Past], name: &str) -> Result<CommitId> {
        let mut found = past.iter().filter(|past| past.commit.starts_with(name)).map(|past| &past.commit);
        match (found.next(), found.next()) {
            (Some(one), None) => Ok(one.clone()),
            (None, _) => Err(Error::NoRevision(name.to_owned())),
            (Some(_), Some(_)) => Err(Error::AmbiguousRevision(name.to_owned())),
        }
    }
}

/// As it was born, with the edges it was born with.
fn is_untouched<'a>(lineage: &Lineage, bead: &Bead, mut edges: impl Iterator<Item = &'a Edge>) -> bool {
    let birth = lineage.mark();
    bead.notes.is_empty()
        && bead.deletion.is_none()
        && *bead.top_mark() == birth
        && edges.all(|edge| edge.changed == birth)
}
