//! The remote's claim refs and store, and one machine's connection to it. Requests get lost before or after
//! they take effect, and arrive late or twice. While one is in transit, other machines may act first.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use beads_core::{ClaimRecord, Lineage, Status};
use beads_store::{
    ClaimListing, ClaimRemote, ClaimValue, CommitId, Error, Pushed, RefChange, Remote, Repository, Result,
    Swapped,
};

use crate::dice::Dice;
use crate::repository::{Commits, SimRepository};

const LOST_PERCENT: u64 = 6;
const LATE_PERCENT: u64 = 6;
const TWICE_PERCENT: u64 = 6;
const REPLY_LOST_PERCENT: u64 = 6;

/// A request in transit.
#[derive(Debug, Clone)]
enum Message {
    Swap(Vec<(RefChange, Option<ClaimRecord>)>),
    Push { objects: Commits, expected: Option<CommitId>, new: CommitId },
}

/// The remote, and requests that arrive after their sender gave up.
#[derive(Debug, Clone)]
pub struct Server(Rc<Inner>);

#[derive(Debug)]
struct Inner {
    store: SimRepository,
    refs: RefCell<BTreeMap<String, CommitId>>,
    late: RefCell<Vec<Message>>,
    /// Claim values whose ref was written when the remote's store already had the bead as closed.
    too_late: RefCell<BTreeSet<CommitId>>,
}

impl Server {
    /// Returns a server with this store.
    pub fn new(store: SimRepository) -> Self {
        Self(Rc::new(Inner {
            store,
            refs: RefCell::default(),
            late: RefCell::default(),
            too_late: RefCell::default(),
        }))
    }

    /// Delivers a random late request.
    pub fn deliver(&self, dice: &mut Dice) -> Result<String> {
        let count = self.0.late.borrow().len();
        if count == 0 {
            return Ok("nothing is late".into());
        }
        let message = self.0.late.borrow_mut().swap_remove(dice.index(count));
        match message {
            Message::Swap(changes) => Ok(format!("late: {:?}", self.swap(&changes)?)),
            Message::Push { objects, expected, new } => {
                Ok(format!("late: {:?}", self.push(&objects, expected.as_deref(), &new)?))
            }
        }
    }

    /// Drops all late requests.
    pub fn drop_late_messages(&self) {
        self.0.late.borrow_mut().clear();
    }

    /// Returns whether a claim ref got this value after its bead was closed.
    pub fn is_too_late(&self, commit: &str) -> bool {
        self.0.too_late.borrow().contains(commit)
    }

    /// Returns the values of all claim refs.
    pub fn claims(&self) -> BTreeMap<String, ClaimValue> {
        let value =
            |commit: &CommitId| ClaimValue { commit: commit.clone(), record: self.0.store.claim(commit) };
        self.0.refs.borrow().iter().map(|(name, commit)| (name.clone(), value(commit))).collect()
    }

    fn is_closed(&self, lineage: &Lineage) -> Result<bool> {
        let Some(tip) = self.0.store.tip()? else { return Ok(false) };
        let bead = beads_store::ClaimObjects::bead_of(&self.0.store, &tip, lineage)?;
        Ok(bead.is_some_and(|bead| bead.status.value.status == Status::Closed))
    }

    fn swap(&self, changes: &[(RefChange, Option<ClaimRecord>)]) -> Result<Vec<Swapped>> {
        changes.iter().map(|(change, record)| self.swap_one(change, record.as_ref())).collect()
    }

    fn swap_one(&self, change: &RefChange, record: Option<&ClaimRecord>) -> Result<Swapped> {
        let mut refs = self.0.refs.borrow_mut();
        if refs.get(&change.name) != change.expected.as_ref() {
            return Ok(Swapped::Lost("the ref has moved".into()));
        }
        match (&change.new, record) {
            (Some(new), Some(record)) => {
                self.0.store.keep_claim(new, record.clone());
                if record.is_live() && self.is_closed(&record.lineage)? {
                    self.0.too_late.borrow_mut().insert(new.clone());
                }
                refs.insert(change.name.clone(), new.clone());
            }
            _ => drop(refs.remove(&change.name)),
        }
        Ok(Swapped::Done)
    }

