//! The hub (docs/FLEET.md): what this replica knows of it. The connection itself belongs to the daemon.

mod claiming;
mod files;
mod status;

use beads_core::op::MintStoreId;
use beads_core::{Bead, Lineage, Op};
use beads_store::hub::{
    Attached, ClaimNews, Grant, HubCopy, HubCursor, HubHistory, HubRow, Member, Outgoing, is_hub_fence,
};
use serde_json::json;

use super::Service;
use crate::failure::{Code, Failure};
use crate::scope::Scope;
use files::HubFile;

/// The environment variable that overrides `hub.url`. A daemon reads it when it starts.
pub const HUB_URL: &str = "BD_HUB_URL";

/// After this many changes of others, the copy is saved, so that a later daemon need not fetch them again.
const SAVE_AFTER: u64 = 1_000;

/// The state of this replica at the hub.
#[derive(Debug)]
pub struct HubLocal {
    copy: HubCopy,
    /// The identity at the hub, and the last number used there.
    file: HubFile,
    /// Nothing is appended before the copy has reached this number, because it is our own.
    must_reach: u64,
    /// Whether the deltas that existed at the last attach were taken.
    caught_up: bool,
    attached: bool,
    /// Since when the hub does not answer, and why.
    away: Option<(u64, String)>,
    /// The hub cannot notify this machine, so it is polled.
    pub polls: bool,
    /// The number of the newest delta at the last attach.
    head: u64,
    unsaved: u64,
}

impl HubLocal {
    /// Returns whether a claim is one that the hub granted and still holds for its holder.
    pub(super) fn confirms(&self, lineage: &Lineage, bead: &Bead, now_ms: u64) -> bool {
        let Some(fence) = bead.claim.fence().filter(|fence| is_hub_fence(*fence)) else { return false };
        let known = self.copy.state().bead(lineage).filter(|known| known.claim.fence() == Some(fence));
        // The end of the lease that the hub knows; it does not know the latest renewal yet.
        bead.claim.holder(now_ms).is_some() && known.is_none_or(|known| !known.claim.expired(now_ms))
    }

    /// Returns whether something may be appended or claimed now.
    pub fn is_ready(&self) -> bool {
        self.attached && self.caught_up && self.copy.cursor.n >= self.must_reach
    }

    /// Returns the next number of this replica.
    pub fn next_seq(&mut self) -> u64 {
        self.file.seq += 1;
        self.file.seq
    }

    /// Returns the cursor of the copy.
    pub fn cursor(&self) -> &HubCursor {
        &self.copy.cursor
    }
}

impl Service {
    /// Returns the address of the hub, if one is configured.
    pub fn hub_url(&self) -> Option<String> {
        let variable = std::env::var(HUB_URL).ok().filter(|url| !url.is_empty());
        let setting = || self.config.get("hub.url").ok().map(str::to_owned);
        variable.or_else(setting).filter(|url| !url.is_empty())
    }

    /// Returns the state at the hub. Only a daemon with a hub has one.
    pub fn hub_mut(&mut self) -> Option<&mut HubLocal> {
        self.hub.as_deref_mut()
    }

    /// Returns the number of this machine's next call. Only a daemon with a hub makes calls.
    pub fn next_hub_number(&mut self) -> Option<u64> {
        Some(self.hub.as_deref_mut()?.next_seq())
    }

    /// Returns whether the state at the hub belongs to the store's current id. Two machines may have minted
    /// one each before they met.
    pub fn hub_store_changed(&self) -> bool {
        let id = self.replica.catalog().state().store_id().map(|minted| minted.id.to_string());
        self.hub.as_ref().is_some_and(|hub| Some(&hub.file.store) != id.as_ref())
    }

