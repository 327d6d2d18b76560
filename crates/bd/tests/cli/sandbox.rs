//! An isolated environment for each test: a repository, a home directory, a runtime directory, and the
//! daemons started in it.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// How long a test waits for an event that should happen soon. Generous, because the machine may be busy with
/// other tests.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Beginnings of the lines that a successful command may print to standard error.
const EXPECTED_NOTES: [&str; 10] = [
    "{\"claim_over\":",
    "closed ",
    "unblocked ",
    "Saved; there is no remote",
    "Merged with ",
    "Pulled from ",
    "Pushed to ",
    "Already up to date ",
    "Joined the store of ",
    // An empty list.
    "no ",
];

pub const ACTOR: &str = "ann@here";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Daemon,
    Embedded,
}

/// Runs a test with a daemon and without one, each time in a fresh sandbox.
pub fn both(test: impl Fn(&Sandbox)) {
    for mode in [Mode::Daemon, Mode::Embedded] {
        // Printed when the test fails, to show in which mode.
        eprintln!("mode: {mode:?}");
        test(&Sandbox::new(mode));
    }
}

#[derive(Debug)]
pub struct Sandbox {
    mode: Mode,
    /// The directory in which commands run.
    cwd: PathBuf,
    root: TempDir,
}

impl Sandbox {
    /// Creates a sandbox whose repository has one commit on `main`.
    pub fn new(mode: Mode) -> Self {
        let sandbox = Self::without_repository(mode);
        commit_something(&sandbox.cwd);
        sandbox
    }

    /// Creates a sandbox with an empty directory instead of a repository.
    pub fn without_repository(mode: Mode) -> Self {
        let root = tempfile::Builder::new().prefix("bd").tempdir().unwrap();
        let path = root.path().canonicalize().unwrap();
        for name in ["repo", "home", "bin"] {
            std::fs::create_dir(path.join(name)).unwrap();
        }
        std::fs::DirBuilder::new().mode(0o700).create(path.join("run")).unwrap();
        Self { mode, cwd: path.join("repo"), root }
    }

    pub fn root(&self) -> PathBuf {
        self.root.path().canonicalize().unwrap()
    }

    /// Returns the directory in which commands run.
    pub fn dir(&self) -> &Path {
        &self.cwd
    }

    /// Changes how later commands run.
    pub fn switch(&mut self, mode: Mode) {
        self.mode = mode;
    }

    /// Changes the directory in which later commands run.
    pub fn enter(&mut self, directory: &Path) {
        directory.clone_into(&mut self.cwd);
    }

    pub fn runtime_dir(&self) -> PathBuf {
        self.root().join("run")
    }

    /// Returns a command with a clean environment and no other program on its path.
    pub fn command<A: AsRef<OsStr>>(&self, args: &[A]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bd"));
        command
            .args(args)
            .current_dir(&self.cwd)
            .env_clear()
            .env("PATH", self.root().join("bin"))
            .env("HOME", self.root().join("home"))
            .env("BD_RUNTIME_DIR", self.runtime_dir())
            .env("BD_ACTOR", ACTOR)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // Only a build with the feature `planted` reads it.
        if let Some(bug) = std::env::var_os("BD_PLANTED") {
            command.env("BD_PLANTED", bug);
        }
        if self.mode == Mode::Embedded {
            command.env("BD_NO_DAEMON", "1");
        }
        command
    }

    pub fn run<A: AsRef<OsStr>>(&self, args: &[A]) -> Run {
        Run::of(&mut self.command(args))
    }

    /// Runs a command with this standard input.
    pub fn run_with_input(&self, args: &[&str], input: &[u8]) -> Run {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        // A command that rejects its arguments may exit before it reads its input.
        let _ = child.stdin.take().unwrap().write_all(input);
        Run::finish(child)
    }

    /// Returns the standard output of a command that must succeed.
    pub fn text(&self, args: &[&str]) -> String {
        self.run(args).succeeded(args).stdout
    }

    /// Returns the JSON that a command prints with `--json`. The command must succeed.
    pub fn json(&self, args: &[&str]) -> Value {
        self.run(&with_json(args)).succeeded(args).value()
    }

    pub fn json_as(&self, actor: &str, args: &[&str]) -> Value {
        self.json(&[&["--actor", actor], args].concat())
    }

    /// Returns the error of a command that must fail with this code.
    pub fn error(&self, args: &[&str], code: &str) -> Value {
        self.run(&with_json(args)).failed(args, code)
    }

    pub fn error_as(&self, actor: &str, args: &[&str], code: &str) -> Value {
        self.error(&[&["--actor", actor], args].concat(), code)
    }

    /// Creates a bead and returns its id.
    pub fn create(&self, args: &[&str]) -> String {
        let bead = self.json(&[&["create"], args].concat());
        bead["id"].as_str().unwrap().to_owned()
    }

    pub fn show(&self, id: &str) -> Value {
        self.json(&["show", id])[0].clone()
    }

    /// Returns the ids that a listing command prints, in the same order.
    pub fn ids(&self, args: &[&str]) -> Vec<String> {
        ids_of(&self.json(args))
    }

    /// Returns all live and deleted beads, to check whether a command changed anything.
    pub fn everything(&self) -> (Value, Value) {
        (self.json(&["list"]), self.json(&["deleted"]))
    }

    pub fn repository(&self) -> git2::Repository {
        git2::Repository::open(&self.cwd).unwrap()
    }

    /// Returns the process id of the daemon of the store in the working directory, if one is running.
    pub fn daemon_pid(&self) -> Option<u32> {
        let status = self.json(&["daemon", "status"]);
        status["pid"].as_u64().map(|pid| u32::try_from(pid).unwrap())
    }

