use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use beads_engine::failure::{Code, Failure, exit};
use beads_engine::request::Reply;

use super::{Globals, answered};

/// How often both sides are synchronised before the demo gives up on them; two rounds are enough.
const MAX_ROUNDS: usize = 10;
const AGENTS: usize = 4;
const BEADS_PER_AGENT: usize = 10;

/// Show it all: two replicas, a bare remote, concurrent agents
///
/// Everything happens in a temporary directory that is removed at the end. Exit code 1 if the two sides differ.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd demo")]
pub struct Args {
    /// Keep the directory to look around in
    #[arg(long)]
    keep: bool,
}

impl Args {
    pub fn run(self, _: &Globals) -> Result<Reply, Failure> {
        let demo = Demo::new()?;
        let shown = demo.show();
        let unwritten = demo.unwritten.clone();
        if self.keep {
            demo.say(&format!("kept: {}", demo.root.display()));
            demo.stop_daemons();
            std::mem::forget(demo);
        } else {
            drop(demo);
        }
        shown?;
        // Reported last: a reader that has gone away ends this process.
        let exit = unwritten
            .get()
            .map_or(exit::OK, |error| crate::print::report(&mut std::io::stderr(), error, &[], exit::OK));
        Ok(Reply { exit, ..answered(String::new()) })
    }
}

/// Two clones of one bare repository, and the daemons that serve them.
struct Demo {
    root: PathBuf,
    program: PathBuf,
    /// Why the demo could not be shown, if so.
    unwritten: Arc<OnceLock<std::io::Error>>,
}

impl Demo {
    fn new() -> Result<Self, Failure> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let program = std::env::current_exe()
            .map_err(|error| Failure::new(Code::IoError, format!("cannot find this program: {error}")))?;
        let unique = format!("bd-demo-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let root = std::env::temp_dir().join(unique);
        let demo = Self { root, program, unwritten: Arc::default() };
        demo.lay_out()
            .map_err(|error| Failure::new(Code::IoError, format!("cannot set the demo up: {error}")))?;
        Ok(demo)
    }

    fn lay_out(&self) -> Result<(), Box<dyn std::error::Error>> {
        use std::os::unix::fs::DirBuilderExt;
        std::fs::DirBuilder::new().mode(0o700).create(&self.root)?;
        std::fs::DirBuilder::new().mode(0o700).create(self.root.join("run"))?;
        let remote = self.root.join("remote.git");
        git2::Repository::init_bare(&remote)?;
        for side in ["a", "b"] {
            let repository = git2::Repository::init(self.root.join(side))?;
            repository.remote("origin", &remote.to_string_lossy())?;
        }
        Ok(())
    }

    fn show(&self) -> Result<(), Failure> {
        // The daemons synchronise by themselves; here they wait for the word, so that every run meets the same conflicts.
        for (side, key) in
            ["a", "b"].into_iter().flat_map(|side| ["sync.quiet", "sync.max_delay"].map(|key| (side, key)))
        {
            self.run(side, "ann", &["config", "set", key, "1h"])?;
        }
        self.say("A bare remote and two replicas, a and b, each with a daemon of its own.\n");
        self.shown("a", "ann", &["create", "Ship it", "-t", "epic", "--id", "bd-ship"])?;
        self.shown("a", "ann", &["sync"])?;
        self.shown("b", "ben", &["sync"])?;
        self.shown("b", "ben", &["list"])?;

        self.say(&format!(
            "\n{AGENTS} agents on each side create and close {BEADS_PER_AGENT} beads each, all at once.\n"
        ));
        self.swarm()?;

        self.say(
            "\nBoth sides edit the same title, take the same id, and one deletes what the other edits.\n",
        );
        self.shown("a", "ann", &["update", "bd-ship", "--title", "Ship it today"])?;
        self.shown("b", "ben", &["update", "bd-ship", "--title", "Ship it on Friday"])?;
        self.shown("a", "ann", &["create", "The id is mine", "--id", "bd-same"])?;
        self.shown("b", "ben", &["create", "No, mine", "--id", "bd-same"])?;
        self.shown("a", "ann", &["create", "Doomed", "--id", "bd-doom"])?;
        self.quiet()?;
        self.shown("a", "ann", &["delete", "bd-doom", "--reason", "not needed"])?;
        self.shown("b", "ben", &["note", "add", "bd-doom", "I still need it"])?;

        self.say("\nSynchronised until quiet, both hold the same bytes:\n");
        self.quiet()?;
        let (a, b) = (self.run("a", "ann", &["verify"])?, self.run("b", "ben", &["verify"])?);
        self.say(&format!("a {a}b {b}"));
        self.shown("b", "ben", &["show", "bd-doom"])?;

        self.say("\nThe title that lost is kept, and the bead that lost its id says where it went:\n");
        self.shown("b", "ben", &["conflicts", "list"])?;
        self.shown("a", "ann", &["status"])?;
        if a != b {
            return Err(Failure::new(Code::DemoFailed, "the two replicas differ"));
        }
        self.say("\nEqual fingerprints, nothing lost.");
        Ok(())
    }

