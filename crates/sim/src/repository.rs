//! A repository in memory. A power loss may remove commits that were not durable yet, and leaves the ref at
//! its old or new value.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use beads_core::canonical::hex;
use beads_core::{ClaimRecord, Encoder, Lineage, Snapshot, State};
use beads_store::{CommitId, Error, REF, RefSync, Repository, Result, open_state_cache, seal_state_cache};
use sha2::{Digest, Sha256};

use crate::dice::Dice;
use crate::faults::{Faults, Needs};

/// A commit: its files and its parents.
#[derive(Debug)]
pub struct SimCommit {
    /// The files.
    pub snapshot: Snapshot,
    /// The parents.
    pub parents: Vec<CommitId>,
    /// One more than the greatest generation of its parents, so an ancestor always has a smaller one.
    pub generation: u64,
}

/// All commits of a repository at one moment.
pub type Commits = BTreeMap<CommitId, Arc<SimCommit>>;

/// A repository. Clones share objects and refs.
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
    /// The ref as programs see it.
    tip: Option<CommitId>,
    /// The ref as it would be after a power loss.
    durable_tip: Option<CommitId>,
    /// The last known tip of the remote, as programs see it.
    tracked: Option<CommitId>,
    /// The same after a power loss.
    durable_tracked: Option<CommitId>,
    /// The commit that the ref was recorded to contain.
    saved: Option<CommitId>,
    /// The values of claim refs.
    claims: BTreeMap<CommitId, ClaimRecord>,
    /// The file with the cached state.
    cache: Option<Vec<u8>>,
    /// The archive's ref as programs see it.
    archive: Option<CommitId>,
    /// The same after a power loss.
    durable_archive: Option<CommitId>,
    /// The file with beads that may lack something that the archive has.
    unhealed: BTreeSet<Lineage>,
}

impl SimRepository {
    /// Returns an empty repository.
    pub fn new(seed: u64, faults: Faults) -> Self {
        let objects = Objects {
            dice: Dice::new(seed),
            commits: BTreeMap::new(),
            volatile: BTreeSet::new(),
            tip: None,
            durable_tip: None,
            tracked: None,
            durable_tracked: None,
            saved: None,
            claims: BTreeMap::new(),
            cache: None,
            archive: None,
            durable_archive: None,
            unhealed: BTreeSet::new(),
        };
        Self { faults, objects: Arc::new(Mutex::new(objects)) }
    }

