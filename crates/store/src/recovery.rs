//! Opening a store: joins the state of the ref with every record of the journal, and derives the clock, the
//! events that are not logged yet, and writes that lost without being recorded.

use std::collections::BTreeSet;

use beads_core::limits::COUNTER_STEP;
use beads_core::planted::{Bug, is_planted};
use beads_core::{Catalog, Clock, Conflict, Patch, Stamp, State, concurrent_writes, is_sane};

use crate::changes::Changes;
use crate::checkpoint::{contains, is_within, state_of};
use crate::disk::DiskFile;
use crate::event_log::EventLog;
use crate::journal::Recovered;
use crate::last_operations::LastOperations;
use crate::repository::{CommitId, REF, Repository};
use crate::{Error, Result};

/// Finds records that lost to writes their writer had not seen: another program moved the ref on, or a merge
/// was interrupted after it had moved the ref.
pub(crate) fn unseen_writes(
    repository: &impl Repository,
    recovered: &Recovered,
    heads: &Heads,
    state: &State,
) -> Result<Vec<Conflict>> {
    if recovered.records.is_empty() || heads.consist_of(recovered.base_commit.as_ref()) {
        return Ok(Vec::new());
    }
    // An unreadable base commit counts as none: it only helps to tell which writes were concurrent.
    let Some(base_commit) = &recovered.base_commit else { return Ok(Vec::new()) };
    let Ok(mut ours) = state_of(repository, base_commit) else { return Ok(Vec::new()) };
    let mut also_known = Some(&recovered.base_commits);
    for record in &recovered.records {
        if ours.join_delta(&record.delta).is_ok() {
            continue;
        }
        // The ref had been moved back before the writer opened the store. Opening joined the commits that the
        // ref lacked, but only the ref was recorded as the base.
        if let Some(recorded) = also_known.take() {
            for commit in recorded.iter().cloned().chain(repository.saved()?) {
                if let Ok(known) = state_of(repository, &commit) {
                    ours.join(&known);
                }
            }
        }
        // What these commits lack is in the ref, or opening fails with a better error.
        let _ = ours.join_delta(&record.delta);
    }
    let patches = recovered.records.iter().flat_map(|record| record.delta.beads.values());
    let own: BTreeSet<_> = patches.flat_map(Patch::marks).map(|(_, mark)| mark).collect();
    let unseen = |head: &&CommitId| !recovered.base_commits.contains(head);
    let mut conflicts = heads.compare(repository, (base_commit, &ours), state, unseen)?;
    // A replica's later write knew its earlier one, so those two are not concurrent. The base commit may also
    // hold writes of others; they are compared with the other heads if it is a head itself.
    conflicts.retain(|conflict| own.contains(&conflict.lost) != own.contains(&conflict.won));
    Ok(conflicts)
}