    fn swarm(&self) -> Result<(), Failure> {
        let agents = ["a", "b"].into_iter().flat_map(|side| (0..AGENTS).map(move |number| (side, number)));
        std::thread::scope(|scope| {
            let running: Vec<_> =
                agents.map(|(side, number)| scope.spawn(move || self.agent(side, number))).collect();
            running.into_iter().try_for_each(|agent| {
                agent.join().unwrap_or_else(|_| Err(Failure::new(Code::DemoFailed, "an agent panicked")))
            })
        })?;
        let count = |side| self.run(side, "ann", &["count", "--status", "closed"]);
        self.say(&format!("closed on a: {}closed on b: {}", count("a")?, count("b")?));
        Ok(())
    }

    fn agent(&self, side: &str, number: usize) -> Result<(), Failure> {
        let actor = format!("agent-{side}{number}");
        for bead in 0..BEADS_PER_AGENT {
            let title = format!("Work {bead} of {actor}");
            let created = self.run(side, &actor, &["create", &title, "--json"])?;
            let created: serde_json::Value = serde_json::from_str(&created).map_err(|error| {
                Failure::new(Code::DemoFailed, format!("create answered {created:?}: {error}"))
            })?;
            let id = created["id"].as_str().unwrap_or_default().to_owned();
            self.run(side, &actor, &["claim", &id])?;
            self.run(side, &actor, &["close", &id, "--reason", "done"])?;
        }
        Ok(())
    }

    /// Synchronises both sides until neither has anything new.
    fn quiet(&self) -> Result<(), Failure> {
        for _ in 0..MAX_ROUNDS {
            self.run("a", "ann", &["sync"])?;
            self.run("b", "ben", &["sync"])?;
            if self.run("a", "ann", &["verify"])? == self.run("b", "ben", &["verify"])? {
                return Ok(());
            }
        }
        Err(Failure::new(Code::DemoFailed, "the two replicas do not come to rest"))
    }

    fn shown(&self, side: &str, actor: &str, arguments: &[&str]) -> Result<(), Failure> {
        let quoted: Vec<_> = arguments
            .iter()
            .map(|word| if word.contains(' ') { format!("\"{word}\"") } else { (*word).to_owned() })
            .collect();
        self.say(&format!("{side} $ bd {}", quoted.join(" ")));
        let printed = self.run(side, actor, arguments)?;
        printed.lines().for_each(|line| self.say(line));
        Ok(())
    }

    fn run(&self, side: &str, actor: &str, arguments: &[&str]) -> Result<String, Failure> {
        let output = self
            .command(side)
            .args(["--actor", actor])
            .args(arguments)
            .output()
            .map_err(|error| Failure::new(Code::IoError, format!("cannot run bd: {error}")))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(Failure::new(Code::DemoFailed, format!("bd {} on {side}: {said}", arguments.join(" "))))
    }

    /// A command that knows nothing of the caller's stores and settings.
    fn command(&self, side: &str) -> Command {
        let mut command = Command::new(&self.program);
        for (name, _) in std::env::vars_os().filter(|(name, _)| {
            let name = name.to_string_lossy();
            name.starts_with("BD_") || name.starts_with("BEADS_")
        }) {
            command.env_remove(name);
        }
        command.env("BD_RUNTIME_DIR", self.root.join("run")).arg("-C").arg(self.root.join(side));
        command
    }

    /// Prints while the demo runs instead of at its end.
    fn say(&self, line: &str) {
        let mut stdout = std::io::stdout();
        if let Err(error) = writeln!(stdout, "{line}").and_then(|()| stdout.flush()) {
            // The first reason counts.
            let _ = self.unwritten.set(error);
        }
    }

    fn stop_daemons(&self) {
        for side in ["a", "b"] {
            let _ = self.command(side).args(["daemon", "stop"]).output();
        }
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        self.stop_daemons();
        remove(&self.root);
    }
}

/// A daemon that is just leaving may still be writing; then the second try removes the rest.
fn remove(root: &Path) {
    if std::fs::remove_dir_all(root).is_err() {
        std::thread::sleep(Duration::from_millis(50));
        let _ = std::fs::remove_dir_all(root);
    }
}
