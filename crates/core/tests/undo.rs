//! Undo restores what an operation changed, and undoing the undo does it again.

use std::collections::BTreeMap;

use beads_core::op::{
    Change, ClaimBead, Close, Create, Delete, Dep, DepAdd, DepRemove, DepRole, NoteAdd, Op, Renew, Reopen,
    Restore, SetPrefix, Unclaim, Undo, Update,
};
use beads_core::{
    Catalog, Claim, Clock, Context, Delta, Edge, EdgeKey, EdgeKind, Error, Field, Lineage, Patch, Stamp,
};
use serde_json::Value;

use crate::support::{actor, id, mark, value};

struct Side {
    catalog: Catalog,
    clock: Clock,
    now_ms: u64,
}

/// Everything that undo must restore: liveness and values of the beads, and present edges.
type Visible = (BTreeMap<String, (bool, Vec<Value>)>, Vec<String>);

impl Side {
    fn new() -> Self {
        let mut side = Self { catalog: Catalog::default(), clock: Clock::new(Stamp::ZERO, 1), now_ms: 1_000 };
        for id in ["bd-1", "bd-2", "bd-3", "bd-4"] {
            side.run("ann", &create(id));
        }
        side.run("ann", &Op::Close(Close { id: "bd-3".into(), ..Close::default() }));
        side.run("ann", &Op::Claim(ClaimBead { id: "bd-2".into(), ..ClaimBead::default() }));
        side.run("ann", &dep("bd-4", "bd-2"));
        side.run("ann", &Op::Delete(Delete { id: "bd-4".into(), ..Delete::default() }));
        side
    }

    fn try_run(&mut self, by: &str, op: &Op) -> Result<Option<Undo>, Error> {
        let before = self.catalog.clone();
        let delta = self.apply(by, op)?;
        Ok(Undo::of(&before, &delta, &actor(by), self.now_ms))
    }

    fn apply(&mut self, by: &str, op: &Op) -> Result<Delta, Error> {
        self.now_ms += 10;
        let mut context = Context {
            actor: actor(by),
            now_ms: self.now_ms,
            clock: &mut self.clock,
            random: &mut || 0,
            branch: Default::default(),
            lease_ms: 100_000,
        };
        let delta: Delta = op.apply(&self.catalog, &mut context)?.delta;
        self.catalog.join_delta(&delta).unwrap();
        Ok(delta)
    }

    fn run(&mut self, by: &str, op: &Op) -> Undo {
        self.try_run(by, op).unwrap().unwrap()
    }

    fn visible(&self) -> Visible {
        let fields =
            |bead: &beads_core::Bead| Field::ALL.iter().map(|field| bead.value_json(*field)).collect();
        let beads = self.catalog.state().beads().iter();
        let beads = beads.map(|(lineage, bead)| {
            (self.catalog.id_of(lineage).to_string(), (bead.deletion.is_none(), fields(bead)))
        });
        let edges = self.catalog.state().edges().iter().filter(|(_, edge)| !edge.deleted);
        (beads.collect(), edges.map(|(key, _)| format!("{key:?}")).collect())
    }
}

fn create(id: &str) -> Op {
    Op::Create(Box::new(Create {
        id: Some(id.parse().unwrap()),
        ..Create::titled(format!("title of {id}").parse().unwrap())
    }))
}

fn dep(from: &str, to: &str) -> Op {
    Op::DepAdd(DepAdd { from: from.into(), to: to.into(), kind: EdgeKind::Blocks })
}

fn update(id: &str, title: &str) -> Op {
    Op::Update(Box::new(Update { title: Some(title.parse().unwrap()), ..Update::of(id) }))
}

fn undo(undo: &Undo) -> Op {
    Op::Undo(Box::new(undo.clone()))
}

