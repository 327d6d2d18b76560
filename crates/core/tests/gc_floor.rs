//! The floor of garbage collection: when it rises, how the next epoch resets it, and that replicas converge.

use beads_core::op::{CollectGarbage, Create, Delete, Op, ResetGcFloor};
use beads_core::{Applied, Catalog, Clock, Context, Floor, GC_FLOOR_RESET, Stamp, State};

const DAY: u64 = 24 * 60 * 60 * 1000;
const FIVE_YEARS: u64 = 5 * 365 * DAY;

struct Side {
    catalog: Catalog,
    clock: Clock,
}

impl Side {
    fn new(tag: u16) -> Self {
        Self { catalog: Catalog::default(), clock: Clock::new(Stamp::ZERO, tag) }
    }

    fn run(&mut self, now_ms: u64, op: &Op) -> Applied {
        let mut context = Context {
            actor: "ann".parse().unwrap(),
            now_ms,
            clock: &mut self.clock,
            random: &mut || 4,
            branch: Default::default(),
            lease_ms: 1,
        };
        let applied = op.apply(&self.catalog, &mut context).unwrap();
        let line = serde_json::to_string(&applied.delta).unwrap();
        assert_eq!(serde_json::from_str::<beads_core::Delta>(&line).unwrap(), applied.delta);
        self.catalog.join_delta(&applied.delta).unwrap();
        applied
    }

    fn state(&self) -> &State {
        self.catalog.state()
    }

    fn pull(&mut self, other: &State) {
        self.catalog.join(other);
    }
}

fn create(id: &str) -> Op {
    Op::Create(Box::new(Create { id: Some(id.parse().unwrap()), ..Create::titled(id.parse().unwrap()) }))
}

fn delete(id: &str) -> Op {
    Op::Delete(Delete { id: id.into(), ..Delete::default() })
}

fn collect(newest_foreign_ms: Option<u64>) -> Op {
    Op::CollectGarbage(CollectGarbage { ttl_ms: 7 * DAY, newest_foreign_ms })
}

fn reset() -> Op {
    Op::ResetGcFloor(ResetGcFloor {})
}

#[test]
fn a_fast_clock_cannot_raise_the_floor_above_recent_writes_of_others() {
    let mut ann = Side::new(7);
    ann.run(100 * DAY, &create("bd-1"));
    ann.run(100 * DAY, &delete("bd-1"));
    let fast = 100 * DAY + FIVE_YEARS;
    assert!(ann.run(fast, &collect(Some(101 * DAY))).delta.is_empty(), "others are at day 101");
    let raised = ann.run(fast, &collect(Some(110 * DAY))).delta.gc_floor.unwrap();
    assert_eq!((raised.epoch, raised.stamp.ms()), (0, 103 * DAY));
    assert_eq!(ann.state().format_version(), 1, "epoch 0 is not written");
    let mut alone = Side::new(8);
    alone.run(DAY, &create("bd-1"));
    alone.run(DAY, &delete("bd-1"));
    let raised = alone.run(20 * DAY, &collect(None)).delta.gc_floor.unwrap();
    assert_eq!(raised.stamp.ms(), 13 * DAY, "if only this replica wrote, its own clock counts");
}

/// Returns a replica whose floor is years ahead, so that it dropped its deletion, and one that still has the
/// deletion.
fn after_a_fast_floor() -> (Side, Side) {
    let (mut ann, mut ben) = (Side::new(7), Side::new(8));
    ann.run(100 * DAY, &create("bd-1"));
    ann.run(100 * DAY, &delete("bd-1"));
    ben.pull(ann.state());
    ann.run(100 * DAY + FIVE_YEARS, &collect(None));
    assert_eq!(ann.state().beads().len(), 0);
    (ann, ben)
}

#[test]
fn the_next_epoch_resets_the_floor_and_dropped_beads_can_return() {
    let (mut ann, mut ben) = after_a_fast_floor();
    assert!(ben.run(101 * DAY, &reset()).delta.is_empty(), "there is no floor to reset");
    ann.run(101 * DAY, &reset());
    assert_eq!(ann.state().gc_floor(), Floor { epoch: 1, stamp: Stamp::ZERO });
    assert_eq!(ann.state().format_version(), 2);
    let noted = &ann.state().settings()[GC_FLOOR_RESET];
    assert!(noted.value.as_str().contains("epoch 1") && noted.mark.by().as_str() == "ann");
    ann.pull(ben.state());
    ben.pull(ann.state());
    assert_eq!(ann.state().encode(), ben.state().encode());
    assert_eq!(ann.catalog.deleted().count(), 1, "the deletion is back");
    assert_eq!(ann.state().encode().decode().unwrap().state, *ann.state());
    // The old floor does not drop later deletions.
    ben.run(102 * DAY, &create("bd-2"));
    ben.run(102 * DAY, &delete("bd-2"));
    let mut stale = Side::new(9);
    stale.pull(&after_a_fast_floor().0.catalog.state().clone());
    stale.pull(ben.state());
    assert_eq!(stale.state().encode(), ben.state().encode());
}

#[test]
fn a_floor_in_the_future_is_a_finding_until_it_is_reset() {
    let (mut ann, _) = after_a_fast_floor();
    let found = |side: &Side, now_ms| {
        let findings = side.catalog.findings(now_ms);
        findings.iter().filter(|finding| finding.message.contains("bd repair --reset-gc-floor")).count()
    };
    assert_eq!(found(&ann, 101 * DAY), 1);
    assert_eq!(found(&ann, 100 * DAY + FIVE_YEARS), 0, "then it is in the past");
    ann.run(101 * DAY, &reset());
    assert_eq!(found(&ann, 101 * DAY), 0);
}

#[test]
fn replicas_converge_across_epochs_in_any_order() {
    let (ann, ben) = after_a_fast_floor();
    let mut healed = Side::new(9);
    healed.pull(ann.state());
    healed.run(101 * DAY, &reset());
    healed.run(101 * DAY, &create("bd-3"));
    let states = [ann.state(), ben.state(), healed.state()];
    let mut ends = Vec::new();
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut joined = State::default();
        order.iter().for_each(|index| {
            joined.join(states[*index]);
        });
        // Join all states once more, as replicas do until nothing changes.
        states.iter().for_each(|state| {
            joined.join(state);
        });
        ends.push(joined.encode());
    }
    assert!(ends.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(ends[0].decode().unwrap().state.beads().len(), 2);
}

#[test]
fn records_of_dropped_beads_are_separated() {
    let (mut ann, mut ben) = after_a_fast_floor();
    let edit = ben.run(101 * DAY, &restore());
    ann.run(101 * DAY, &reset());
    assert!(
        ann.catalog.clone().join_delta(&edit.delta).is_err(),
        "the bead is unknown and not below the floor"
    );
    let (known, unknown) = edit.delta.without_unknown_beads(ann.state());
    assert!(known.beads.is_empty());
    assert_eq!(unknown.iter().map(beads_core::BeadId::as_str).collect::<Vec<_>>(), ["bd-1"]);
    ann.catalog.join_delta(&known).unwrap();
    let (all, none) = edit.delta.without_unknown_beads(ben.state());
    assert_eq!((all, none.len()), (edit.delta, 0));
}

fn restore() -> Op {
    Op::Restore(beads_core::op::Restore { id: "bd-1".into(), ..Default::default() })
}
