//! Processes with a low limit on open files or file size.

use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use crate::sandbox::{Mode, Run, Sandbox, wait_until};

/// Runs `bd` under a limit set with the shell's `ulimit`.
fn limited(bd: &Sandbox, limit: &str, args: &[&str]) -> Command {
    let plain = bd.command(args);
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(format!("ulimit {limit}; exec \"$0\" \"$@\"")).arg(plain.get_program());
    shell.args(plain.get_args()).current_dir(bd.dir()).env_clear();
    shell.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.stdin(std::process::Stdio::null());
    shell.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    shell
}

#[test]
fn too_few_open_files_are_reported_and_not_waited_for() {
    for mode in [Mode::Daemon, Mode::Embedded] {
        let bd = Sandbox::new(mode);
        let (mut done, mut failed) = (0, 0);
        for files in [4, 5, 6, 7, 8, 9, 10, 12, 16, 24, 32, 40, 64] {
            let run = Run::of(&mut limited(&bd, &format!("-n {files}"), &["create", "one", "--json"]));
            match run.exit {
                Some(0) => done += 1,
                Some(_) => failed += 1,
                None => panic!("{mode:?} with {files} files: killed: {run:?}"),
            }
            for wait in ["\"timeout\"", "\"busy\""] {
                assert!(!run.stderr.contains(wait), "{mode:?} with {files} files: {run:?}");
            }
            // The next command starts a new daemon under its own limit.
            bd.run(&["daemon", "stop"]);
        }
        assert!(done > 0 && failed > 0, "{mode:?}: {done} done, {failed} failed");
        // A change that was answered with an error may still have been applied, and standard error may name a
        // rescue file.
        let listed = bd.run(&["list", "--json"]).value().as_array().unwrap().len();
        assert!((done..=done + failed).contains(&listed), "{mode:?}: {done} done, {listed} listed");
        assert_eq!(bd.run(&["validate", "--json"]).value(), serde_json::json!([]), "{mode:?}");
    }
}

#[test]
fn clients_beyond_the_limit_on_open_files_are_refused_and_the_next_ones_served() {
    let bd = Sandbox::new(Mode::Daemon);
    let started = Run::of(&mut limited(&bd, "-n 64", &["create", "one"]));
    assert_eq!(started.exit, Some(0), "{started:?}");
    let silent: Vec<_> =
        std::iter::repeat_with(|| UnixStream::connect(bd.socket()).unwrap()).take(80).collect();
    let refused = bd.run(&["list", "--json"]);
    assert_eq!(refused.exit, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("too many connections"), "{refused:?}");
    drop(silent);
    wait_until("the daemon serves again", || bd.run(&["list", "--json"]).exit == Some(0));
}

#[test]
fn a_limit_on_the_size_of_files_is_an_error_and_no_signal() {
    for mode in [Mode::Daemon, Mode::Embedded] {
        let bd = Sandbox::new(mode);
        bd.create(&["before"]);
        bd.run(&["daemon", "stop"]);
        for blocks in [0, 1, 8] {
            let mut command = limited(&bd, &format!("-f {blocks}"), &["create", "too much"]);
            let output = command.output().unwrap();
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.signal(), None, "{mode:?}, {blocks} blocks: {error}");
            assert_eq!(output.status.code(), Some(1), "{mode:?}, {blocks} blocks: {error}");
            assert!(error.contains("too large"), "{mode:?}, {blocks} blocks: {error}");
            bd.run(&["daemon", "stop"]);
        }
        bd.create(&["after"]);
        assert_eq!(bd.json(&["list"]).as_array().unwrap().len(), 2, "{mode:?}");
    }
}
