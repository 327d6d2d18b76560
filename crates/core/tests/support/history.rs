//! Histories as data: proptest makes them, shrinks them and prints them; [`World`](super::world::World) plays them.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// What a step does. Numbers in the [`Step`] choose the bead, the field, the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Create,
    /// A bead whose birth id is what another bead was remapped to.
    Squat,
    Child,
    Write,
    /// A write whose stamp ignores what it overwrites, as a broken clock would make it.
    Stale,
    Renew,
    Note,
    /// A note whose id does not follow from its content, as only a hostile program would write it.
    Forge,
    Delete,
    Restore,
    Link,
    Unlink,
    Relink,
    /// An edge whose stamps are in any order, as another program might write it.
    OddLink,
    /// An edge to an id that no bead holds, as another program might write it.
    Bare,
    Prefix,
    /// Two machines, one actor name, one millisecond.
    Twin,
    Pull,
}

pub const KINDS: &[Kind] = &[
    Kind::Create,
    Kind::Create,
    Kind::Squat,
    Kind::Child,
    Kind::Write,
    Kind::Write,
    Kind::Write,
    Kind::Stale,
    Kind::Renew,
    Kind::Renew,
    Kind::Note,
    Kind::Forge,
    Kind::Delete,
    Kind::Delete,
    Kind::Restore,
    Kind::Link,
    Kind::Link,
    Kind::Unlink,
    Kind::Relink,
    Kind::OddLink,
    Kind::Bare,
    Kind::Prefix,
    Kind::Twin,
    Kind::Twin,
    Kind::Pull,
    Kind::Pull,
    Kind::Pull,
];

#[derive(Debug, Clone)]
pub struct Step {
    pub kind: Kind,
    pub on: u8,
    pub a: u8,
    pub b: u8,
    pub c: u8,
    pub wall: u8,
}

#[derive(Debug, Clone)]
pub struct History {
    pub replicas: usize,
    /// How many ids creates choose from, starting where: few ids make many collisions.
    pub first_id: u8,
    pub id_count: u8,
    /// Operands are taken modulo this: a small span makes steps meet on the same beads.
    pub span: u8,
    /// Which replicas begin with a bead (bit by bit): most interesting histories have some.
    pub seeded: u8,
    /// Whether replicas have tags of their own. Without them, equal stamps happen by themselves.
    pub tagged: bool,
    /// Whether wall clocks advance; otherwise they jump about.
    pub ticking: bool,
    pub steps: Vec<Step>,
}

pub fn history(steps: std::ops::Range<usize>) -> impl Strategy<Value = History> {
    let step = (select(KINDS), 0..4u8, 0..8u8, 0..16u8, 0..8u8, 1..7u8)
        .prop_map(|(kind, on, a, b, c, wall)| Step { kind, on, a, b, c, wall });
    let shape = (2..5usize, 0..7u8, 1..4u8, select(&[2u8, 3, 8]), 0..16u8, any::<bool>(), any::<bool>());
    (shape, vec(step, steps)).prop_map(|(shape, steps)| {
        let (replicas, first_id, id_count, span, seeded, tagged, ticking) = shape;
        History { replicas, first_id, id_count, span, seeded, tagged, ticking, steps }
    })
}
