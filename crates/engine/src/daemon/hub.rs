//! The engine's side of the hub: appends what the journal made durable, takes what others appended, and asks
//! for claims. One call is under way at a time, so that a call whose answer was lost can be repeated.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use beads_store::hub::{ClaimAnswer, ClaimRequest, HubCursor, HubSession, Member, Outgoing};
use tokio::sync::{mpsc, oneshot};

use super::claimer::Claiming;
use super::engine::{Engine, Stopped};
use super::hub_worker::{Command, Event, Worker};
use crate::failure::{Code, Failure};
use crate::log;
use crate::render;
use crate::request::Reply;
use crate::service::NextStep;

/// The pause before a claim is tried again while the hub holds grants.
const HOLD_PAUSE: Duration = Duration::from_millis(200);

/// How many deltas are taken at once, so that requests of this machine do not wait long.
const MAX_ROWS: usize = 64;

/// A call that the hub has not answered yet.
enum Call {
    Append {
        seq: u64,
        seen: u64,
        outgoing: Outgoing,
    },
    /// With the cursor that its candidates are from: a repetition must not claim to have seen more.
    Claim {
        seq: u64,
        cursor: HubCursor,
        request: ClaimRequest,
        claiming: Box<HubClaiming>,
    },
}

/// A claim that the hub decides.
struct HubClaiming {
    claiming: Claiming,
    /// Until when the hub has to decide.
    deadline: Instant,
    not_before: Instant,
}

/// The connection to the hub.
pub struct HubLink {
    /// Receives reports, each with the generation of the thread that sent it.
    pub events: mpsc::UnboundedReceiver<(u64, Event)>,
    report: mpsc::UnboundedSender<(u64, Event)>,
    worker: Option<mpsc::UnboundedSender<Command>>,
    generation: u64,
    /// The address that the thread uses, or that could not be used.
    url: Option<String>,
    claims: VecDeque<HubClaiming>,
    call: Option<Call>,
    claimed_last: bool,
}

impl Default for HubLink {
    fn default() -> Self {
        let (report, events) = mpsc::unbounded_channel();
        let (claims, call) = (VecDeque::new(), None);
        Self { events, report, worker: None, generation: 0, url: None, claims, call, claimed_last: false }
    }
}

impl Engine {
    /// Connects to the hub that is configured now, or disconnects.
    pub(super) fn configure_hub(&mut self) {
        let url = self.service.hub_url();
        if url == self.hub.url && !self.service.hub_store_changed() {
            return;
        }
        self.hub.worker = None;
        self.hub.generation += 1;
        self.hub.call = match self.hub.call.take() {
            Some(Call::Claim { claiming, .. }) => {
                self.hub.claims.push_front(*claiming);
                None
            }
            _ => None,
        };
        self.service.end_hub();
        self.hub.url.clone_from(&url);
        let Some(url) = url else { return };
        match self.service.begin_hub() {
            Ok(()) => self.start_hub_worker(url),
            Err(failure) => log::note(&format!("the hub cannot be used: {}", failure.message)),
        }
    }

    fn start_hub_worker(&mut self, url: String) {
        let (commands, receiver) = mpsc::unbounded_channel();
        let (report, generation) = (self.hub.report.clone(), self.hub.generation);
        let worker = Worker {
            url,
            poll: self.service.config().duration("hub.poll"),
            commands: receiver,
            report: Box::new(move |event| report.send((generation, event)).is_ok()),
            member: Member { store: String::new(), replica: String::new() },
            cursor: HubCursor::default(),
        };
        self.hub.worker = Some(commands);
        std::thread::spawn(move || worker.run());
    }

    fn command_hub(&self, command: Command) {
        if let Some(worker) = &self.hub.worker {
            let _ = worker.send(command);
        }
    }

