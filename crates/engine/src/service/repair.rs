use beads_store::{Balance, GitRepository, Plan, RealWorld, examine};

use beads_core::op::ResetGcFloor;
use beads_core::{Op, Stamp, Timestamp};

use super::Service;
use crate::failure::Failure;
use crate::journal_end;
use crate::place::Place;
use crate::render::{Answer, BalanceAnswer, RepairAnswer, UnreadableAnswer};
use crate::request::Request;

impl Service {
    /// Shows what is wrong on disk while the store is open. Only a command that holds the lock itself repairs.
    pub(super) fn repair_plan(&self) -> Result<Answer, Failure> {
        repair(&self.place, false)
    }

    /// Starts the next epoch of the garbage-collection floor.
    pub(super) fn reset_gc_floor(&mut self, request: &Request) -> Result<Answer, Failure> {
        let before = self.replica.catalog().state().gc_floor();
        if before.stamp == Stamp::ZERO {
            return Ok(Answer::Repair(RepairAnswer::default()));
        }
        let caller = self.caller(request, 0);
        self.replica.apply(&Op::ResetGcFloor(ResetGcFloor {}), &caller)?;
        let (at, epoch) = (Timestamp::from(before.stamp), before.epoch + 1);
        Ok(Answer::Repair(RepairAnswer {
            damage: vec![format!("the floor of garbage collection stood at {at}")],
            applied: true,
            actions: vec![format!(
                "reset the floor, which begins epoch {epoch}; deleted beads that any replica still holds come back with \
                 its next sync"
            )],
            ..RepairAnswer::default()
        }))
    }
}

/// Repairs a store that perhaps cannot be opened. The caller holds the lock. The repository is opened afresh, because the
/// library remembers objects that it has read once.
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
