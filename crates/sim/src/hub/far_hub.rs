//! The hub, with latency. Commits of a store are serial: each takes its time behind the gate.

use std::sync::PoisonError;

use beads_store::Result;
use beads_store::hub::{Attached, ClaimAnswer, ClaimNews, ClaimRequest, Fetched, Hub, HubCursor, Member};

use super::fleet::Shared;
use super::server::{Server, Ticket};

/// A connection in virtual time.
pub struct FarHub<'a> {
    shared: &'a Shared,
    index: usize,
    pub round_trip_ms: u64,
    ticket: Ticket,
}

impl<'a> FarHub<'a> {
    pub(super) fn new(shared: &'a Shared, index: usize, round_trip_ms: u64) -> Self {
        Self { shared, index, round_trip_ms, ticket: Ticket::default() }
    }

    fn transmit(&self) {
        let now_ms = self.shared.timeline.now_ms();
        self.shared.timeline.sleep_until(self.index, now_ms + self.round_trip_ms / 2);
    }

    fn talk<T>(&self, call: impl FnOnce(&mut Server, &Ticket) -> T) -> T {
        self.transmit();
        let answer = {
            let mut server = self.shared.server.lock().unwrap_or_else(PoisonError::into_inner);
            server.advance_to(self.shared.timeline.now_ms());
            call(&mut server, &self.ticket)
        };
        self.transmit();
        answer
    }

    /// Like [`talk`](Self::talk) for a call that commits: it waits for the gate, and wakes the other machines.
    fn commit<T>(&self, call: impl FnOnce(&mut Server, &Ticket) -> T) -> T {
        self.transmit();
        let free_ms = {
            let mut server = self.shared.server.lock().unwrap_or_else(PoisonError::into_inner);
            server.pass_gate(self.shared.timeline.now_ms())
        };
        self.shared.timeline.sleep_until(self.index, free_ms);
        let answer = {
            let mut server = self.shared.server.lock().unwrap_or_else(PoisonError::into_inner);
            server.advance_to(free_ms);
            call(&mut server, &self.ticket)
        };
        let arrives_ms = free_ms + self.round_trip_ms / 2;
        let mut notified = self.shared.notified_ms.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, at_ms) in notified.iter_mut().enumerate().filter(|(index, _)| *index != self.index) {
            at_ms.get_or_insert(arrives_ms);
        }
        drop(notified);
        self.transmit();
        answer
    }
}

impl Hub for FarHub<'_> {
    fn attach(&mut self, member: &Member, cursor: &HubCursor, claims: &[ClaimNews]) -> Result<Attached> {
        let (attached, epoch) = self.talk(|server, _| server.attach(&member.replica, cursor, claims));
        self.ticket = Ticket { replica: member.replica.clone(), epoch };
        Ok(attached)
    }

    fn append(&mut self, seq: u64, seen: u64, payload: &[u8], claims: &[ClaimNews]) -> Result<HubCursor> {
        self.commit(|server, ticket| server.append(ticket, (seq, seen), payload, claims))
    }

    fn settle(&mut self) -> Result<()> {
        self.talk(Server::settle)
    }

    fn fetch_since(&mut self, cursor: &HubCursor) -> Result<Fetched> {
        self.talk(|server, ticket| server.fetch(ticket, cursor))
    }

    fn claim(&mut self, seq: u64, cursor: &HubCursor, request: &ClaimRequest) -> Result<ClaimAnswer> {
        self.commit(|server, ticket| server.claim(ticket, seq, cursor, request))
    }
}
