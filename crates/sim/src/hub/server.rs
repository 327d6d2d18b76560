//! The hub: a model of the functions in `schema.sql`, with a standby that lags behind.

use std::collections::BTreeMap;

use beads_core::{Lineage, Timestamp};
use beads_store::Error;
use beads_store::hub::{
    Attached, ClaimAnswer, ClaimNews, ClaimNewsState, ClaimRequest, Fetched, Grant, HUB_TAG, HubCursor,
    HubHistory, HubRow, RowContent, lineage_key,
};

use super::HubBug;
use super::folds::Folds;
use crate::dice::Dice;

type Result<T> = std::result::Result<T, Error>;

/// How long a commit takes behind the gate, in virtual time.
const COMMIT_MS: u64 = 1;

/// A fence, in the order of fences.
type Fence = (u64, u32);

/// What the database holds.
#[derive(Debug, Clone, Default)]
pub(super) struct Tables {
    epoch: u32,
    timeline: u32,
    hold_until: Option<u64>,
    awaited_since: u64,
    /// The last long time in which no machine was seen.
    silent: Option<(u64, u64)>,
    longest_lease_ms: u64,
    pub rows: Vec<HubRow>,
    pub folds: Folds,
    claims: BTreeMap<String, ClaimRow>,
    machines: BTreeMap<String, MachineRow>,
    /// The identities of all deltas that were ever appended.
    identities: Vec<(String, u64)>,
}

#[derive(Debug, Clone, Default)]
struct ClaimRow {
    replica: Option<String>,
    holder: Option<beads_core::Actor>,
    fence: Fence,
    until: Option<u64>,
    ended_n: u64,
}

#[derive(Debug, Clone, Default)]
struct MachineRow {
    epoch: u32,
    settled: u32,
    seen_ms: u64,
    last_seq: u64,
    last_content: Vec<u8>,
    last_answer: Option<Recorded>,
}

#[derive(Debug, Clone)]
enum Recorded {
    Append(HubCursor),
    Claim(ClaimAnswer),
}

/// A database server.
#[derive(Debug)]
pub struct Server {
    pub(super) tables: Tables,
    standby: Tables,
    /// An old copy of the database, which may be restored.
    backup: Option<Tables>,
    /// The timeline of the running server, which changes when the standby is promoted.
    timeline: u32,
    /// The clock of the database.
    pub now_ms: u64,
    pub(super) dice: Dice,
    pub(super) bug: Option<HubBug>,
    /// Whether a fetch returns only a few deltas.
    pub short_fetches: bool,
    /// In virtual time: when the run began, and when the gate is free.
    began_ms: Option<u64>,
    gate_free_ms: u64,
    /// With a planted bug: deltas that have a number, but are not visible yet.
    uncommitted: Vec<HubRow>,
}

/// An attached machine.
#[derive(Debug, Clone, Default)]
pub struct Ticket {
    pub replica: String,
    pub epoch: u32,
}

impl Server {
    pub fn new(seed: u64, now_ms: u64, bug: Option<HubBug>) -> Self {
        let tables = Tables { epoch: 1, longest_lease_ms: super::node::LEASE_MS, ..Tables::default() };
        let (standby, dice) = (tables.clone(), Dice::new(seed));
        Self {
            tables,
            standby,
            backup: None,
            timeline: 0,
            now_ms,
            dice,
            bug,
            short_fetches: true,
            began_ms: None,
            gate_free_ms: 0,
            uncommitted: Vec::new(),
        }
    }

    /// Promotes the standby, which may lack the last commits.
    pub fn fail_over(&mut self) {
        self.tables = self.standby.clone();
        self.timeline += 1;
        self.uncommitted.clear();
    }

    /// Makes a backup. Machines that had not been seen for a lease before are not awaited after it is restored, so
    /// all were seen.
    pub fn back_up(&mut self) {
        let mut tables = self.tables.clone();
        tables.machines.values_mut().for_each(|machine| machine.seen_ms = self.now_ms);
        self.backup = Some(tables);
    }

    /// Replaces the database by its backup, which may be many leases old.
    pub fn restore(&mut self) {
        if let Some(backup) = &self.backup {
            self.tables = backup.clone();
            self.standby = backup.clone();
            self.timeline += 1;
            self.uncommitted.clear();
        }
    }

    /// Returns whether a bead is held.
    pub fn is_held(&self, lineage: &Lineage) -> bool {
        let row = self.tables.claims.get(&lineage_key(lineage));
        row.and_then(|row| row.until).is_some_and(|until| until > self.now_ms)
    }

    /// Returns how often the hub believed that its history has changed.
    pub fn epoch(&self) -> u32 {
        self.tables.epoch
    }

