//! Every single system call of libgit2, and of the journal, fails once or permanently, or is the last one
//! before a kill. Nothing acknowledged may be lost, everything reported as saved or pushed must be so, and
//! the store must stay usable.
//!
//! libgit2 has no trait for a faulty disk. So a child process, which is this test again, does the work with
//! `preload.c` between it and the C library. That needs Linux and a dynamically linked test.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a failing test may panic; figures are for people

mod activity;
#[path = "../clones/mod.rs"]
mod clones;
mod fault;
mod place;

use activity::Activity;
use fault::{Fault, HOWS};
use place::Place;

/// How many calls of each kind of fault fail in the ordinary run, spread over all calls.
const SAMPLES: u64 = 8;

/// The environment variable with the child's activity. Only child processes have it.
const CHILD: &str = "FAILING_CHILD";

/// Not a test itself: the child processes of the other tests run this.
#[test]
fn child_process() {
    let Ok(name) = std::env::var(CHILD) else { return };
    let activity = Activity::ALL.into_iter().find(|activity| activity.name() == name).unwrap();
    // After the name of the test, which the harness has printed.
    println!();
    let failed = activity.run(&std::path::PathBuf::from(std::env::var_os("FAILING_BELOW").unwrap()));
    std::process::exit(i32::from(failed));
}

/// Makes calls fail, one per run: all of them, or a sample.
fn fail(activity: Activity, samples: Option<u64>) {
    let place = Place::new(activity);
    let (mut cases, mut all) = (0, 0);
    for how in HOWS {
        let calls = place.case(Fault { how, at: 0, lasting: false });
        assert!(calls > 0, "{how}: no call was seen; is this test linked statically?");
        all += calls;
        // A different sample for each kind.
        let step = samples.map_or(1, |samples| calls.div_ceil(samples));
        let first = if step == 1 { 1 } else { 1 + how.len() as u64 % step };
        for at in (first..=calls).step_by(usize::try_from(step).unwrap()) {
            for lasting in [false, true] {
                if lasting && !Fault::may_last(how) {
                    continue;
                }
                place.case(Fault { how, at, lasting });
                cases += 1;
            }
        }
    }
    println!("{}: {cases} cases, {all} calls to fail", activity.name());
}

#[test]
fn failing_calls_of_a_first_save_lose_nothing() {
    fail(Activity::FirstSave, Some(SAMPLES));
}

#[test]
fn failing_calls_of_a_merge_and_push_lose_nothing() {
    fail(Activity::Sync, Some(SAMPLES));
}

#[test]
fn failing_calls_of_a_first_sync_lose_nothing() {
    fail(Activity::FirstSync, Some(SAMPLES));
}

#[test]
fn failing_calls_of_packing_lose_nothing() {
    fail(Activity::Pack, Some(SAMPLES));
}

#[test]
#[ignore = "takes minutes: all calls"]
fn failing_any_call_loses_nothing() {
    std::thread::scope(|scope| {
        for activity in Activity::ALL {
            scope.spawn(move || fail(activity, None));
        }
    });
}