    fn push(&self, objects: &Commits, expected: Option<&str>, new: &str) -> Result<Pushed> {
        self.0.store.receive(objects, new)?;
        let moved = self.0.store.compare_and_swap_ref(expected, new)?;
        Ok(if moved { Pushed::Done } else { Pushed::Lost("the ref has moved".into()) })
    }
}

/// One machine's connection to the server during one request or exchange.
pub struct Connection<'a> {
    /// The local repository.
    pub own: SimRepository,
    /// The server.
    pub server: Server,
    /// Whether nothing gets through.
    pub partitioned: bool,
    /// Decides what goes wrong; `None` when nothing does.
    pub trouble: Option<RefCell<Dice>>,
    /// What happens while a message is in transit.
    pub meanwhile: RefCell<&'a mut dyn FnMut()>,
}

impl Connection<'_> {
    fn happens(&self, percent: u64) -> bool {
        self.trouble.as_ref().is_some_and(|dice| dice.borrow_mut().chance(percent))
    }

    fn transmit(&self) -> Result<()> {
        (self.meanwhile.borrow_mut())();
        if self.partitioned { Err(Self::no_answer()) } else { Ok(()) }
    }

    /// Sends a request and returns the reply.
    fn ask<T>(&self, request: impl FnOnce() -> Result<T>) -> Result<T> {
        self.transmit()?;
        if self.happens(LOST_PERCENT) {
            return Err(Self::no_answer());
        }
        let answer = request()?;
        self.transmit()?;
        if self.happens(REPLY_LOST_PERCENT) {
            return Err(Self::no_answer());
        }
        Ok(answer)
    }

    /// The same for a request that changes something: it may arrive after its sender gave up, or twice.
    fn send<T>(&self, message: Message, request: impl FnOnce() -> Result<T>) -> Result<T> {
        self.ask(|| {
            if self.happens(LATE_PERCENT) {
                self.server.0.late.borrow_mut().push(message);
                return Err(Self::no_answer());
            }
            let answer = request()?;
            if self.happens(TWICE_PERCENT) {
                self.server.0.late.borrow_mut().push(message);
            }
            Ok(answer)
        })
    }

    fn no_answer() -> Error {
        Error::Remote { remote: "sim".into(), reason: "no answer".into() }
    }
}

impl Remote for Connection<'_> {
    fn name(&self) -> &str {
        "sim"
    }

    fn fetch(&self) -> Result<Option<CommitId>> {
        let theirs = self.ask(|| {
            let theirs = self.server.0.store.tip()?;
            if let Some(theirs) = &theirs {
                self.own.receive_from(&self.server.0.store, theirs)?;
            }
            Ok(theirs)
        })?;
        if let Some(theirs) = &theirs {
            self.own.track(theirs)?;
        }
        Ok(theirs)
    }

    fn push(&self, expected: Option<&str>, new: &str) -> Result<Pushed> {
        let objects = self.own.commits();
        let message = Message::Push {
            objects: objects.clone(),
            expected: expected.map(str::to_owned),
            new: new.to_owned(),
        };
        self.send(message, || self.server.push(&objects, expected, new))
    }
}

impl ClaimRemote for Connection<'_> {
    fn claims(&self, _prefix: &str) -> Result<ClaimListing> {
        self.ask(|| Ok(ClaimListing { tip: self.server.0.store.tip()?, refs: self.server.claims() }))
    }

    fn swap(&self, _prefix: &str, changes: &[RefChange]) -> Result<Vec<Swapped>> {
        let record = |change: &RefChange| change.new.as_ref().and_then(|new| self.own.claim(new));
        let changes: Vec<_> = changes.iter().map(|change| (change.clone(), record(change))).collect();
        self.send(Message::Swap(changes.clone()), || self.server.swap(&changes))
    }
}