#[test]
fn every_kind_of_operation_can_be_undone_and_redone() {
    let Op::Create(made) = create("bd-9") else { unreachable!("create returns Op::Create") };
    let born = Create { deps: vec![Dep { role: DepRole::DependsOn, id: "bd-1".into() }], ..*made };
    let moved = Update {
        priority: Some("0".parse().unwrap()),
        description: Some("long".parse().unwrap()),
        parent: Some(Change::Set("bd-2".into())),
        ..Update::of("bd-1")
    };
    let ops = [
        Op::Create(Box::new(born)),
        update("bd-1", "another"),
        Op::Update(Box::new(moved)),
        Op::Close(Close { id: "bd-2".into(), reason: "done".parse().unwrap(), ..Close::default() }),
        Op::Reopen(Reopen { id: "bd-3".into(), ..Reopen::default() }),
        Op::Claim(ClaimBead { id: "bd-1".into(), ..ClaimBead::default() }),
        Op::Unclaim(Unclaim { id: "bd-2".into(), reason: "tired".parse().unwrap(), ..Unclaim::default() }),
        Op::Delete(Delete { id: "bd-1".into(), ..Delete::default() }),
        Op::Restore(Restore { id: "bd-4".into(), ..Restore::default() }),
        dep("bd-1", "bd-2"),
    ];
    for op in ops {
        assert_undo_and_redo(&mut Side::new(), &op);
    }
    let mut side = Side::new();
    side.run("ann", &dep("bd-1", "bd-2"));
    let remove = DepRemove { from: "bd-1".into(), to: "bd-2".into(), kind: EdgeKind::Blocks };
    assert_undo_and_redo(&mut side, &Op::DepRemove(remove));
}

fn assert_undo_and_redo(side: &mut Side, op: &Op) {
    let before = side.visible();
    let done = side.run("ann", op);
    let after = side.visible();
    assert_ne!(before, after, "{op:?}");
    let stored: Undo = serde_json::from_str(&serde_json::to_string(&done).unwrap()).unwrap();
    assert_eq!(stored, done, "the undo survives the journal");
    let undone = side.run("ann", &undo(&stored));
    let mut back = side.visible();
    // Undoing a creation leaves a tombstone, like every deletion.
    back.0.retain(|id, (live, _)| *live || before.0.contains_key(id));
    assert_eq!(before, back, "{op:?}");
    side.run("ann", &undo(&undone));
    assert_eq!(after, side.visible(), "redo: {op:?}");
}

#[test]
fn later_writes_to_the_same_place_block_an_undo() {
    let remove = DepRemove { from: "bd-1".into(), to: "bd-2".into(), kind: EdgeKind::Blocks };
    let since: [(Op, Op, &str); 7] = [
        (dep("bd-1", "bd-2"), Op::DepRemove(remove), "dependency (blocks)"),
        (update("bd-1", "mine"), update("bd-1", "yours"), "title"),
        (update("bd-1", "mine"), Op::Delete(Delete { id: "bd-1".into(), ..Delete::default() }), "deletion"),
        (create("bd-9"), update("bd-9", "yours"), "later change"),
        (create("bd-9"), dep("bd-1", "bd-9"), "dependency (blocks)"),
        (
            Op::Claim(ClaimBead { id: "bd-1".into(), ..ClaimBead::default() }),
            Op::Unclaim(Unclaim { id: "bd-1".into(), force: true, ..Unclaim::default() }),
            "assignee",
        ),
        (
            Op::Delete(Delete { id: "bd-1".into(), ..Delete::default() }),
            Op::Restore(Restore { id: "bd-1".into(), ..Restore::default() }),
            "restoration",
        ),
    ];
    for (mine, yours, what) in since {
        let mut side = Side::new();
        let done = side.run("ann", &mine);
        side.run("ben", &yours);
        let before = side.visible();
        let Err(Error::UndoBlocked(obstacles)) = side.try_run("ann", &undo(&done)) else {
            panic!("{mine:?} after {yours:?}")
        };
        assert!(obstacles.iter().any(|one| one.what == what), "{obstacles:?}");
        assert!(obstacles.iter().all(|one| one.mark.by() == &actor("ben")), "{obstacles:?}");
        assert_eq!(before, side.visible());
    }
}

#[test]
fn writes_to_other_places_do_not_block_an_undo() {
    let mut side = Side::new();
    let done = side.run("ann", &update("bd-1", "mine"));
    let other = Update { priority: Some("0".parse().unwrap()), ..Update::of("bd-1") };
    side.run("ben", &Op::Update(Box::new(other)));
    side.run(
        "ben",
        &Op::NoteAdd(NoteAdd { id: "bd-1".into(), content: "hm".parse().unwrap(), ..NoteAdd::default() }),
    );
    side.run("ann", &undo(&done));
    let bead = side.catalog.bead(side.catalog.resolve("bd-1").unwrap()).unwrap();
    assert_eq!(bead.value_json(Field::Title), "title of bd-1");
    assert_eq!(bead.value_json(Field::Priority), 0);
}

