//! The progress line of `bd import` and `bd sync`: percent on a terminal, nothing elsewhere.

use std::fmt::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use crate::pty::{read_until, spawn_with_terminal};
use crate::sandbox::{Sandbox, both};

/// Lines of the first file. The line is updated five times a second, so a faster machine needs a longer file.
const LINES: usize = 20_000;

/// How often the file is doubled before the test gives up.
const DOUBLINGS: u32 = 5;

fn big_file(bd: &Sandbox, lines: usize) -> PathBuf {
    let mut text = String::new();
    for n in 0..lines {
        let about = "The parser drops the last line of a file without a newline. ".repeat(4);
        let _ = writeln!(
            text,
            r#"{{"id":"bd-{n}","title":"Bead {n}","description":"{about}","status":"open","priority":2,"issue_type":"task","created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z"}}"#
        );
    }
    let path = bd.root().join("big.jsonl");
    std::fs::write(&path, text).unwrap();
    path
}

/// Imports a file on a terminal and returns what is shown.
fn import_on_terminal(bd: &Sandbox, args: &[&str]) -> String {
    let (mut import, mut terminal) = spawn_with_terminal(bd.command(args));
    let shown = read_until(&mut terminal, |_| false);
    assert!(import.wait().unwrap().success(), "{shown}");
    shown
}

/// Returns whether a percentage of one of the steps of an import is shown.
fn shows_percent(shown: &str) -> bool {
    let is_percent = |after: &str| {
        let (percent, _) = after.split_once(" %").unwrap_or_default();
        percent.parse::<u8>().is_ok_and(|percent| percent <= 100)
    };
    [": reading ", ": applying "].iter().any(|step| shown.split(step).skip(1).any(is_percent))
}

#[test]
fn an_import_shows_percent_on_a_terminal() {
    both(|bd| {
        let path = bd.root().join("big.jsonl");
        let args = ["import", path.to_str().unwrap()];
        let shown = (0..=DOUBLINGS).map(|doubling| {
            big_file(bd, LINES << doubling);
            import_on_terminal(bd, &args)
        });
        let mut last = String::new();
        let found = shown.inspect(|shown| last.clone_from(shown)).any(|shown| shows_percent(&shown));
        assert!(found, "{last:?}");
        assert!(last.contains("\rimporting big.jsonl ("), "{last:?}");
        assert!(last.ends_with("\r\x1b[K"), "the line is erased: {last:?}");
    });
}

#[test]
fn an_import_that_is_piped_or_quiet_shows_no_progress() {
    both(|bd| {
        let path = big_file(bd, 100);
        let args = ["import", path.to_str().unwrap()];
        let piped = bd.run(&args);
        assert!(!piped.stderr.contains('%') && !piped.stderr.contains('\r'), "{}", piped.stderr);
        assert_eq!(import_on_terminal(bd, &[&args[..], &["-q"]].concat()), "");
    });
}

/// Installs a git that reports its progress if asked to, and then waits until `fifo` is written.
fn install_waiting_git(bd: &Sandbox, fifo: &str) {
    let paths = std::env::var_os("PATH").unwrap();
    let git = std::env::split_paths(&paths).map(|directory| directory.join("git")).find(|git| git.exists());
    let git = git.unwrap();
    let script = format!(
        "#!/bin/sh\nfor word; do if [ \"$word\" = --progress ]; then\n\
         printf 'remote: Counting objects: 100%% (9/9)\\rWriting objects:  45%% (9/20)\\r' >&2\n\
         read -r _ < {fifo}\nfi; done\nexec {} \"$@\"\n",
        git.display()
    );
    let path = bd.root().join("bin/git");
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_sync_shows_the_percent_that_git_reports() {
    both(|bd| {
        let (remote, fifo) = (bd.root().join("remote.git"), bd.root().join("go"));
        git2::Repository::init_bare(&remote).unwrap();
        bd.repository().remote("origin", remote.to_str().unwrap()).unwrap();
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        bd.text(&["config", "set", "sync.transport", "git"]);
        bd.text(&["config", "set", "sync.deadline", "60s"]);
        bd.create(&["x"]);
        bd.text(&["daemon", "stop"]);
        install_waiting_git(bd, fifo.to_str().unwrap());
        let (mut sync, mut terminal) = spawn_with_terminal(bd.command(&["sync"]));
        let shown =
            read_until(&mut terminal, |shown| shown.contains("syncing with the remote: sending 45 %, "));
        assert!(shown.contains("sending 45 %"), "{shown:?}");
        if bd.daemon_pid().is_some() {
            assert!(bd.text(&["daemon", "status"]).contains("\nsync: sending 45 %\n"));
        }
        std::fs::write(&fifo, "go\n").unwrap();
        let shown = read_until(&mut terminal, |_| false);
        assert!(sync.wait().unwrap().success(), "{shown:?}");
        assert!(shown.contains("\r\x1b[K"), "the line is erased: {shown:?}");
    });
}
