//! An unusual environment: missing directories, empty variables, blocked signals.

use std::os::unix::process::CommandExt;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::sandbox::{Mode, Run, Sandbox, both, is_alive, wait_until};

#[test]
fn an_absolute_repo_needs_no_current_directory() {
    both(|bd| {
        let id = bd.create(&["first"]);
        let gone = bd.root().join("gone");
        std::fs::create_dir(&gone).unwrap();
        let script = format!("rmdir {} && exec \"$@\"", gone.display());
        for args in [&["show", &id, "--json"][..], &["create", "second", "--json"]] {
            let mut command = std::process::Command::new("/bin/sh");
            command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_bd"), "--repo"]).arg(bd.dir()).args(args);
            let like = bd.command::<&str>(&[]);
            command.env_clear().envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
            command.env("PATH", "/usr/bin:/bin").current_dir(&gone);
            command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
            let run = Run::of(&mut command);
            assert_eq!(run.exit, Some(0), "{args:?}: {run:?}");
            std::fs::create_dir(&gone).unwrap();
        }
        // A relative path needs the current directory, and the error says so.
        assert_eq!(bd.ids(&["list"]).len(), 2);
    });
}

#[test]
fn an_empty_runtime_directory_variable_counts_as_unset() {
    let bd = Sandbox::new(Mode::Daemon);
    let run = |args: &[&str]| {
        let mut command = bd.command(args);
        command.env("BD_RUNTIME_DIR", "").env("XDG_RUNTIME_DIR", bd.runtime_dir());
        Run::of(&mut command).succeeded(args).value()
    };
    run(&["create", "first", "--json"]);
    let status = run(&["daemon", "status", "--json"]);
    assert_eq!(status["running"], true, "{status}");
    let socket = status["socket"].as_str().unwrap();
    assert!(socket.starts_with(bd.runtime_dir().join("beads").to_str().unwrap()), "{status}");
    assert_eq!(run(&["daemon", "stop", "--json"])["running"], false);
}

#[test]
#[allow(unsafe_code)]
fn a_daemon_handles_sigterm_even_if_its_parent_blocked_it() {
    let bd = Sandbox::new(Mode::Daemon);
    let mut create = bd.command(&["create", "first"]);
    // SAFETY: calls only functions that are safe between fork and exec, on a local signal set.
    unsafe {
        create.pre_exec(|| {
            let mut set = std::mem::zeroed();
            libc::sigemptyset(&mut set);
            libc::sigaddset(&mut set, libc::SIGTERM);
            libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
            Ok(())
        });
    }
    assert!(create.status().unwrap().success());
    let pid = bd.daemon_pid().unwrap();
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), Signal::TERM).unwrap();
    wait_until("the daemon exits", || !is_alive(pid));
}

#[test]
fn durations_in_settings_have_bounds() {
    both(|bd| {
        for (key, value) in [("sync.interval", "1ns"), ("sync.deadline", "0s"), ("claim.lease", "1ms")] {
            let error = bd.error(&["config", "set", key, value], "invalid_value");
            assert!(error["message"].as_str().unwrap().contains(key), "{error}");
        }
        bd.json(&["config", "set", "sync.interval", "0"]);
        // A file written by an earlier version may hold a smaller value; it still loads.
        bd.text(&["daemon", "stop"]);
        let path = bd.dir().join(".git/beads/config.json");
        std::fs::write(&path, json!({"sync.interval": "1ns"}).to_string()).unwrap();
        assert_eq!(bd.json(&["config", "get", "sync.interval"])["value"], "1ns");
        bd.create(&["x"]);
    });
}

#[test]
fn a_lone_surrogate_is_not_a_second_document() {
    both(|bd| {
        let run = bd.run_with_input(&["tool", "beads.create"], br#"{"title": "\ud800"}"#);
        let answer = run.value();
        assert_eq!(answer["error"], "invalid_json", "{answer}");
        assert!(!answer["message"].as_str().unwrap().contains("more than one JSON document"), "{answer}");
        let two = bd.run_with_input(&["tool", "beads.create"], br#"{"title": "x"} {}"#).value();
        assert!(two["message"].as_str().unwrap().contains("more than one JSON document"), "{two}");
    });
}

#[test]
fn a_hook_that_refuses_is_not_a_network_error() {
    let Some(path) = std::env::var_os("PATH") else { return };
    if std::process::Command::new("git").arg("--version").output().is_err() {
        eprintln!("skipped: no git program found");
        return;
    }
    both(|bd| {
        let remote = bd.root().join("remote.git");
        git2::Repository::init_bare(&remote).unwrap();
        let hook = remote.join("hooks/reference-transaction");
        std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
        std::fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
        crate::sandbox::set_mode(&hook, 0o755);
        bd.repository().remote("origin", remote.to_str().unwrap()).unwrap();
        bd.json(&["config", "set", "sync.transport", "git"]);
        bd.text(&["daemon", "stop"]);
        assert!(bd.command(&["create", "x"]).env("PATH", &path).status().unwrap().success());
        let run = Run::of(bd.command(&["sync", "--json"]).env("PATH", &path));
        assert_eq!(run.value()["error"]["code"], "push_refused", "{run:?}");
    });
}
