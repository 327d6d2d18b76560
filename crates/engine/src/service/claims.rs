//! Tracks the claims made through this process: reports their ends to their holders, and confirms them with
//! the remote.

use std::collections::BTreeMap;

use beads_core::{Actor, Event, EventKind, Lineage, Stamp, Status};
use beads_store::Cursor;
use serde_json::{Value, json};

use super::Service;
use super::exclusive::is_claim;
use crate::failure::{Code, Failure};
use crate::render::{Answer, ClaimOverAnswer, ConfirmedAnswer, Done, EachAnswer, SyncAnswer, shown};
use crate::request::{Call, ClaimOver, Format, HandedOut, Output, OverReason, Reply, Request};

/// The number of events searched at a time for a claim that is no longer on a bead.
const EVENTS_AT_ONCE: usize = 1_000;

/// The watched claims by holder and fence. Only a daemon runs long enough to watch claims.
#[derive(Debug, Default)]
pub struct Watched(BTreeMap<Actor, BTreeMap<Stamp, Lineage>>);

impl Service {
    /// Watches all current claims, so that their holders learn when they end.
    pub fn watch_claims(&mut self) {
        let catalog = self.replica.catalog();
        let taken = catalog.live().filter(|(_, bead)| bead.status() == Status::InProgress);
        for (lineage, bead) in taken {
            if let (Some(holder), Some(fence), true) =
                (&bead.claim.assignee, bead.claim.fence(), bead.claim.is_taken())
            {
                self.watched.0.entry(holder.clone()).or_default().insert(fence, lineage.clone());
            }
        }
    }

    /// Watches the claims that an answer hands out, and adds the caller's ended claims to the reply.
    pub(super) fn track_and_report_claims(
        &mut self,
        request: &Request,
        handed_out: Vec<HandedOut>,
        reply: &mut Reply,
    ) {
        for claim in &handed_out {
            let lineage = self.replica.catalog().resolve_any(&claim.id).ok().cloned();
            if let (Some(lineage), Ok(fence)) = (lineage, claim.fence.parse()) {
                if !claim.renewed && !beads_store::hub::is_hub_fence(fence) {
                    self.note_offline_claim(&lineage, fence);
                }
                self.watched.0.entry(request.actor.clone()).or_default().insert(fence, lineage);
            }
        }
        reply.handed_out = handed_out.into_iter().filter(|claim| !claim.renewed).collect();
        // With `--json`, an error is the only line on standard error; the next answer reports the ended
        // claims.
        if reply.exit != 0 && request.output.format == Format::Json {
            return;
        }
        reply.claim_over = self.claims_over(&request.actor);
        for over in &reply.claim_over {
            let line = match request.output.format {
                Format::Text if request.output.quiet => continue,
                Format::Text => crate::escape::escape(&format!("warning: {over}")).into_owned(),
                Format::Json => json!({"claim_over": over}).to_string(),
                Format::Value => continue,
            };
            reply.stderr.push_str(&line);
            reply.stderr.push('\n');
        }
    }

    /// Returns the actor's claims that others ended, or that expired, since its last answer.
    fn claims_over(&mut self, actor: &Actor) -> Vec<ClaimOver> {
        let Some(claims) = self.watched.0.get(actor) else { return Vec::new() };
        let ended: Vec<(Stamp, ClaimOver)> = claims
            .iter()
            .filter_map(|(fence, lineage)| Some((*fence, self.claim_end(lineage, *fence)?)))
            .collect();
        if let Some(claims) = self.watched.0.get_mut(actor) {
            ended.iter().for_each(|(fence, _)| drop(claims.remove(fence)));
        }
        let by_others = ended.into_iter().map(|(_, over)| over);
        by_others
            .filter(|over| over.by.as_ref() != Some(actor) && over.holder.as_ref() != Some(actor))
            .collect()
    }

    /// Returns how the claim with a fence ended; `None` if it has not.
    fn claim_end(&self, lineage: &Lineage, fence: Stamp) -> Option<ClaimOver> {
        let catalog = self.replica.catalog();
        let (known, fence) = (fence, self.claim_refs.book.current_fence(fence));
        let over = |reason, by: Option<&Actor>| ClaimOver {
            id: catalog.id_of(lineage).clone(),
            fence: known.to_string(),
            reason,
            by: by.cloned(),
            holder: None,
            text: None,
        };
        let Some(bead) = catalog.bead(lineage) else { return Some(over(OverReason::Deleted, None)) };
        if let Some(deletion) = &bead.deletion {
            return Some(over(OverReason::Deleted, Some(deletion.mark.by())));
        }
        if bead.status.value.status == Status::Closed {
            let text = bead.status.value.closed_reason.non_empty().map(str::to_owned);
            let reason = if bead.is_cancelled() { OverReason::Cancelled } else { OverReason::Closed };
            return Some(ClaimOver { text, ..over(reason, Some(bead.status.mark.by())) });
        }
        if bead.claim.fence() != Some(fence) {
            let (by, holder) = (Some(bead.claim.mark.by()), bead.claim.assignee.clone());
            let reason = if holder.is_some() { OverReason::Taken } else { OverReason::Released };
            return Some(ClaimOver { holder, ..over(reason, by) });
        }
        bead.claim.expired(self.replica.lease_now_ms()).then(|| over(OverReason::Expired, None))
    }

