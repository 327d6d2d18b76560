//! A repository in memory. A power loss may take commits that were not durable yet, and shows the ref old or new.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use beads_core::Snapshot;
use beads_core::canonical::hex;
use beads_store::{CommitId, Error, REF, Repository, Result};
use sha2::{Digest, Sha256};

use crate::dice::Dice;
use crate::faults::{Faults, Needs};

/// The files of a commit and where it came from.
#[derive(Debug)]
pub struct SimCommit {
    pub snapshot: Snapshot,
    pub parents: Vec<CommitId>,
}

/// All commits of a repository, as they are at one moment.
pub type Commits = BTreeMap<CommitId, Arc<SimCommit>>;

/// Clones share objects and ref.
#[derive(Debug, Clone)]
pub struct SimRepository {
    faults: Faults,
    objects: Arc<Mutex<Objects>>,
}

#[derive(Debug)]
struct Objects {
    dice: Dice,
    commits: Commits,
    volatile: BTreeSet<CommitId>,
    /// The ref as programs see it, and as it would be after a power loss.
    tip: Option<CommitId>,
    durable_tip: Option<CommitId>,
    /// Where the remote's ref was seen last, likewise.
    tracked: Option<CommitId>,
    durable_tracked: Option<CommitId>,
}

impl SimRepository {
    pub fn new(seed: u64, faults: Faults) -> Self {
        let objects = Objects {
            dice: Dice::new(seed),
            commits: BTreeMap::new(),
            volatile: BTreeSet::new(),
            tip: None,
            durable_tip: None,
            tracked: None,
            durable_tracked: None,
        };
        Self { faults, objects: Arc::new(Mutex::new(objects)) }
    }

    pub fn lose_power(&self) {
        let mut objects = self.objects();
        let objects = &mut *objects;
        for commit in std::mem::take(&mut objects.volatile) {
            if objects.dice.chance(50) {
                objects.commits.remove(&commit);
            }
        }
        if objects.dice.chance(50) {
            objects.durable_tip.clone_from(&objects.tip);
        }
        objects.tip.clone_from(&objects.durable_tip);
        if objects.dice.chance(50) {
            objects.durable_tracked.clone_from(&objects.tracked);
        }
        objects.tracked.clone_from(&objects.durable_tracked);
    }

    pub fn commits(&self) -> Commits {
        self.objects().commits.clone()
    }

    /// Notes where the remote's ref was seen.
    pub fn track(&self, commit: &str) -> Result<()> {
        self.strike(Needs::Space)?;
        self.objects().tracked = Some(commit.to_owned());
        Ok(())
    }

    /// Moves the ref regardless of where it is, as a forced push does.
    pub fn force(&self, target: Option<CommitId>) {
        let mut objects = self.objects();
        (objects.durable_tip, objects.tip) = (target.clone(), target);
    }

    /// Takes a commit and its history out of what another repository has, durably, as a fetch or a push does.
    pub fn receive(&self, theirs: &Commits, commit: &str) -> Result<()> {
        self.strike(Needs::Space)?;
        let mut objects = self.objects();
        let mut wanted = vec![commit.to_owned()];
        while let Some(id) = wanted.pop() {
            if objects.commits.contains_key(&id) && !objects.volatile.contains(&id) {
                continue;
            }
            let found = theirs.get(&id).ok_or_else(|| missing(&id))?;
            wanted.extend(found.parents.iter().cloned());
            objects.volatile.remove(&id);
            objects.commits.insert(id, found.clone());
        }
        Ok(())
    }

    fn strike(&self, needs: Needs) -> Result<()> {
        self.faults.strike(needs).map_err(|source| Error::Io {
            action: "use",
            path: "sim/repository".into(),
            source,
        })
    }

    fn find(&self, commit: &str) -> Result<Arc<SimCommit>> {
        self.objects().commits.get(commit).cloned().ok_or_else(|| missing(commit))
    }

    /// A commit and everything it came from.
    fn history(&self, commit: &str) -> BTreeSet<CommitId> {
        let objects = self.objects();
        let (mut seen, mut wanted) = (BTreeSet::new(), vec![commit.to_owned()]);
        while let Some(id) = wanted.pop() {
            if let Some(found) = objects.commits.get(&id)
                && seen.insert(id)
            {
                wanted.extend(found.parents.iter().cloned());
            }
        }
        seen
    }

    fn objects(&self) -> MutexGuard<'_, Objects> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn missing(commit: &str) -> Error {
    Error::RefDamaged { reference: REF, commit: commit.to_owned(), reason: "it is missing".into() }
}

fn name_of(commit: &SimCommit) -> CommitId {
    let mut hash = Sha256::new();
    for (name, bytes) in commit.snapshot.files() {
        hash.update(name);
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    }
    for parent in &commit.parents {
        hash.update(parent);
    }
    hex(&hash.finalize())
}

impl Repository for SimRepository {
    fn tip(&self) -> Result<Option<CommitId>> {
        self.strike(Needs::Access)?;
        Ok(self.objects().tip.clone())
    }

    fn snapshot(&self, commit: &str) -> Result<Snapshot> {
        self.strike(Needs::Access)?;
        Ok(self.find(commit)?.snapshot.clone())
    }

    fn write(&self, snapshot: &Snapshot, parents: &[CommitId], _message: &str) -> Result<CommitId> {
        self.strike(Needs::Space)?;
        let commit = SimCommit { snapshot: snapshot.clone(), parents: parents.to_vec() };
        let id = name_of(&commit);
        if self.objects().commits.insert(id.clone(), Arc::new(commit)).is_none() {
            self.objects().volatile.insert(id.clone());
        }
        self.strike(Needs::Access)?;
        self.objects().volatile.remove(&id);
        Ok(id)
    }

    fn holds(&self, commit: &str, snapshot: &Snapshot) -> Result<bool> {
        self.strike(Needs::Access)?;
        Ok(self.find(commit)?.snapshot == *snapshot)
    }

    fn is_ancestor(&self, ancestor: &str, commit: &str) -> Result<bool> {
        self.strike(Needs::Access)?;
        Ok(self.history(commit).contains(ancestor))
    }

    fn merge_base(&self, one: &str, other: &str) -> Result<Option<CommitId>> {
        self.strike(Needs::Access)?;
        let common: BTreeSet<CommitId> =
            self.history(one).intersection(&self.history(other)).cloned().collect();
        // A best one is nobody else's ancestor among them.
        let is_best =
            |id: &&CommitId| !common.iter().any(|rival| rival != *id && self.history(rival).contains(*id));
        Ok(common.iter().find(is_best).cloned())
    }

    fn tracked(&self) -> Result<Vec<CommitId>> {
        self.strike(Needs::Access)?;
        Ok(self.objects().tracked.iter().cloned().collect())
    }

    fn settle(&self) -> Result<()> {
        self.strike(Needs::Access)?;
        let mut objects = self.objects();
        objects.durable_tip = objects.tip.clone();
        Ok(())
    }

    fn swing(&self, from: Option<&str>, to: &str) -> Result<bool> {
        self.strike(Needs::Space)?;
        self.find(to)?;
        if self.objects().tip.as_deref() != from {
            return Ok(false);
        }
        self.objects().tip = Some(to.to_owned());
        self.strike(Needs::Access)?;
        self.objects().durable_tip = Some(to.to_owned());
        self.strike(Needs::Access)?;
        Ok(true)
    }
}
