//! What happens before the command line is parsed: closed standard files, and readers that stop reading.

use std::process::Command;

use crate::sandbox::{Sandbox, both};

/// Runs a script in the environment of the sandbox; `$BD` is the program.
fn shell(bd: &Sandbox, script: &str) -> Command {
    let like_this = bd.command::<&str>(&[]);
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(script).env("BD", env!("CARGO_BIN_EXE_bd")).current_dir(bd.dir());
    for (name, value) in like_this.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell
}

#[test]
fn a_command_without_standard_files_does_its_work() {
    both(|bd| {
        bd.create(&["first", "--id", "bd-1"]);
        let done = shell(bd, r#"exec "$BD" update bd-1 --title second <&- >&- 2>&-"#).status().unwrap();
        assert_eq!(done.code(), Some(0));
        assert_eq!(bd.show("bd-1")["title"], "second");
        bd.json(&["validate"]);
    });
}

/// Otherwise the journal or the socket would get the number of standard output, and output would be written
/// to it.
#[test]
#[cfg(target_os = "linux")]
fn missing_standard_files_are_replaced_by_dev_null() {
    use std::path::Path;
    use std::time::{Duration, Instant};

    both(|bd| {
        let mut child = shell(bd, r#"exec "$BD" watch <&- >&- 2>&-"#).spawn().unwrap();
        let of_child = |what: &str| std::fs::read_link(format!("/proc/{}/{what}", child.id()));
        let is_dev_null =
            |file: &i32| of_child(&format!("fd/{file}")).is_ok_and(|to| to == Path::new("/dev/null"));
        let program = Path::new(env!("CARGO_BIN_EXE_bd")).canonicalize().unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        let found = loop {
            let begun = of_child("exe").is_ok_and(|exe| exe == program);
            let found = begun && (0..=2).all(|file| is_dev_null(&file));
            if found || Instant::now() > deadline {
                break found;
            }
            std::thread::yield_now();
        };
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(found);
    });
}

#[test]
fn a_closed_pipe_ends_it_with_sigpipe_like_git() {
    both(|bd| {
        // More than a pipe holds, so that the reader has to read.
        bd.create(&["long", "--id", "bd-1", "--description", &"so much to say ".repeat(8_000)]);
        let done = shell(bd, r#"("$BD" show bd-1; echo "ended with $?" >&2) | true"#).output().unwrap();
        let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(stderr, "ended with 141\n");
    });
}
