//! The claim register: who holds a bead, since when and until when (§4.2.3).

use crate::{Actor, Mark, Stamp, Timestamp};

/// The assignee and the end of the lease, each with its own mark. They are merged as a unit: the later claim
/// wins, and of the same claim the later renewal. A renewal only changes `expires` and never `mark`, so the
/// stamp of `mark` can serve as the fence of the claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The mark of the claim.
    pub mark: Mark,
    /// The holder, or `None` if the bead is unassigned.
    pub assignee: Option<Actor>,
    /// The mark of the last renewal, or of the claim if it was never renewed.
    pub expires_mark: Mark,
    /// The end of the lease. `None` means that there is no lease.
    pub expires: Option<Timestamp>,
}

impl Claim {
    /// Returns a new claim.
    pub fn new(mark: Mark, assignee: Option<Actor>, expires: Option<Timestamp>) -> Self {
        Self { expires_mark: mark.clone(), mark, assignee, expires }
    }

    /// Returns the same claim with another end of its lease.
    pub fn renewed(&self, mark: Mark, expires: Option<Timestamp>) -> Self {
        Self { expires_mark: mark, expires, ..self.clone() }
    }

    /// Returns the fencing token, which increases with every claim. `None` if the bead is unassigned.
    pub fn fence(&self) -> Option<Stamp> {
        self.assignee.as_ref().map(|_| self.mark.at())
    }

    /// Returns whether it is a claim of this holder with this fence.
    pub(crate) fn is_under(&self, fence: Stamp, holder: &Actor) -> bool {
        self.fence() == Some(fence) && self.mark.by() == holder && self.assignee.as_ref() == Some(holder)
    }

    /// Returns whether the lease has ended.
    pub fn expired(&self, now_ms: u64) -> bool {
        self.expires.is_some_and(|expires| expires.ms() < now_ms)
    }

    /// Returns whether there is an assignee with a lease. `create --assignee` sets an assignee without a
    /// lease.
    pub fn is_taken(&self) -> bool {
        self.assignee.is_some() && self.expires.is_some()
    }

    /// Returns the holder unless the lease has ended.
    pub fn holder(&self, now_ms: u64) -> Option<&Actor> {
        self.assignee.as_ref().filter(|_| !self.expired(now_ms))
    }

    /// Returns the holder if it is another actor whose lease has not ended.
    pub fn held_by_other(&self, actor: &Actor, now_ms: u64) -> Option<&Actor> {
        self.holder(now_ms).filter(|holder| self.expires.is_some() && *holder != actor)
    }

    /// Keeps the greater of two claims. The lexicographic order by claim, renewal and bytes is total, so this
    /// is a join.
    pub(crate) fn join(&mut self, other: &Self, bytes: impl Fn(&Self) -> Vec<u8>) {
        let key = |claim: &Self| (claim.mark.clone(), claim.expires_mark.clone());
        let other_wins = match key(other).cmp(&key(self)) {
            std::cmp::Ordering::Greater => true,
            std::cmp::Ordering::Less => false,
            std::cmp::Ordering::Equal => other != self && bytes(other) > bytes(self),
        };
        if other_wins {
            self.clone_from(other);
        }
    }
}