    /// Kills the daemon with SIGKILL, if one is running. The next command starts another.
    pub fn kill_daemon(&self) {
        let run = self.run(&["daemon", "status", "--json"]);
        if let Some(pid) = run.value()["pid"].as_u64() {
            kill(u32::try_from(pid).unwrap());
        }
    }

    pub fn socket(&self) -> PathBuf {
        self.json(&["where"])["socket"].as_str().unwrap().into()
    }
}

impl Drop for Sandbox {
    /// Stops every daemon that listens in this sandbox's runtime directory, whichever store it serves.
    fn drop(&mut self) {
        let sockets = std::fs::read_dir(self.runtime_dir()).into_iter().flatten().flatten();
        for socket in sockets.map(|entry| entry.path()) {
            if let Some(pid) = crate::socket::Client::connect(&socket).and_then(crate::socket::Client::stop) {
                end(pid);
            }
        }
    }
}

/// Waits until a process that was asked to exit has exited. Kills it after [`PATIENCE`].
fn end(pid: u32) {
    let start = Instant::now();
    while is_alive(pid) {
        if start.elapsed() > PATIENCE {
            kill(pid);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub fn is_alive(pid: u32) -> bool {
    test_kill_process(process(pid)).is_ok()
}

/// Sends SIGTERM.
pub fn terminate(pid: u32) {
    let _ = kill_process(process(pid), Signal::TERM);
}

/// Sends SIGKILL.
pub fn kill(pid: u32) {
    let _ = kill_process(process(pid), Signal::KILL);
}

fn process(pid: u32) -> Pid {
    Pid::from_raw(i32::try_from(pid).unwrap()).unwrap()
}

/// Polls until a condition holds. Fails the test if it does not hold in time.
pub fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "timed out waiting until {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub fn ids_of(beads: &Value) -> Vec<String> {
    let beads = beads.as_array().unwrap_or_else(|| panic!("not an array: {beads}"));
    beads.iter().map(|bead| bead["id"].as_str().unwrap().to_owned()).collect()
}

fn with_json<'a>(args: &[&'a str]) -> Vec<&'a str> {
    [args, &["--json"]].concat()
}

/// Creates a repository on `main` with one committed file.
pub fn commit_something(dir: &Path) {
    let mut options = git2::RepositoryInitOptions::new();
    options.initial_head("main");
    let repository = git2::Repository::init_opts(dir, &options).unwrap();
    std::fs::write(dir.join("file.txt"), "content\n").unwrap();
    let mut index = repository.index().unwrap();
    index.add_path(Path::new("file.txt")).unwrap();
    index.write().unwrap();
    let tree = repository.find_tree(index.write_tree().unwrap()).unwrap();
    let author = git2::Signature::new("ann", ACTOR, &git2::Time::new(1_700_000_000, 0)).unwrap();
    repository.commit(Some("HEAD"), &author, &author, "first", &tree, &[]).unwrap();
}

/// Whether `git status` would print nothing.
pub fn is_clean(repository: &git2::Repository) -> bool {
    let mut options = git2::StatusOptions::new();
    options.include_ignored(false).include_untracked(true).recurse_untracked_dirs(true);
    repository.statuses(Some(&mut options)).unwrap().is_empty()
}

pub fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// The exit code and output of a command.
#[derive(Debug)]
pub struct Run {
    /// `None` if it was killed by a signal.
    pub exit: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    pub fn of(command: &mut Command) -> Self {
        Self::finish(command.spawn().unwrap())
    }

    pub fn finish(child: Child) -> Self {
        let output = child.wait_with_output().unwrap();
        Self {
            exit: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    pub fn value(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Asserts that the command succeeded and printed nothing to standard error, except that a claim of the
    /// caller ended, which any answer may mention, the reports of `close` and `sync`, and that a list is empty.
    pub fn succeeded<A: std::fmt::Debug>(self, args: A) -> Self {
        let quiet = self.stderr.lines().all(|line| EXPECTED_NOTES.iter().any(|note| line.starts_with(note)));
        assert!(self.exit == Some(0) && quiet, "{args:?}: {self:?}");
        self
    }

    /// Asserts that the command failed under `--json`: an error object on standard output, one line on
    /// standard error, and the exit code for this kind of error. Returns the error.
    pub fn failed<A: std::fmt::Debug>(&self, args: A, code: &str) -> Value {
        let error = self.value()["error"].clone();
        assert_eq!(error["code"], code, "{args:?}: {self:?}");
        assert!(!error["message"].as_str().unwrap().is_empty(), "{self:?}");
        assert!(error.as_object().unwrap().contains_key("details"), "{self:?}");
        let usage = matches!(code, "usage" | "invalid_value" | "unknown_key");
        assert_eq!(self.exit, Some(if usage { 2 } else { 1 }), "{args:?}: {self:?}");
        self.assert_one_error_line();
        error
    }

    pub fn assert_one_error_line(&self) {
        let lines: Vec<_> = self.stderr.lines().collect();
        assert!(lines.len() == 1 && lines[0].starts_with("Error: "), "{self:?}");
        assert!(self.stderr.ends_with('\n'), "{self:?}");
        assert!(!self.stderr.trim_end().contains(char::is_control), "{self:?}");
    }
}

/// Removes a directory to which a daemon may still be writing. Removal fails while the daemon adds files, so
/// it is retried.
pub fn remove_directory(path: &Path) {
    wait_until("the directory is removed", || std::fs::remove_dir_all(path).is_ok() || !path.exists());
}
