//! The claim register: who holds a bead, since when, and until when (§4.2.3).

use crate::{Actor, Mark, Stamp, Timestamp};

/// Two fields with two marks that travel together. Claims compare by the mark of the claim first, so a renewal
/// (which only moves `expires`) never changes `mark`, and its stamp can serve as the fence of the claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub mark: Mark,
    pub assignee: Option<Actor>,
    pub expires_mark: Mark,
    pub expires: Option<Timestamp>,
}

impl Claim {
    pub fn new(mark: Mark, assignee: Option<Actor>, expires: Option<Timestamp>) -> Self {
        Self { expires_mark: mark.clone(), mark, assignee, expires }
    }

    pub fn renewed(&self, mark: Mark, expires: Option<Timestamp>) -> Self {
        Self { expires_mark: mark, expires, ..self.clone() }
    }

    /// The token that only grows from claim to claim.
    pub fn fence(&self) -> Option<Stamp> {
        self.assignee.as_ref().map(|_| self.mark.at())
    }

    pub fn expired(&self, now_ms: u64) -> bool {
        self.expires.is_some_and(|expires| expires.ms() < now_ms)
    }

    /// Taken by a claim: an assignee with a lease. `create --assignee` names somebody without one.
    pub fn is_taken(&self) -> bool {
        self.assignee.is_some() && self.expires.is_some()
    }

    /// The holder, unless the lease has run out.
    pub fn holder(&self, now_ms: u64) -> Option<&Actor> {
        self.assignee.as_ref().filter(|_| !self.expired(now_ms))
    }

    /// Another actor who holds the bead under a lease that still runs.
    pub fn held_by_other(&self, actor: &Actor, now_ms: u64) -> Option<&Actor> {
        self.holder(now_ms).filter(|holder| self.expires.is_some() && *holder != actor)
    }

    /// Lexicographic order over (claim, renewal, bytes) is total, so taking the greater is a join.
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
