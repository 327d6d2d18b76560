//! Moves the content of archived beads to the archive (docs/adr/0083-archive.md).
//!
//! The archive is a state of its own under another ref. It only grows, and any two versions of it join. The
//! store gives up content only when the archive that has it was seen where the store is kept: on the remote,
//! or durable in this repository if there is no remote.

use beads_core::limits::{MAX_MERGED_FILE_BYTES, MAX_MERGED_LINE_BYTES};
use beads_core::snapshot::ARCHIVE_FORMAT_VERSION;
use beads_core::{Delta, Lineage, Patch, SharedBead, State};

use crate::checkpoint::{Checkpoint, Saved, state_of};
use crate::disk::Disk;
use crate::remote::{Pushed, Remote};
use crate::replica::Replica;
use crate::repository::{ARCHIVE_REF, CommitId, REF, Repository};
use crate::world::World;
use crate::{Error, Result};

/// How often moving content is retried if others move the archive's ref at the same time.
const MAX_ROUNDS: usize = 10;

/// What an exchange may do with the archive of a remote.
#[derive(Clone, Copy)]
pub(crate) struct ArchiveRemote<'a> {
    pub(crate) remote: &'a dyn Remote,
    pub(crate) may_push: bool,
}

/// The remote whose archive a fresh clone has, before its first sync.
const CLONED_FROM: &str = "origin";

/// Returns the archive in this repository.
pub fn read_archive(repository: &impl Repository) -> Result<State> {
    let tip = match repository.archive_tip()? {
        Some(tip) => Some(tip),
        None => repository.tracked_archive(CLONED_FROM)?,
    };
    tip.map_or_else(|| Ok(State::default()), |tip| state_of(repository, &tip))
}

impl Checkpoint {
    /// Like [`save`](Self::save), for a store without a remote: also moves the content of archived beads.
    /// The save stands even if that fails.
    pub fn save_and_archive(mut self, repository: &impl Repository) -> Result<(Saved, Result<()>)> {
        let moved = self.move_archived(repository, None);
        Ok((self.save(repository)?, moved.map(|_| ())))
    }

    /// Adds what the archive in this repository has of beads that were joined with hollow ones, before the
    /// state is saved. The archive on the remote may have more, and a later process has to know that.
    pub(crate) fn heal_before_saving(&mut self, repository: &impl Repository) -> Result<()> {
        if self.state.is_unhealed() {
            self.state.heal_for_now(&read_archive(repository)?);
            let recorded = repository.unhealed()?;
            if !self.state.unhealed().is_subset(&recorded) {
                repository.record_unhealed(&recorded.union(self.state.unhealed()).cloned().collect())?;
            }
        }
        Ok(())
    }

    /// Records which beads the saved state may still have without something that the archive has.
    pub(crate) fn record_unhealed(&self, repository: &impl Repository) -> Result<()> {
        if self.state.format_version() >= ARCHIVE_FORMAT_VERSION
            && repository.unhealed()? != self.unhealed_on_ref
        {
            repository.record_unhealed(&self.unhealed_on_ref)?;
        }
        Ok(())
    }

    /// Moves the content of archived beads to the archive, and exchanges the archive if the remote may lack
    /// ours, or if `unknown` says that beads were archived that this replica never had. Returns whether the
    /// state changed.
    pub(crate) fn settle_archive(
        &mut self,
        repository: &impl Repository,
        remote: ArchiveRemote<'_>,
        unknown: bool,
    ) -> Result<bool> {
        if self.state.format_version() < ARCHIVE_FORMAT_VERSION {
            return Ok(false);
        }
        let mut due = unknown || self.state.is_unhealed() || self.state.has_unmoved_content();
        if !due && self.state.archived().next().is_some() {
            let tip = repository.archive_tip()?;
            due = tip.is_none() || tip != repository.tracked_archive(remote.remote.name())?;
        }
        if due { self.move_archived(repository, Some(remote)) } else { Ok(false) }
    }

