//! Repairs a store that cannot be opened. First everything that can still be read is joined into one state.
//! Then, if requested, the damaged parts are moved to a backup and the state is committed. Nothing is ever
//! deleted.

mod commits;
mod frames;

use std::fs;
use std::path::{Path, PathBuf};

use beads_core::{Code, Salvage, Snapshot, State, Timestamp, Unreadable, counted};

use crate::disk::{RealDisk, sync_directory};
use crate::git::GitRepository;
use crate::journal::Journal;
use crate::legacy::BACKUP_REFS;
use crate::repository::{CommitId, REF, Repository};
use crate::world::World;
use crate::{Error, Header, Replica, Result};
use commits::Tip;

/// What is wrong with a store, and how to repair it. Making a plan changes nothing.
#[derive(Debug)]
pub struct Plan {
    /// What is wrong.
    pub damage: Vec<String>,
    /// What [`apply`](Self::apply) does, in order.
    pub actions: Vec<String>,
    /// What could not be read. It stays in the backup.
    pub unreadable: Vec<Unreadable>,
    /// The ref that will keep the damaged commit, if the commit object exists.
    pub backup_ref: Option<String>,
    /// What the ref and the journal hold before the repair.
    pub before: Balance,
    /// What the store holds after the repair.
    pub after: Balance,
    snapshot: Snapshot,
    tip: Tip,
    parents: Vec<CommitId>,
    /// The segments to move to the backup, and the header of the segment that replaces them.
    journal: Option<(Vec<String>, Header)>,
    store_dir: PathBuf,
    backup_dir: PathBuf,
}

/// How much a state holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Balance {
    /// The number of beads that are not deleted.
    pub beads: usize,
    /// The number of deleted beads.
    pub deleted: usize,
    /// The number of dependencies.
    pub dependencies: usize,
}

impl Balance {
    fn of(state: &State) -> Self {
        let deleted = state.beads().values().filter(|bead| bead.deletion.is_some()).count();
        Self { beads: state.beads().len() - deleted, deleted, dependencies: state.edges().len() }
    }
}

impl std::fmt::Display for Balance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { beads, deleted, dependencies } = self;
        let (beads, deleted) = (counted(*beads, "bead"), counted(*deleted, "deleted bead"));
        write!(f, "{beads}, {deleted} and {}", counted(*dependencies, "dependency"))
    }
}

/// Returns a plan to repair a store, or `None` if the store can be opened. The caller holds the lock.
///
/// Damage that a later version may understand is not repaired; its error is returned instead.
pub fn examine(store_dir: &Path, repository: &GitRepository, world: impl World) -> Result<Option<Plan>> {
    let now_ms = world.now_ms();
    match Replica::open(RealDisk::new(store_dir), repository, world) {
        Ok(_) => Ok(None),
        Err(error) if error.code() == Code::CorruptStore && repository.is_partial() => {
            Err(Error::Partial { reason: error.to_string() })
        }
        Err(error) if error.code() == Code::CorruptStore => {
            plan(store_dir, repository, now_ms, &error).map(Some)
        }
        Err(error) => Err(error),
    }
}

