use beads_store::{Balance, GitRepository, Plan, RealWorld, examine};

use beads_core::op::ResetGcFloor;
use beads_core::{Op, Stamp, Timestamp};

use super::Service;
use super::read_only::while_unchanged;
use crate::failure::Failure;
use crate::journal_end;
use crate::place::Place;
use crate::render::{Answer, BalanceAnswer, RepairAnswer, UnreadableAnswer};
use crate::request::Request;

impl Service {
    /// Lowers the garbage-collection floor by starting its next epoch.
    pub(super) fn reset_gc_floor(&mut self, request: &Request) -> Result<Answer, Failure> {
        let before = self.replica.catalog().state().gc_floor();
        if before.stamp == Stamp::ZERO {
            return Ok(Answer::Repair(RepairAnswer::default()));
        }
        let caller = self.caller(request, 0);
        self.replica.apply(&Op::ResetGcFloor(ResetGcFloor {}), &caller)?;
        let (at, epoch) = (Timestamp::from(before.stamp), before.epoch + 1);
        Ok(Answer::Repair(RepairAnswer {
            damage: vec![format!("the garbage-collection floor was at {at}")],
            applied: true,
            actions: vec![format!(
                "reset the floor and began epoch {epoch}; deleted beads that a replica still has will come back when it syncs"
            )],
            ..RepairAnswer::default()
        }))
    }
}

/// Reports damage on disk while the store is open, in any thread. Only a command that holds the lock itself
/// can repair it.
pub(super) fn repair_plan(place: &Place) -> Result<Answer, Failure> {
    while_unchanged(place, |_| repair(place, false))
}

/// Plans the repair of a store, which may be impossible to open, and carries it out if `apply` is set. The
/// caller holds the lock. The repository is opened again, because the git library caches objects.
pub fn repair(place: &Place, apply: bool) -> Result<Answer, Failure> {
    let repository = GitRepository::open(&place.git_dir)?;
    let plan = examine(&place.store_dir(), &repository, RealWorld)?;
    if let Some(plan) = plan.as_ref().filter(|_| apply) {
        journal_end::forget(place);
        plan.apply(&repository)?;
    }
    Ok(answer(plan, apply))
}

fn answer(plan: Option<Plan>, apply: bool) -> Answer {
    let Some(plan) = plan else { return Answer::Repair(RepairAnswer::default()) };
    let unreadable = plan.unreadable.into_iter().map(|lost| UnreadableAnswer {
        file: lost.file,
        line: lost.line,
        reason: lost.reason,
    });
    Answer::Repair(RepairAnswer {
        damage: plan.damage,
        applied: apply,
        actions: plan.actions,
        unreadable: unreadable.collect(),
        backup: plan.backup_ref,
        before: Some(balance(plan.before)),
        after: Some(balance(plan.after)),
    })
}

fn balance(balance: Balance) -> BalanceAnswer {
    let Balance { beads, deleted, dependencies } = balance;
    BalanceAnswer { beads, deleted, dependencies }
}
