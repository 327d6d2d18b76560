//! Seeded catalogs for benchmarks, so that every run measures the same data.

use beads_core::op::{Create, DepAdd};
use beads_core::{Actor, Applied, Catalog, Clock, Context, EdgeKind, Line, Op, Result, Stamp};

/// A catalog and everything an operation on it needs.
#[derive(Debug, Clone)]
pub struct Bench {
    pub catalog: Catalog,
    clock: Clock,
    random: u64,
    now_ms: u64,
}

impl Bench {
    /// Returns a store with this many open beads. Every second one waits for the one before it.
    pub fn new(beads: usize) -> Result<Self> {
        let mut bench = Self {
            catalog: Catalog::default(),
            clock: Clock::new(Stamp::ZERO, 1),
            random: 1,
            now_ms: 1_750_000_000_000,
        };
        let mut last = None;
        for number in 0..beads {
            let applied = bench.apply(&create(number)?)?;
            bench.catalog.join_delta(&applied.delta)?;
            let id = applied.bead.map(|bead| bench.catalog.id_of(&bead).to_string()).unwrap_or_default();
            if let Some(last) = last.replace(id.clone()).filter(|_| number % 2 == 1) {
                let add = DepAdd { from: id, to: last, kind: EdgeKind::Blocks };
                let applied = bench.apply(&Op::DepAdd(add))?;
                bench.catalog.join_delta(&applied.delta)?;
            }
        }
        Ok(bench)
    }

    /// Returns what an operation would change.
    pub fn apply(&mut self, op: &Op) -> Result<Applied> {
        self.now_ms += 1;
        let random = &mut self.random;
        let mut context = Context {
            actor: "bench@here".parse::<Actor>()?,
            now_ms: self.now_ms,
            clock: &mut self.clock,
            random: &mut || {
                *random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                *random ^ (*random >> 29)
            },
            branch: Line::default(),
            lease_ms: 7_200_000,
        };
        op.apply(&self.catalog, &mut context)
    }

    pub fn now_ms(&self) -> u64 {
        self.now_ms
    }
}

/// Returns a create like those of agents.
pub fn create(number: usize) -> Result<Op> {
    let mut create = Create::titled(format!("Measure number {number}").parse()?);
    create.description = "Once, and then once more, and tell the median.".parse()?;
    Ok(Op::Create(Box::new(create)))
}