    /// Queues a claim for the hub.
    pub(super) fn queue_hub_claim(&mut self, claiming: Claiming) {
        let now = Instant::now();
        let deadline = now + self.service.config().duration("claim.timeout");
        self.hub.claims.push_back(HubClaiming { claiming, deadline, not_before: now });
    }

    /// Returns when a claim has to be tried again, or given up.
    pub(super) fn hub_wake(&self) -> Option<Instant> {
        let under_way = match &self.hub.call {
            Some(Call::Claim { claiming, .. }) => Some(claiming.deadline),
            _ => None,
        };
        let now = Instant::now();
        let queued = self.hub.claims.iter().map(|claim| {
            if claim.not_before > now { claim.not_before.min(claim.deadline) } else { claim.deadline }
        });
        queued.chain(under_way).min()
    }

    /// Returns whether claims wait for the hub.
    pub(super) fn awaits_hub(&self) -> bool {
        self.hub_wake().is_some()
    }

    /// Gives up claims that the hub did not decide in time, and makes the next call.
    pub(super) fn on_hub_timer(&mut self) -> Option<Stopped> {
        let now = Instant::now();
        let (late, rest): (VecDeque<_>, VecDeque<_>) =
            std::mem::take(&mut self.hub.claims).into_iter().partition(|claim| claim.deadline <= now);
        self.hub.claims = rest;
        let mut stopped = None;
        for claim in late {
            stopped = stopped.or(self.give_up_on_hub(claim.claiming));
        }
        if let Some(Call::Claim { claiming, .. }) = &mut self.hub.call
            && claiming.deadline <= now
        {
            // If the hub grants it after all, the reply cannot be delivered, and the claim is released.
            let (gone, _) = oneshot::channel::<Reply>();
            let given_up = std::mem::replace(&mut claiming.claiming.reply, gone);
            claiming.deadline = now + Duration::from_secs(24 * 60 * 60);
            let format = claiming.claiming.job.request.output.format;
            let _ = given_up.send(render::failure_reply(self.service.hub_undecided(), format));
        }
        self.step_hub();
        stopped
    }

    fn give_up_on_hub(&mut self, claiming: Claiming) -> Option<Stopped> {
        let before = self.service.position();
        let Claiming { job, reply, until } = claiming;
        let format = job.request.output.format;
        let step = self.service.without_hub(job, "it did not answer within the setting claim.timeout");
        let mut replies = Vec::new();
        self.take_step(step, (reply, until, format), &mut replies);
        let stopped = self.deliver(replies, before);
        self.start_round();
        stopped
    }

    /// Handles a report of the thread. Deltas that arrived in several reports are taken at once, with one sync of
    /// the journal.
    pub(super) fn on_hub_event(&mut self, (generation, event): (u64, Event)) -> Option<Stopped> {
        if generation != self.hub.generation {
            return None;
        }
        let Event::Rows(mut rows) = event else { return self.after_hub_event(event) };
        let mut next = None;
        while rows.len() < MAX_ROWS && next.is_none() {
            match self.hub.events.try_recv() {
                Ok((generation, Event::Rows(more))) if generation == self.hub.generation => rows.extend(more),
                Ok(event) => next = Some(event),
                Err(_) => break,
            }
        }
        let stopped = self.after_hub_event(Event::Rows(rows));
        match next {
            Some((generation, event)) if stopped.is_none() && generation == self.hub.generation => {
                self.after_hub_event(event)
            }
            _ => stopped,
        }
    }

    fn after_hub_event(&mut self, event: Event) -> Option<Stopped> {
        let handled = self.handle_hub_event(event);
        let stopped = match handled {
            Ok(stopped) => stopped,
            Err(failure) => {
                log::note(&format!("hub: {}: {}", failure.code, failure.message));
                self.service.hub_away(&failure);
                // The thread has gone on to the next delta. It has to come back to this one.
                self.command_hub(Command::Reconnect);
                None
            }
        };
        if stopped.is_none() {
            self.step_hub();
        }
        stopped
    }

