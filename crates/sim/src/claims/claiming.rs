//! The actions of agents: claim, renew, release, close and hand over.

use std::collections::BTreeSet;

use beads_core::op::{ClaimBead, ClaimNext, Close, Fence, Guard, HandOver, Renew, Unclaim};
use beads_core::{Actor, CLAIM_REFS, Lineage, Op, Status};
use beads_store::{Attempt, Outcome, SteadyClock};

use super::node::{LEASE_MS, Scope, agent};
use super::run::ClaimRun;
use super::scenario::Action;
use crate::dice::Dice;
use crate::machine::Violation;

/// The maximum number of beads that one claim tries.
const MAX_TRIES: usize = 5;

impl ClaimRun {
    /// Runs `claim --next` like the engine.
    pub(super) fn claim(&mut self, index: usize, dice: &mut Dice) -> Result<String, Violation> {
        if self.nodes[index].claiming {
            return Ok("another claim is under way".into());
        }
        let incarnation = self.nodes[index].incarnation;
        self.nodes[index].claiming = true;
        let outcome = self.claim_next(index, dice);
        if self.nodes[index].incarnation == incarnation {
            self.nodes[index].claiming = false;
        }
        outcome
    }

    fn claim_next(&mut self, index: usize, dice: &mut Dice) -> Result<String, Violation> {
        let actor = self.nodes[index].actor(dice);
        let (mut tried, mut exchanged) = (BTreeSet::new(), false);
        for _ in 0..MAX_TRIES {
            let Some(lineage) = self.candidate(index, &actor, &tried)? else {
                if exchanged || self.fetch(index, dice)?.is_none() {
                    return Ok(format!("nothing for {actor}"));
                }
                exchanged = true;
                continue;
            };
            let node = &mut self.nodes[index];
            let replica = node.replica.as_mut().ok_or("the process is not running")?;
            let begun = node.book.begin(replica, lineage.clone(), &actor, LEASE_MS);
            let attempt = begun.map_err(|error| error.to_string())?;
            let require_current = !exchanged && dice.chance(50);
            let round = node.book.round(replica, CLAIM_REFS.into(), vec![attempt.clone()], require_current);
            node.save();
            let clock = node.clock.clone();
            let result = self.online(index, dice, |own, connection| round.run(own, connection, &clock))?;
            let Some(result) = result else { return Ok("died while claiming".into()) };
            let node = &mut self.nodes[index];
            let outcome =
                result.ok().and_then(|result| node.book.round_finished(result, &node.clock.now()).pop());
            node.book.attempt_finished(&attempt.record.claim, outcome.as_ref());
            node.save();
            match outcome {
                Some(Outcome::Won(..)) => return self.make(index, &attempt, "won"),
                None | Some(Outcome::WonUnchecked(..)) if node.scope == Scope::Auto => {
                    return self.make(index, &attempt, "without an answer");
                }
                None | Some(Outcome::WonUnchecked(..)) => return Ok("no answer; nothing was claimed".into()),
                Some(Outcome::Held(_)) => drop(tried.insert(lineage)),
                Some(Outcome::WonButClosed | Outcome::StoreBehind) => {
                    if matches!(outcome, Some(Outcome::WonButClosed)) {
                        tried.insert(lineage);
                    }
                    exchanged = true;
                    if self.fetch(index, dice)?.is_none() {
                        return Ok("died while fetching".into());
                    }
                }
                Some(Outcome::FenceTooLow(_) | Outcome::Gone | Outcome::Refused(_)) => {}
            }
        }
        Ok(format!("nothing for {actor} after {MAX_TRIES} tries"))
    }

    fn candidate(
        &mut self,
        index: usize,
        actor: &Actor,
        tried: &BTreeSet<Lineage>,
    ) -> Result<Option<Lineage>, Violation> {
        let node = &mut self.nodes[index];
        let (now, next) =
            (node.clock.now(), ClaimNext { spread: Some(index.to_string()), ..Default::default() });
        let replica = node.replica.as_ref().ok_or("the process is not running")?;
        let found = next.candidates(replica.catalog(), actor, replica.now_ms(), 99);
        let free = |lineage: &Lineage| {
            !tried.contains(lineage)
                && !node.book.is_in_flight(lineage)
                && !node.book.is_held_elsewhere(lineage, &now)
        };
        Ok(found.map_err(|error| error.to_string())?.into_iter().find(free))
    }

