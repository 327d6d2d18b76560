use crate::dice::Dice;

/// One action on one machine. It has its own dice, so that other steps can be removed without changing it.
#[derive(Debug, Clone, Copy)]
pub struct Step<A> {
    /// The index of the machine.
    pub machine: usize,
    /// The seed of its dice.
    pub dice: u64,
    /// The action.
    pub action: A,
}

impl<A> Step<A> {
    /// Returns a step on one of `machines` machines.
    pub(crate) fn from_dice(dice: &mut Dice, machines: usize, action: impl FnOnce(&mut Dice) -> A) -> Self {
        Self { machine: dice.index(machines), dice: dice.roll(), action: action(dice) }
    }
}
