//! Compares impact, plan and critical path with brute force on small random graphs.

use std::collections::{BTreeMap, BTreeSet};

use beads_core::op::{Close, Create};
use beads_core::query::{
    DrawingRequest, Filter, LeftOut, Plan, PlanRequest, ReadyFilter, Reason, Slot, Sort, SortKey,
};
use beads_core::{
    Actor, Catalog, Clock, Context, Delta, Edge, EdgeKey, EdgeKind, Line, Lineage, Mark, Op, Stamp, Status,
};
use proptest::prelude::*;

const DEFAULT_MINUTES: u64 = 3;

/// The description of a random store: beads with priority, minutes and whether they are closed, and edges by
/// number.
#[derive(Debug, Clone)]
struct Sketch {
    beads: Vec<(u64, Option<u64>, bool)>,
    /// `(a, b)`: b blocks a.
    edges: BTreeSet<(usize, usize)>,
}

fn sketch(beads: usize, cycles: bool) -> impl Strategy<Value = Sketch> {
    let bead = (0..3_u64, prop::option::of(0..5_u64), prop::bool::weighted(0.15));
    prop::collection::vec(bead, 1..=beads).prop_flat_map(move |beads| {
        let count = beads.len();
        let edges = prop::collection::btree_set((0..count, 0..count), 0..=count * 2);
        let keep = move |(a, b): &(usize, usize)| if cycles { a != b } else { a > b };
        edges.prop_map(move |edges| Sketch {
            beads: beads.clone(),
            edges: edges.into_iter().filter(keep).collect(),
        })
    })
}

struct Store {
    catalog: Catalog,
    lineages: Vec<Lineage>,
}

impl Store {
    fn of(sketch: &Sketch) -> Self {
        let mut store = Self { catalog: Catalog::default(), lineages: Vec::new() };
        let mut clock = Clock::new(Stamp::ZERO, 1);
        for (number, (priority, minutes, _)) in sketch.beads.iter().enumerate() {
            let create = Create {
                id: Some(format!("bd-{number}").parse().unwrap()),
                priority: priority.to_string().parse().unwrap(),
                estimated_minutes: minutes.map(|minutes| minutes.try_into().unwrap()),
                ..Create::titled(format!("bead {number}").parse().unwrap())
            };
            let lineage = store.apply(&Op::Create(Box::new(create)), &mut clock);
            store.lineages.push(lineage);
        }
        // Directly into the state, because `dep add` rejects cycles, but a merge does not.
        for (from, to) in &sketch.edges {
            let key = EdgeKey::new(&store.lineages[*from], &store.lineages[*to], EdgeKind::Blocks);
            let mark = Mark::new(clock.mint(1, []).unwrap(), "ann".parse::<Actor>().unwrap());
            store.catalog.join_delta(&Delta::of_edge(key, Edge::added(mark))).unwrap();
        }
        for (number, (_, _, closed)) in sketch.beads.iter().enumerate() {
            if *closed {
                store.apply(&Op::Close(Close { id: format!("bd-{number}"), ..Close::default() }), &mut clock);
            }
        }
        store
    }

    fn apply(&mut self, op: &Op, clock: &mut Clock) -> Lineage {
        let mut context = Context {
            actor: "ann".parse().unwrap(),
            now_ms: 1,
            clock,
            random: &mut || 0,
            branch: Line::default(),
            lease_ms: 1,
        };
        let applied = op.apply(&self.catalog, &mut context).unwrap();
        self.catalog.join_delta(&applied.delta).unwrap();
        applied.bead.unwrap()
    }

    fn number(&self, lineage: &Lineage) -> usize {
        self.lineages.iter().position(|known| known == lineage).unwrap()
    }

    fn plan(&self, workers: usize) -> Plan {
        let asked = PlanRequest { workers, default_minutes: DEFAULT_MINUTES, under: None };
        self.catalog.plan(&asked, 1).unwrap()
    }
}

/// The graph of the oracle: open beads only.
impl Sketch {
    fn open(&self) -> Vec<usize> {
        (0..self.beads.len()).filter(|bead| !self.beads[*bead].2).collect()
    }

