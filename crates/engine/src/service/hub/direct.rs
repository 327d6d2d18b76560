//! A claim without a daemon: the command connects to the hub for itself, catches up, and asks.

use std::time::{Duration, Instant};

use beads_store::Error;
use beads_store::hub::postgres::{Address, PostgresHub};
use beads_store::hub::{ClaimAnswer, ClaimRequest, Hub, HubHistory, HubSession, Snapshots, read_snapshot};

use super::claiming::{UNDECIDED, holds_grants};
use crate::failure::{Code, Failure};
use crate::request::Reply;
use crate::service::Service;
use crate::service::exclusive::{ClaimJob, NextStep};

/// How often a command connects before it gives up: once more after a lost answer, and once for a new id.
const MAX_CONNECTIONS: usize = 3;

/// The pause before a claim is tried again while the hub holds grants.
const HOLD_PAUSE: Duration = Duration::from_millis(200);

impl Service {
    /// Runs a claim that the hub decides in this thread. `Ok(None)` if the request waits and nothing is ready;
    /// `Err` with the job if it has to be decided without the hub.
    pub(in crate::service) fn claim_at_hub(
        &mut self,
        job: Box<ClaimJob>,
    ) -> Result<Option<Reply>, Box<ClaimJob>> {
        let began = Instant::now();
        let connected = self.connect_alone();
        let mut hub = match connected {
            Ok(hub) => hub,
            Err(failure) => return self.claim_elsewhere(job, &failure.message),
        };
        let took_ms = began.elapsed().as_millis();
        self.remarks.push(format!(
            "connected to the hub for this claim alone, which took {took_ms} ms; a daemon keeps the connection"
        ));
        let answered = self.ask_hub(&mut hub, job);
        if self.commit().is_ok() {
            self.save_hub();
        }
        answered
    }

    fn claim_elsewhere(&mut self, job: Box<ClaimJob>, reason: &str) -> Result<Option<Reply>, Box<ClaimJob>> {
        match self.without_hub(job, reason) {
            NextStep::Answered(reply) => Ok(Some(*reply)),
            NextStep::Retry(job) | NextStep::FetchFirst(job) => Err(job),
        }
    }

    /// Connects, takes what the hub has, and appends what it lacks.
    fn connect_alone(&mut self) -> Result<PostgresHub, Failure> {
        let url = self.hub_url().ok_or_else(|| Failure::internal("no hub is configured"))?;
        let address = Address::parse(&url)?;
        self.commit()?;
        if self.hub.is_none() {
            self.begin_hub()?;
        }
        let mut connections = 0;
        loop {
            connections += 1;
            let exchanged = PostgresHub::connect(&address).map_err(Trouble::Hub).and_then(|mut hub| {
                self.exchange_alone(&mut hub)?;
                Ok(hub)
            });
            match exchanged {
                Ok(hub) => return Ok(hub),
                Err(Trouble::Hub(Error::HubReplicaReused)) if connections < MAX_CONNECTIONS => {
                    self.hub_new_replica();
                }
                Err(Trouble::Hub(Error::HubAttachAgain | Error::HubHistory))
                    if connections < MAX_CONNECTIONS => {}
                Err(Trouble::Hub(error)) => return Err(error.into()),
                Err(Trouble::Here(failure)) => return Err(failure),
            }
        }
    }

    fn exchange_alone<H: Hub + Snapshots>(&mut self, hub: &mut H) -> Result<(), Trouble> {
        let arguments = self.hub_attach_arguments();
        let (member, cursor, claims) = arguments.ok_or_else(|| Failure::internal("no hub is in use"))?;
        let attached = hub.attach(&member, &cursor, &claims)?;
        self.hub_attached(&attached);
        if attached.history != HubHistory::Same
            && let Some(copy) = read_snapshot(hub)?
        {
            self.hub_restarted(copy);
        }
        self.fetch_alone(hub)?;
        self.hub_caught_up()?;
        self.commit()?;
        while let Some(outgoing) = self.hub_outgoing()? {
            let Some(session) = self.hub_session() else { break };
            let (seq, seen) = (session.next_seq(), session.cursor().n);
            let cursor = hub.append(seq, seen, &outgoing.payload, &outgoing.claims)?;
            self.hub_appended(&outgoing, &cursor)?;
            self.fetch_alone(hub)?;
        }
        if self.hub_session().is_some_and(HubSession::take_settle) {
            hub.settle()?;
        }
        Ok(())
    }

