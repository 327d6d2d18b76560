//! The hub (docs/FLEET.md): what this replica knows of it. The connection itself belongs to the daemon.

pub mod claiming;
mod direct;
mod files;
mod status;

use beads_core::op::MintStoreId;
use beads_core::{Bead, Lineage, Op};
use beads_store::hub::{
    Attached, ClaimNews, Grant, HubCopy, HubCursor, HubRow, HubSession, Member, Outgoing,
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
/// In a large store, the copy is saved after changes of this part of it: requests wait while it is encoded.
const SAVE_AFTER_PART: u64 = 8;

/// The state of this replica at the hub.
#[derive(Debug)]
pub struct HubLocal {
    session: HubSession,
    /// The id of the store.
    store: String,
    away: Option<Away>,
    /// The hub cannot notify this machine, so it is polled.
    pub polls: bool,
    unsaved: u64,
}

/// Since when the hub cannot be used, and why.
#[derive(Debug, Clone)]
struct Away {
    since_ms: u64,
    code: Code,
    message: String,
}

impl HubLocal {
    /// Returns whether a claim is one that the hub granted and still holds for its holder.
    pub(super) fn confirms(&self, lineage: &Lineage, bead: &Bead, now_ms: u64) -> bool {
        self.session.confirms(lineage, bead, now_ms)
    }

    /// Returns whether a claim was granted to this replica.
    pub(super) fn is_own(&self, lineage: &Lineage, bead: &Bead) -> bool {
        self.session.is_own(lineage, bead)
    }

    /// Returns the protocol's state.
    pub fn session_mut(&mut self) -> &mut HubSession {
        &mut self.session
    }
}

impl Service {
    /// Returns the address of the hub, if one is configured.
    pub fn hub_url(&self) -> Option<String> {
        let variable = std::env::var(HUB_URL).ok().filter(|url| !url.is_empty());
        let setting = || self.config.get("hub.url").ok().map(str::to_owned);
        variable.or_else(setting).filter(|url| !url.is_empty())
    }

    /// Returns whether the daemon keeps running without requests, because it brings in the changes of others.
    pub fn keeps_daemon(&self) -> bool {
        let kept = self.config.get("sync.keep_daemon").is_ok_and(|value| value == "true");
        kept && (self.hub.is_some() || self.has_remote())
    }

    /// Returns the state at the hub. Only a daemon with a hub has one.
    pub fn hub_mut(&mut self) -> Option<&mut HubLocal> {
        self.hub.as_deref_mut()
    }

    /// Returns the session with the hub.
    pub fn hub_session(&mut self) -> Option<&mut HubSession> {
        Some(self.hub.as_deref_mut()?.session_mut())
    }

    /// Returns the number of this machine's next call. Only a daemon with a hub makes calls.
    pub fn next_hub_number(&mut self) -> Option<u64> {
        Some(self.hub.as_deref_mut()?.session.next_seq())
    }

    /// Returns whether the state at the hub belongs to the store's current id. Two machines may have minted
    /// one each before they met.
    pub fn hub_store_changed(&self) -> bool {
        let id = self.replica.catalog().state().store_id().map(|minted| minted.id.to_string());
        self.hub.as_ref().is_some_and(|hub| Some(&hub.store) != id.as_ref())
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
        let session = HubSession::new(copy, file.replica, file.seq).with_own_grants(file.own_grants);
        self.hub = Some(Box::new(HubLocal { session, store, away: None, polls: false, unsaved: 0 }));
        self.save_hub_identity();
        Ok(())
    }

    /// Stops using the hub.
    pub fn end_hub(&mut self) {
        self.save_hub();
        self.hub = None;
        self.replica.set_leases_ahead_ms(0);
    }

    /// Saves the copy for the next daemon. Everything in it must be durable in the journal.
    pub fn save_hub(&mut self) {
        let Some(hub) = &mut self.hub else { return };
        if hub.session.copy().is_detached() {
            return self.save_hub_identity();
        }
        hub.unsaved = 0;
        HubFile::of(&hub.store, &hub.session).save_with(&self.place.store_dir(), hub.session.copy());
    }

    /// Saves the copy after many changes. Call it when they are durable.
    pub fn save_hub_if_due(&mut self) {
        let part = self.replica.catalog().state().beads().len() as u64 / SAVE_AFTER_PART;
        if self.hub.as_ref().is_some_and(|hub| hub.unsaved > part.max(SAVE_AFTER)) {
            self.save_hub();
        }
    }

    fn save_hub_identity(&self) {
        if let Some(hub) = &self.hub {
            HubFile::of(&hub.store, &hub.session).save(&self.place.store_dir());
        }
    }

    /// Returns what this machine sends to attach: its identity, its cursor, and the live claims that it knows.
    pub fn hub_attach_arguments(&mut self) -> Option<(Member, HubCursor, Vec<ClaimNews>)> {
        let now_ms = self.replica.now_ms();
        let hub = self.hub.as_mut()?;
        let (cursor, claims) = hub.session.attach_arguments(self.replica.catalog().state(), now_ms);
        let member = Member { store: hub.store.clone(), replica: hub.session.replica.clone() };
        Some((member, cursor, claims))
    }

    /// Records that the hub accepted this machine.
    pub fn hub_attached(&mut self, attached: &Attached) {
        let Some(hub) = &mut self.hub else { return };
        if hub.session.attached(&mut self.replica, attached) {
            files::forget_copy(&self.place.store_dir());
        }
    }

    /// Records that the hub does what it is asked for. Attaching alone does not show that: a server without disk
    /// space still accepts machines, but no changes.
    pub fn hub_back(&mut self) {
        if self.hub.as_mut().is_some_and(|hub| hub.away.take().is_some()) {
            crate::log::note("the hub answers again");
        }
    }

    /// Continues from the snapshot of the hub.
    pub fn hub_restarted(&mut self, copy: HubCopy) {
        if let Some(hub) = &mut self.hub {
            hub.session.restarted(&mut self.replica, copy);
        }
    }

    /// Records that all deltas were taken. Returns whether they brought anything.
    pub fn hub_caught_up(&mut self) -> Result<bool, Failure> {
        let Some(hub) = &mut self.hub else { return Ok(false) };
        let news = hub.session.caught_up(&mut self.replica)?;
        if news {
            self.note_merge();
        }
        Ok(news)
    }

    /// Records that the hub cannot be used.
    pub fn hub_away(&mut self, failure: &Failure) {
        let now_ms = self.replica.now_ms();
        let Some(hub) = &mut self.hub else { return };
        hub.session.detach();
        if hub.away.as_ref().is_none_or(|away| away.code != failure.code) {
            crate::log::note(&format!("the hub cannot be used: {}", failure.message));
        }
        let since_ms = hub.away.as_ref().map_or(now_ms, |away| away.since_ms);
        hub.away = Some(Away { since_ms, code: failure.code.clone(), message: failure.message.clone() });
    }

    /// Generates a new identity, because another machine uses the old one.
    pub fn hub_new_replica(&mut self) {
        if let Some(hub) = &mut self.hub {
            hub.session.draw_replica(files::random());
            crate::log::note("another machine uses the replica id of this one; a new one was generated");
        }
        self.save_hub_identity();
    }

    /// Takes deltas of the hub into memory. The caller commits them. Returns whether they brought anything, and
    /// why the last ones cannot be used.
    pub fn hub_take(&mut self, rows: &[HubRow]) -> Result<(bool, Option<Failure>), Failure> {
        let Some(hub) = &mut self.hub else { return Ok((false, None)) };
        let taken = hub.session.take(&mut self.replica, rows)?;
        hub.unsaved += rows.len() as u64;
        if taken.news > 0 {
            self.note_merge();
        }
        let refused = taken.refused.map(|reason| beads_store::Error::HubInvalid(reason).into());
        Ok((taken.news > 0, refused))
    }

    /// Returns what has to be appended next.
    pub fn hub_outgoing(&mut self) -> Result<Option<Outgoing>, Failure> {
        let now_ms = self.replica.now_ms();
        let Some(hub) = &self.hub else { return Ok(None) };
        Ok(hub.session.outgoing(self.replica.catalog().state(), now_ms)?)
    }

    /// Records that a change got its number.
    pub fn hub_appended(&mut self, outgoing: &Outgoing, cursor: &HubCursor) -> Result<(), Failure> {
        let Some(hub) = &mut self.hub else { return Ok(()) };
        hub.session.numbered(&mut self.replica, &outgoing.delta, cursor)?;
        hub.unsaved += 1;
        Ok(())
    }

    /// Records that the hub granted a claim.
    pub(super) fn hub_granted(&mut self, grant: &Grant, cursor: &HubCursor) -> Result<(), Failure> {
        let Some(hub) = &mut self.hub else { return Ok(()) };
        hub.session.granted(&mut self.replica, grant, cursor)?;
        hub.unsaved += 1;
        Ok(())
    }

    /// Returns whether the hub decides a claim. Fails if it should, but is unreachable.
    pub(super) fn hub_decides(&self, confirm: bool, offline: bool) -> Result<bool, Failure> {
        let scope = self.config.get("claim.scope")?.parse().unwrap_or(Scope::Auto);
        if scope == Scope::Local && !confirm {
            return Ok(false);
        }
        if self.hub.is_none() && self.hub_url().is_none() {
            return Ok(false);
        }
        if offline {
            return self.claim_without_hub("--sandbox does not contact it");
        }
        match self.hub.is_some().then(|| self.hub_away_reason()) {
            // Without a daemon, the command connects for itself.
            None if !self.confirms_later => Ok(true),
            None => self.claim_without_hub("its address cannot be used"),
            Some(Some(reason)) => self.claim_without_hub(&reason),
            Some(None) => Ok(true),
        }
    }

    /// Returns why the hub cannot decide a claim now, if it is away.
    pub fn hub_away_reason(&self) -> Option<String> {
        let away = self.hub.as_ref()?.away.as_ref()?;
        let seconds = self.replica.now_ms().saturating_sub(away.since_ms) / 1_000;
        Some(format!("it has been unreachable for {seconds} s: {}", away.message))
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
        let away = self.hub.as_ref()?.away.as_ref()?;
        Some(self.replica.now_ms().saturating_sub(away.since_ms))
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