    /// Runs before every call: the standby may catch up, and slow commits become visible.
    pub fn tick(&mut self) {
        if self.dice.chance(25) {
            self.standby = self.tables.clone();
        }
        if self.dice.chance(40) {
            self.tables.rows.append(&mut self.uncommitted);
            self.tables.rows.sort_by_key(|row| row.cursor.n);
        }
    }

    /// Returns a delta that was appended twice under one number of its replica.
    pub fn repeated_identity(&self) -> Option<&(String, u64)> {
        let all = &self.tables.identities;
        all.iter().enumerate().find(|(index, identity)| all[..*index].contains(identity)).map(|(_, one)| one)
    }

    /// Returns the longest lease so far.
    pub fn longest_lease_ms(&self) -> u64 {
        self.tables.longest_lease_ms
    }

    /// Sets the clock of the database in virtual time.
    pub fn advance_to(&mut self, ms: u64) {
        let began_ms = *self.began_ms.get_or_insert(self.now_ms);
        self.now_ms = began_ms + ms;
    }

    /// Queues a commit behind the gate, and returns when it is done.
    pub fn pass_gate(&mut self, now_ms: u64) -> u64 {
        self.gate_free_ms = self.gate_free_ms.max(now_ms) + COMMIT_MS;
        self.gate_free_ms
    }

    fn head(&self) -> u64 {
        let visible = self.tables.rows.last().map_or(0, |row| row.cursor.n);
        let hidden = self.uncommitted.iter().map(|row| row.cursor.n).max().unwrap_or(0);
        let covered = self.tables.folds.covered().map_or(0, |cursor| cursor.n);
        visible.max(hidden).max(covered)
    }

    fn history(&self, cursor: &HubCursor) -> HubHistory {
        let covered = self.tables.folds.covered();
        if cursor.n == 0 {
            return if covered.is_some() { HubHistory::Behind } else { HubHistory::Same };
        }
        if cursor.n > self.head() {
            return HubHistory::Other;
        }
        let row = self.tables.rows.iter().map(|row| &row.cursor).find(|known| known.n == cursor.n);
        match row.or(covered.filter(|covered| covered.n == cursor.n)) {
            Some(known) if known.token == cursor.token => HubHistory::Same,
            None if covered.is_some_and(|covered| cursor.n < covered.n) => HubHistory::Behind,
            _ => HubHistory::Other,
        }
    }

    fn new_epoch(&mut self) {
        let (now_ms, usual) = (self.now_ms, super::node::LEASE_MS);
        let running = self.tables.claims.values().filter_map(|row| row.until?.checked_sub(now_ms)).max();
        let longest = self.tables.longest_lease_ms.min(running.unwrap_or(0).max(usual));
        let seen = self.tables.machines.values().map(|machine| machine.seen_ms).max().unwrap_or(0);
        let mut since = seen.saturating_sub(longest);
        if self.bug == Some(HubBug::AwaitedFromNow) {
            since = now_ms.saturating_sub(longest);
        }
        if let Some((from, until)) = self.tables.silent
            && until > since
        {
            since = since.min(from.saturating_sub(longest));
        }
        if self.is_holding() {
            since = since.min(self.tables.awaited_since);
        }
        self.tables.epoch += 1;
        self.tables.timeline = self.timeline;
        (self.tables.longest_lease_ms, self.tables.awaited_since) = (longest, since);
        self.tables.hold_until = Some(now_ms + longest);
    }

    fn note_silence(&mut self) {
        let last = self.tables.machines.values().map(|machine| machine.seen_ms).max();
        if let Some(last) = last.filter(|last| last + self.tables.longest_lease_ms / 4 < self.now_ms)
            && self.bug != Some(HubBug::AwaitedFromNow)
        {
            self.tables.silent = Some((last, self.now_ms));
        }
    }

    fn is_holding(&self) -> bool {
        self.tables.hold_until.is_some_and(|until| until > self.now_ms)
    }

    pub fn attach(&mut self, replica: &str, cursor: &HubCursor, claims: &[ClaimNews]) -> (Attached, u32) {
        self.note_silence();
        let history = self.history(cursor);
        let moved = self.tables.timeline != self.timeline && self.bug != Some(HubBug::TimelineIgnored);
        if moved || history == HubHistory::Other {
            self.new_epoch();
        }
        let (epoch, holding, seen_ms) = (self.tables.epoch, self.is_holding(), self.now_ms);
        let machine = self.tables.machines.entry(replica.to_owned()).or_default();
        (machine.epoch, machine.seen_ms) = (epoch, seen_ms);
        if !holding {
            machine.settled = epoch;
        }
        let (last_seq, row) = (machine.last_seq, machine.clone());
        // A standby that does not know a machine cannot wait for it: the first attach must have arrived there.
        self.standby.machines.entry(replica.to_owned()).or_insert(row);
        self.record_claims(replica, (0, 0), claims);
        (Attached { last_seq, head: self.head(), history, holding, now_ms: self.now_ms }, epoch)
    }