    fn handle_hub_event(&mut self, event: Event) -> Result<Option<Stopped>, Failure> {
        match event {
            Event::Connected => {
                if let Some((member, cursor, claims)) = self.service.hub_attach_arguments() {
                    self.command_hub(Command::Attach(member, cursor, claims));
                }
            }
            Event::Attached(attached) => self.service.hub_attached(&attached),
            Event::Restarted(copy) => self.service.hub_restarted(*copy),
            Event::Rows(rows) => {
                let news = self.service.hub_take(&rows)?;
                return Ok(self.took_hub_news(news));
            }
            Event::CaughtUp => {
                let news = self.service.hub_caught_up()?;
                self.repeat_hub_call();
                if self.hub.call.is_none() {
                    self.service.hub_back();
                }
                return Ok(self.took_hub_news(news));
            }
            Event::Appended(cursor) => {
                if let Some(Call::Append { outgoing, .. }) = self.hub.call.take() {
                    self.service.hub_back();
                    self.service.hub_appended(&outgoing, &cursor)?;
                }
            }
            Event::Claimed(answer) => return Ok(self.on_hub_claim(answer)),
            Event::Notified(notified) => {
                if let Some(hub) = self.service.hub_mut() {
                    hub.polls = !notified;
                }
            }
            Event::Away(error) => {
                let failure = Failure::from(&error);
                if matches!(error, beads_store::Error::HubReplicaReused) {
                    self.service.hub_new_replica();
                    self.renumber_hub_call();
                }
                if !matches!(error, beads_store::Error::HubAttachAgain | beads_store::Error::HubHistory) {
                    self.service.hub_away(&failure);
                    return Ok(self.refuse_waiting_hub_claims());
                }
            }
        }
        Ok(None)
    }

    /// Makes what arrived durable, and wakes the clients that wait for it.
    fn took_hub_news(&mut self, news: bool) -> Option<Stopped> {
        if !news {
            return None;
        }
        self.changed();
        let stopped = self.serve_waiters();
        if stopped.is_none() {
            self.service.save_hub_if_due();
        }
        stopped
    }

    /// Answers the claims that wait for an unreachable hub.
    fn refuse_waiting_hub_claims(&mut self) -> Option<Stopped> {
        let mut stopped = None;
        let waiting = std::mem::take(&mut self.hub.claims);
        for claim in waiting {
            stopped = stopped.or(self.give_up_on_hub(claim.claiming));
        }
        stopped
    }

    /// Repeats an unanswered call under its number.
    fn repeat_hub_call(&self) {
        match &self.hub.call {
            Some(Call::Append { seq, seen, outgoing }) => {
                let (payload, claims) = (outgoing.payload.clone(), outgoing.claims.clone());
                self.command_hub(Command::Append(*seq, *seen, payload, claims));
            }
            Some(Call::Claim { seq, cursor, request, .. }) => {
                self.command_hub(Command::Claim(*seq, cursor.clone(), request.clone()));
            }
            None => {}
        }
    }

    /// Renumbers the unanswered call for the new replica id.
    fn renumber_hub_call(&mut self) {
        let Some(next) = self.service.next_hub_number() else { return };
        match &mut self.hub.call {
            Some(Call::Append { seq, .. } | Call::Claim { seq, .. }) => *seq = next,
            None => {}
        }
    }

    /// Makes the next call: a claim or an append, in turn.
    pub(super) fn step_hub(&mut self) {
        if self.hub.worker.is_none() || self.hub.call.is_some() {
            return;
        }
        if !self.service.hub_session().is_some_and(|session| session.is_ready()) {
            return;
        }
        // While grants wait for this machine, nothing is granted, so it appends first.
        let holds = self.service.hub_session().is_some_and(|session| session.must_settle());
        if !holds && !self.hub.claimed_last && self.call_for_claim() {
            self.hub.claimed_last = true;
            return;
        }
        self.hub.claimed_last = false;
        if !self.call_for_append() {
            self.hub.claimed_last = self.call_for_claim();
        }
    }

