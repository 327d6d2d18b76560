//! A replica in memory that runs operations one by one.

use beads_core::op::Create;
use beads_core::{Applied, Catalog, Clock, Context, Error, Op, SharedBead, Stamp};

use super::actor;

/// The default length of a lease.
pub const LEASE: u64 = 1_000;
/// The time between two operations.
pub const STEP: u64 = 10;

#[derive(Clone)]
pub struct Side {
    pub catalog: Catalog,
    pub clock: Clock,
    pub now_ms: u64,
    /// The next random numbers. The last one is repeated.
    pub random_numbers: Vec<u64>,
}

impl Side {
    pub fn with(ids: &[&str]) -> Self {
        let mut side = Self {
            catalog: Catalog::default(),
            clock: Clock::new(Stamp::ZERO, 1),
            now_ms: 1_000,
            random_numbers: vec![0],
        };
        ids.iter().for_each(|id| drop(side.done("ann", &create(id))));
        side
    }

    /// Runs an operation and joins its delta.
    pub fn run(&mut self, by: &str, op: &Op) -> Result<Applied, Error> {
        self.now_ms += STEP;
        let numbers = &mut self.random_numbers;
        let mut context = Context {
            actor: actor(by),
            now_ms: self.now_ms,
            clock: &mut self.clock,
            random: &mut || if numbers.len() > 1 { numbers.remove(0) } else { numbers[0] },
            branch: "main".parse().unwrap(),
            lease_ms: LEASE,
        };
        let applied = op.apply(&self.catalog, &mut context)?;
        self.catalog.join_delta(&applied.delta).unwrap();
        Ok(applied)
    }

    pub fn done(&mut self, by: &str, op: &Op) -> Applied {
        self.run(by, op).unwrap_or_else(|error| panic!("{op:?}: {error}"))
    }

    pub fn refused(&mut self, by: &str, op: &Op) -> Error {
        self.run(by, op).expect_err(&format!("{op:?}"))
    }

    pub fn bead(&self, id: &str) -> &SharedBead {
        self.catalog.bead(self.catalog.resolve_any(id).unwrap()).unwrap()
    }

    /// Returns the id of the bead that an operation reports.
    pub fn about<'a>(&'a self, applied: &'a Applied) -> &'a str {
        self.catalog.id_of(applied.bead.as_ref().unwrap()).as_str()
    }
}

pub fn titled(id: &str) -> Create {
    Create { id: Some(id.parse().unwrap()), ..Create::titled("something".parse().unwrap()) }
}

pub fn create(id: &str) -> Op {
    Op::Create(Box::new(titled(id)))
}
