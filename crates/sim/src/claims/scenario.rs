//! The steps of a run, fixed before it starts. Every step has its own dice, so that steps can be removed.

use super::node::{LEASE_MS, Scope};
use crate::dice::Dice;
use crate::run::Failure;
use crate::shrink::report;

/// The maximum error of a wall clock, in either direction: many leases.
const MAX_APART_MS: u64 = 20 * LEASE_MS;

/// One run, from its seed or shrunk.
#[derive(Debug, Clone)]
pub struct ClaimScenario {
    /// The seed.
    pub seed: u64,
    /// How each machine decides claims, and the error of its wall clock.
    pub(super) machines: Vec<(Scope, i64)>,
    /// Whether lease clocks stop while their machines sleep. A real one must not.
    pub clocks_stop: bool,
    pub(super) steps: Vec<Step>,
}

/// One action on one machine.
pub type Step = crate::step::Step<Action>;

/// An action or a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Claims the next bead.
    Claim,
    /// Claims without asking the remote.
    ClaimHere,
    Renew,
    Release,
    Close,
    HandOver,
    Create,
    /// Exchanges the store and maintains the claim refs.
    Sync,
    Wait(u64),
    /// The machine sleeps while others continue.
    Sleep(u64),
    Deliver,
    Partition,
    Kill,
    /// Kills the process and deletes its file of claim refs.
    KillAndLoseFile,
    PowerLoss,
}

impl ClaimScenario {
    /// Returns the scenario of a seed.
    pub fn from_seed(seed: u64, length: usize) -> Self {
        let mut dice = Dice::new(seed ^ 0xc1a1);
        let count = 3 + dice.index(3);
        let machines: Vec<_> =
            (0..count).map(|index| (scope(index, &mut dice), dice.within(MAX_APART_MS))).collect();
        let action = Action::from_dice;
        let steps = (0..length).map(|_| Step::from_dice(&mut dice, count, action)).collect();
        Self { seed, machines, clocks_stop: false, steps }
    }

    /// Returns a report of a failure for people, with only the steps that matter.
    pub fn describe(&self, failure: Failure) -> String {
        let with = |steps: &[Step]| Self { steps: steps.to_vec(), ..self.clone() };
        let machines = format!("{:?}", self.machines);
        report((self.seed, machines), &self.steps, failure, |steps| with(steps).run().err())
    }
}

/// Chooses how a machine decides claims. The first two always ask the remote.
fn scope(index: usize, dice: &mut Dice) -> Scope {
    match dice.below(10) {
        _ if index < 2 => Scope::Remote,
        0..=4 => Scope::Auto,
        5 | 6 => Scope::Old,
        _ => Scope::Remote,
    }
}

impl Action {
    fn from_dice(dice: &mut Dice) -> Self {
        match dice.below(100) {
            0..=29 => Self::Claim,
            30..=32 => Self::ClaimHere,
            33..=38 => Self::Renew,
            39..=44 => Self::Release,
            45..=49 => Self::Close,
            50..=52 => Self::HandOver,
            53..=55 => Self::Create,
            56..=76 => Self::Sync,
            77..=82 => Self::Wait(LEASE_MS / 10 + dice.below(LEASE_MS)),
            83..=86 => Self::Sleep(LEASE_MS / 2 + dice.below(LEASE_MS)),
            87..=89 => Self::Deliver,
            90 | 91 => Self::Partition,
            92..=94 => Self::Kill,
            95 | 96 => Self::KillAndLoseFile,
            _ => Self::PowerLoss,
        }
    }
}