fn plan(store_dir: &Path, repository: &GitRepository, now_ms: u64, error: &Error) -> Result<Plan> {
    let mut salvage = Salvage::default();
    let mut actions = Vec::new();
    let tip = commits::tip(repository)?;
    let before = {
        let mut alone = Salvage::default();
        commits::tip_alone(repository, &tip, &mut alone)?;
        frames::gather(&RealDisk::new(store_dir), &mut alone, &mut Vec::new())?;
        Balance::of(&alone.finish().0)
    };
    let found = commits::gather(repository, &tip, &mut salvage)?;
    actions.extend(found.actions);
    let journal = frames::gather(&RealDisk::new(store_dir), &mut salvage, &mut actions)?;
    let (state, unreadable) = salvage.finish();
    let after = Balance::of(&state);
    let snapshot = state.encode();
    snapshot.decode().map_err(|error| not_sound(&error))?;

    let mut damage: Vec<_> = tip.damage().into_iter().chain(journal.damage.clone()).collect();
    if damage.is_empty() {
        damage.push(error.to_string());
    }
    let name = backup_name(now_ms);
    let backup_dir = store_dir.join(format!("backup-{name}"));
    let backup_ref = found.tip_commit.map(|_| format!("{BACKUP_REFS}{name}"));
    if let Some(reference) = &backup_ref {
        actions.push(format!("keep the commit that {REF} points at as {reference}"));
    }
    if matches!(tip, Tip::Unnamed { .. }) {
        actions.push(format!("move the file of {REF} to {}", backup_dir.display()));
    }
    actions.push(format!("commit {after} to {REF}"));
    // An intact journal that applies to the new commit can stay.
    let journal = if journal.damage.is_some() || !journal.fits(state) {
        Some((journal.segments, journal.header))
    } else {
        None
    };
    if let Some((segments, _)) = &journal {
        actions.push(format!("move {} to {}", segments.join(", "), backup_dir.display()));
    }
    let (parents, store_dir) = (found.parents, store_dir.to_owned());
    Ok(Plan {
        damage,
        actions,
        unreadable,
        backup_ref,
        before,
        after,
        snapshot,
        tip,
        parents,
        journal,
        store_dir,
        backup_dir,
    })
}

impl Plan {
    /// Carries out the plan, and returns the new commit. The commit is on the ref before anything is moved to
    /// the backup, so after a crash the store can be repaired again without losing anything.
    pub fn apply(&self, repository: &GitRepository) -> Result<CommitId> {
        if let (Some(reference), Some(tip)) = (&self.backup_ref, self.tip.commit()) {
            repository.keep_commit_as(reference, tip, "bd repair")?;
        }
        if matches!(self.tip, Tip::Unnamed { .. }) {
            self.put_aside(&commits::ref_file(repository))?;
        }
        let commit = repository.write(&self.snapshot, &self.parents, "beads: repair")?;
        if !repository.compare_and_swap_ref(repository.tip()?.as_deref(), &commit)? {
            return Err(Error::RefMoved(REF));
        }
        repository.snapshot(&commit)?.decode()?;
        repository.record_saved(&commit)?;
        if let Some((segments, header)) = &self.journal {
            for name in segments {
                self.put_aside(&self.store_dir.join(name))?;
            }
            // The new segment carries on the clock, the position and the receipts of the old ones.
            let (mut journal, _) = Journal::recover(RealDisk::new(&self.store_dir))?;
            journal.rotate(header)?;
        }
        Ok(commit)
    }

    fn put_aside(&self, file: &Path) -> Result<()> {
        let target = self.backup_dir.join(file.file_name().unwrap_or_default());
        let moved = || -> std::io::Result<()> {
            fs::create_dir_all(&self.backup_dir)?;
            fs::rename(file, &target)?;
            sync_directory(&self.backup_dir)?;
            sync_directory(&self.store_dir)?;
            file.parent().map_or(Ok(()), sync_directory)
        };
        moved().map_err(|source| Error::Io { action: "put aside", path: file.to_owned(), source })
    }
}

/// Returns the error for a salvaged state that does not decode. It means that the encoder and the decoder
/// disagree, so nothing may be written.
fn not_sound(error: &beads_core::Error) -> Error {
    let reason = format!("the salvaged state is not valid: {error}");
    Error::RefDamaged { reference: REF, commit: "?".into(), reason }
}

/// Returns the UTC time in characters that a ref name may contain.
fn backup_name(now_ms: u64) -> String {
    let text = Timestamp::from_ms(now_ms).map_or_else(|_| now_ms.to_string(), |time| time.to_string());
    text.chars().filter(char::is_ascii_alphanumeric).collect()
}