    /// Prepares to use the hub: mints the store's id if it has none, and reads the copy of an earlier run.
    pub fn begin_hub(&mut self) -> Result<(), Failure> {
        if self.replica.catalog().state().store_id().is_none() {
            self.replica.apply(&Op::MintStoreId(MintStoreId {}), &own_caller()?)?;
            self.replica.commit()?;
        }
        let minted = self.replica.catalog().state().store_id();
        let store = minted.map(|minted| minted.id.to_string()).unwrap_or_default();
        let (file, copy) = HubFile::load(&self.place.store_dir(), &store);
        self.replica.hub_writes_mut().note_state(copy.state());
        self.hub = Some(Box::new(HubLocal {
            copy,
            file,
            must_reach: 0,
            caught_up: false,
            attached: false,
            away: None,
            polls: false,
            head: 0,
            unsaved: 0,
        }));
        self.save_hub_identity();
        Ok(())
    }

    /// Stops using the hub.
    pub fn end_hub(&mut self) {
        self.save_hub();
        self.hub = None;
    }

    /// Saves the copy for the next daemon.
    pub fn save_hub(&mut self) {
        if let Some(hub) = &mut self.hub {
            hub.unsaved = 0;
            hub.file.save_with(&self.place.store_dir(), &hub.copy);
        }
    }

    fn save_hub_identity(&self) {
        if let Some(hub) = &self.hub {
            hub.file.save(&self.place.store_dir());
        }
    }

    /// Returns what this machine sends to attach: its identity, its cursor, and the live claims that it knows.
    pub fn hub_attach_arguments(&mut self) -> Option<(Member, HubCursor, Vec<ClaimNews>)> {
        let now_ms = self.replica.now_ms();
        let claims = HubCopy::live_claims(self.replica.catalog().state(), now_ms);
        let hub = self.hub.as_mut()?;
        (hub.attached, hub.caught_up) = (false, false);
        let member = Member { store: hub.file.store.clone(), replica: hub.file.replica.clone() };
        Some((member, hub.copy.cursor.clone(), claims))
    }

    /// Records that the hub accepted this machine.
    pub fn hub_attached(&mut self, attached: &Attached) {
        let Some(hub) = &mut self.hub else { return };
        hub.attached = true;
        hub.head = attached.head;
        hub.file.seq = hub.file.seq.max(attached.last_seq);
        if hub.away.take().is_some() {
            crate::log::note("the hub answers again");
        }
        if attached.history != HubHistory::Same {
            // The snapshot, or the deltas from the first one, follow.
            hub.copy = HubCopy::default();
            hub.must_reach = 0;
        }
    }

    /// Continues from the snapshot of the hub.
    pub fn hub_restarted(&mut self, copy: HubCopy) {
        self.replica.hub_writes_mut().note_state(copy.state());
        if let Some(hub) = &mut self.hub {
            hub.copy = copy;
        }
    }

    /// Records that all deltas were taken. Returns whether they brought anything.
    pub fn hub_caught_up(&mut self) -> Result<bool, Failure> {
        let Some(hub) = &mut self.hub else { return Ok(false) };
        hub.caught_up = true;
        hub.must_reach = hub.must_reach.min(hub.copy.cursor.n);
        let news = hub.copy.join_into(&mut self.replica)?;
        if news {
            self.note_merge();
        }
        Ok(news)
    }

    /// Records that the hub does not answer.
    pub fn hub_away(&mut self, reason: &str) {
        let now_ms = self.replica.now_ms();
        let Some(hub) = &mut self.hub else { return };
        (hub.attached, hub.caught_up) = (false, false);
        if hub.away.is_none() {
            crate::log::note(&format!("the hub is unreachable: {reason}"));
        }
        let since = hub.away.as_ref().map_or(now_ms, |(since, _)| *since);
        hub.away = Some((since, reason.to_owned()));
    }

    /// Generates a new identity, because another machine uses the old one.
    pub fn hub_new_replica(&mut self) {
        if let Some(hub) = &mut self.hub {
            hub.file.draw_replica();
            crate::log::note("another machine uses the replica id of this one; a new one was generated");
        }
        self.save_hub_identity();
    }

