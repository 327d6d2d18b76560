//! Repositories that `bd` cannot work with: it says so and changes nothing.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use crate::sandbox::{Mode, Run, Sandbox};

fn git(args: &[&OsStr], home: &std::path::Path) -> bool {
    let mut command = Command::new("git");
    command.args(args).env("HOME", home);
    command.output().is_ok_and(|output| output.status.success())
}

#[test]
fn formats_that_libgit2_cannot_read_are_refused() {
    for (option, name) in [("--object-format=sha256", "SHA-256"), ("--ref-format=reftable", "reftable")] {
        for mode in [Mode::Daemon, Mode::Embedded] {
            let bd = Sandbox::without_repository(mode);
            if !git(&["init".as_ref(), "-q".as_ref(), option.as_ref(), bd.dir().as_os_str()], &bd.root()) {
                eprintln!("skipped: no git program found, or it does not know {option}");
                continue;
            }
            for args in [&["create", "one"][..], &["list"], &["status"], &["sync"]] {
                let run = bd.run(&[args, &["--json"]].concat());
                run.failed(args, "git_error");
                assert!(run.stderr.contains(name) && run.stderr.contains("nothing was changed"), "{run:?}");
            }
            let names = std::fs::read_dir(bd.dir().join(".git/beads")).into_iter().flatten().flatten();
            let journals = names.filter(|entry| entry.file_name().to_string_lossy().starts_with("journal"));
            assert_eq!(journals.count(), 0, "{option} {mode:?}");
        }
    }
}

/// A path that is not UTF-8 works as long as the URL of the remote is text; otherwise the error says what is
/// wrong.
#[test]
fn a_path_that_is_not_text_shows_beads_or_an_error() {
    for transport in ["native", "git"] {
        let bd = Sandbox::without_repository(Mode::Embedded);
        let root = bd.root().join(OsStr::from_bytes(b"caf\xe9"));
        std::fs::create_dir(&root).unwrap();
        let remote = root.join("remote.git");
        let (one, two) = (root.join("one"), root.join("two"));
        let init = |path: &std::path::Path, bare: &str| {
            git(&["init".as_ref(), "-q".as_ref(), bare.as_ref(), path.as_os_str()], &bd.root())
        };
        if !(init(&remote, "--bare") && init(&one, "--quiet") && init(&two, "--quiet")) {
            eprintln!("skipped: no git program found");
            return;
        }
        let run = |at: &std::path::Path, args: &[&str]| {
            let mut command = bd.command(args);
            command.current_dir(at).env("PATH", std::env::var_os("PATH").unwrap());
            Run::of(&mut command)
        };
        let set_url = |at: &std::path::Path, verb: &str, url: &OsStr| {
            let args =
                ["-C".as_ref(), at.as_os_str(), "remote".as_ref(), verb.as_ref(), "origin".as_ref(), url];
            assert!(git(&args, &bd.root()));
        };
        for at in [&one, &two] {
            set_url(at, "add", remote.as_os_str());
            run(at, &["config", "set", "sync.transport", transport]).succeeded("config");
        }
        run(&one, &["create", "a bead", "--quiet"]).succeeded("create");
        let refused = run(&one, &["sync", "--json"]);
        let error = refused.value()["error"].clone();
        assert_eq!(error["code"], "network_error", "{transport}: {refused:?}");
        assert!(error["message"].to_string().contains("not UTF-8"), "{transport}: {refused:?}");
        for at in [&one, &two] {
            set_url(at, "set-url", "../remote.git".as_ref());
        }
        run(&one, &["sync"]).succeeded("sync");
        run(&two, &["sync"]).succeeded("sync");
        let listed = run(&two, &["list", "--json"]).succeeded("list").value();
        assert_eq!(listed[0]["title"], "a bead", "{transport}");
    }
}