    /// Answers whether the claim with a fence has ended.
    pub(super) fn claim_over(&self, fence: Stamp) -> Result<Answer, Failure> {
        let lineage = match self.claimed_under(fence) {
            Some(lineage) => lineage,
            None => self.once_claimed_under(fence)?,
        };
        let claim_over = self.claim_end(&lineage, fence);
        let (over, fence) = (claim_over.is_some(), fence.to_string());
        Ok(Answer::ClaimOver(ClaimOverAnswer { over, fence, claim_over }))
    }

    /// Returns the bead of a watched or current claim.
    fn claimed_under(&self, fence: Stamp) -> Option<Lineage> {
        let watched = self.watched.0.values().find_map(|claims| claims.get(&fence));
        let catalog = self.replica.catalog();
        let found = || catalog.live().find(|(_, bead)| bead.claim.fence() == Some(fence));
        watched.or_else(|| found().map(|(lineage, _)| lineage)).cloned()
    }

    /// Returns the bead of a past claim, found in the events.
    fn once_claimed_under(&self, fence: Stamp) -> Result<Lineage, Failure> {
        let catalog = self.replica.catalog();
        let text = fence.to_string();
        let wanted =
            |event: &Event| event.kind == EventKind::Claimed && event.fence.as_deref() == Some(text.as_str());
        let mut since: Cursor = "0".parse()?;
        loop {
            let batch = self.replica.events_since(&since, EVENTS_AT_ONCE, wanted)?;
            let id = batch.events.first().and_then(|(_, logged)| logged.event.id.clone());
            if let Some(id) = id {
                return Ok(catalog.resolve_any(id.as_str())?.clone());
            }
            if !batch.more {
                let message = format!("there is no claim with the fence {text}");
                return Err(Failure::new(Code::NotFound, message));
            }
            since = batch.cursor;
        }
    }

    /// Makes a claim that has to be confirmed by a sync with the remote.
    pub(super) fn confirm(
        &mut self,
        request: &Request,
        call: &Call,
        output: &Output,
    ) -> Result<Answer, Failure> {
        if !is_claim(call) {
            return Err(Failure::usage(
                "only a request with a single claim can be confirmed; nothing was changed",
            ));
        }
        let answer = self.call(request, call, output)?;
        let claimed = serde_json::to_value(shown(&answer, output.dialect)).map_err(Failure::internal)?;
        if self.confirms_later {
            return Ok(Answer::Unconfirmed(claimed));
        }
        self.commit()?;
        let synced = self.sync_now();
        self.confirmed(claimed, synced)
    }

    /// Returns the answer to a claim after a sync: confirmed, or lost to another machine.
    pub fn confirmed(&self, claimed: Value, synced: Result<SyncAnswer, Failure>) -> Result<Answer, Failure> {
        let (id, fence) = (claimed["id"].as_str().unwrap_or_default(), &claimed["fence"]);
        let synced = synced.map_err(|failure| {
            let message = format!("claimed here, but not confirmed: {}", failure.message);
            Failure { message, ..failure }.with(json!({"id": id, "fence": fence}))
        })?;
        let lineage = self.replica.catalog().resolve_any(id)?;
        let now = self.reader().view(lineage)?;
        if now.assignee_at.map(|at| at.to_string()).as_deref() != fence.as_str() {
            let expires = now.assignee_expires.map(|time| time.to_string());
            let holder = now.assignee.as_ref().map_or("another actor", |holder| holder.as_str());
            let message = format!("{id} was claimed by {holder} on another machine first");
            let details = json!({"id": id, "holder": now.assignee, "expires": expires});
            return Err(Failure::new(Code::AlreadyClaimed, message).with(details));
        }
        let remote = synced.remote.map_or(Value::Null, Value::from);
        Ok(Answer::Confirmed(ConfirmedAnswer { claimed, remote }))
    }
}

/// Returns the claims that an answer hands out.
pub fn claims(answer: &Answer, request: &Request) -> Vec<HandedOut> {
    let handed_out = |id: String, fence: String, renewed: bool| HandedOut {
        actor: request.actor.clone(),
        request_id: request.request_id.clone(),
        id,
        fence,
        renewed,
    };
    let one = |done: &Done| {
        let claimed = matches!(done.verb, "claimed" | "renewed") && !done.dry_run;
        let bead = done.bead.as_ref().filter(|_| claimed)?;
        Some(handed_out(bead.id.to_string(), done.fence?.to_string(), done.renewed))
    };
    match answer {
        Answer::One(done) => one(done).into_iter().collect(),
        Answer::Many(many) => many.iter().filter_map(one).collect(),
        Answer::Partly(partly) => claims(&partly.done, request),
        Answer::ClosedAndClaimed(both) => both.claimed.iter().filter_map(|done| one(done)).collect(),
        Answer::Batch(batch) => batch.results.iter().filter_map(one).collect(),
        Answer::Each(each) => each
            .iter()
            .filter_map(|item| match item {
                EachAnswer::Done(done) => one(done),
                EachAnswer::Failed(_) => None,
            })
            .collect(),
        Answer::Confirmed(ConfirmedAnswer { claimed, .. }) => {
            let text = |name: &str| claimed[name].as_str().map(str::to_owned);
            let renewed = claimed["renewed"] == true;
            text("id")
                .zip(text("fence"))
                .map(|(id, fence)| handed_out(id, fence, renewed))
                .into_iter()
                .collect()
        }
        _ => Vec::new(),
    }
}
