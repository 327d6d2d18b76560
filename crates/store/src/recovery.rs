//! What a store is when it is opened: the state of the ref and every record of the journal, the clock that follows from them,
//! the events that were not told yet, and the writes that lost without anybody noticing.

use std::collections::BTreeSet;

use beads_core::limits::COUNTER_STEP;
use beads_core::planted::{Bug, is_planted};
use beads_core::{Catalog, Clock, Conflict, Patch, Stamp, State, concurrent_writes, is_sane};

use crate::checkpoint::{contains, is_within, state_of};
use crate::disk::DiskFile;
use crate::event_log::EventLog;
use crate::journal::Recovered;
use crate::last_operations::LastOperations;
use crate::repository::{CommitId, REF, Repository};
use crate::{Error, Result};

/// Records that lost against writes which their writer had not seen: the ref moved on while nobody watched, or a merge
/// was cut short after it had moved the ref.
pub(crate) fn unseen_writes(
    repository: &impl Repository,
    recovered: &Recovered,
    heads: &Heads,
    state: &State,
) -> Result<Vec<Conflict>> {
    if recovered.records.is_empty() || heads.are_only(recovered.ground.as_ref()) {
        return Ok(Vec::new());
    }
    // Ground that cannot be read any more only told which writes were concurrent.
    let Some(ground) = &recovered.ground else { return Ok(Vec::new()) };
    let Ok(mut ours) = state_of(repository, ground) else { return Ok(Vec::new()) };
    for record in &recovered.records {
        // What the ground lacks is in the ref, or opening fails for a better reason.
        let _ = ours.take(&record.delta);
    }
    let patches = recovered.records.iter().flat_map(|record| record.delta.beads.values());
    let own: BTreeSet<_> = patches.flat_map(Patch::marks).map(|(_, mark)| mark).collect();
    let mut conflicts = heads.compare(repository, (ground, &ours), state)?;
    // Of two writes of one replica the later knew the earlier. And the ground may hold writes of others: they are compared
    // with the other heads if it is one of them.
    conflicts.retain(|conflict| own.contains(&conflict.lost) != own.contains(&conflict.won));
    Ok(conflicts)
}

/// What the ref holds. A fresh clone has no ref of its own yet, but what it needs came along.
pub(crate) fn state_at(
    repository: &impl Repository,
    commit: Option<&CommitId>,
    events: &EventLog<impl DiskFile>,
) -> Result<State> {
    if let Some(commit) = commit {
        // The log of events names commits that this store wrote, or took in after it had read them.
        let known = events.covered().and_then(|covered| covered.commit.as_ref()) == Some(commit);
        let snapshot = repository.snapshot(commit)?;
        return Ok(if known { snapshot.decode_again()? } else { snapshot.decode()? }.state);
    }
    let mut state = State::default();
    for tracked in repository.tracked()? {
        state.join(&state_of(repository, &tracked)?);
    }
    Ok(state)
}

/// The state of the ref and all records, what everybody did last, and the events that the log does not have yet: first
/// those of the records, as they were told when they were made, then those of a merge that was saved and not told. And what was passed over.
pub(crate) fn replay(
    repository: &impl Repository,
    state: State,
    base: Option<&CommitId>,
    recovered: &Recovered,
    (events, last_operations): (&mut EventLog<impl DiskFile>, &mut LastOperations),
    now_ms: u64,
) -> Result<(Catalog, Vec<String>)> {
    let position = recovered.records.last().map(|record| record.position);
    let position = position.or(recovered.header.as_ref().map(|header| header.position)).unwrap_or(0);
    let (start, merged) = match events.covered().filter(|covered| covered.commit.as_ref() != base) {
        None => (state, None),
        Some(covered) => match state_at(repository, covered.commit.as_ref(), events) {
            // A tracking ref may have moved since, by a fetch whose merge never came; what it shows must not come into memory
            // behind the back of the ref.
            Ok(start) if is_within(&start, &state) && takes_all(start.clone(), recovered) => {
                (start, Some(state))
            }
            _ => {
                // Nobody can tell any more what the ref brought since.
                events.abandon();
                (state, None)
            }
        },
    };
    if events.covered().is_some_and(|covered| covered.position > position) {
        // The log is of another journal than this one.
        events.abandon();
    }
    let told = events.covered().map(|covered| covered.position);
    let mut catalog = Catalog::from(start);
    let mut skipped = Vec::new();
    for record in &recovered.records {
        last_operations.replay(&catalog, record);
        let mut taken = catalog.take_watched(&record.delta, record.at_ms);
        if taken.is_err() && catalog.state().gc_floor().epoch > 0 {
            let (known, unknown) = record.delta.known_to(catalog.state());
            skipped.extend(unknown.iter().map(|id| {
                format!("journal record {}: {id} was dropped by garbage collection", record.position)
            }));
            taken = catalog.take_watched(&known, record.at_ms);
        }
        let news = taken.map_err(|error| Error::JournalDamaged {
            file: "journal".into(),
            offset: 0,
            reason: format!("record {}: {error}", record.position),
        })?;
        if told.is_some_and(|told| record.position > told) {
            events.push(record.position, news);
        }
    }
    if let Some(mut merged) = merged {
        // What a record says about a bead that the start lacks, and that was born below the floor of garbage collection, was
        // passed over. The bead is here all the same if another commit has it.
        for record in &recovered.records {
            let _ = merged.take(&record.delta);
        }
        events.push(position, catalog.join_watched(&merged, now_ms));
    }
    events.settle();
    Ok((catalog, skipped))
}

/// Whether the records can be told from here: a tracking ref may have moved since they were made.
fn takes_all(mut start: State, recovered: &Recovered) -> bool {
    recovered.records.iter().all(|record| start.take(&record.delta).is_ok())
}

