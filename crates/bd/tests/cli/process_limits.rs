//! Processes that may open few files or write small ones.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::sandbox::{Mode, Run, Sandbox};

/// Clients ask again for fifteen seconds; a command that cannot open files must not.
const AT_ONCE: Duration = Duration::from_secs(14);

/// Runs `bd` under a limit of the shell's `ulimit`.
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
fn too_few_open_files_are_reported_at_once() {
    for mode in [Mode::Daemon, Mode::Embedded] {
        let bd = Sandbox::new(mode);
        let (mut done, mut failed) = (0, 0);
        for files in [4, 5, 6, 7, 8, 9, 10, 12, 16, 32] {
            let begun = Instant::now();
            let run = Run::of(&mut limited(&bd, &format!("-n {files}"), &["create", "one", "--json"]));
            assert!(begun.elapsed() < AT_ONCE, "{mode:?} with {files} files: {run:?}");
            match run.exit {
                Some(0) => done += 1,
                Some(_) => failed += 1,
                None => panic!("{mode:?} with {files} files: killed: {run:?}"),
            }
            // The next command starts a daemon of its own, under its own limit.
            bd.run(&["daemon", "stop"]);
        }
        assert!(done > 0 && failed > 0, "{mode:?}: {done} done, {failed} failed");
        // A change whose answer was an error may have been made, and standard error may name a rescue file.
        let listed = bd.run(&["list", "--json"]).value().as_array().unwrap().len();
        assert!((done..=done + failed).contains(&listed), "{mode:?}: {done} done, {listed} listed");
        assert_eq!(bd.run(&["validate", "--json"]).value(), serde_json::json!([]), "{mode:?}");
    }
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
