use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use beads_engine::failure::{Code, Failure, exit};
use beads_engine::request::Reply;

use super::{Globals, stdout_reply};

/// The number of sync rounds before the demo fails; two are enough.
const MAX_ROUNDS: usize = 10;
const AGENTS: usize = 4;
const BEADS_PER_AGENT: usize = 10;

/// Run a demo: two replicas, a bare remote and concurrent agents
///
/// Runs in a temporary directory that is removed at the end. Exits with 1 if the replicas differ.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd demo")]
pub struct Args {
    /// Keep the directory
    #[arg(long)]
    keep: bool,
}

impl Args {
    pub fn run(self, _: &Globals) -> Result<Reply, Failure> {
        let demo = Demo::new()?;
        let shown = demo.show();
        let unwritten = demo.unwritten.clone();
        if self.keep {
            demo.print_line(&format!("kept: {}", demo.root.display()));
            demo.stop_daemons();
            std::mem::forget(demo);
        } else {
            drop(demo);
        }
        shown?;
        // Reported last, because a closed pipe kills this process.
        let exit = unwritten
            .get()
            .map_or(exit::OK, |error| crate::print::report(&mut std::io::stderr(), error, &[], exit::OK));
        Ok(Reply { exit, ..stdout_reply(String::new()) })
    }
}

/// Two clones of one bare repository, and the daemons that serve them.
struct Demo {
    root: PathBuf,
    program: PathBuf,
    /// The first error while printing.
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
        demo.create_repositories()
            .map_err(|error| Failure::new(Code::IoError, format!("cannot set up the demo: {error}")))?;
        Ok(demo)
    }

    fn create_repositories(&self) -> Result<(), Box<dyn std::error::Error>> {
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
        // The daemons must not sync by themselves, so that every run has the same conflicts.
        for (side, key) in
            ["a", "b"].into_iter().flat_map(|side| ["sync.quiet", "sync.max_delay"].map(|key| (side, key)))
        {
            self.run(side, "ann", &["config", "set", key, "1h"])?;
        }
        self.print_line("A bare remote and two replicas, a and b, each with its own daemon.\n");
        self.run_and_print("a", "ann", &["create", "Ship it", "-t", "epic", "--id", "bd-ship"])?;
        self.run_and_print("a", "ann", &["sync"])?;
        self.run_and_print("b", "ben", &["sync"])?;
        self.run_and_print("b", "ben", &["list"])?;

        self.print_line(&format!(
            "\n{AGENTS} agents on each replica create and close {BEADS_PER_AGENT} beads each, concurrently.\n"
        ));
        self.swarm()?;

        self.print_line(
            "\nBoth replicas edit the same title and use the same id, and one deletes a bead that the other edits.\n",
        );
        self.run_and_print("a", "ann", &["update", "bd-ship", "--title", "Ship it today"])?;
        self.run_and_print("b", "ben", &["update", "bd-ship", "--title", "Ship it on Friday"])?;
        self.run_and_print("a", "ann", &["create", "The id is mine", "--id", "bd-same"])?;
        self.run_and_print("b", "ben", &["create", "No, mine", "--id", "bd-same"])?;
        self.run_and_print("a", "ann", &["create", "Doomed", "--id", "bd-doom"])?;
        self.sync_until_equal()?;
        self.run_and_print("a", "ann", &["delete", "bd-doom", "--reason", "not needed"])?;
        self.run_and_print("b", "ben", &["note", "add", "bd-doom", "I still need it"])?;

        self.print_line("\nAfter syncing until nothing changes, both replicas have the same fingerprint:\n");
        self.sync_until_equal()?;
        let (a, b) = (self.run("a", "ann", &["verify"])?, self.run("b", "ben", &["verify"])?);
        self.print_line(&format!("a {a}b {b}"));
        self.run_and_print("b", "ben", &["show", "bd-doom"])?;

        self.print_line(
            "\nThe overwritten title is kept, and the bead that lost its id shows its new one:\n",
        );
        self.run_and_print("b", "ben", &["conflicts", "list"])?;
        self.run_and_print("a", "ann", &["status"])?;
        if a != b {
            return Err(Failure::new(Code::DemoFailed, "the two replicas differ"));
        }
        self.print_line("\nThe fingerprints are equal; nothing was lost.");
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
        self.print_line(&format!("closed on a: {}closed on b: {}", count("a")?, count("b")?));
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

    /// Syncs both replicas until they are equal.
    fn sync_until_equal(&self) -> Result<(), Failure> {
        for _ in 0..MAX_ROUNDS {
            self.run("a", "ann", &["sync"])?;
            self.run("b", "ben", &["sync"])?;
            if self.run("a", "ann", &["verify"])? == self.run("b", "ben", &["verify"])? {
                return Ok(());
            }
        }
        Err(Failure::new(
            Code::DemoFailed,
            format!("the two replicas still differ after {MAX_ROUNDS} rounds"),
        ))
    }

    fn run_and_print(&self, side: &str, actor: &str, arguments: &[&str]) -> Result<(), Failure> {
        let quoted: Vec<_> = arguments
            .iter()
            .map(|word| if word.contains(' ') { format!("\"{word}\"") } else { (*word).to_owned() })
            .collect();
        self.print_line(&format!("{side} $ bd {}", quoted.join(" ")));
        let printed = self.run(side, actor, arguments)?;
        printed.lines().for_each(|line| self.print_line(line));
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

    /// Returns a `bd` command that ignores the caller's stores and settings.
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

    /// Prints immediately instead of at the end.
    fn print_line(&self, line: &str) {
        let mut stdout = std::io::stdout();
        if let Err(error) = writeln!(stdout, "{line}").and_then(|()| stdout.flush()) {
            // Only the first error is kept.
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

/// Removes the directory. Retries once, because an exiting daemon may still be writing.
fn remove(root: &Path) {
    if std::fs::remove_dir_all(root).is_err() {
        std::thread::sleep(Duration::from_millis(50));
        let _ = std::fs::remove_dir_all(root);
    }
}