    /// Fetches the archive, because one side of a merge has given up content to it that the other side still
    /// has.
    pub(crate) fn fetch_archive(
        &mut self,
        repository: &impl Repository,
        remote: ArchiveRemote<'_>,
    ) -> Result<()> {
        self.exchange_archive(repository, Some(remote), &State::default())?;
        Ok(())
    }

    /// Moves the content of archived beads to the archive. Returns whether the state changed.
    fn move_archived(
        &mut self,
        repository: &impl Repository,
        remote: Option<ArchiveRemote<'_>>,
    ) -> Result<bool> {
        if remote.is_none() && !self.state.has_unmoved_content() {
            return Ok(false);
        }
        self.exchange_archive(repository, remote, &self.state.unmoved_content())?;
        let (Some(archive), Some(known)) = (&self.archive, &self.archive_before) else { return Ok(false) };
        let unhealed = self.state.is_unhealed();
        let mut conflicts = self.state.conflicts_when_healed(archive, known);
        self.hub_writes.filter(&mut conflicts);
        self.state.heal(archive);
        conflicts.iter().for_each(|conflict| self.state.join_conflict(conflict));
        let moved = self.state.hollow_out(archive) > 0;
        Ok(moved || unhealed)
    }

    /// Adds content to the archive, and keeps what the archive has where the store is kept.
    fn exchange_archive(
        &mut self,
        repository: &impl Repository,
        remote: Option<ArchiveRemote<'_>>,
        content: &State,
    ) -> Result<()> {
        if self.archive_before.is_none() {
            self.archive_before = Some(read_archive(repository)?);
        }
        let mut refused = None;
        for _ in 0..MAX_ROUNDS {
            match join_archive(repository, remote, content)? {
                Joined::Seen(archive) => {
                    self.archive = Some(*archive);
                    return Ok(());
                }
                Joined::Lost(reason) => refused = reason.or(refused),
            }
        }
        match (remote, refused) {
            (Some(ArchiveRemote { remote, .. }), Some(reason)) => {
                let reason = format!("{ARCHIVE_REF}: {reason}");
                Err(Error::PushRefused { remote: remote.name().to_owned(), reason })
            }
            _ => Err(Error::Contention(MAX_ROUNDS as u32)),
        }
    }
}

/// The result of adding content to the archive.
enum Joined {
    /// What the archive has where the store is kept.
    Seen(Box<State>),
    /// Another program or machine moved the ref meanwhile, or the remote refused the push with this reason.
    Lost(Option<String>),
}

/// Adds content to the archive, and pushes it.
fn join_archive(
    repository: &impl Repository,
    remote: Option<ArchiveRemote<'_>>,
    content: &State,
) -> Result<Joined> {
    let tip = repository.archive_tip()?;
    let ours = match &tip {
        Some(tip) => state_of(repository, tip)?,
        None => State::default(),
    };
    let theirs = match remote {
        Some(ArchiveRemote { remote, .. }) => fetch_archive(repository, remote, tip.as_ref())?,
        None => None,
    };
    let mut archive = ours.clone();
    if let Some((_, state)) = &theirs {
        archive.join(state);
    }
    archive.join(content);
    let snapshot = archive.encode();
    if let Some(reason) = snapshot.find_oversized(MAX_MERGED_LINE_BYTES, MAX_MERGED_FILE_BYTES) {
        return Err(Error::TooLargeToSave(format!("{ARCHIVE_REF}: {reason}")));
    }
    let their_commit = theirs.as_ref().map(|(commit, _)| commit);
    let heads: Vec<&CommitId> = tip.iter().chain(their_commit).collect();
    let mut holder = None;
    for head in their_commit.into_iter().chain(&tip) {
        // The remote's commit first, so that idle replicas have the same one.
        if holder.is_none() && repository.holds(head, &snapshot)? {
            holder = Some(head.clone());
        }
    }
    let commit = match holder {
        Some(commit) => commit,
        None if archive.beads().is_empty() => return Ok(Joined::Seen(Box::new(archive))),
        None => {
            let parents: Vec<CommitId> = heads.into_iter().cloned().collect();
            repository.write(&snapshot, &parents, "beads: archive")?
        }
    };
    if tip.as_ref() != Some(&commit) && !repository.compare_and_swap_archive(tip.as_deref(), &commit)? {
        return Ok(Joined::Lost(None));
    }
    // The store gives up its copy, so the archive must be readable here and now.
    if !repository.holds(&commit, &snapshot)? {
        return Err(Error::RefMoved(ARCHIVE_REF));
    }
    match remote {
        None => Ok(Joined::Seen(Box::new(archive))),
        Some(_) if their_commit == Some(&commit) => Ok(Joined::Seen(Box::new(archive))),
        Some(ArchiveRemote { remote, may_push: true }) => {
            match remote.push_archive(their_commit.map(String::as_str), &commit)? {
                Pushed::Done => Ok(Joined::Seen(Box::new(archive))),
                Pushed::Lost(reason) => Ok(Joined::Lost(Some(reason))),
            }
        }
        // Only what was seen on the remote counts.
        Some(_) => Ok(Joined::Seen(Box::new(theirs.map(|(_, state)| state).unwrap_or_default()))),
    }
}

