//! Repositories that can only be read.

use std::process::Command;

use crate::sandbox::{Mode, Sandbox, commit_something};
use crate::small_disk::SmallDisk;

/// Queries are answered from the ref and the journal, and leave no trace; a change is refused.
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
        let status = Command::new("mount").args(["-o", &format!("remount,{how}")]).arg(disk.path()).status();
        assert!(status.unwrap().success());
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
