//! The way from one machine to the remote repository: messages get lost, arrive late, twice, or tell of the past; and
//! while one machine is between fetch and push, another may be faster.

use std::cell::RefCell;
use std::rc::Rc;

use beads_store::{CommitId, Error, Pushed, Remote, Repository, Result};

use crate::dice::Dice;
use crate::machine::{Broken, Machine};
use crate::repository::{Commits, SimRepository};

/// How often each kind of trouble happens to a message.
const LOST_PERCENT: u64 = 8;
const LATE_PERCENT: u64 = 5;
const REPLY_LOST_PERCENT: u64 = 5;
const TWICE_PERCENT: u64 = 5;
const OUTDATED_PERCENT: u64 = 5;
const RIVAL_PERCENT: u64 = 40;
const MIRROR_PERCENT: u64 = 30;

/// When the stores of replaced remotes were written.
const FOREIGN_MS: u64 = 1_699_000_000_000;

/// A push on its way.
#[derive(Debug, Clone)]
struct Parcel {
    objects: Commits,
    expected: Option<CommitId>,
    new: CommitId,
}

/// What lies between the machines: the remote repository, and pushes that were given up by their sender and arrive all
/// the same, later.
#[derive(Debug, Clone)]
pub struct Network {
    pub repository: SimRepository,
    late: Rc<RefCell<Vec<Parcel>>>,
    /// Where the remote's ref has been.
    past: Rc<RefCell<Vec<CommitId>>>,
}

impl Network {
    pub fn new(repository: SimRepository) -> Self {
        Self { repository, late: Rc::default(), past: Rc::default() }
    }

    /// Delivers one late push, whichever; it may come before one that was sent earlier.
    pub fn deliver(&self, dice: &mut Dice) -> Result<String> {
        let count = self.late.borrow().len();
        if count == 0 {
            return Ok(String::new());
        }
        let parcel = self.late.borrow_mut().swap_remove(dice.index(count));
        Ok(format!("a late push: {:?}", self.take(&parcel)?))
    }

    /// Nothing that was sent before arrives any more.
    pub fn calm(&self) {
        self.late.borrow_mut().clear();
    }

    /// Somebody forces the remote's ref back to where it once was, or removes it.
    pub fn rewind(&self, dice: &mut Dice) -> String {
        let past = self.past.borrow();
        let target = if dice.chance(30) { None } else { dice.pick(&past).cloned() };
        self.repository.force(target.clone());
        format!("the remote is at {}", target.as_deref().unwrap_or("nothing"))
    }

    /// The remote is another repository from now on, in which somebody else has worked.
    pub fn replace(&self, dice: &mut Dice) -> std::result::Result<String, Broken> {
        let mut other = Machine::new(dice.roll(), FOREIGN_MS);
        other.open()?;
        other.mutate(6, dice)?;
        other.checkpoint()?;
        self.repository.become_copy_of(&other.repository);
        let tip = self.repository.tip().map_err(|error| error.to_string())?;
        *self.past.borrow_mut() = tip.iter().cloned().collect();
        Ok(format!("another remote, at {}", tip.as_deref().unwrap_or("nothing")))
    }

    fn take(&self, parcel: &Parcel) -> Result<Pushed> {
        self.repository.receive(&parcel.objects, &parcel.new)?;
        if !self.repository.swing(parcel.expected.as_deref(), &parcel.new)? {
            return Ok(Pushed::Lost("the ref is elsewhere".into()));
        }
        self.past.borrow_mut().push(parcel.new.clone());
        Ok(Pushed::Done)
    }
}

/// One machine's view of the network during one sync.
pub struct SimRemote<'a> {
    pub own: SimRepository,
    pub network: Network,
    /// Nothing gets through.
    pub partitioned: bool,
    /// `None` when nothing goes wrong.
    pub trouble: Option<RefCell<Dice>>,
    /// Fetching moves our own ref to where the remote's is, as in a mirror clone.
    pub mirrored: bool,
    /// What others do between our fetch and our push.
    pub rival: RefCell<&'a mut dyn FnMut()>,
}

impl std::fmt::Debug for SimRemote<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SimRemote").field("partitioned", &self.partitioned).finish_non_exhaustive()
    }
}

impl SimRemote<'_> {
    fn happens(&self, percent: u64) -> bool {
        self.trouble.as_ref().is_some_and(|dice| dice.borrow_mut().chance(percent))
    }

    fn unreachable() -> Error {
        Error::Remote { remote: "sim".into(), reason: "no answer".into() }
    }

    /// The remote's ref, or where it was a while ago.
    fn advertised(&self) -> Result<Option<CommitId>> {
        if self.happens(OUTDATED_PERCENT)
            && let Some(dice) = &self.trouble
            && let Some(past) = dice.borrow_mut().pick(&self.network.past.borrow())
        {
            return Ok(Some(past.clone()));
        }
        self.network.repository.tip()
    }
}

impl Remote for SimRemote<'_> {
    fn name(&self) -> &str {
        "sim"
    }

    fn fetch(&self) -> Result<Option<CommitId>> {
        if self.partitioned || self.happens(LOST_PERCENT) {
            return Err(Self::unreachable());
        }
        let theirs = self.advertised()?;
        if let Some(theirs) = &theirs {
            self.own.receive_from(&self.network.repository, theirs)?;
            self.own.track(theirs)?;
            if self.mirrored && self.happens(MIRROR_PERCENT) {
                self.own.force(Some(theirs.clone()));
            }
        }
        Ok(theirs)
    }

    fn push(&self, expected: Option<&str>, new: &str) -> Result<Pushed> {
        if self.happens(RIVAL_PERCENT) {
            (self.rival.borrow_mut())();
        }
        if self.happens(LOST_PERCENT) {
            return Err(Self::unreachable());
        }
        let (objects, expected) = (self.own.commits(), expected.map(str::to_owned));
        let parcel = Parcel { objects, expected, new: new.to_owned() };
        if self.happens(LATE_PERCENT) {
            self.network.late.borrow_mut().push(parcel);
            return Err(Self::unreachable());
        }
        let pushed = self.network.take(&parcel)?;
        if self.happens(TWICE_PERCENT) {
            self.network.late.borrow_mut().push(parcel);
        }
        if self.happens(REPLY_LOST_PERCENT) {
            return Err(Self::unreachable());
        }
        if pushed == Pushed::Done {
            self.own.track(new)?;
        }
        Ok(pushed)
    }
}
