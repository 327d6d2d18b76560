//! The store's disk fills up. Acknowledged changes stay, other changes are refused with an error, and
//! everything works again once there is space.

use crate::sandbox::{Mode, Run, Sandbox, commit_something};
use crate::small_disk::SmallDisk;

/// This many refusals in a row mean that the disk is full.
const REFUSALS: usize = 4;

fn fill_disk(mode: Mode) {
    let bd = Sandbox::new(mode);
    let Some(disk) = SmallDisk::mount(bd.root().join("small"), "6m") else { return };
    let spare = disk.path().join("spare");
    std::fs::write(&spare, vec![0; 2 * 1024 * 1024]).unwrap();
    let repository = disk.path().join("repository");
    commit_something(&repository);
    let repository = repository.to_str().unwrap();
    let run = |args: &[&str]| bd.run(&[&["-C", repository], args].concat());
    // Hard to compress, so that git cannot make it fit.
    let mut noise = 1_u64;
    let mut text = || -> String {
        let mut word = || {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            format!("{noise:x} ")
        };
        (0..1_500).map(|_| word()).collect()
    };
    let (mut acknowledged, mut refused) = (Vec::new(), 0);
    for turn in 0.. {
        let created = run(&["create", &format!("bead {turn}"), "-d", &text(), "--json"]);
        match created.exit {
            Some(0) => {
                acknowledged.push(created.value()["id"].as_str().unwrap().to_owned());
                refused = 0;
            }
            _ => {
                created.assert_one_error_line();
                refused += 1;
            }
        }
        if turn % 3 == 2 {
            let _ = run(&["sync", "--json"]);
        }
        if refused == REFUSALS {
            break;
        }
        assert!(turn < 1_000, "the disk does not fill up");
    }
    assert!(acknowledged.len() > 5, "{acknowledged:?}");
    let all_there = |when: &str| {
        let listed = run(&["list", "--json"]);
        assert_eq!(listed.exit, Some(0), "{when}: {listed:?}");
        for id in &acknowledged {
            assert!(listed.stdout.contains(&format!("\"{id}\"")), "{when}: {id} is lost");
        }
    };
    all_there("on a full disk");
    std::fs::remove_file(&spare).unwrap();
    let done = |run: Run| run.succeeded("with room again");
    done(run(&["create", "with room again", "--json"]));
    done(run(&["sync", "--json"]));
    done(run(&["validate"]));
    all_there("with room again");
    let _ = run(&["daemon", "stop"]);
    all_there("after a restart");
    let _ = run(&["daemon", "stop"]);
}

#[test]
fn a_disk_that_fills_up_under_a_daemon_loses_nothing() {
    fill_disk(Mode::Daemon);
}

#[test]
fn a_disk_that_fills_up_under_commands_loses_nothing() {
    fill_disk(Mode::Embedded);
}
