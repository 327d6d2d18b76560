//! The engine's side of the hub: appends what the journal made durable, takes what others appended, and asks
//! for claims. One call is under way at a time, so that a call whose answer was lost can be repeated.

use std::collections::VecDeque;

use beads_store::hub::{ClaimRequest, HubCursor, HubSession, Member, Outgoing};
use tokio::sync::mpsc;

use super::engine::{Engine, Stopped};
use super::hub_claims::HubClaiming;
use super::hub_worker::{Command, Event, Worker};
use crate::failure::Failure;
use crate::log;

/// How many deltas are taken at once, so that requests of this machine do not wait long.
const MAX_ROWS: usize = 64;

/// How many reports of the thread wait for the engine. A machine that was away for long may lack more than its
/// memory holds, so the thread fetches no faster than the engine takes.
const MAX_REPORTS: usize = 16;

/// A call that the hub has not answered yet.
pub enum Call {
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

/// The connection to the hub.
pub struct HubLink {
    /// Receives reports, each with the generation of the thread that sent it.
    pub events: mpsc::Receiver<(u64, Event)>,
    report: mpsc::Sender<(u64, Event)>,
    worker: Option<mpsc::UnboundedSender<Command>>,
    generation: u64,
    /// The address that the thread uses, or that could not be used.
    url: Option<String>,
    pub claims: VecDeque<HubClaiming>,
    pub call: Option<Call>,
    claimed_last: bool,
}

impl Default for HubLink {
    fn default() -> Self {
        let (report, events) = mpsc::channel(MAX_REPORTS);
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
            report: Box::new(move |event| report.blocking_send((generation, event)).is_ok()),
            member: Member { store: String::new(), replica: String::new() },
            cursor: HubCursor::default(),
        };
        self.hub.worker = Some(commands);
        std::thread::spawn(move || worker.run());
    }

    pub(super) fn is_hub_attached(&mut self) -> bool {
        self.service.hub_session().is_some_and(|session| session.is_attached())
    }

    fn command_hub(&self, command: Command) {
        if let Some(worker) = &self.hub.worker {
            let _ = worker.send(command);
        }
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
            // What the thread had sent before it heard that this machine could not take a delta.
            Event::Restarted(_) | Event::Rows(_) | Event::CaughtUp if !self.is_hub_attached() => {}
            Event::Restarted(copy) => self.service.hub_restarted(*copy),
            Event::Rows(rows) => {
                let (news, refused) = self.service.hub_take(&rows)?;
                let stopped = self.took_hub_news(news);
                return match refused {
                    Some(failure) if stopped.is_none() => Err(failure),
                    _ => Ok(stopped),
                };
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
                    if self.is_hub_attached() {
                        self.service.hub_back();
                    }
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

    /// Repeats an unanswered call under its number.
    pub(super) fn repeat_hub_call(&self) {
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
}
