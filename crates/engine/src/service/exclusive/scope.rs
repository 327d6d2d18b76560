//! Whether the remote decides a claim.

use beads_core::{CLAIM_REF_PREFIX, CLAIM_REFS};
use beads_store::Repository;
use serde_json::json;

use crate::failure::{Code, Failure};
use crate::scope::Scope;
use crate::service::Service;

/// What a claim needs from the remote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// The claim is made locally.
    Nothing,
    /// Confirmation if the remote answers in time.
    Try,
    /// Confirmation; without it the claim fails.
    Must,
}

/// Others count as active if they made a commit within this time.
const RECENT_MS: u64 = 24 * 60 * 60 * 1000;

/// How long to wait before trying a server again that rejected claim refs.
const REFUSED_MS: u64 = 24 * 60 * 60 * 1000;

impl Service {
    /// Returns what a claim needs from the remote. `confirm`: the caller requires confirmation. `offline`:
    /// the remote must not be contacted.
    pub(super) fn claim_needs(&self, confirm: bool, offline: bool) -> Result<Needs, Failure> {
        let scope = self.config().get("claim.scope")?.parse().unwrap_or(Scope::Auto);
        let wanted = match scope {
            Scope::Local if !confirm => return Ok(Needs::Nothing),
            Scope::Auto if !confirm && (!self.others_are_active() || self.are_refs_refused()) => {
                return Ok(Needs::Nothing);
            }
            Scope::Auto if !confirm => Needs::Try,
            _ => Needs::Must,
        };
        // Without a remote, no other machine can claim anything.
        match self.sync_plan().remote_name() {
            Ok(None) => Ok(Needs::Nothing),
            Ok(Some(name)) if offline && wanted == Needs::Must => {
                let message = format!(
                    "the claim needs the remote {name}, but --sandbox does not contact it; nothing was claimed. To claim on this \
                     machine only, run bd config set claim.scope local"
                );
                Err(Failure::new(Code::NetworkError, message).with(json!({"remote": name})))
            }
            Ok(Some(_)) if offline => Ok(Needs::Nothing),
            Ok(Some(_)) => Ok(wanted),
            Err(_) if wanted == Needs::Try => Ok(Needs::Nothing),
            Err(failure) => Err(failure),
        }
    }

    /// Returns whether claims are tried on the remote where no hub decides them.
    pub(in crate::service) fn uses_claim_refs(&self, offline: bool) -> bool {
        self.claim_needs(false, offline).is_ok_and(|needs| needs != Needs::Nothing)
    }

    /// Returns whether a commit of another clone was received within the last day.
    pub fn others_are_active(&self) -> bool {
        let now_ms = self.replica.now_ms();
        let is_recent = |ms: u64| ms.saturating_add(RECENT_MS) > now_ms;
        if self.sync_state.foreign_ms.is_some_and(is_recent) {
            return true;
        }
        // Nothing was exchanged yet, so what `git clone` fetched was made by others.
        self.sync_state.last_success_ms.is_none()
            && self.repository.tracked().unwrap_or_default().iter().any(|commit| {
                self.repository.inner().commit_time_ms(commit).is_some_and(is_recent)
                    && self.replica.known_tip().is_none_or(|base| base == commit)
            })
    }

    fn are_refs_refused(&self) -> bool {
        let (prefix, now_ms) = (self.ref_prefix(), self.replica.now_ms());
        self.claim_refs.refused.as_ref().is_some_and(|refused| {
            refused.prefix == prefix && refused.since_ms.saturating_add(REFUSED_MS) > now_ms
        })
    }

    /// Returns the prefix of claim refs, which is the same on every machine.
    pub fn ref_prefix(&self) -> String {
        let set = self.replica.catalog().state().setting(CLAIM_REF_PREFIX).unwrap_or_default();
        // A value written by another version may not be safe to use.
        let usable = !set.is_empty() && beads_core::check_ref_prefix(set).is_ok();
        if usable { set.to_owned() } else { CLAIM_REFS.to_owned() }
    }
}
