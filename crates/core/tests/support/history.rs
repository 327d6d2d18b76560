//! Histories as data. proptest generates, shrinks and prints them; [`World`](super::world::World) plays them.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// What a step does. The numbers in the [`Step`] select the bead, the field and the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Create,
    /// Creates a bead with the id that a collision gave to another bead.
    Squat,
    Child,
    Write,
    /// A write whose stamp ignores what it overwrites, as with a broken clock.
    Stale,
    Renew,
    Note,
    /// A note whose id does not match its content, as written by a hostile program.
    Forge,
    Delete,
    Restore,
    /// Archives a bead, whatever its status.
    Archive,
    /// Archives a bead and drops the content of archived beads after the archive has it.
    Strip,
    Link,
    Unlink,
    Relink,
    /// An edge with stamps in any order, as written by another program.
    OddLink,
    /// An edge to an id that no bead holds, as written by another program.
    Bare,
    Prefix,
    /// Two machines write with the same actor name in the same millisecond.
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
    Kind::Archive,
    Kind::Strip,
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
    /// The first of the ids that creates choose from. Few ids cause many collisions.
    pub first_id: u8,
    /// The number of ids that creates choose from.
    pub id_count: u8,
    /// Operands are taken modulo this number. A small number makes steps use the same beads.
    pub span: u8,
    /// A bit set of the replicas that start with a bead.
    pub seeded: u8,
    /// Whether replicas have different tags. Without tags, equal stamps occur naturally.
    pub tagged: bool,
    /// Whether wall clocks advance; otherwise they jump.
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