    fn blockers(&self, bead: usize) -> Vec<usize> {
        self.edges
            .iter()
            .filter(|(from, to)| *from == bead && !self.beads[*to].2)
            .map(|(_, to)| *to)
            .collect()
    }

    fn waiting(&self, bead: usize) -> Vec<usize> {
        self.edges
            .iter()
            .filter(|(from, to)| *to == bead && !self.beads[*from].2)
            .map(|(from, _)| *from)
            .collect()
    }

    fn minutes(&self, bead: usize) -> u64 {
        self.beads[bead].1.unwrap_or(DEFAULT_MINUTES)
    }

    /// Returns every chain that starts at a bead. Only for graphs without cycles.
    fn chains(&self, bead: usize) -> Vec<Vec<usize>> {
        let mut chains = vec![vec![bead]];
        for next in self.waiting(bead) {
            chains.extend(self.chains(next).into_iter().map(|chain| [vec![bead], chain].concat()));
        }
        chains
    }

    fn longest(&self, bead: usize) -> u64 {
        self.chains(bead).iter().map(|chain| chain.len() as u64 - 1).max().unwrap()
    }

    fn heaviest(&self) -> u64 {
        let all = self.open().into_iter().flat_map(|bead| self.chains(bead));
        all.map(|chain| chain.iter().map(|bead| self.minutes(*bead)).sum()).max().unwrap_or(0)
    }

    /// Returns the shortest time in which `workers` can do everything, by trying every choice at every
    /// minute.
    fn optimum(&self, workers: usize) -> u64 {
        fn search(
            sketch: &Sketch,
            workers: usize,
            now: u64,
            running: &BTreeMap<usize, u64>,
            done: &BTreeSet<usize>,
            best: &mut u64,
        ) {
            if now >= *best {
                return;
            }
            let open = sketch.open();
            if done.len() == open.len() {
                *best = now;
                return;
            }
            let startable: Vec<usize> = open
                .iter()
                .filter(|bead| !done.contains(bead) && !running.contains_key(bead))
                .filter(|bead| sketch.blockers(**bead).iter().all(|blocker| done.contains(blocker)))
                .copied()
                .collect();
            for choice in 0..1_u32 << startable.len() {
                let chosen: Vec<usize> = startable
                    .iter()
                    .enumerate()
                    .filter(|(bit, _)| choice >> bit & 1 == 1)
                    .map(|(_, bead)| *bead)
                    .collect();
                if running.len() + chosen.len() > workers || (running.is_empty() && chosen.is_empty()) {
                    continue;
                }
                let mut running = running.clone();
                running.extend(chosen.iter().map(|bead| (*bead, now + sketch.minutes(*bead))));
                let next = *running.values().min().unwrap();
                let (ended, going): (Vec<_>, Vec<_>) = running.into_iter().partition(|(_, end)| *end <= next);
                let mut done = done.clone();
                done.extend(ended.into_iter().map(|(bead, _)| bead));
                search(sketch, workers, next, &going.into_iter().collect(), &done, best);
            }
        }
        let mut best = u64::MAX;
        search(self, workers, 0, &BTreeMap::new(), &BTreeSet::new(), &mut best);
        best
    }
}

fn slots(plan: &Plan) -> Vec<&Slot> {
    plan.tracks.iter().flatten().collect()
}