    /// Loses power: volatile commits and unsynced refs may be lost.
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
        objects.archive.clone_from(&objects.durable_archive);
        tear(&mut objects.cache);
    }

    /// Returns all commits.
    pub fn commits(&self) -> Commits {
        self.objects().commits.clone()
    }

    /// Stores the value of a claim ref.
    pub fn keep_claim(&self, commit: &str, record: ClaimRecord) {
        self.objects().claims.insert(commit.to_owned(), record);
    }

    /// Returns the value of a claim ref.
    pub fn claim(&self, commit: &str) -> Option<ClaimRecord> {
        self.objects().claims.get(commit).cloned()
    }

    /// Records the remote's tip.
    pub fn track(&self, commit: &str) -> Result<()> {
        self.inject(Needs::Space)?;
        self.objects().tracked = Some(commit.to_owned());
        Ok(())
    }

    /// Moves the ref unconditionally, like a forced push.
    pub fn force(&self, target: Option<CommitId>) {
        let mut objects = self.objects();
        (objects.durable_tip, objects.tip) = (target.clone(), target);
    }

    /// Returns a random durable commit.
    pub fn any_commit(&self, dice: &mut Dice) -> Option<CommitId> {
        let objects = self.objects();
        let durable: Vec<_> = objects.commits.keys().filter(|id| !objects.volatile.contains(*id)).collect();
        dice.pick(&durable).map(|id| (*id).clone())
    }

    /// Receives a commit and its history from another repository. It must not be this one, which would
    /// deadlock.
    pub fn receive_from(&self, other: &Self, commit: &str) -> Result<()> {
        self.receive(&other.objects().commits, commit)
    }

    /// Replaces everything with the content of another repository.
    pub fn become_copy_of(&self, other: &Self) {
        let (commits, tip) = (other.commits(), other.objects().tip.clone());
        let mut objects = self.objects();
        objects.commits = commits;
        objects.volatile.clear();
        (objects.durable_tip, objects.tip) = (tip.clone(), tip);
        (objects.durable_archive, objects.archive) = (None, None);
    }

    /// Returns the state of the archive, without faults.
    pub fn archive_state(&self) -> State {
        let objects = self.objects();
        let commit = objects.archive.as_ref().and_then(|archive| objects.commits.get(archive));
        commit.and_then(|commit| Some(commit.snapshot.decode().ok()?.state)).unwrap_or_default()
    }

    /// Durably copies a commit and its history from another repository's commits, like a fetch or a push.
    pub fn receive(&self, theirs: &Commits, commit: &str) -> Result<()> {
        self.inject(Needs::Space)?;
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

    fn inject(&self, needs: Needs) -> Result<()> {
        self.faults.inject(needs).map_err(|source| Error::Io {
            action: "use",
            path: "sim/repository".into(),
            source,
        })
    }

    fn find(&self, commit: &str) -> Result<Arc<SimCommit>> {
        self.objects().commits.get(commit).cloned().ok_or_else(|| missing(commit))
    }

    /// Returns a commit and its ancestors, back to a generation.
    fn history(&self, commit: &str, since: u64) -> BTreeSet<CommitId> {
        let objects = self.objects();
        let (mut seen, mut wanted) = (BTreeSet::new(), vec![commit.to_owned()]);
        while let Some(id) = wanted.pop() {
            if let Some(found) = objects.commits.get(&id).filter(|found| found.generation >= since)
                && seen.insert(id)
            {
                wanted.extend(found.parents.iter().cloned());
            }
        }
        seen
    }

    /// Returns the latest common ancestor. No common ancestor is later, so it is not an ancestor of another
    /// one.
    fn last_common(&self, one: &str, other: &str) -> Option<CommitId> {
        let objects = self.objects();
        let generation = |id: &CommitId| objects.commits.get(id).map(|found| found.generation);
        let mut queue = BTreeSet::new();
        let mut sides: BTreeMap<CommitId, u8> = BTreeMap::new();
        for (id, side) in [(one.to_owned(), 1), (other.to_owned(), 2)] {
            *sides.entry(id.clone()).or_default() |= side;
            queue.extend(generation(&id).map(|generation| (generation, id)));
        }
        while let Some((_, id)) = queue.pop_last() {
            let side = sides[&id];
            if side == 3 {
                return Some(id);
            }
            for parent in &objects.commits[&id].parents {
                *sides.entry(parent.clone()).or_default() |= side;
                queue.extend(generation(parent).map(|generation| (generation, parent.clone())));
            }
        }
        None
    }

    fn objects(&self) -> MutexGuard<'_, Objects> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tears a file that was never synced: it is lost, truncated, damaged in one byte, or intact. Its content decides
/// which, so that no dice are thrown.
fn tear(file: &mut Option<Vec<u8>>) {
    let Some(bytes) = file.as_mut().filter(|bytes| !bytes.is_empty()) else { return };
    let digest = Sha256::digest(&bytes);
    let at = usize::from(u16::from_le_bytes([digest[1], digest[2]])) * 7919 % bytes.len();
    match digest[0] % 4 {
        0 => *file = None,
        1 => bytes.truncate(at),
        2 => bytes[at] ^= 1 << (digest[3] % 8),
        _ => {}
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
        self.inject(Needs::Access)?;
        Ok(self.objects().tip.clone())
    }

    fn snapshot(&self, commit: &str) -> Result<Snapshot> {
        self.inject(Needs::Access)?;
        Ok(self.find(commit)?.snapshot.clone())
    }

    fn cached_state(&self, commit: &str) -> Option<State> {
        self.find(commit).ok()?;
        open_state_cache(self.objects().cache.clone()?, commit)
    }

    fn cache_state(&self, commit: &str, encoder: &Encoder) {
        let (Ok(found), Some(cache)) = (self.find(commit), encoder.cache()) else { return };
        if found.snapshot.meta == cache.meta() {
            self.objects().cache = Some(seal_state_cache(commit, &cache));
        }
    }

    fn write(&self, snapshot: &Snapshot, parents: &[CommitId], _message: &str) -> Result<CommitId> {
        self.inject(Needs::Space)?;
        let before = parents.iter().filter_map(|parent| Some(self.find(parent).ok()?.generation)).max();
        let generation = before.map_or(0, |before| before + 1);
        let commit = SimCommit { snapshot: snapshot.clone(), parents: parents.to_vec(), generation };
        let id = name_of(&commit);
        if self.objects().commits.insert(id.clone(), Arc::new(commit)).is_none() {
            self.objects().volatile.insert(id.clone());
        }
        self.inject(Needs::Access)?;
        self.objects().volatile.remove(&id);
        Ok(id)
    }

    fn holds(&self, commit: &str, snapshot: &Snapshot) -> Result<bool> {
        self.inject(Needs::Access)?;
        Ok(self.find(commit)?.snapshot == *snapshot)
    }

    fn is_ancestor(&self, ancestor: &str, commit: &str) -> Result<bool> {
        self.inject(Needs::Access)?;
        let Ok(found) = self.find(ancestor) else { return Ok(false) };
        Ok(self.history(commit, found.generation).contains(ancestor))
    }

    fn merge_base(&self, one: &str, other: &str) -> Result<Option<CommitId>> {
        self.inject(Needs::Access)?;
        Ok(self.last_common(one, other))
    }

    fn tracked(&self) -> Result<Vec<CommitId>> {
        self.inject(Needs::Access)?;
        Ok(self.objects().tracked.iter().cloned().collect())
    }

    fn saved(&self) -> Result<Vec<CommitId>> {
        self.inject(Needs::Access)?;
        Ok(self.objects().saved.iter().cloned().collect())
    }

    fn record_saved(&self, commit: &str) -> Result<()> {
        if self.objects().saved.as_deref() == Some(commit) {
            return Ok(());
        }
        self.inject(Needs::Space)?;
        self.objects().saved = Some(commit.to_owned());
        Ok(())
    }

    fn sync_ref(&self) -> Result<()> {
        self.inject(Needs::Access)?;
        let mut objects = self.objects();
        objects.durable_tip = objects.tip.clone();
        objects.durable_tracked = objects.tracked.clone();
        Ok(())
    }

    fn sync_ref_later(&self) -> RefSync {
        let repository = self.clone();
        RefSync::pending(move || repository.sync_ref())
    }

    fn archive_tip(&self) -> Result<Option<CommitId>> {
        self.inject(Needs::Access)?;
        Ok(self.objects().archive.clone())
    }

    fn unhealed(&self) -> Result<BTreeSet<Lineage>> {
        self.inject(Needs::Access)?;
        Ok(self.objects().unhealed.clone())
    }

    fn record_unhealed(&self, beads: &BTreeSet<Lineage>) -> Result<()> {
        self.inject(Needs::Space)?;
        self.objects().unhealed.clone_from(beads);
        Ok(())
    }

    fn compare_and_swap_archive(&self, from: Option<&str>, to: &str) -> Result<bool> {
        self.inject(Needs::Space)?;
        self.find(to)?;
        if self.objects().archive.as_deref() != from {
            return Ok(false);
        }
        self.objects().archive = Some(to.to_owned());
        self.inject(Needs::Access)?;
        self.objects().durable_archive = Some(to.to_owned());
        self.inject(Needs::Access)?;
        Ok(true)
    }

    fn compare_and_swap_ref(&self, from: Option<&str>, to: &str) -> Result<bool> {
        self.inject(Needs::Space)?;
        self.find(to)?;
        if self.objects().tip.as_deref() != from {
            return Ok(false);
        }
        self.objects().tip = Some(to.to_owned());
        self.inject(Needs::Access)?;
        self.objects().durable_tip = Some(to.to_owned());
        self.inject(Needs::Access)?;
        Ok(true)
    }
}