/// The commits that a store consists of when it is opened, and what was found out by joining them.
#[derive(Debug, Default)]
pub(crate) struct Heads {
    /// The ref, or without one the tracking refs; then those that were joined back in.
    commits: Vec<CommitId>,
    /// Saved commits were joined back in that the ref does not have.
    pub(crate) joined: bool,
    /// Saved commits that cannot be read any more.
    pub(crate) missing: Vec<CommitId>,
    /// Writes of one head that lost against another head's.
    pub(crate) conflicts: Vec<Conflict>,
}

impl Heads {
    pub(crate) fn new(base: Option<&CommitId>, tracked: &[CommitId]) -> Self {
        Self { commits: base.into_iter().chain(tracked).cloned().collect(), ..Self::default() }
    }

    /// Whether the store is this commit and the journal, and nothing besides.
    fn are_only(&self, ground: Option<&CommitId>) -> bool {
        self.commits.iter().eq(ground)
    }

    /// Returns the writes that lost between a state that was built on a commit and each head: those that either made since
    /// the commit and the head parted. `state` is all heads together.
    fn compare(
        &self,
        repository: &impl Repository,
        (commit, ours): (&CommitId, &State),
        state: &State,
    ) -> Result<Vec<Conflict>> {
        let mut conflicts = Vec::new();
        for head in &self.commits {
            // History that cannot be read, as behind a shallow clone, only told which writes were concurrent.
            let agreed = repository.merge_base(commit, head).ok().flatten();
            let agreed = agreed.and_then(|agreed| state_of(repository, &agreed).ok());
            let theirs = if self.commits.len() == 1 { state.clone() } else { state_of(repository, head)? };
            conflicts.extend(concurrent_writes(ours, &theirs, agreed.as_ref()));
        }
        Ok(conflicts)
    }

    /// Joins a commit that was found, and compares its writes with those of every other head. Returns whether it brought
    /// anything. Heads are compared before they are joined: afterwards a write that lost is in neither.
    fn join(
        &mut self,
        repository: &impl Repository,
        state: &mut State,
        (commit, found): (&CommitId, &State),
    ) -> Result<bool> {
        let mut conflicts = self.compare(repository, (commit, found), state)?;
        self.conflicts.append(&mut conflicts);
        self.commits.push(commit.clone());
        let brought = !is_within(found, state);
        state.join(found);
        Ok(brought)
    }

    /// Joins the saved commits that the ref does not contain: it was rewound, replaced or deleted, and the journal behind
    /// them was trimmed. Without a ref and without them, nothing may pass for the store. Returns the last one joined.
    pub(crate) fn join_saved(
        &mut self,
        repository: &impl Repository,
        state: &mut State,
        base: Option<&CommitId>,
    ) -> Result<Option<CommitId>> {
        if is_planted(Bug::TrimBehindLostRef) {
            return Ok(None);
        }
        let mut last = None;
        for saved in repository.saved()? {
            if contains(repository, base, &saved)? {
                continue;
            }
            match (state_of(repository, &saved), base) {
                (Ok(found), _) => self.joined |= self.join(repository, state, (&saved, &found))?,
                (Err(_), Some(_)) => {
                    self.missing.push(saved);
                    continue;
                }
                (Err(error), None) => {
                    return Err(Error::RefDamaged {
                        reference: REF,
                        commit: saved,
                        reason: format!("the branch is gone, and its last commit cannot be read: {error}"),
                    });
                }
            }
            last = Some(saved);
        }
        Ok(last)
    }

    /// Joins the commits that the records were made upon, when there is no ref and the tracking ref that showed them is gone
    /// or elsewhere, or when somebody else made a ref here that does not hold them: records speak of beads that only these
    /// commits bring along. Returns whether they were needed.
    pub(crate) fn join_grounds(
        &mut self,
        repository: &impl Repository,
        state: &mut State,
        recovered: &Recovered,
        base: Option<&CommitId>,
    ) -> Result<bool> {
        if recovered.records.is_empty() || (base.is_some() && takes_all(state.clone(), recovered)) {
            return Ok(false);
        }
        let mut needed = false;
        for ground in &recovered.grounds {
            if !self.commits.contains(ground)
                && let Ok(found) = state_of(repository, ground)
                && !is_within(&found, state)
            {
                needed |= self.join(repository, state, (ground, &found))?;
            }
        }
        Ok(needed)
    }
}

/// A clock that never repeats a stamp minted here: the header knows those before the segment, the records the rest. Stamps
/// from the future are not followed: they were minted over a broken one, or by an earlier release that followed such.
pub(crate) fn recovered_clock(recovered: &Recovered, tag: u16, now_ms: u64) -> Clock {
    let carried = recovered.header.as_ref().map_or(Stamp::ZERO, |header| header.last);
    let mut last = if is_sane(carried, now_ms) { carried } else { Stamp::ZERO };
    // Imported stamps carry tag 0: they were not minted here, and may be years ahead.
    let mut minted = |stamp: Stamp| {
        if !stamp.counter().is_multiple_of(COUNTER_STEP) && is_sane(stamp, now_ms) {
            last = last.max(stamp);
        }
    };
    for record in &recovered.records {
        for (lineage, patch) in &record.delta.beads {
            minted(lineage.at());
            patch.stamps().for_each(&mut minted);
        }
        record.delta.edges.values().for_each(|edge| minted(edge.changed.at()));
        if let Some(mark) = record.delta.prefix.as_ref().and_then(|prefix| prefix.mark.as_ref()) {
            minted(mark.at());
        }
    }
    Clock::new(last, tag)
}
