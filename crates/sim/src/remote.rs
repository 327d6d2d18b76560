//! The network between one machine and the remote. Messages get lost, arrive late or twice, or report an old
//! state. While one machine is between fetch and push, another may push first.

use std::cell::RefCell;
use std::rc::Rc;

use beads_store::{CommitId, Error, Pushed, Remote, Repository, Result};

use crate::dice::Dice;
use crate::machine::{Machine, Violation};
use crate::repository::{Commits, SimRepository};

/// How often a message is lost before it arrives.
const LOST_PERCENT: u64 = 8;
const LATE_PERCENT: u64 = 5;
const REPLY_LOST_PERCENT: u64 = 5;
const TWICE_PERCENT: u64 = 5;
const OUTDATED_PERCENT: u64 = 5;
const RIVAL_PERCENT: u64 = 40;
const MIRROR_PERCENT: u64 = 30;

/// When the stores of replaced remotes were written.
const FOREIGN_MS: u64 = 1_699_000_000_000;

/// A push in transit.
#[derive(Debug, Clone)]
struct Message {
    objects: Commits,
    expected: Option<CommitId>,
    new: CommitId,
}

/// The remote repository, and pushes that arrive after their sender gave up.
#[derive(Debug, Clone)]
pub struct Network {
    /// The remote repository.
    pub repository: SimRepository,
    late: Rc<RefCell<Vec<Message>>>,
    /// Former tips of the remote's ref.
    past: Rc<RefCell<Vec<CommitId>>>,
}

impl Network {
    /// Returns a network without late messages.
    pub fn new(repository: SimRepository) -> Self {
        Self { repository, late: Rc::default(), past: Rc::default() }
    }

    /// Delivers a random late push. It may overtake one that was sent earlier.
    pub fn deliver(&self, dice: &mut Dice) -> Result<String> {
        let count = self.late.borrow().len();
        if count == 0 {
            return Ok(String::new());
        }
        let message = self.late.borrow_mut().swap_remove(dice.index(count));
        Ok(format!("a late push: {:?}", self.take(&message)?))
    }

    /// Drops all late messages.
    pub fn drop_late_messages(&self) {
        self.late.borrow_mut().clear();
    }

    /// Forces the remote's ref back to a former tip, or removes it.
    pub fn rewind(&self, dice: &mut Dice) -> String {
        let past = self.past.borrow();
        let target = if dice.chance(30) { None } else { dice.pick(&past).cloned() };
        self.repository.force(target.clone());
        format!("the remote is at {}", target.as_deref().unwrap_or("nothing"))
    }

    /// Replaces the remote with another repository, which has its own history.
    pub fn replace(&self, dice: &mut Dice) -> std::result::Result<String, Violation> {
        let mut other = Machine::new(dice.roll(), FOREIGN_MS);
        other.open()?;
        other.mutate(6, dice)?;
        other.checkpoint()?;
        self.repository.become_copy_of(&other.repository);
        let tip = self.repository.tip().map_err(|error| error.to_string())?;
        *self.past.borrow_mut() = tip.iter().cloned().collect();
        Ok(format!("another remote, at {}", tip.as_deref().unwrap_or("nothing")))
    }

    fn take(&self, message: &Message) -> Result<Pushed> {
        self.repository.receive(&message.objects, &message.new)?;
        if !self.repository.compare_and_swap_ref(message.expected.as_deref(), &message.new)? {
            return Ok(Pushed::Lost("the ref has moved".into()));
        }
        self.past.borrow_mut().push(message.new.clone());
        Ok(Pushed::Done)
    }
}

/// One machine's view of the network during one sync.
pub struct SimRemote<'a> {
    /// The local repository.
    pub own: SimRepository,
    /// The network.
    pub network: Network,
    /// Whether nothing gets through.
    pub partitioned: bool,
    /// Decides what goes wrong; `None` when nothing does.
    pub trouble: Option<RefCell<Dice>>,
    /// Whether fetching moves the local ref to the remote's, as in a mirror clone.
    pub mirrored: bool,
    /// What other machines do between fetch and push.
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

    /// Returns the remote's tip, or a former one.
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
        let message = Message { objects, expected, new: new.to_owned() };
        if self.happens(LATE_PERCENT) {
            self.network.late.borrow_mut().push(message);
            return Err(Self::unreachable());
        }
        let pushed = self.network.take(&message)?;
        if self.happens(TWICE_PERCENT) {
            self.network.late.borrow_mut().push(message);
        }
        if self.happens(REPLY_LOST_PERCENT) {
            return Err(Self::unreachable());
        }
        if pushed == Pushed::Done {
            self.own.track(new)?;
        }
        Ok(pushed)
    }

    fn fetch_archive(&self) -> Result<Option<CommitId>> {
        if self.partitioned || self.happens(LOST_PERCENT) {
            return Err(Self::unreachable());
        }
        let theirs = self.network.repository.archive_tip()?;
        if let Some(theirs) = &theirs {
            self.own.receive_from(&self.network.repository, theirs)?;
        }
        Ok(theirs)
    }

    fn push_archive(&self, expected: Option<&str>, new: &str) -> Result<Pushed> {
        if self.happens(RIVAL_PERCENT) {
            (self.rival.borrow_mut())();
        }
        if self.happens(LOST_PERCENT) {
            return Err(Self::unreachable());
        }
        self.network.repository.receive(&self.own.commits(), new)?;
        let moved = self.network.repository.compare_and_swap_archive(expected, new)?;
        if self.happens(REPLY_LOST_PERCENT) {
            return Err(Self::unreachable());
        }
        Ok(if moved { Pushed::Done } else { Pushed::Lost("the archive has moved".into()) })
    }
}
