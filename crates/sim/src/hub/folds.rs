//! The snapshots of the hub: a model of their functions in `schema.sql`.

use std::collections::BTreeMap;

use beads_store::Error;
use beads_store::hub::{
    Compaction, FoldOutcome, HubCursor, HubRow, RowContent, SnapshotHead, snapshot_digest,
};

use super::HubBug;
use super::server::{Server, Ticket};

type Result<T> = std::result::Result<T, Error>;

/// The size of a part: small, so that most snapshots have several.
const PART_BYTES: u32 = 400;

/// After this time without a part, an attempt is given up.
const GIVEN_UP_MS: u64 = 60_000;

/// How much one call deletes.
const TRIMMED_PARTS: usize = 2;
const TRIMMED_ROWS: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FoldState {
    Writing,
    Proposed,
    Confirmed,
}

#[derive(Debug, Clone)]
struct Fold {
    token: String,
    upto: HubCursor,
    replica: String,
    state: FoldState,
    part_bytes: u32,
    touched_ms: u64,
}

/// The tables `fold` and `snapshot`.
#[derive(Debug, Clone, Default)]
pub struct Folds {
    folds: Vec<Fold>,
    parts: BTreeMap<(String, u32), Vec<u8>>,
    confirmed: usize,
}

impl Folds {
    fn confirmed(&self) -> Option<&Fold> {
        self.folds.iter().find(|fold| fold.state == FoldState::Confirmed)
    }

    fn attempt(&self) -> Option<&Fold> {
        self.folds.iter().find(|fold| fold.state != FoldState::Confirmed)
    }

    fn own_attempt(&mut self, token: &str, replica: &str) -> Option<&mut Fold> {
        self.folds.iter_mut().find(|fold| fold.token == token && fold.replica == replica)
    }

    /// Returns the last delta of the confirmed snapshot.
    pub fn covered(&self) -> Option<&HubCursor> {
        self.confirmed().map(|fold| &fold.upto)
    }

    fn parts_of(&self, token: &str) -> Vec<&[u8]> {
        let parts = self.parts.iter().filter(|((of, _), _)| of == token);
        parts.map(|(_, payload)| payload.as_slice()).collect()
    }

    fn orphans(&self) -> Vec<(String, u32)> {
        let known = |token: &String| self.folds.iter().any(|fold| fold.token == *token);
        self.parts.keys().filter(|(token, _)| !known(token)).cloned().collect()
    }

    fn drop_attempts(&mut self) {
        self.folds.retain(|fold| fold.state == FoldState::Confirmed);
    }
}

impl Server {
    fn is_given_up(&self, fold: &Fold) -> bool {
        fold.state == FoldState::Writing && fold.touched_ms + GIVEN_UP_MS < self.now_ms
    }

    pub fn snapshot(&self, ticket: &Ticket) -> Result<Option<SnapshotHead>> {
        self.check(ticket)?;
        let folds = &self.tables.folds;
        let half = folds.attempt().filter(|_| self.bug == Some(HubBug::HalfSnapshotRead));
        let Some(fold) = half.or(folds.confirmed()) else { return Ok(None) };
        let parts = folds.parts_of(&fold.token);
        Ok(Some(SnapshotHead {
            cursor: fold.upto.clone(),
            token: fold.token.clone(),
            parts: parts.len() as u32,
            bytes: parts.iter().map(|part| part.len() as u64).sum(),
            digest: snapshot_digest(parts),
        }))
    }

    pub fn snapshot_part(&self, ticket: &Ticket, token: &str, part: u32) -> Result<Option<Vec<u8>>> {
        self.check(ticket)?;
        Ok(self.tables.folds.parts.get(&(token.to_owned(), part)).cloned())
    }

    pub fn compaction(&self, ticket: &Ticket) -> Result<Compaction> {
        self.check(ticket)?;
        let folds = &self.tables.folds;
        let covered = folds.covered().map_or(0, |cursor| cursor.n);
        let rows = self.tables.rows.iter().filter(|row| row.cursor.n > covered);
        let snapshot = folds.confirmed().map(|fold| folds.parts_of(&fold.token)).unwrap_or_default();
        let attempt = folds.attempt();
        let proposal = attempt.filter(|fold| fold.state == FoldState::Proposed);
        let writing = attempt.filter(|fold| fold.state == FoldState::Writing);
        Ok(Compaction {
            delta_bytes: rows.map(size).sum(),
            snapshot_bytes: snapshot.iter().map(|part| part.len() as u64).sum(),
            part_bytes: attempt.map_or(PART_BYTES, |fold| fold.part_bytes),
            proposed: proposal.map(|fold| (fold.upto.n, fold.replica.clone())),
            writing: writing.is_some_and(|fold| !self.is_given_up(fold)),
            leftover: self.has_leftover(),
        })
    }

    /// Returns how many snapshots of several parts were confirmed.
    pub fn confirmed_snapshots(&self) -> usize {
        self.tables.folds.confirmed
    }