/// Decodes the state on the ref. A fresh clone has no local ref yet; it uses the tracking refs.
pub(crate) fn state_at(
    repository: &impl Repository,
    commit: Option<&CommitId>,
    events: &EventLog<impl DiskFile>,
) -> Result<State> {
    if let Some(commit) = commit {
        if let Some(state) = repository.cached_state(commit) {
            return Ok(state);
        }
        // The event log names only commits that this store wrote, or merged after decoding them.
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

/// Replays all records on the state of the ref, and restores each actor's last operation.
///
/// Adds the events that the log lacks: first those of the records, as they happened, then those of a merge
/// that was saved but not logged. Also returns messages about skipped records, and a summary of all records.
pub(crate) fn replay(
    repository: &impl Repository,
    state: State,
    tip: Option<&CommitId>,
    recovered: &Recovered,
    (events, last_operations): (&mut EventLog<impl DiskFile>, &mut LastOperations),
    now_ms: u64,
) -> Result<(Catalog, Vec<String>, Changes)> {
    let position = recovered.records.last().map(|record| record.position);
    let position = position.or(recovered.header.as_ref().map(|header| header.position)).unwrap_or(0);
    let (start, merged) = match events.covered().filter(|covered| covered.commit.as_ref() != tip) {
        None => (state, None),
        Some(covered) => match state_at(repository, covered.commit.as_ref(), events) {
            // A fetch whose merge never finished may have moved a tracking ref since. Its changes must not
            // reach memory before the ref holds them.
            Ok(start) if is_within(&start, &state) && all_apply_to(start.clone(), recovered) => {
                (start, Some(state))
            }
            _ => {
                // The changes that arrived on the ref since can no longer be derived.
                events.abandon();
                (state, None)
            }
        },
    };
    if events.covered().is_some_and(|covered| covered.position > position) {
        // The log belongs to another journal.
        events.abandon();
    }
    let logged = events.covered().map(|covered| covered.position);
    let mut catalog = Catalog::from(start);
    let (mut skipped, mut changes) = (Vec::new(), Changes::default());
    for record in &recovered.records {
        last_operations.replay(&catalog, record);
        let mut taken = catalog.join_delta_with_events(&record.delta, record.at_ms);
        let is_archived = matches!(taken, Err(beads_core::Error::Archived { .. }));
        if taken.is_err() && !is_archived && catalog.state().gc_floor().epoch > 0 {
            let (known, unknown) = record.delta.without_unknown_beads(catalog.state());
            skipped.extend(unknown.iter().map(|id| {
                format!("journal record {}: {id} was dropped by garbage collection", record.position)
            }));
            taken = catalog.join_delta_with_events(&known, record.at_ms);
        }
        let news = taken.map_err(|error| Error::JournalDamaged {
            file: "journal".into(),
            offset: 0,
            reason: format!("record {}: {error}", record.position),
        })?;
        if !record.delta.is_empty() {
            changes.note(&record.by, &news);
        }
        if logged.is_some_and(|logged| record.position > logged) {
            events.push(record.position, news);
        }
    }
    if let Some(mut merged) = merged {
        // Records about a bead that the start lacks, born below the floor of garbage collection, were
        // skipped. Another commit may still hold that bead.
        for record in &recovered.records {
            let _ = merged.join_delta(&record.delta);
        }
        events.push(position, catalog.join_with_events(&merged, now_ms));
    }
    events.mark_durable();
    Ok((catalog, skipped, changes))
}

/// Returns whether all records apply to this state. They may not if a tracking ref moved since.
fn all_apply_to(mut start: State, recovered: &Recovered) -> bool {
    recovered.records.iter().all(|record| start.join_delta(&record.delta).is_ok())
}

/// The commits that make up a store when it is opened, and what joining them revealed.
#[derive(Debug, Default)]
pub(crate) struct Heads {
    /// The ref, or without one the tracking refs, followed by commits that were joined again.
    commits: Vec<CommitId>,
    /// Whether saved commits were joined that the ref does not contain.
    pub(crate) joined: bool,
    /// Saved commits that can no longer be read.
    pub(crate) missing: Vec<CommitId>,
    /// Writes of one head that lost to those of another.
    pub(crate) conflicts: Vec<Conflict>,
}

impl Heads {
    pub(crate) fn new(tip: Option<&CommitId>, tracked: &[CommitId]) -> Self {
        Self { commits: tip.into_iter().chain(tracked).cloned().collect(), ..Self::default() }
    }

    /// Returns the commits that make up the store besides these.
    pub(crate) fn besides(&self, base_commit: Option<&CommitId>, recorded: &[CommitId]) -> Vec<CommitId> {
        let is_new = |head: &&CommitId| Some(*head) != base_commit && !recorded.contains(head);
        self.commits.iter().filter(is_new).cloned().collect()
    }

    /// Returns whether the store consists of this commit and the journal only.
    fn consist_of(&self, base_commit: Option<&CommitId>) -> bool {
        self.commits.iter().eq(base_commit)
    }

    /// Returns the writes that lost between each head and a state that builds on `commit`: those made on
    /// either side since their merge base. `state` is the join of all heads. Heads that do not count, because
    /// the writer knew them, are left out.
    fn compare(
        &self,
        repository: &impl Repository,
        (commit, ours): (&CommitId, &State),
        state: &State,
        counts: impl Fn(&&CommitId) -> bool,
    ) -> Result<Vec<Conflict>> {
        let mut conflicts = Vec::new();
        for head in self.commits.iter().filter(counts) {
            // Unreadable history, as in a shallow clone, only helps to tell which writes were concurrent.
            let agreed = repository.merge_base(commit, head).ok().flatten();
            let agreed = agreed.and_then(|agreed| state_of(repository, &agreed).ok());
            let theirs = if self.commits.len() == 1 { state.clone() } else { state_of(repository, head)? };
            conflicts.extend(concurrent_writes(ours, &theirs, agreed.as_ref()));
        }
        Ok(conflicts)
    }

    /// Joins a commit and compares its writes with those of every other head. Returns whether it added
    /// anything.
    ///
    /// The comparison comes first: after joining, a write that lost is in neither state.
    fn join(
        &mut self,
        repository: &impl Repository,
        state: &mut State,
        (commit, found): (&CommitId, &State),
    ) -> Result<bool> {
        let mut conflicts = self.compare(repository, (commit, found), state, |_| true)?;
        self.conflicts.append(&mut conflicts);
        self.commits.push(commit.clone());
        let brought = !is_within(found, state);
        state.join(found);
        Ok(brought)
    }

    /// Joins the saved commits that the ref does not contain. The ref was rewound, replaced or deleted, and
    /// their part of the journal is trimmed. Returns the last commit joined.
    ///
    /// Fails if there is neither a ref nor a readable saved commit, because the rest must not pass for the
    /// whole store.
    pub(crate) fn join_saved(
        &mut self,
        repository: &impl Repository,
        state: &mut State,
        tip: Option<&CommitId>,
    ) -> Result<Option<CommitId>> {
        if is_planted(Bug::TrimBehindLostRef) {
            return Ok(None);
        }
        let mut last = None;
        for saved in repository.saved()? {
            if contains(repository, tip, &saved)? {
                continue;
            }
            match (state_of(repository, &saved), tip) {
                (Ok(found), _) => self.joined |= self.join(repository, state, (&saved, &found))?,
                (Err(_), Some(_)) => {
                    self.missing.push(saved);
                    continue;
                }
                (Err(error), None) => {
                    return Err(Error::RefDamaged {
                        reference: REF,
                        commit: saved,
                        reason: format!(
                            "the branch was deleted, and its last commit cannot be read: {error}"
                        ),
                    });
                }
            }
            last = Some(saved);
        }
        Ok(last)
    }

    /// Joins the base commits of the records if they are needed. Records may refer to beads that only these
    /// commits hold. That happens when there is no ref and the tracking ref is gone or elsewhere, or when
    /// another program created a ref without them. Returns whether they were needed.
    pub(crate) fn join_base_commits(
        &mut self,
        repository: &impl Repository,
        state: &mut State,
        recovered: &Recovered,
        tip: Option<&CommitId>,
    ) -> Result<bool> {
        if recovered.records.is_empty() || (tip.is_some() && all_apply_to(state.clone(), recovered)) {
            return Ok(false);
        }
        let mut needed = false;
        for base_commit in &recovered.base_commits {
            if !self.commits.contains(base_commit)
                && let Ok(found) = state_of(repository, base_commit)
                && !is_within(&found, state)
            {
                needed |= self.join(repository, state, (base_commit, &found))?;
            }
        }
        Ok(needed)
    }
}

/// Returns a clock that never repeats a stamp minted here. The header knows the last stamp before the
/// segment, the records the rest.
///
/// Stamps from the future are ignored: a broken clock produced them, or an earlier release that followed one.
pub(crate) fn recovered_clock(recovered: &Recovered, tag: u16, now_ms: u64) -> Clock {
    let carried = recovered.header.as_ref().map_or(Stamp::ZERO, |header| header.last);
    let mut last = if is_sane(carried, now_ms) { carried } else { Stamp::ZERO };
    // Imported stamps carry tag 0. They were not minted here and may be years ahead.
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
