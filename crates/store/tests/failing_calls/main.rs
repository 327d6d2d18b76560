//! Every single system call of the git library, and of the journal beside it, goes wrong once or for good, or is the last
//! one before a kill: nothing acknowledged is lost, what was called saved or pushed is so, and the store goes on.
//!
//! The library has no trait to put a faulty disk behind. So a child process, which is this test again, does the work with
//! `preload.c` between it and the C library. That needs Linux and a dynamically linked test.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test that cannot go on stops; figures are for people

mod activity;
#[path = "../clones/mod.rs"]
mod clones;
mod fault;
mod place;

use activity::Activity;
use fault::{Fault, HOWS};
use place::Place;

/// So many calls of each kind of fault are tried in the ordinary run, spread over all of them.
const SAMPLES: u64 = 8;

/// What a child is told to do; nobody else has this in the environment.
const CHILD: &str = "FAILING_CHILD";

/// Not a test of its own: what the child process of the others runs.
#[test]
fn the_child_of_the_others() {
    let Ok(name) = std::env::var(CHILD) else { return };
    let activity = Activity::ALL.into_iter().find(|activity| activity.name() == name).unwrap();
    // Behind the name of the test, which the harness has written.
    println!();
    let failed = activity.run(&std::path::PathBuf::from(std::env::var_os("FAILING_BELOW").unwrap()));
    std::process::exit(i32::from(failed));
}

/// Lets calls go wrong, one in each run: all of them, or some.
fn fail(activity: Activity, samples: Option<u64>) {
    let place = Place::new(activity);
    let (mut cases, mut all) = (0, 0);
    for how in HOWS {
        let calls = place.case(Fault { how, at: 0, lasting: false });
        assert!(calls > 0, "{how}: no call was seen; is this test linked statically?");
        all += calls;
        // Other samples of each kind.
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
fn failing_calls_of_adopting_and_of_a_first_push_lose_nothing() {
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