#[test]
fn notes_and_very_large_changes_cannot_be_undone() {
    let mut side = Side::new();
    let note = NoteAdd { id: "bd-1".into(), content: "hm".parse().unwrap(), ..NoteAdd::default() };
    let noted = side.run("ann", &Op::NoteAdd(note));
    assert!(
        matches!(side.try_run("ann", &undo(&noted)), Err(Error::CannotUndo(why)) if why.contains("notes"))
    );
    let long = |text: &str| {
        let description = Some(text.repeat(70_000).parse().unwrap());
        Op::Update(Box::new(Update { description, ..Update::of("bd-1") }))
    };
    side.run("ann", &long("a"));
    let large = side.run("ann", &long("b"));
    assert!(large.lost && large.beads.is_empty());
    assert!(matches!(side.try_run("ann", &undo(&large)), Err(Error::CannotUndo(_))));
}

#[test]
fn parts_of_one_operation_are_undone_together() {
    let mut side = Side::new();
    let before = side.visible();
    let gone = Op::Delete(Delete { id: "bd-1".into(), ..Delete::default() });
    let back = Op::Restore(Restore { id: "bd-1".into(), ..Restore::default() });
    let ops = [update("bd-1", "one"), update("bd-1", "two"), dep("bd-1", "bd-2"), gone, back];
    let (start, since) = (side.catalog.clone(), side.now_ms);
    let mut whole = Delta::default();
    for (index, op) in ops.iter().enumerate() {
        whole.join(&side.apply("ann", op).unwrap());
        let all = Undo::of(&start, &whole, &actor("ann"), since).unwrap();
        let mut side = Side { catalog: start.clone(), clock: side.clock.clone(), now_ms: side.now_ms };
        side.catalog.join_delta(&whole).unwrap();
        side.run("ann", &undo(&all));
        assert_eq!(before, side.visible(), "after {index}");
    }
}

#[test]
fn the_limits_on_what_can_be_undone_are_exact() {
    for (bytes, lost) in [(64 * 1024, false), (64 * 1024 + 1, true)] {
        let mut side = Side::new();
        let describe = |text: String| {
            Op::Update(Box::new(Update { description: Some(text.parse().unwrap()), ..Update::of("bd-1") }))
        };
        // The quotes around the text count too.
        side.run("ann", &describe("a".repeat(bytes - 2)));
        assert_eq!(side.run("ann", &describe("b".into())).lost, lost, "{bytes}");
    }
    let at = mark(5, 0, "ann");
    let lineage = |number: usize| Lineage::new(id(&format!("bd-{number}")), at.at(), actor("ann"));
    for (beads, edges, lost) in [(1_000, 0, false), (1_001, 0, true), (999, 1, false), (999, 2, true)] {
        let mut delta = Delta::default();
        for number in 0..beads {
            delta.beads.insert(lineage(number), value::birth(&at));
        }
        for to in 1..=edges {
            let key = EdgeKey::new(&lineage(0), &lineage(to), EdgeKind::Blocks);
            delta.edges.insert(key, Edge::added(at.clone()));
        }
        let undo = Undo::of(&Catalog::default(), &delta, &actor("ann"), 5).unwrap();
        assert_eq!(undo.lost, lost, "{beads} and {edges}");
    }
}

#[test]
fn imported_writes_cannot_be_undone() {
    let at = mark(5, 0, "ann");
    let delta = Delta::of_bead(Lineage::new(id("bd-a"), at.at(), actor("ann")), value::birth(&at));
    let lost = |by: &str, at_ms: u64| Undo::of(&Catalog::default(), &delta, &actor(by), at_ms).unwrap().lost;
    assert!(!lost("ann", 5) && !lost("ann", 4));
    assert!(lost("ben", 5) && lost("ann", 6));
}