/// Checks what must hold for any plan, regardless of its quality.
fn check(store: &Store, sketch: &Sketch, plan: &Plan, workers: usize) {
    let end: BTreeMap<usize, u64> =
        slots(plan).iter().map(|slot| (store.number(&slot.lineage), slot.end)).collect();
    assert!(plan.tracks.len() <= workers);
    for track in &plan.tracks {
        assert!(
            track.windows(2).all(|pair| pair[0].end <= pair[1].start),
            "a worker does one thing at a time"
        );
    }
    for slot in slots(plan) {
        let bead = store.number(&slot.lineage);
        assert_eq!(slot.end - slot.start, sketch.minutes(bead));
        let waits: BTreeSet<_> = slot.waits_for.iter().map(|before| store.number(before)).collect();
        assert_eq!(waits, sketch.blockers(bead).into_iter().collect());
        assert!(
            waits.iter().all(|before| end[before] <= slot.start),
            "{bead} starts before its blockers end"
        );
        // No worker is idle while a bead could be done.
        let free_since = waits.iter().map(|before| end[before]).max().unwrap_or(0);
        for minute in free_since..slot.start {
            let busy = slots(plan).iter().filter(|other| other.start <= minute && minute < other.end).count();
            assert_eq!(busy, workers, "minute {minute} has an idle worker while {bead} waits");
        }
    }
    assert_eq!(plan.minutes, end.values().copied().max().unwrap_or(0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn impact_agrees_with_brute_force(sketch in sketch(9, false)) {
        let store = Store::of(&sketch);
        let impacts = store.catalog.impacts();
        for bead in sketch.open() {
            let impact = impacts.get(&store.lineages[bead]).copied().unwrap_or_default();
            prop_assert_eq!(impact.chain, sketch.longest(bead));
            let unblocks = sketch.waiting(bead).into_iter().filter(|next| sketch.blockers(*next) == [bead]).count();
            prop_assert_eq!(impact.unblocks, unblocks);
        }
        // The order is priority, chain, unblocked, age.
        let sort = Sort { by: SortKey::Impact, reverse: false };
        let asked = ReadyFilter { filter: Filter { sort, ..Filter::default() }, under: None };
        let ready: Vec<usize> =
            store.catalog.ready(&asked, 1).unwrap().iter().map(|ready| store.number(&ready.lineage)).collect();
        let mut expected: Vec<usize> =
            sketch.open().into_iter().filter(|bead| sketch.blockers(*bead).is_empty()).collect();
        expected.sort_by_key(|bead| {
            let unblocks = sketch.waiting(*bead).into_iter().filter(|next| sketch.blockers(*next) == [*bead]).count();
            (sketch.beads[*bead].0, u64::MAX - sketch.longest(*bead), usize::MAX - unblocks, *bead)
        });
        prop_assert_eq!(ready, expected);
    }

    #[test]
    fn the_critical_path_is_the_heaviest_of_all_chains(sketch in sketch(9, false)) {
        let store = Store::of(&sketch);
        let plan = store.plan(1);
        let path: Vec<usize> = plan.critical_path.iter().map(|lineage| store.number(lineage)).collect();
        prop_assert_eq!(plan.critical_minutes, sketch.heaviest());
        prop_assert_eq!(path.iter().map(|bead| sketch.minutes(*bead)).sum::<u64>(), sketch.heaviest());
        prop_assert!(path.windows(2).all(|pair| sketch.blockers(pair[1]).contains(&pair[0])), "{path:?}");
    }

    /// Links are the blocking edges of the drawing, by number.
    #[test]
    fn links_and_drawing_agree(sketch in sketch(9, true), closed: bool, around in prop::option::of(0..9_usize)) {
        let store = Store::of(&sketch);
        let around = around.map(|number| format!("bd-{}", number % sketch.beads.len()));
        let asked = DrawingRequest { around, closed };
        let drawing = store.catalog.drawing(&asked, DEFAULT_MINUTES, 1).unwrap();
        let links = store.catalog.links(&asked, DEFAULT_MINUTES, 1).unwrap();
        let id = |lineage: &Lineage| store.catalog.id_of(lineage).clone();
        let drawn: BTreeSet<_> = drawing.edges.iter().map(|(after, before, _)| (id(before), id(after))).collect();
        let linked: BTreeSet<_> =
            links.edges.iter().map(|(before, after)| (links.beads[*before].clone(), links.beads[*after].clone())).collect();
        prop_assert_eq!(&linked, &drawn);
        prop_assert_eq!(links.beads.len() + links.unlinked, drawing.beads.len());
        prop_assert_eq!(links.epics.len(), links.beads.len());
        // The heaviest chain is the same, unless a bead without edges is heavier than all of them.
        let path: Vec<_> = drawing.critical_path.iter().map(id).collect();
        prop_assert!(path.len() < 2 || links.critical_path == path, "{:?}, {path:?}", links.critical_path);
    }

    #[test]
    fn a_plan_is_valid_and_close_to_the_optimum(sketch in sketch(6, false), workers in 1..4_usize) {
        let store = Store::of(&sketch);
        let plan = store.plan(workers);
        check(&store, &sketch, &plan, workers);
        prop_assert_eq!(slots(&plan).len(), sketch.open().len());
        prop_assert!(plan.left_out.is_empty() && plan.cycles.is_empty());
        let best = sketch.optimum(workers);
        // Graham's bound for list scheduling.
        prop_assert!(plan.minutes * workers as u64 <= best * (2 * workers as u64 - 1), "{} against {best}", plan.minutes);
        prop_assert_eq!(store.plan(sketch.beads.len()).minutes, sketch.heaviest(), "with enough workers nothing waits");
        prop_assert_eq!(store.plan(1).minutes, sketch.open().iter().map(|bead| sketch.minutes(*bead)).sum::<u64>());
        prop_assert_eq!(store.plan(workers), plan, "plans are deterministic");
    }

    /// With cycles, planning still terminates and reports what cannot be done.
    #[test]
    fn cycles_are_reported_and_the_rest_is_planned(sketch in sketch(7, true), workers in 1..4_usize) {
        let store = Store::of(&sketch);
        let plan = store.plan(workers);
        check(&store, &sketch, &plan, workers);
        let planned: BTreeSet<usize> = slots(&plan).iter().map(|slot| store.number(&slot.lineage)).collect();
        let out: BTreeSet<usize> = plan.left_out.iter().map(|(lineage, _)| store.number(lineage)).collect();
        // What can be done: repeatedly remove a bead whose blockers are all removed.
        let mut doable = BTreeSet::new();
        while let Some(bead) = sketch.open().into_iter().find(|bead| {
            !doable.contains(bead) && sketch.blockers(*bead).iter().all(|blocker| doable.contains(blocker))
        }) {
            doable.insert(bead);
        }
        prop_assert_eq!(&planned, &doable);
        prop_assert_eq!(planned.len() + out.len(), sketch.open().len());
        prop_assert!(plan.left_out.iter().all(|(_, reason)| *reason == LeftOut::Cycle));
        prop_assert_eq!(plan.cycles.is_empty(), out.is_empty());
        store.catalog.impacts();
    }

    /// Every unfinished bead is either ready or has a correct reason why not.
    #[test]
    fn every_unfinished_bead_is_explained(sketch in sketch(8, true)) {
        let store = Store::of(&sketch);
        let explained = store.catalog.explain(&ReadyFilter::default(), 1).unwrap();
        let ready: BTreeSet<usize> =
            explained.ready.iter().map(|(ready, _)| store.number(&ready.lineage)).collect();
        let not: BTreeMap<usize, &Vec<Reason>> =
            explained.not_ready.iter().map(|bead| (store.number(&bead.lineage), &bead.reasons)).collect();
        for bead in sketch.open() {
            let blockers = sketch.blockers(bead);
            prop_assert_eq!(ready.contains(&bead), blockers.is_empty());
            prop_assert_eq!(not.contains_key(&bead), !blockers.is_empty());
            if let Some(reasons) = not.get(&bead) {
                let by = blockers.iter().map(|blocker| format!("bd-{blocker}").parse().unwrap()).collect();
                prop_assert_eq!(*reasons, &vec![Reason::Blocked { by }]);
            }
        }
        prop_assert_eq!(ready.len() + not.len(), sketch.open().len());
    }
}

#[test]
fn a_blocker_inherits_urgency_and_work_in_progress_comes_first() {
    let sketch = Sketch {
        beads: vec![(2, None, false), (2, None, false), (0, None, false), (1, None, false)],
        edges: BTreeSet::from([(2, 1)]),
    };
    let mut store = Store::of(&sketch);
    let order = |store: &Store| -> Vec<usize> {
        slots(&store.plan(1)).iter().map(|slot| store.number(&slot.lineage)).collect()
    };
    assert_eq!(order(&store), [1, 2, 3, 0], "the blocker of the most urgent bead goes first");
    let update = beads_core::op::Update {
        status: Some(Status::InProgress.into()),
        ..beads_core::op::Update::of("bd-0")
    };
    store.apply(&Op::Update(Box::new(update)), &mut Clock::new(Stamp::ZERO, 2));
    assert_eq!(order(&store), [0, 1, 2, 3]);
}