/// Fetches the archive of a remote, which is untrusted until it decodes.
fn fetch_archive(
    repository: &impl Repository,
    remote: &dyn Remote,
    known: Option<&CommitId>,
) -> Result<Option<(CommitId, State)>> {
    let Some(commit) = remote.fetch_archive()? else { return Ok(None) };
    let invalid = |reason: String| Error::RemoteInvalid { commit: commit.clone(), reason };
    if known == Some(&commit) {
        return Ok(Some((commit.clone(), state_of(repository, &commit)?)));
    }
    // Without an archive here, all of its history is new. That of the store has nothing in common with it.
    let known = known.cloned().or(repository.tip()?).ok_or(Error::RefMoved(REF))?;
    repository.vet(&commit, &known).map_err(invalid)?;
    let state = state_of(repository, &commit).map_err(|error| invalid(format!("{ARCHIVE_REF}: {error}")))?;
    Ok(Some((commit, state)))
}

/// Gives beads their content back that records of the journal change: the ref was moved to a state in which
/// they are archived before a write of this replica was saved.
pub(crate) fn thaw_for<'a>(
    repository: &impl Repository,
    state: &mut State,
    changed: impl Iterator<Item = &'a Lineage>,
) -> Result<()> {
    let hollow: Vec<&Lineage> =
        changed.filter(|lineage| state.bead(lineage).is_some_and(SharedBead::is_hollow)).collect();
    if hollow.is_empty() {
        return Ok(());
    }
    // Without a readable archive, the base commits of the journal may still have the content.
    let Ok(archive) = read_archive(repository) else { return Ok(()) };
    for lineage in hollow {
        state.thaw(lineage, &archive);
    }
    Ok(())
}

impl<D: Disk, W: World> Replica<D, W> {
    /// Gives an archived bead the content that the archive has. It stays archived. Durable after the next
    /// [`commit`](Self::commit). Returns whether the content is here now.
    pub fn thaw(&mut self, lineage: &Lineage, archive: &State) -> Result<bool> {
        if let Some(content) = archive.bead(lineage).filter(|bead| !bead.is_hollow()) {
            let patch = Patch { deletion: None, ..Patch::from(content.as_ref()) };
            let (delta, now_ms) = (Delta::of_bead(lineage.clone(), patch), self.now_ms());
            if !self.catalog().state().contains(&delta) {
                let events = self.catalog.join_delta_with_events(&delta, now_ms)?;
                self.queue_record("bd".parse()?, now_ms, (delta, events), None);
            }
        }
        Ok(self.catalog().bead(lineage).is_some_and(|bead| !bead.is_hollow()))
    }
}