    fn call_for_append(&mut self) -> bool {
        let outgoing = match self.service.hub_outgoing() {
            Ok(Some(outgoing)) => outgoing,
            Ok(None) => {
                if self.service.hub_session().is_some_and(HubSession::take_settle) {
                    self.command_hub(Command::Settle);
                }
                return false;
            }
            Err(failure) => {
                log::note(&format!("hub: {}: {}", failure.code, failure.message));
                return false;
            }
        };
        let Some(session) = self.service.hub_session() else { return false };
        let (seq, seen) = (session.next_seq(), session.cursor().n);
        self.hub.call = Some(Call::Append { seq, seen, outgoing });
        self.repeat_hub_call();
        true
    }

    /// Asks for the first claim in the queue that is due. Returns whether there is one.
    fn call_for_claim(&mut self) -> bool {
        let now = Instant::now();
        let before = self.service.position();
        let mut replies = Vec::new();
        let mut asked = false;
        for _ in 0..self.hub.claims.len() {
            let Some(mut waiting) = self.hub.claims.pop_front() else { break };
            if waiting.claiming.reply.is_closed() {
                continue;
            }
            if waiting.not_before > now {
                self.hub.claims.push_back(waiting);
                continue;
            }
            match self.service.hub_claim_request(&waiting.claiming.job) {
                // It is appended first.
                Ok(None) => self.hub.claims.push_back(waiting),
                Ok(Some(request)) => {
                    let Some(session) = self.service.hub_session() else { break };
                    let (seq, cursor) = (session.next_seq(), session.cursor().clone());
                    waiting.not_before = now;
                    self.hub.call = Some(Call::Claim { seq, cursor, request, claiming: Box::new(waiting) });
                    asked = true;
                    break;
                }
                Err(failure) => {
                    let Claiming { job, reply, until } = waiting.claiming;
                    if failure.code == Code::NothingReady && job.waits() && until > now {
                        self.waiters.add_until(&self.service, job.request, reply, until);
                        continue;
                    }
                    let format = job.request.output.format;
                    let step = self.service.answered(job, Err(failure));
                    self.take_step(step, (reply, until, format), &mut replies);
                }
            }
        }
        if asked {
            self.repeat_hub_call();
        }
        // What these requests closed must become durable, too. A failure will show in the next batch.
        let _ = self.deliver(replies, before);
        asked
    }

    fn on_hub_claim(&mut self, answer: ClaimAnswer) -> Option<Stopped> {
        let Some(Call::Claim { request, claiming, .. }) = self.hub.call.take() else { return None };
        self.service.hub_back();
        let HubClaiming { claiming, deadline, .. } = *claiming;
        let now = Instant::now();
        let retry = match answer {
            ClaimAnswer::Behind => Some(now),
            ClaimAnswer::Hold(_) => Some(now + HOLD_PAUSE),
            _ => None,
        };
        if let Some(not_before) = retry {
            self.hub.claims.push_back(HubClaiming { claiming, deadline, not_before });
            return None;
        }
        let before = self.service.position();
        let Claiming { job, reply, until } = claiming;
        let format = job.request.output.format;
        let step = match answer {
            ClaimAnswer::Granted(grant, cursor) => self.service.record_grant(job, &grant, &cursor),
            ClaimAnswer::Taken(holder, end) => self.service.hub_taken(job, &request, (holder, end)),
            _ => NextStep::Retry(job),
        };
        let mut replies = Vec::new();
        match step {
            NextStep::Retry(job) if job.is_via_hub() => {
                let claiming = Claiming { job, reply, until };
                self.hub.claims.push_back(HubClaiming { claiming, deadline, not_before: now });
            }
            step => self.take_step(step, (reply, until, format), &mut replies),
        }
        self.deliver(replies, before)
    }
}
