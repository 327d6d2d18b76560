//! Each IO operation of opening, writing, checkpointing, syncing and importing fails once. Nothing
//! acknowledged is lost, and the store opens again.

use beads_sim::{Dice, Fault, FaultKind, Machine};

/// More operations than any activity below needs. The tests check that the end is reached.
const MAX_OPERATIONS: u64 = 200;

/// The activity during which the n-th operation fails.
type Activity = fn(&mut Machine);

fn machine_with_history(seed: u64) -> Machine {
    let mut machine = Machine::new(seed, 1_700_000_000_000);
    let mut dice = Dice::new(seed);
    for round in 0..6 {
        expect_ok(machine.open());
        expect_ok(machine.mutate(4, &mut dice));
        expect_ok(machine.commit());
        if round == 3 {
            expect_ok(machine.checkpoint());
        }
    }
    machine
}

fn expect_ok(trace: Result<String, String>) -> String {
    trace.unwrap_or_else(|violation| panic!("{violation}"))
}

fn reopen(machine: &mut Machine) {
    machine.kill();
    expect_ok(machine.open());
}

fn write(machine: &mut Machine) {
    expect_ok(machine.open());
    expect_ok(machine.mutate(5, &mut Dice::new(7)));
    expect_ok(machine.commit());
}

fn checkpoint(machine: &mut Machine) {
    expect_ok(machine.open());
    expect_ok(machine.mutate(5, &mut Dice::new(7)));
    expect_ok(machine.checkpoint());
}

/// Like a daemon: the checkpoint fails and the replica continues.
fn checkpoint_and_continue(machine: &mut Machine) {
    expect_ok(machine.open());
    expect_ok(machine.checkpoint());
    machine.faults.heal();
    write(machine);
}

/// The second checkpoint may find the ref where the first one left it, unsynced.
fn checkpoint_again(machine: &mut Machine) {
    expect_ok(machine.open());
    expect_ok(machine.checkpoint());
    machine.faults.heal();
    expect_ok(machine.checkpoint());
    machine.lose_power();
    expect_ok(machine.open());
}

/// Syncs two sides that each have something new.
fn sync(machine: &mut Machine) {
    let mut other = machine_with_history(77);
    expect_ok(
        other.import(b"{\"id\":\"ext-1\",\"title\":\"theirs\",\"created_at\":\"2024-01-01T00:00:00Z\"}"),
    );
    expect_ok(other.checkpoint());
    expect_ok(machine.open());
    expect_ok(machine.mutate(5, &mut Dice::new(7)));
    expect_ok(machine.sync_with(&other.repository));
    machine.faults.heal();
    // In any case the other side is intact, and a second attempt transfers everything.
    if !machine.faults.is_powered_off() {
        expect_ok(machine.open());
        expect_ok(machine.sync_with(&other.repository));
    }
    other.kill();
    expect_ok(other.open());
}

fn import(machine: &mut Machine) {
    let line = |n: u32| {
        let (id, time) = (format!("ext-{n}"), "2024-01-01T00:00:00Z");
        format!("{{\"id\":\"{id}\",\"title\":\"from elsewhere\",\"created_at\":\"{time}\"}}\n")
    };
    let lines: String = (0..20).map(line).collect();
    expect_ok(machine.open());
    expect_ok(machine.import(lines.as_bytes()));
}

/// After the fault the store opens, has everything acknowledged (`open` checks it), and accepts writes; and
/// again after each power loss, with or without a checkpoint in between.
fn expect_recovery(machine: &mut Machine, power_loss: bool) {
    if power_loss || machine.faults.is_powered_off() {
        machine.lose_power();
    }
    machine.faults.heal();
    machine.kill();
    for with_checkpoint in [false, true, false] {
        expect_ok(machine.open());
        assert!(machine.replica.is_some(), "all faults are healed");
        write(machine);
        if with_checkpoint {
            expect_ok(machine.checkpoint());
        }
        machine.lose_power();
    }
    expect_ok(machine.open());
}

fn fail_every_operation(activity: Activity, kind: FaultKind, fresh: bool) {
    for lasting in [false, true] {
        for power_loss in [false, true] {
            let mut injected = 0;
            for after in 0..MAX_OPERATIONS {
                // A different machine each time, so that power losses have different effects.
                let seed = after * 4 + u64::from(lasting) * 2 + u64::from(power_loss);
                let mut machine =
                    if fresh { Machine::new(seed, 1_700_000_000_000) } else { machine_with_history(seed) };
                machine.faults.arm(Fault { kind, after, lasting });
                let before = machine.faults.fired();
                activity(&mut machine);
                let fired = machine.faults.fired() > before;
                expect_recovery(&mut machine, power_loss);
                if !fired && kind != FaultKind::NoSpace {
                    break;
                }
                injected += u64::from(fired);
                // Only some operations need space, so a series of faults without effect marks the end.
                if !fired && after > injected + 40 {
                    break;
                }
                assert!(after + 1 < MAX_OPERATIONS, "{kind:?}: the end was not reached");
            }
            assert!(injected > 0, "{kind:?} injected nothing");
        }
    }
}

#[test]
fn recovers_from_every_fault_during_opening() {
    for kind in [FaultKind::Io, FaultKind::PowerLoss] {
        fail_every_operation(reopen, kind, false);
    }
}

#[test]
fn recovers_from_every_fault_during_a_write() {
    for kind in [FaultKind::Io, FaultKind::NoSpace, FaultKind::PowerLoss] {
        fail_every_operation(write, kind, false);
        fail_every_operation(write, kind, true);
    }
}

#[test]
fn recovers_from_every_fault_during_a_checkpoint() {
    for kind in [FaultKind::Io, FaultKind::NoSpace, FaultKind::PowerLoss] {
        fail_every_operation(checkpoint, kind, false);
        fail_every_operation(checkpoint, kind, true);
    }
}

#[test]
fn recovers_from_every_fault_during_a_sync() {
    for kind in [FaultKind::Io, FaultKind::NoSpace, FaultKind::PowerLoss] {
        fail_every_operation(sync, kind, false);
        fail_every_operation(sync, kind, true);
    }
}

#[test]
fn recovers_from_every_fault_during_an_import() {
    for kind in [FaultKind::Io, FaultKind::NoSpace, FaultKind::PowerLoss] {
        fail_every_operation(import, kind, false);
        fail_every_operation(import, kind, true);
    }
}

#[test]
fn a_replica_continues_after_a_failed_checkpoint() {
    for kind in [FaultKind::Io, FaultKind::NoSpace] {
        fail_every_operation(checkpoint_and_continue, kind, false);
        fail_every_operation(checkpoint_again, kind, false);
    }
}
