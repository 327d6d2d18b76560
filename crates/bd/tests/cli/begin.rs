//! What holds before the first word is read: standard files that are not there, and readers that have had enough.

use std::process::{Command, Output};

use crate::sandbox::{Sandbox, both};

/// Runs a script in which `$BD` is the program, surrounded as the sandbox has it.
fn shell(bd: &Sandbox, script: &str) -> Output {
    let like_this = bd.command::<&str>(&[]);
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(script).env("BD", env!("CARGO_BIN_EXE_bd")).current_dir(bd.dir());
    for (name, value) in like_this.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell.output().unwrap()
}

/// Else the journal or the socket would be opened as standard output, and written to as such.
#[test]
fn a_command_without_standard_files_does_its_work() {
    both(|bd| {
        bd.create(&["first", "--id", "bd-1"]);
        let done = shell(bd, r#"exec "$BD" update bd-1 --title second <&- >&- 2>&-"#);
        assert_eq!(done.status.code(), Some(0));
        let done = shell(bd, r#"exec "$BD" create third --id bd-3 >&-"#);
        assert_eq!(done.status.code(), Some(0));
        assert_eq!(bd.show("bd-1")["title"], "second");
        assert_eq!(bd.show("bd-3")["title"], "third");
        bd.json(&["validate"]);
    });
}

#[test]
fn a_reader_that_stops_does_not_kill() {
    both(|bd| {
        // More than a pipe holds, so that somebody has to read it.
        bd.create(&["long", "--id", "bd-1", "--description", &"so much to say ".repeat(8_000)]);
        let done = shell(bd, r#"("$BD" show bd-1; echo "ended with $?" >&2) | true"#);
        let told = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(told.contains("ended with 0"), "{told}");
    });
}
