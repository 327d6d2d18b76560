//! The shell of a transcript: a repository of its own, nothing of the surrounding environment, and no daemon unless the
//! transcript asks for one with `BD_NO_DAEMON=`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::golden::push_line;
use crate::indent::indent;
use crate::redact::redact;
use crate::sandbox::{Mode, Run, Sandbox};

/// The width of help texts.
const COLUMNS: &str = "100";

/// The current time of `bb`. That of `bd` cannot be set.
const NOON: &str = "2040-02-13T12:00:00.000Z";

/// Longer lines of JSON are shown indented.
const MAX_JSON_LINE: usize = 100;

#[derive(Debug)]
pub struct Session {
    sandbox: Sandbox,
}

impl Session {
    /// Makes a session in a repository with one commit, beside an empty bare one in `../remote.git`.
    pub fn new() -> Self {
        let sandbox = Sandbox::new(Mode::Embedded);
        std::fs::create_dir(sandbox.root().join("tmp")).unwrap();
        git2::Repository::init_bare(sandbox.root().join("remote.git")).unwrap();
        Self { sandbox }
    }

    /// Runs a script that must succeed.
    pub fn prepare(&self, script: &str) {
        let run = self.run(&format!("set -e\n{script}"));
        assert_eq!(run.exit, Some(0), "{script}\n{}{}", run.stdout, run.stderr);
    }

    /// Runs a command line and returns its standard output, its standard error and its exit status, the latter two
    /// marked.
    pub fn show(&self, line: &str) -> String {
        let run = self.run(line);
        // Nothing differs from run to run in a help text, and examples look like what does.
        if line.ends_with(" --help") {
            assert!(run.exit == Some(0) && run.stderr.is_empty(), "{line}: {run:?}");
            return if line == "bd --help" { run.stdout } else { without_global_options(&run.stdout) };
        }
        let mut shown = String::new();
        for line in run.stdout.lines() {
            match indent(line).filter(|_| line.len() > MAX_JSON_LINE) {
                Some(indented) => push_line(&mut shown, &format!("[one line] {indented}")),
                None => push_line(&mut shown, line),
            }
        }
        if !run.stdout.is_empty() && !run.stdout.ends_with('\n') {
            push_line(&mut shown, "[no newline]");
        }
        for line in run.stderr.lines() {
            push_line(&mut shown, &format!("[stderr] {line}"));
        }
        match run.exit {
            Some(0) => {}
            Some(code) => push_line(&mut shown, &format!("[exit {code}]")),
            None => push_line(&mut shown, "[ended by a signal]"),
        }
        redact(&shown, &self.sandbox.root())
    }

    fn run(&self, script: &str) -> Run {
        let bd = self.sandbox.command::<&str>(&[]);
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).current_dir(self.sandbox.dir()).env_clear();
        for (name, value) in bd.get_envs() {
            shell.env(name, value.unwrap());
        }
        let root = self.sandbox.root();
        shell.env("PATH", path(&root)).env("TMPDIR", root.join("tmp"));
        shell
            .env("BD_ACTOR", "ann")
            .env("BB_NOW", NOON)
            .env("COLUMNS", COLUMNS)
            .env("TZ", "UTC")
            .env("LC_ALL", "C");
        shell.stdin(Stdio::null());
        shell.stdout(Stdio::piped()).stderr(Stdio::piped());
        Run::of(&mut shell)
    }
}

/// The programs under test, links that a transcript makes, and those of the system.
fn path(root: &Path) -> std::ffi::OsString {
    let programs = PathBuf::from(env!("CARGO_BIN_EXE_bd"));
    let directories =
        [programs.parent().unwrap(), &root.join("bin"), Path::new("/usr/bin"), Path::new("/bin")];
    std::env::join_paths(directories).unwrap()
}

/// Replaces the global options, which the help of every verb repeats. They are the last section.
fn without_global_options(help: &str) -> String {
    let Some((before, section)) = help.split_once("Global options:\n") else { return help.to_owned() };
    let is_option = |line: &str| line.is_empty() || line.starts_with(' ');
    assert!(section.lines().all(is_option), "the global options are not the last section:\n{help}");
    format!("{before}Global options:\n  [as in bd --help]\n")
}
