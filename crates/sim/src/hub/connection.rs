//! The connection of a machine to the hub, which loses, repeats and delays messages.

use std::cell::RefCell;
use std::rc::Rc;

use beads_store::hub::{
    Attached, ClaimAnswer, ClaimNews, ClaimRequest, Compaction, Fetched, FoldOutcome, Hub, HubCursor, Member,
    SnapshotHead, Snapshots,
};
use beads_store::{Error, Result};

use super::server::{Server, Ticket};
use crate::dice::Dice;

/// A message that arrives after its sender gave up on it.
type Late = Box<dyn Fn(&mut Server)>;

/// The hub, and messages on their way to it.
#[derive(Clone)]
pub struct Network {
    pub server: Rc<RefCell<Server>>,
    late: Rc<RefCell<Vec<Late>>>,
}

impl Network {
    pub fn new(server: Server) -> Self {
        Self { server: Rc::new(RefCell::new(server)), late: Rc::default() }
    }

    /// Delivers one of the delayed messages.
    pub fn deliver(&self, dice: &mut Dice) {
        let mut late = self.late.borrow_mut();
        if !late.is_empty() {
            let index = dice.index(late.len());
            let message = late.remove(index);
            message(&mut self.server.borrow_mut());
        }
    }

    /// Forgets the delayed messages: their senders have closed their connections.
    pub fn drop_late(&self) {
        self.late.borrow_mut().clear();
    }
}

/// A connection of one machine.
pub struct Connection {
    pub network: Network,
    pub ticket: Ticket,
    /// The faults; `None` for a perfect connection.
    pub trouble: Option<Dice>,
    pub partitioned: bool,
    /// Whether the last error was one of the connection.
    pub broken: bool,
}

impl Connection {
    fn talk<T>(&mut self, call: impl Fn(&mut Server, &Ticket) -> Result<T> + 'static) -> Result<T> {
        if self.partitioned || self.broken {
            return self.lost();
        }
        let ticket = self.ticket.clone();
        let fate = self.trouble.as_mut().map_or(99, |dice| dice.below(100));
        let server = Rc::clone(&self.network.server);
        server.borrow_mut().tick();
        match fate {
            0..=4 => self.lost(),
            // The hub acted, but the answer is swallowed.
            5..=10 => {
                let _ = call(&mut server.borrow_mut(), &ticket);
                self.lost()
            }
            // The message arrives much later.
            11..=14 => {
                let late = move |server: &mut Server| drop(call(server, &ticket));
                self.network.late.borrow_mut().push(Box::new(late));
                self.lost()
            }
            // It arrives twice.
            15..=18 => {
                let first = call(&mut server.borrow_mut(), &ticket);
                let _ = call(&mut server.borrow_mut(), &ticket);
                first
            }
            _ => call(&mut server.borrow_mut(), &ticket),
        }
    }

    fn lost<T>(&mut self) -> Result<T> {
        self.broken = true;
        Err(Error::HubUnreachable("the message was lost".to_owned()))
    }
}

impl Hub for Connection {
    fn attach(&mut self, member: &Member, cursor: &HubCursor, claims: &[ClaimNews]) -> Result<Attached> {
        let (replica, cursor, claims) = (member.replica.clone(), cursor.clone(), claims.to_vec());
        self.ticket.replica.clone_from(&replica);
        let (attached, epoch) = self.talk(move |server, _| Ok(server.attach(&replica, &cursor, &claims)))?;
        self.ticket.epoch = epoch;
        Ok(attached)
    }

    fn append(&mut self, seq: u64, seen: u64, payload: &[u8], claims: &[ClaimNews]) -> Result<HubCursor> {
        let (payload, claims) = (payload.to_vec(), claims.to_vec());
        self.talk(move |server, ticket| server.append(ticket, (seq, seen), &payload, &claims))
    }

    fn settle(&mut self) -> Result<()> {
        self.talk(Server::settle)
    }

    fn fetch_since(&mut self, cursor: &HubCursor) -> Result<Fetched> {
        let cursor = cursor.clone();
        self.talk(move |server, ticket| server.fetch(ticket, &cursor))
    }

    fn claim(&mut self, seq: u64, cursor: &HubCursor, request: &ClaimRequest) -> Result<ClaimAnswer> {
        let (cursor, request) = (cursor.clone(), request.clone());
        self.talk(move |server, ticket| server.claim(ticket, seq, &cursor, &request))
    }
}

impl Snapshots for Connection {
    fn snapshot(&mut self) -> Result<Option<SnapshotHead>> {
        self.talk(|server, ticket| server.snapshot(ticket))
    }

    fn snapshot_part(&mut self, token: &str, part: u32) -> Result<Option<Vec<u8>>> {
        let token = token.to_owned();
        self.talk(move |server, ticket| server.snapshot_part(ticket, &token, part))
    }

    fn compaction(&mut self) -> Result<Compaction> {
        self.talk(|server, ticket| server.compaction(ticket))
    }

    fn begin_snapshot(&mut self, upto: &HubCursor, part_bytes: u32) -> Result<Option<String>> {
        let upto = upto.clone();
        self.talk(move |server, ticket| server.begin_snapshot(ticket, &upto, part_bytes))
    }

    fn put_part(&mut self, token: &str, part: u32, payload: &[u8]) -> Result<bool> {
        let (token, payload) = (token.to_owned(), payload.to_vec());
        self.talk(move |server, ticket| server.put_part(ticket, &token, part, &payload))
    }

    fn propose(&mut self, token: &str, parts: u32, digest: &str) -> Result<FoldOutcome> {
        let (token, digest) = (token.to_owned(), digest.to_owned());
        self.talk(move |server, ticket| server.propose(ticket, &token, parts, &digest))
    }

    fn confirm(&mut self, upto: &HubCursor, digest: &str) -> Result<FoldOutcome> {
        let (upto, digest) = (upto.clone(), digest.to_owned());
        self.talk(move |server, ticket| server.confirm(ticket, &upto, &digest))
    }

    fn trim(&mut self) -> Result<bool> {
        self.talk(Server::trim)
    }
}