    /// Writes the claim to the store and answers.
    fn make(&mut self, index: usize, attempt: &Attempt, how: &str) -> Result<String, Violation> {
        let node = &mut self.nodes[index];
        let (lineage, claim) = (&attempt.record.lineage, &attempt.record.claim);
        let id = node.id_of(lineage)?;
        let at = (!attempt.existing).then_some(attempt.record.fence);
        let op = Op::Claim(ClaimBead { id, lease_ms: Some(LEASE_MS), at, ..ClaimBead::default() });
        if let Err(code) = node.apply(&op, &attempt.record.holder)? {
            return Ok(format!("{how}, but {code}"));
        }
        if let Some(replica) = &node.replica {
            node.book.claimed(claim, replica.catalog());
        }
        node.save();
        node.commit()?;
        let confirmed = node.confirmed().into_iter().find(|(held, _)| held == claim);
        let pushed = confirmed.and_then(|(_, own)| own.pushed);
        if let Some((commit, _)) = pushed.as_ref().filter(|(commit, _)| self.server.is_too_late(commit)) {
            return Err(format!("{lineage:?} was handed out by {commit} after its close was on the remote"));
        }
        if pushed.is_some() {
            self.holders.check_unfinished(lineage)?;
        }
        self.holders.observe(&self.nodes[index])?;
        let holder = &attempt.record.holder;
        Ok(format!("{how}: {holder} has {lineage:?} as {claim}, confirmed: {}", pushed.is_some()))
    }

    /// Claims without asking the remote: as an old version, or while the remote is not used.
    pub(super) fn claim_here(&mut self, index: usize, dice: &mut Dice) -> Result<String, Violation> {
        let actor = self.nodes[index].actor(dice);
        let node = &mut self.nodes[index];
        let next = ClaimNext { lease_ms: Some(LEASE_MS), ..ClaimNext::default() };
        let claimed = match node.apply(&Op::ClaimNext(Box::new(next)), &actor)? {
            Ok(claimed) => claimed,
            Err(code) => return Ok(code),
        };
        if let (Some(lineage), Some(fence)) = (&claimed.bead, claimed.fence)
            && node.scope != Scope::Old
        {
            node.book.note_offline_claim(lineage, fence);
        }
        node.commit()?;
        Ok(format!("{actor} has {:?}", claimed.bead))
    }

    /// An agent continues with a bead that it holds, using its fence. An old version may close any open bead.
    pub(super) fn work(
        &mut self,
        index: usize,
        action: Action,
        dice: &mut Dice,
    ) -> Result<String, Violation> {
        let node = &mut self.nodes[index];
        let actor = node.actor(dice);
        let any = node.scope == Scope::Old && action == Action::Close;
        let catalog = node.replica()?.catalog();
        let mine = catalog.live().filter(|(_, bead)| {
            let open = bead.status.value.status != Status::Closed;
            open && (any || bead.claim.is_taken() && bead.claim.assignee.as_ref() == Some(&actor))
        });
        let mine: Vec<_> = mine.map(|(lineage, bead)| (lineage.clone(), bead.claim.fence())).collect();
        let Some((lineage, fence)) = dice.pick(&mine).cloned() else { return Ok("nothing to do".into()) };
        let id = node.id_of(&lineage)?;
        let fence = fence.filter(|_| !any).map(|fence| Fence(node.book.current_fence(fence)));
        let guard = Guard { fence, ..Guard::default() };
        let other = agent(dice.index(self.nodes.len()), dice.below(2));
        let op = match action {
            Action::Renew => Op::Renew(Renew { id, guard, lease_ms: Some(LEASE_MS) }),
            Action::Release => Op::Unclaim(Unclaim { id, guard, ..Unclaim::default() }),
            Action::Close => Op::Close(Close { id, guard, ..Close::default() }),
            _ => Op::HandOver(Box::new(HandOver {
                id,
                guard,
                to: other,
                within_ms: Some(LEASE_MS),
                text: Default::default(),
                force: false,
            })),
        };
        let node = &mut self.nodes[index];
        if let Err(code) = node.apply(&op, &actor)? {
            return Ok(format!("{lineage:?}: {code}"));
        }
        node.commit()?;
        if action == Action::Close {
            self.closed.insert(lineage.clone());
            self.holders.close(&self.nodes[index], &lineage);
        }
        Ok(format!("{actor} with {lineage:?}"))
    }
}