    pub(super) fn check(&self, ticket: &Ticket) -> Result<()> {
        let moved = self.tables.timeline != self.timeline && self.bug != Some(HubBug::TimelineIgnored);
        let machine = self.tables.machines.get(&ticket.replica);
        let attached = machine.is_some_and(|machine| machine.epoch == ticket.epoch);
        if moved || self.tables.epoch != ticket.epoch || !attached {
            Err(Error::HubAttachAgain)
        } else {
            Ok(())
        }
    }

    /// Returns the recorded answer to a repeated request.
    fn repeated(&self, ticket: &Ticket, seq: u64, content: &[u8]) -> Result<Option<Recorded>> {
        let Some(machine) = self.tables.machines.get(&ticket.replica) else { return Ok(None) };
        if seq > machine.last_seq || self.bug == Some(HubBug::RetryWithoutIdentity) {
            return Ok(None);
        }
        let same = machine.last_content == content || self.bug == Some(HubBug::PayloadNotCompared);
        match &machine.last_answer {
            Some(answer) if seq == machine.last_seq && same => Ok(Some(answer.clone())),
            _ => Err(Error::HubReplicaReused),
        }
    }

    fn answered(&mut self, ticket: &Ticket, seq: u64, content: &[u8], answer: Recorded) {
        let seen_ms = self.now_ms;
        let machine = self.tables.machines.entry(ticket.replica.clone()).or_default();
        (machine.last_seq, machine.seen_ms) = (seq, seen_ms);
        (machine.last_content, machine.last_answer) = (content.to_vec(), Some(answer));
    }

    fn number(&mut self, ticket: &Ticket, seq: u64, content: RowContent) -> HubCursor {
        let cursor = HubCursor { n: self.head() + 1, token: format!("{:x}", self.dice.roll()) };
        let row = HubRow { cursor: cursor.clone(), replica: ticket.replica.clone(), content };
        self.tables.identities.push((ticket.replica.clone(), seq));
        if self.bug == Some(HubBug::NoGate) && self.dice.chance(30) {
            self.uncommitted.push(row);
        } else {
            self.tables.rows.push(row);
            self.tables.rows.sort_by_key(|row| row.cursor.n);
        }
        cursor
    }

    pub fn append(
        &mut self,
        ticket: &Ticket,
        (seq, seen): (u64, u64),
        payload: &[u8],
        claims: &[ClaimNews],
    ) -> Result<HubCursor> {
        self.check(ticket)?;
        match self.repeated(ticket, seq, payload)? {
            Some(Recorded::Append(cursor)) => return Ok(cursor),
            Some(Recorded::Claim(_)) => return Err(Error::HubReplicaReused),
            None => {}
        }
        let cursor = self.number(ticket, seq, RowContent::Payload(payload.to_vec()));
        self.record_claims(&ticket.replica, (cursor.n, seen), claims);
        self.answered(ticket, seq, payload, Recorded::Append(cursor.clone()));
        Ok(cursor)
    }

    pub fn settle(&mut self, ticket: &Ticket) -> Result<()> {
        self.check(ticket)?;
        let now_ms = self.now_ms;
        if let Some(machine) = self.tables.machines.get_mut(&ticket.replica) {
            (machine.settled, machine.seen_ms) = (ticket.epoch, now_ms);
        }
        Ok(())
    }

    pub fn fetch(&mut self, ticket: &Ticket, cursor: &HubCursor) -> Result<Fetched> {
        self.check(ticket)?;
        if self.history(cursor) != HubHistory::Same {
            return Err(Error::HubHistory);
        }
        let now_ms = self.now_ms;
        if let Some(machine) = self.tables.machines.get_mut(&ticket.replica) {
            machine.seen_ms = now_ms;
        }
        let rows: Vec<_> = self.tables.rows.iter().filter(|row| row.cursor.n > cursor.n).cloned().collect();
        let count = rows.len();
        let limit = if self.short_fetches { 1 + self.dice.index(6) } else { count };
        Ok(Fetched { rows: rows.into_iter().take(limit).collect(), more: count > limit })
    }

