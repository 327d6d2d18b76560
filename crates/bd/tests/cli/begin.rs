//! What holds before the first word is read: standard files that are not there, and readers that have had enough.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::sandbox::{Sandbox, both};

/// A script in which `$BD` is the program, surrounded as the sandbox has it.
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

/// Else the journal or the socket would be opened as standard output, and written to as such.
#[test]
#[cfg(target_os = "linux")]
fn standard_files_that_are_not_there_lead_nowhere() {
    both(|bd| {
        let mut child = shell(bd, r#"exec "$BD" watch <&- >&- 2>&-"#).spawn().unwrap();
        let of_child = |what: &str| std::fs::read_link(format!("/proc/{}/{what}", child.id()));
        let leads_nowhere =
            |file: &i32| of_child(&format!("fd/{file}")).is_ok_and(|to| to == Path::new("/dev/null"));
        let program = Path::new(env!("CARGO_BIN_EXE_bd")).canonicalize().unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        let found = loop {
            let begun = of_child("exe").is_ok_and(|exe| exe == program);
            let found = begun && (0..=2).all(|file| leads_nowhere(&file));
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
fn a_reader_that_stops_ends_it_as_it_ends_git() {
    both(|bd| {
        // More than a pipe holds, so that somebody has to read it.
        bd.create(&["long", "--id", "bd-1", "--description", &"so much to say ".repeat(8_000)]);
        let done = shell(bd, r#"("$BD" show bd-1; echo "ended with $?" >&2) | true"#).output().unwrap();
        let told = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(told, "ended with 141\n");
    });
}