    fn fetch_alone(&mut self, hub: &mut impl Hub) -> Result<(), Trouble> {
        loop {
            let Some(cursor) = self.hub_session().map(|session| session.cursor().clone()) else {
                return Ok(());
            };
            let fetched = hub.fetch_since(&cursor)?;
            let (_, refused) = self.hub_take(&fetched.rows)?;
            self.commit()?;
            if let Some(failure) = refused {
                return Err(failure.into());
            }
            if !fetched.more {
                return Ok(());
            }
        }
    }

    fn ask_hub(
        &mut self,
        hub: &mut PostgresHub,
        mut job: Box<ClaimJob>,
    ) -> Result<Option<Reply>, Box<ClaimJob>> {
        let deadline = Instant::now() + self.config().duration("claim.timeout");
        let mut reason = UNDECIDED.to_owned();
        for round in 0.. {
            if round > 0 && Instant::now() >= deadline {
                let failure = self.hub_undecided(&reason);
                return Ok(answered(self.answered(job, Err(failure))));
            }
            let request = match self.hub_claim_request(&job) {
                Ok(Some(request)) => request,
                Ok(None) => match self.exchange_alone(hub) {
                    Ok(()) => continue,
                    Err(trouble) => return Ok(answered(self.answered(job, Err(trouble.into())))),
                },
                Err(failure) if failure.code == Code::NothingReady && job.waits() => return Ok(None),
                Err(failure) => return Ok(answered(self.answered(job, Err(failure)))),
            };
            let answer = match self.call_alone(hub, &request) {
                Ok(answer) => answer,
                Err(failure) => return Ok(answered(self.answered(job, Err(failure)))),
            };
            let step = match answer {
                ClaimAnswer::Granted(grant, cursor) => self.record_grant(job, &grant, &cursor),
                ClaimAnswer::Taken(holder, until) => self.hub_taken(job, &request, (holder, until)),
                ClaimAnswer::Hold(left_ms) => {
                    reason = holds_grants(left_ms);
                    std::thread::sleep(HOLD_PAUSE);
                    NextStep::Retry(job)
                }
                ClaimAnswer::Behind => match self.fetch_alone(hub) {
                    Ok(()) => NextStep::Retry(job),
                    Err(trouble) => self.answered(job, Err(trouble.into())),
                },
            };
            job = match step {
                NextStep::Retry(job) | NextStep::FetchFirst(job) => job,
                NextStep::Answered(reply) => return Ok(Some(*reply)),
            };
        }
        Ok(None)
    }

    /// Asks for a claim. If the answer is lost, the call is repeated once under its number.
    fn call_alone(&mut self, hub: &mut PostgresHub, request: &ClaimRequest) -> Result<ClaimAnswer, Failure> {
        let Some(seq) = self.next_hub_number() else { return Err(Failure::internal("no hub is in use")) };
        let cursor = self.hub_session().map(|session| session.cursor().clone()).unwrap_or_default();
        match hub.claim(seq, &cursor, request) {
            Err(Error::HubUnreachable(_) | Error::HubAttachAgain) => {}
            answer => return Ok(answer?),
        }
        *hub = self.connect_alone()?;
        // With the cursor that the candidates are from: it must not claim to have seen more.
        Ok(hub.claim(seq, &cursor, request)?)
    }
}

fn answered(step: NextStep) -> Option<Reply> {
    match step {
        NextStep::Answered(reply) => Some(*reply),
        NextStep::Retry(_) | NextStep::FetchFirst(_) => None,
    }
}

/// Why an exchange failed.
enum Trouble {
    /// The hub.
    Hub(Error),
    /// This store.
    Here(Failure),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Hub(error)
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Here(failure)
    }
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Hub(error) => error.into(),
            Trouble::Here(failure) => failure,
        }
    }
}