/// The fence of a claim that the remote decides is minted before the answer arrives.
#[test]
fn a_claim_with_an_earlier_fence_can_be_undone() {
    let mut side = Side::new();
    let lineage = side.catalog.resolve("bd-1").unwrap().clone();
    let claim = Claim::new(mark(5_000, 0, "ann"), Some(actor("ann")), None);
    let delta = Delta::of_bead(lineage, Patch { claim: Some(claim), ..Patch::default() });
    let lost = |by: &str| Undo::of(&side.catalog, &delta, &actor(by), 8_000).unwrap().lost;
    assert!(!lost("ann") && lost("ben"));
    let claimed = Undo::of(&side.catalog, &delta, &actor("ann"), 8_000).unwrap();
    side.catalog.join_delta(&delta).unwrap();
    side.now_ms = 8_000;
    side.run("ann", &undo(&claimed));
    let bead = side.catalog.bead(side.catalog.resolve("bd-1").unwrap()).unwrap();
    assert_eq!(bead.claim.assignee, None);
}

#[test]
fn an_operation_that_changed_no_bead_cannot_be_undone() {
    let mut side = Side::new();
    let renewed = side.run("ann", &Op::Renew(Renew { id: "bd-2".into(), ..Renew::default() }));
    let prefixed = side.run("ann", &Op::SetPrefix(SetPrefix { prefix: "app".parse().unwrap() }));
    let refused = side.try_run("ann", &undo(&renewed));
    assert!(matches!(refused, Err(Error::CannotUndo(why)) if why.contains("no bead")), "{renewed:?}");
    assert!(matches!(side.try_run("ann", &undo(&prefixed)), Err(Error::NothingToUndo)), "{prefixed:?}");
    assert_eq!(Undo::of(&side.catalog, &Delta::default(), &actor("ann"), 0), None);
}

/// The operation may carry a stamp from a clock that is ahead of ours. The undo must still win.
#[test]
fn an_undo_wins_even_if_the_clock_is_behind() {
    for op in [update("bd-1", "mine"), dep("bd-1", "bd-2")] {
        let mut side = Side::new();
        let before = side.visible();
        let done = side.run("ann", &op);
        (side.clock, side.now_ms) = (Clock::new(Stamp::ZERO, 1), 0);
        side.run("ann", &undo(&done));
        assert_eq!(before, side.visible(), "{op:?}");
    }
}

#[test]
fn an_undo_reports_its_bead_and_how_to_redo_it() {
    for op in [update("bd-1", "mine"), dep("bd-1", "bd-2")] {
        let mut side = Side::new();
        let done = side.run("ann", &op);
        let mut context = Context {
            actor: actor("ann"),
            now_ms: side.now_ms,
            clock: &mut side.clock,
            random: &mut || 0,
            branch: Default::default(),
            lease_ms: 0,
        };
        let applied = undo(&done).apply(&side.catalog, &mut context).unwrap();
        assert_eq!(side.catalog.id_of(applied.bead.as_ref().unwrap()).as_str(), "bd-1", "{op:?}");
        let again = Undo::of(&side.catalog, &applied.delta, &actor("ann"), 0);
        assert!(again.is_some() && applied.undone.as_deref() == again.as_ref(), "{op:?}");
    }
}

/// Two machines can build a cycle, and removing one of its edges can be undone. An undo never closes a new cycle.
#[test]
fn cutting_a_cycle_can_be_undone() {
    let cut = Op::DepRemove(DepRemove { from: "bd-1".into(), to: "bd-2".into(), kind: EdgeKind::Blocks });
    let mut side = Side::new();
    side.run("ann", &dep("bd-1", "bd-2"));
    // The other edge, as a machine would have added it that did not know the first.
    let lineage = |side: &Side, id: &str| side.catalog.resolve(id).unwrap().clone();
    let key = EdgeKey::new(&lineage(&side, "bd-2"), &lineage(&side, "bd-1"), EdgeKind::Blocks);
    let other = Delta { edges: BTreeMap::from([(key, Edge::added(mark(2, 0, "bob")))]), ..Delta::default() };
    side.catalog.join_delta(&other).unwrap();
    let before = side.visible();
    let done = side.run("ann", &cut);
    side.run("ann", &undo(&done));
    assert_eq!(before, side.visible());

    let mut side = Side::new();
    side.run("ann", &dep("bd-1", "bd-2"));
    let done = side.run("ann", &cut);
    side.run("ann", &dep("bd-2", "bd-1"));
    assert!(matches!(side.try_run("ann", &undo(&done)), Err(Error::Cycle(_))));
}
