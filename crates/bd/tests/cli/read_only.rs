//! Repositories that can only be read.

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Mutex;

use rustix::process::getuid;

use crate::sandbox::{Mode, Run, Sandbox, commit_something, set_mode, wait_until};
use crate::small_disk::SmallDisk;

/// Queries are answered from the ref and the journal and write nothing. Changes are refused.
fn can_be_read(mode: Mode) {
    let bd = Sandbox::new(mode);
    let Some(disk) = SmallDisk::mount(bd.root().join("disk"), "8m") else { return };
    let repository = disk.path().join("repository");
    commit_something(&repository);
    let repository = repository.to_str().unwrap();
    let at = |args: &[&'static str]| [&["-C", repository], args].concat();
    bd.json(&at(&["create", "saved", "--id", "bd-1"]));
    bd.json(&at(&["sync"]));
    bd.text(&at(&["config", "set", "sync.quiet", "1h"]));
    bd.text(&at(&["daemon", "stop"]));
    bd.json(&at(&["--no-daemon", "create", "in the journal", "--id", "bd-2"]));
    let remount = |how: &str| {
        // A daemon that was stopped keeps its log open until it has exited.
        wait_until("the disk is remounted", || {
            let status =
                Command::new("mount").args(["-o", &format!("remount,{how}")]).arg(disk.path()).status();
            status.unwrap().success()
        });
    };
    remount("ro");
    let all = [
        &["list"][..],
        &["ready"],
        &["search", "journal"],
        &["status"],
        &["config", "list"],
        &["log", "bd-1"],
    ];
    for query in
        all.into_iter().chain([&["validate"][..], &["verify"], &["show", "bd-1", "bd-2"], &["export"]])
    {
        let args = at(query);
        let run = bd.run(&[&args[..], &["--json"]].concat());
        assert_eq!(run.exit, Some(0), "{query:?}: {run:?}");
    }
    assert_eq!(bd.ids(&at(&["list"])).len(), 2);
    let run = bd.run(&[&at(&["create", "x"])[..], &["--json"]].concat());
    run.failed("create", "io_error");
    assert!(run.stderr.contains("ead-only"), "{run:?}");
    remount("rw");
    bd.json(&at(&["create", "x"]));
    bd.text(&at(&["daemon", "stop"]));
}

#[test]
fn queries_need_no_lock_no_log_and_no_daemon() {
    can_be_read(Mode::Daemon);
    can_be_read(Mode::Embedded);
}

const NOBODY: u32 = 65_534;

/// Runs a command as a user who may read the repository but not write to it. This user has their own home
/// directory, whose `git` configuration allows repositories of other users.
fn run_as_nobody(bd: &Sandbox, args: &[&str]) -> Run {
    let home = bd.root().join("nobody");
    let mut command = bd.command(args);
    command.env("HOME", &home).env("BD_RUNTIME_DIR", home.join("run")).uid(NOBODY).gid(NOBODY);
    Run::of(&mut command)
}

fn grant_read_access_to_nobody(bd: &Sandbox) {
    let home = bd.root().join("nobody");
    std::fs::create_dir_all(home.join("run")).unwrap();
    std::fs::write(home.join(".gitconfig"), "[safe]\n\tdirectory = *\n").unwrap();
    for path in [home.clone(), home.join("run")] {
        std::os::unix::fs::chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        set_mode(&path, 0o700);
    }
    set_mode(&bd.root(), 0o755);
}

/// The owner's daemon keeps saving and trimming the journal. A reader without the lock must see every change
/// that was acknowledged before it started.
#[test]
fn another_user_reads_while_the_owner_writes_and_trims() {
    if !getuid().is_root() {
        eprintln!("skipped: only root can be another user");
        return;
    }
    let bd = Sandbox::new(Mode::Daemon);
    grant_read_access_to_nobody(&bd);
    for key in ["sync.quiet", "sync.max_delay"] {
        bd.text(&["config", "set", key, "1ms"]);
    }
    let written = Mutex::new(0);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for number in 1..=40 {
                bd.create(&[&format!("bead {number}")]);
                *written.lock().unwrap() = number;
            }
        });
        let mut reads = 0;
        while !writer.is_finished() || reads == 0 {
            let before = *written.lock().unwrap();
            let run = run_as_nobody(&bd, &["list", "--limit", "0", "--json"]);
            // A store that changes all the time may make a read fail. That is an error, never a shorter list.
            if run.exit == Some(0) {
                let count = run.value().as_array().unwrap().len();
                assert!(count >= before, "{before} were acknowledged, and {count} are shown");
                reads += 1;
            } else {
                run.failed("list", "busy");
            }
        }
    });
    let run = run_as_nobody(&bd, &["create", "not mine", "--json"]);
    assert_ne!(run.exit, Some(0), "{run:?}");
    assert!(run.stderr.contains("ermission"), "{run:?}");
    assert_eq!(run_as_nobody(&bd, &["list", "--limit", "0", "--json"]).value().as_array().unwrap().len(), 40);
}
