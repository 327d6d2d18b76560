//! Describes the hub for `bd hub status`.

use beads_store::hub::postgres::Address;

use crate::failure::Failure;
use crate::render::{Answer, HubErrorStatus, HubStatusAnswer};
use crate::service::Service;

impl Service {
    /// Returns what this machine knows about the hub. The command adds what the hub itself answers.
    pub(in crate::service) fn hub_status(&self) -> Result<Answer, Failure> {
        let url = self.hub_url().map(|url| Address::parse(&url)).transpose()?;
        let state = self.replica.catalog().state();
        let mut status = HubStatusAnswer {
            url: url.map(|address| address.shown()),
            store: state.store_id().map(|minted| minted.id.to_string()),
            ..HubStatusAnswer::default()
        };
        if let Some(hub) = &self.hub {
            status.attached = hub.session.is_attached();
            status.cursor = Some(hub.session.cursor().n);
            status.polls = hub.polls;
            status.away_ms = self.hub_away_ms();
            status.error = hub.away.as_ref().map(|away| away.message.clone());
            status.error_code = hub.away.as_ref().map(|away| away.code.clone());
            status.unsent = !beads_core::Delta::between(hub.session.copy().state(), state).is_empty();
        }
        Ok(Answer::HubStatus(Box::new(status)))
    }

    /// Returns why the hub cannot be used now, for `bd status`.
    pub(in crate::service) fn hub_error(&self) -> Option<HubErrorStatus> {
        let away = self.hub.as_ref()?.away.as_ref()?;
        Some(HubErrorStatus {
            code: away.code.clone(),
            message: away.message.clone(),
            since: beads_core::Timestamp::text_of(away.since_ms),
            age_ms: self.replica.now_ms().saturating_sub(away.since_ms),
        })
    }
}
