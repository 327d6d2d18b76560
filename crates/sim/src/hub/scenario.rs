//! The steps of a run, fixed before it starts. Every step has its own dice, so that steps can be removed.

use super::HubBug;
use super::node::LEASE_MS;
use crate::dice::Dice;
use crate::run::Failure;
use crate::shrink::report;

/// The maximum error of a wall clock, in either direction: many leases.
const MAX_APART_MS: u64 = 20 * LEASE_MS;

/// One run, from its seed or shrunk.
#[derive(Debug, Clone)]
pub struct HubScenario {
    /// The seed.
    pub seed: u64,
    /// The error of each machine's wall clock.
    pub(super) machines: Vec<i64>,
    /// The number of names that the agents of the machines have.
    pub(super) actors: usize,
    /// A bug of the hub.
    pub bug: Option<HubBug>,
    pub(super) steps: Vec<Step>,
}

/// One action on one machine.
pub type Step = crate::step::Step<Action>;

/// An action or a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Create,
    Write,
    Note,
    /// Claims the next bead.
    Claim,
    /// Claims a bead that an actor of the same name has, perhaps on another machine.
    Reclaim,
    /// Reopens a bead with the claim that it had.
    Reopen,
    /// Offers a claim to the actor of another machine.
    HandOver(usize),
    Renew,
    Release,
    Close,
    /// Exchanges deltas with the hub.
    Exchange,
    Compact,
    /// Writes the files of the hub.
    Save,
    Wait(u64),
    /// A delayed message arrives.
    Deliver,
    Partition,
    Kill,
    PowerLoss,
    /// The machine becomes a copy of another one, with its identity at the hub.
    Clone(usize),
    /// The standby of the hub is promoted.
    FailOver,
    /// A backup of the hub is made.
    BackUp,
    /// The backup replaces the hub.
    Restore,
}

impl HubScenario {
    /// Returns the scenario of a seed.
    pub fn from_seed(seed: u64, length: usize) -> Self {
        let mut dice = Dice::new(seed ^ 0x4b0b);
        let count = 3 + dice.index(3);
        let machines = (0..count).map(|_| dice.within(MAX_APART_MS)).collect();
        // A copy that was not noticed yet has the id of its original, so after a failover the hub cannot wait for it.
        let copies = dice.chance(50);
        // A copied machine has the claims of its original until it is noticed, and so would an actor of the same name.
        let actors = if dice.chance(40) && !copies { 1 + dice.index(count - 1) } else { count };
        let action = |dice: &mut Dice| Action::from_dice(dice, count, copies);
        let steps = (0..length).map(|_| Step::from_dice(&mut dice, count, action)).collect();
        Self { seed, machines, actors, bug: None, steps }
    }

    /// Returns a report of a failure for people, with only the steps that matter.
    pub fn describe(&self, failure: Failure) -> String {
        let with = |steps: &[Step]| Self { steps: steps.to_vec(), ..self.clone() };
        let machines = format!("{:?}", self.machines);
        report((self.seed, machines), &self.steps, failure, |steps| with(steps).run().err())
    }
}

impl Action {
    fn from_dice(dice: &mut Dice, machines: usize, copies: bool) -> Self {
        match dice.below(100) {
            0..=3 => Self::Create,
            4..=13 => Self::Write,
            14..=17 => Self::Note,
            18..=31 => Self::Claim,
            32..=34 => Self::Reclaim,
            35 | 36 => Self::Reopen,
            37 => Self::HandOver(dice.index(machines)),
            38..=41 => Self::Renew,
            42..=45 => Self::Release,
            46..=49 => Self::Close,
            50..=73 => Self::Exchange,
            74..=77 => Self::Compact,
            78..=80 => Self::Save,
            81..=85 => Self::Wait(LEASE_MS / 10 + dice.below(LEASE_MS)),
            86..=88 => Self::Deliver,
            89 | 90 => Self::Partition,
            91..=93 => Self::Kill,
            94 => Self::PowerLoss,
            _ if copies => Self::Clone(dice.index(machines)),
            95 => Self::BackUp,
            96 | 97 => Self::Restore,
            _ => Self::FailOver,
        }
    }
}