    fn record_claims(&mut self, replica: &str, (n, seen): (u64, u64), news: &[ClaimNews]) {
        let now_ms = self.now_ms;
        for one in news {
            let fence = (one.ms, one.counter);
            let known = self.tables.claims.get(&one.lineage).cloned();
            let row = known.clone().unwrap_or_default();
            let same = known.is_some() && row.fence == fence;
            if one.state != ClaimNewsState::Held {
                let row = self.tables.claims.entry(one.lineage.clone()).or_default();
                row.ended_n = row.ended_n.max(n);
                if one.state == ClaimNewsState::Closed || row.fence <= fence {
                    (row.until, row.holder, row.replica) = (None, None, None);
                }
                continue;
            }
            let owner = (one.own || self.bug == Some(HubBug::RepeaterOwnsClaim)).then(|| replica.to_owned());
            let other = row.replica.as_deref() != Some(replica);
            let is_live = row.until.is_some_and(|until| until > now_ms);
            if is_live && other && !same {
                continue;
            }
            if n == 0 && row.until.is_some() && same {
                if let Some(row) = self.tables.claims.get_mut(&one.lineage) {
                    row.replica = row.replica.take().or(owner);
                }
                continue;
            }
            let never_revived = self.bug == Some(HubBug::EndedForGood);
            let is_ended = row.until.is_none() && same && (seen < row.ended_n || never_revived);
            if known.is_some() && (is_ended || row.fence > fence) {
                continue;
            }
            let mut until = one.until_ms.unwrap_or(now_ms + one.left_ms);
            if n == 0 && until <= now_ms {
                continue;
            }
            if same {
                until = until.max(row.until.unwrap_or(0));
            }
            let replica = if same { row.replica.or(owner) } else { owner };
            let held = ClaimRow {
                replica,
                holder: one.holder.clone(),
                fence,
                until: Some(until),
                ended_n: row.ended_n,
            };
            self.tables.claims.insert(one.lineage.clone(), held);
            if n > 0 {
                let lease_ms = until.saturating_sub(now_ms);
                self.tables.longest_lease_ms = self.tables.longest_lease_ms.max(lease_ms);
            }
        }
    }

    pub fn claim(
        &mut self,
        ticket: &Ticket,
        seq: u64,
        cursor: &HubCursor,
        request: &ClaimRequest,
    ) -> Result<ClaimAnswer> {
        self.check(ticket)?;
        match self.repeated(ticket, seq, request.id.as_bytes())? {
            Some(Recorded::Claim(answer)) => return Ok(answer),
            Some(Recorded::Append(_)) => return Err(Error::HubReplicaReused),
            None => {}
        }
        let answer = self.decide(ticket, seq, cursor, request)?;
        self.answered(ticket, seq, request.id.as_bytes(), Recorded::Claim(answer.clone()));
        Ok(answer)
    }

    fn decide(
        &mut self,
        ticket: &Ticket,
        seq: u64,
        cursor: &HubCursor,
        request: &ClaimRequest,
    ) -> Result<ClaimAnswer> {
        let now_ms = self.now_ms;
        if let Some(until) = self.tables.hold_until {
            let since = self.tables.awaited_since;
            let epoch = self.tables.epoch;
            let waits = self.tables.machines.values().any(|one| one.settled < epoch && one.seen_ms > since);
            if until > now_ms && waits {
                return Ok(ClaimAnswer::Hold(until - now_ms));
            }
            self.tables.hold_until = None;
        }
        let mut answer = ClaimAnswer::Taken(None, None);
        for (lineage, above) in &request.candidates {
            let key = lineage_key(lineage);
            let row = self.tables.claims.get(&key).cloned().unwrap_or_default();
            let own = row.replica.as_ref() == Some(&ticket.replica) && request.candidates.len() == 1;
            let is_granted = is_hub_counter(row.fence.1);
            let may_have = row.holder.as_ref() == Some(&request.holder) && (own || !is_granted);
            if row.until.is_some_and(|until| until > now_ms) && !may_have {
                continue;
            }
            if row.ended_n > cursor.n {
                answer = ClaimAnswer::Behind;
                continue;
            }
            let until_ms = now_ms + request.lease_ms;
            let ms = now_ms.max(above.ms() + 1).max(row.fence.0 + 1);
            let counter = (((self.head() + 1) & 0xffff) << 16) as u32 | u32::from(HUB_TAG);
            let fence = serde_json::from_value(serde_json::json!([ms, counter]));
            let fence = fence.map_err(|error| Error::HubInvalid(error.to_string()))?;
            let (lineage, holder, until) =
                (lineage.clone(), request.holder.clone(), Timestamp::from_ms(until_ms)?);
            let grant = Grant { lineage, holder: holder.clone(), fence, until };
            let cursor = self.number(ticket, seq, RowContent::Grant(grant.clone()));
            let (replica, ended_n) = (Some(ticket.replica.clone()), row.ended_n);
            let held = ClaimRow {
                replica,
                holder: Some(holder),
                fence: (ms, counter),
                until: Some(until_ms),
                ended_n,
            };
            self.tables.claims.insert(key, held);
            self.tables.longest_lease_ms = self.tables.longest_lease_ms.max(request.lease_ms);
            return Ok(ClaimAnswer::Granted(Box::new(grant), cursor));
        }
        Ok(answer)
    }
}

fn is_hub_counter(counter: u32) -> bool {
    counter & 0xffff == u32::from(HUB_TAG)
}
