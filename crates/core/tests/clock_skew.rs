//! Clocks that run ahead. A write over a stamp from the future wins and does not affect other writes, and the
//! store reports whose clock it was.

use beads_core::limits::{COUNTER_STEP, MAX_MS};
use beads_core::op::{Create, Op, Update};
use beads_core::{Catalog, Clock, Context, Error, Stamp, Timestamp};

const HOUR: u64 = 60 * 60 * 1000;
const FIVE_YEARS: u64 = 5 * 365 * 24 * HOUR;

fn run(catalog: &mut Catalog, clock: &mut Clock, actor: &str, now_ms: u64, op: &Op) -> Result<(), Error> {
    let mut context = Context {
        actor: actor.parse().unwrap(),
        now_ms,
        clock,
        random: &mut || 4,
        branch: Default::default(),
        lease_ms: 1,
    };
    let applied = op.apply(catalog, &mut context)?;
    catalog.join_delta(&applied.delta)?;
    Ok(())
}

fn create(id: &str) -> Op {
    Op::Create(Box::new(Create { id: Some(id.parse().unwrap()), ..Create::titled(id.parse().unwrap()) }))
}

fn rename(id: &str, title: &str) -> Op {
    Op::Update(Box::new(Update { title: Some(title.parse().unwrap()), ..Update::of(id) }))
}

#[test]
fn overwriting_a_value_from_the_future_does_not_affect_other_writes() {
    let (now, mut catalog) = (1_000 * HOUR, Catalog::default());
    let (mut fast, mut ours) = (Clock::new(Stamp::ZERO, 7), Clock::new(Stamp::ZERO, 8));
    run(&mut catalog, &mut ours, "ann", now, &create("bd-1")).unwrap();
    run(&mut catalog, &mut fast, "bob", now + FIVE_YEARS, &rename("bd-1", "From the future")).unwrap();
    run(&mut catalog, &mut ours, "ann", now + 1, &rename("bd-1", "Ours")).unwrap();
    run(&mut catalog, &mut ours, "ann", now + 2, &create("bd-2")).unwrap();
    assert_eq!(catalog.resolve("bd-2").unwrap().at().ms(), now + 2, "the wall clock");
    let bead = catalog.bead(catalog.resolve("bd-1").unwrap()).unwrap();
    assert_eq!(bead.title.value.as_str(), "Ours");
    let skew = catalog.clock_skew(now + 3);
    let actors: Vec<_> = skew.iter().map(|skew| (skew.actor.as_str(), skew.beads)).collect();
    assert_eq!(actors, [("ann", 1)], "the actor who overwrote it is ahead only on this bead");
    assert_eq!(skew[0].since, Timestamp::from_ms(now + 2).ok());
    assert!(skew[0].ahead_ms > FIVE_YEARS - HOUR);
    assert_eq!(catalog.clock_skew(now + FIVE_YEARS), []);
}

#[test]
fn a_stamp_at_the_limit_blocks_only_its_bead_and_validate_reports_it() {
    let (now, mut catalog) = (1_000 * HOUR, Catalog::default());
    let last = Stamp::decode(MAX_MS - 1, u32::MAX - 3 * COUNTER_STEP).unwrap();
    let (mut broken, mut ours) = (Clock::new(last, 7), Clock::new(Stamp::ZERO, 8));
    run(&mut catalog, &mut broken, "bob", MAX_MS - 1, &create("bd-1")).unwrap();
    let mut written = 0;
    let error = loop {
        match run(&mut catalog, &mut ours, "ann", now, &rename("bd-1", &format!("Title {written}"))) {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains("Create a new bead"), "{error}");
    run(&mut catalog, &mut ours, "ann", now, &create("bd-2")).unwrap();
    let findings = catalog.findings(now);
    let stuck: Vec<_> = findings.iter().filter(|one| one.code.as_str() == "clock_exhausted").collect();
    assert_eq!(stuck.len(), 1);
    assert_eq!(stuck[0].id.as_ref().unwrap().as_str(), "bd-1");
}