    /// Returns whether something is kept that is no longer needed.
    pub fn has_leftover(&self) -> bool {
        let folds = &self.tables.folds;
        let covered = folds.covered().map_or(0, |cursor| cursor.n);
        folds.attempt().is_some_and(|fold| self.is_given_up(fold))
            || !folds.orphans().is_empty()
            || self.tables.rows.first().is_some_and(|row| row.cursor.n <= covered)
    }

    pub fn begin_snapshot(
        &mut self,
        ticket: &Ticket,
        upto: &HubCursor,
        part_bytes: u32,
    ) -> Result<Option<String>> {
        self.check(ticket)?;
        let covered = self.tables.folds.covered().map_or(0, |cursor| cursor.n);
        if upto.n <= covered || !self.tables.rows.iter().any(|row| row.cursor == *upto) {
            return Ok(None);
        }
        let attempt = self.tables.folds.attempt();
        if attempt.is_some_and(|fold| fold.replica != ticket.replica && !self.is_given_up(fold)) {
            return Ok(None);
        }
        let token = format!("{:x}", self.dice.roll());
        self.tables.folds.drop_attempts();
        self.tables.folds.folds.push(Fold {
            token: token.clone(),
            upto: upto.clone(),
            replica: ticket.replica.clone(),
            state: FoldState::Writing,
            part_bytes,
            touched_ms: self.now_ms,
        });
        Ok(Some(token))
    }

    pub fn put_part(&mut self, ticket: &Ticket, token: &str, part: u32, payload: &[u8]) -> Result<bool> {
        self.check(ticket)?;
        let now_ms = self.now_ms;
        let folds = &mut self.tables.folds;
        let attempt = folds.own_attempt(token, &ticket.replica);
        let Some(fold) = attempt.filter(|fold| fold.state == FoldState::Writing) else { return Ok(false) };
        fold.touched_ms = now_ms;
        folds.parts.insert((token.to_owned(), part), payload.to_vec());
        Ok(true)
    }

    pub fn propose(&mut self, ticket: &Ticket, token: &str, parts: u32, digest: &str) -> Result<FoldOutcome> {
        self.check(ticket)?;
        let folds = &mut self.tables.folds;
        let stored = folds.parts_of(token);
        let is_complete = stored.len() == parts as usize && snapshot_digest(stored) == digest;
        let Some(fold) = folds.own_attempt(token, &ticket.replica) else { return Ok(FoldOutcome::Stale) };
        match fold.state {
            FoldState::Confirmed => Ok(FoldOutcome::Confirmed),
            FoldState::Proposed => Ok(FoldOutcome::Proposed),
            FoldState::Writing if is_complete => {
                fold.state = FoldState::Proposed;
                Ok(FoldOutcome::Proposed)
            }
            FoldState::Writing => {
                folds.drop_attempts();
                Ok(FoldOutcome::Incomplete)
            }
        }
    }

    pub fn confirm(&mut self, ticket: &Ticket, upto: &HubCursor, digest: &str) -> Result<FoldOutcome> {
        self.check(ticket)?;
        let folds = &mut self.tables.folds;
        let fits = |fold: &&Fold| {
            fold.state == FoldState::Proposed && fold.upto == *upto && fold.replica != ticket.replica
        };
        let Some(token) = folds.folds.iter().find(fits).map(|fold| fold.token.clone()) else {
            return Ok(FoldOutcome::Stale);
        };
        let parts = folds.parts_of(&token);
        let several = parts.len() > 1;
        if snapshot_digest(parts) != digest {
            folds.drop_attempts();
            return Ok(FoldOutcome::Differs);
        }
        folds.folds.retain(|fold| fold.token == token);
        for fold in &mut folds.folds {
            fold.state = FoldState::Confirmed;
        }
        folds.confirmed += usize::from(several);
        Ok(FoldOutcome::Confirmed)
    }

    pub fn trim(&mut self, ticket: &Ticket) -> Result<bool> {
        self.check(ticket)?;
        if self.tables.folds.attempt().is_some_and(|fold| self.is_given_up(fold)) {
            self.tables.folds.drop_attempts();
        }
        let covered = self.tables.folds.covered().map_or(0, |upto| upto.n);
        let orphans = self.tables.folds.orphans();
        for orphan in orphans.iter().take(TRIMMED_PARTS) {
            self.tables.folds.parts.remove(orphan);
        }
        let rows = &mut self.tables.rows;
        let count = rows.iter().take(TRIMMED_ROWS).take_while(|row| row.cursor.n <= covered).count();
        rows.drain(..count);
        Ok(!orphans.is_empty() || count > 0)
    }
}

fn size(row: &HubRow) -> u64 {
    match &row.content {
        RowContent::Payload(payload) => 64 + payload.len() as u64,
        RowContent::Grant(_) => 64,
    }
}
