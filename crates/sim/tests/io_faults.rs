//! Every single IO of opening, writing, checkpointing, syncing and importing fails once: nothing acknowledged is lost, and the store opens
//! again.

use beads_sim::{Dice, Fault, FaultKind, Machine};

/// More operations than any of the activities below needs; the tests see to it that the end is reached.
const MANY: u64 = 200;

/// What is done while the n-th operation fails.
type Activity = fn(&mut Machine);

fn seasoned(seed: u64) -> Machine {
    let mut machine = Machine::new(seed, 1_700_000_000_000);
    let mut dice = Dice::new(seed);
    for round in 0..6 {
        sound(machine.open());
        sound(machine.mutate(4, &mut dice));
        sound(machine.commit());
        if round == 3 {
            sound(machine.checkpoint());
        }
    }
    machine
}

fn sound(told: Result<String, String>) -> String {
    told.unwrap_or_else(|broken| panic!("{broken}"))
}

fn reopen(machine: &mut Machine) {
    machine.kill();
    sound(machine.open());
}

fn write(machine: &mut Machine) {
    sound(machine.open());
    sound(machine.mutate(5, &mut Dice::new(7)));
    sound(machine.commit());
}

fn checkpoint(machine: &mut Machine) {
    sound(machine.open());
    sound(machine.mutate(5, &mut Dice::new(7)));
    sound(machine.checkpoint());
}

/// As a daemon does it: the checkpoint failed, and the replica lives on.
fn checkpoint_and_write_on(machine: &mut Machine) {
    sound(machine.open());
    sound(machine.checkpoint());
    machine.faults.heal();
    write(machine);
}

/// The second checkpoint may find the ref where the first one left it, unsynced.
fn checkpoint_again(machine: &mut Machine) {
    sound(machine.open());
    sound(machine.checkpoint());
    machine.faults.heal();
    sound(machine.checkpoint());
    machine.lose_power();
    sound(machine.open());
}

/// Both sides have something that the other does not.
fn sync(machine: &mut Machine) {
    let mut other = seasoned(77);
    sound(other.import(b"{\"id\":\"ext-1\",\"title\":\"theirs\",\"created_at\":\"2024-01-01T00:00:00Z\"}"));
    sound(other.checkpoint());
    sound(machine.open());
    sound(machine.mutate(5, &mut Dice::new(7)));
    sound(machine.sync_with(&other.repository));
    machine.faults.heal();
    // Whatever became of it, the other side is sound, and a second try gets everything across.
    if !machine.faults.is_dark() {
        sound(machine.open());
        sound(machine.sync_with(&other.repository));
    }
    other.kill();
    sound(other.open());
}

fn import(machine: &mut Machine) {
    let line = |n: u32| {
        let (id, time) = (format!("ext-{n}"), "2024-01-01T00:00:00Z");
        format!("{{\"id\":\"{id}\",\"title\":\"from elsewhere\",\"created_at\":\"{time}\"}}\n")
    };
    let lines: String = (0..20).map(line).collect();
    sound(machine.open());
    sound(machine.import(lines.as_bytes()));
}

/// After the fault the store opens, has all that was acknowledged (`open` checks it), and takes more; and so again
/// after each time the power was off, with a checkpoint in between or without.
fn expect_recovery(machine: &mut Machine, power_loss: bool) {
    if power_loss || machine.faults.is_dark() {
        machine.lose_power();
    }
    machine.faults.heal();
    machine.kill();
    for with_checkpoint in [false, true, false] {
        sound(machine.open());
        assert!(machine.replica.is_some(), "nothing fails any more");
        write(machine);
        if with_checkpoint {
            sound(machine.checkpoint());
        }
        machine.lose_power();
    }
    sound(machine.open());
}

fn fail_every_operation(activity: Activity, kind: FaultKind, fresh: bool) {
    for lasting in [false, true] {
        for power_loss in [false, true] {
            let mut struck = 0;
            for after in 0..MANY {
                // Another machine each time, so that not all of them roll the same fate at a power loss.
                let seed = after * 4 + u64::from(lasting) * 2 + u64::from(power_loss);
                let mut machine = if fresh { Machine::new(seed, 1_700_000_000_000) } else { seasoned(seed) };
                machine.faults.arm(Fault { kind, after, lasting });
                let before = machine.faults.fired();
                activity(&mut machine);
                let fired = machine.faults.fired() > before;
                expect_recovery(&mut machine, power_loss);
                if !fired && kind != FaultKind::NoSpace {
                    break;
                }
                struck += u64::from(fired);
                // Only some operations need space, so the end shows as a run of faults that found nothing to strike.
                if !fired && after > struck + 40 {
                    break;
                }
                assert!(after + 1 < MANY, "{kind:?}: the end was not reached");
            }
            assert!(struck > 0, "{kind:?} struck nothing");
        }
    }
}

#[test]
fn every_failing_operation_of_opening_is_survived() {
    for kind in [FaultKind::Io, FaultKind::PowerLoss] {
        fail_every_operation(reopen, kind, false);
    }
}

#[test]
fn every_failing_operation_of_a_write_is_survived() {
    for kind in [FaultKind::Io, FaultKind::NoSpace, FaultKind::PowerLoss] {
        fail_every_operation(write, kind, false);
        fail_every_operation(write, kind, true);
    }
}

#[test]
fn every_failing_operation_of_a_checkpoint_is_survived() {
    for kind in [FaultKind::Io, FaultKind::NoSpace, FaultKind::PowerLoss] {
        fail_every_operation(checkpoint, kind, false);
        fail_every_operation(checkpoint, kind, true);
    }
}

#[test]
fn every_failing_operation_of_a_sync_is_survived() {
    for kind in [FaultKind::Io, FaultKind::NoSpace, FaultKind::PowerLoss] {
        fail_every_operation(sync, kind, false);
        fail_every_operation(sync, kind, true);
    }
}

#[test]
fn every_failing_operation_of_an_import_is_survived() {
    for kind in [FaultKind::Io, FaultKind::NoSpace, FaultKind::PowerLoss] {
        fail_every_operation(import, kind, false);
        fail_every_operation(import, kind, true);
    }
}

#[test]
fn a_replica_whose_checkpoint_failed_goes_on() {
    for kind in [FaultKind::Io, FaultKind::NoSpace] {
        fail_every_operation(checkpoint_and_write_on, kind, false);
        fail_every_operation(checkpoint_again, kind, false);
    }
}