    /// Takes deltas of the hub into memory. The caller commits them. Returns whether they brought anything.
    pub fn hub_take(&mut self, rows: &[HubRow]) -> Result<bool, Failure> {
        let Some(hub) = &mut self.hub else { return Ok(false) };
        let taken = hub.copy.take(&mut self.replica, &hub.file.replica, rows)?;
        hub.unsaved += rows.len() as u64;
        hub.head = hub.head.max(hub.copy.cursor.n);
        if hub.unsaved > SAVE_AFTER {
            self.save_hub();
        }
        if taken.news > 0 {
            self.note_merge();
        }
        Ok(taken.news > 0)
    }

    /// Returns what has to be appended next.
    pub fn hub_outgoing(&mut self) -> Result<Option<Outgoing>, Failure> {
        let now_ms = self.replica.now_ms();
        let Some(hub) = self.hub.as_ref().filter(|hub| hub.is_ready()) else { return Ok(None) };
        Ok(hub.copy.outgoing(self.replica.catalog().state(), now_ms)?)
    }

    /// Records that a change got its number.
    pub fn hub_appended(&mut self, outgoing: &Outgoing, cursor: &HubCursor) -> Result<(), Failure> {
        self.hub_own(&outgoing.delta, cursor)
    }

    /// Takes an own delta into the copy if it is the next one; otherwise it arrives with those before it.
    fn hub_own(&mut self, delta: &beads_core::Delta, cursor: &HubCursor) -> Result<(), Failure> {
        let Some(hub) = &mut self.hub else { return Ok(()) };
        if cursor.n == hub.copy.cursor.n + 1 {
            hub.copy.take_own(delta, cursor.clone())?;
            self.replica.hub_writes_mut().note(delta);
            hub.unsaved += 1;
        } else {
            hub.must_reach = hub.must_reach.max(cursor.n);
        }
        hub.head = hub.head.max(cursor.n);
        Ok(())
    }

    /// Records that the hub granted a claim.
    pub(super) fn hub_granted(&mut self, grant: &Grant, cursor: &HubCursor) -> Result<(), Failure> {
        self.hub_own(&grant.delta(), cursor)
    }

    /// Returns whether the hub decides a claim. Fails if it should, but is unreachable.
    pub(super) fn hub_decides(&self, confirm: bool, offline: bool) -> Result<bool, Failure> {
        let scope = self.config.get("claim.scope")?.parse().unwrap_or(Scope::Auto);
        if scope == Scope::Local && !confirm {
            return Ok(false);
        }
        let Some(hub) = &self.hub else {
            return if self.confirms_later || self.hub_url().is_none() {
                Ok(false)
            } else {
                self.claim_without_hub("this command runs without a daemon, which holds the connection")
            };
        };
        if offline {
            return self.claim_without_hub("--sandbox does not contact it");
        }
        match &hub.away {
            Some((since, reason)) => {
                let seconds = self.replica.now_ms().saturating_sub(*since) / 1_000;
                self.claim_without_hub(&format!("it has been unreachable for {seconds} s: {reason}"))
            }
            None => Ok(true),
        }
    }

    /// Refuses a claim without the hub, unless `hub.offline_claims` allows it.
    fn claim_without_hub(&self, reason: &str) -> Result<bool, Failure> {
        if self.offline_claims_allowed() {
            return Ok(false);
        }
        Err(hub_unreachable(reason, self.hub_away_ms()))
    }

    /// Returns whether claims are made without the hub while it is unreachable.
    pub fn offline_claims_allowed(&self) -> bool {
        self.config.get("hub.offline_claims").is_ok_and(|value| value == "git")
    }

    fn hub_away_ms(&self) -> Option<u64> {
        let (since, _) = self.hub.as_ref()?.away.as_ref()?;
        Some(self.replica.now_ms().saturating_sub(*since))
    }
}

/// Returns the failure of a claim that the hub would have to decide.
fn hub_unreachable(reason: &str, away_ms: Option<u64>) -> Failure {
    let message = format!("the hub decides claims, but {reason}; nothing was claimed");
    Failure::new(Code::HubUnreachable, message).with(json!({"away_ms": away_ms}))
}

fn own_caller() -> Result<beads_store::Caller, Failure> {
    Ok(beads_store::Caller { actor: "bd".parse()?, branch: Default::default(), lease_ms: 0, request: None })
}
