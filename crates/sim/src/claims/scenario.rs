//! What happens in a run, decided before it starts; each step has dice of its own, so that steps can be left out.

use super::node::{LEASE_MS, Scope};
use crate::dice::Dice;
use crate::shrink::shrink_steps;

/// How far wall clocks are apart, to either side: many leases.
const MAX_APART_MS: u64 = 20 * LEASE_MS;

/// One run, from its seed or shrunk.
#[derive(Debug, Clone)]
pub struct ClaimScenario {
    pub seed: u64,
    /// What each machine does with claims, and how far its wall clock is off.
    pub(super) machines: Vec<(Scope, i64)>,
    /// The lease clocks stand still while their machines sleep, as no real one may.
    pub clocks_stop: bool,
    pub(super) steps: Vec<Step>,
}

#[derive(Debug, Clone, Copy)]
pub struct Step {
    pub machine: usize,
    pub dice: u64,
    pub action: Action,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Claim,
    /// Claims without asking the remote.
    ClaimHere,
    Renew,
    Release,
    Close,
    HandOver,
    Create,
    /// Exchanges the store and looks after the refs.
    Sync,
    Wait(u64),
    /// The machine sleeps, and others go on.
    Sleep(u64),
    Deliver,
    Partition,
    Kill,
    /// The same, and the file of claim refs is gone.
    KillAndForget,
    PowerLoss,
}

impl ClaimScenario {
    pub fn from_seed(seed: u64, length: usize) -> Self {
        let mut dice = Dice::new(seed ^ 0xc1a1);
        let count = 3 + dice.index(3);
        let machines: Vec<_> = (0..count).map(|index| (scope(index, &mut dice), apart(&mut dice))).collect();
        let step = |dice: &mut Dice| Step {
            machine: dice.index(count),
            dice: dice.roll(),
            action: Action::from_dice(dice),
        };
        let steps = (0..length).map(|_| step(&mut dice)).collect();
        Self { seed, machines, clocks_stop: false, steps }
    }

    /// A failure as people read it, with the steps that matter.
    pub fn describe(&self, message: String, trace: Vec<String>) -> String {
        let with = |steps: &[Step]| Self { steps: steps.to_vec(), ..self.clone() };
        let run = |steps: &[Step]| with(steps).run().err();
        let (steps, (message, trace)) = shrink_steps(self.steps.clone(), (message, trace), run);
        let (steps, machines) = (steps.len(), &self.machines);
        let mut text = format!("seed {}: {message}\nshrunk to {steps} steps on {machines:?}:\n", self.seed);
        for line in trace {
            text.push_str(&format!("  {line}\n"));
        }
        text
    }
}

/// The first two always ask the remote.
fn scope(index: usize, dice: &mut Dice) -> Scope {
    match dice.below(10) {
        _ if index < 2 => Scope::Remote,
        0..=4 => Scope::Auto,
        5 | 6 => Scope::Old,
        _ => Scope::Remote,
    }
}

fn apart(dice: &mut Dice) -> i64 {
    let off = i64::try_from(dice.below(2 * MAX_APART_MS + 1)).unwrap_or(0);
    off - i64::try_from(MAX_APART_MS).unwrap_or(0)
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
            95 | 96 => Self::KillAndForget,
            _ => Self::PowerLoss,
        }
    }
}
