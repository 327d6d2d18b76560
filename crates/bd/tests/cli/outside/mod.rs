//! Everything that happens to a repository, at random times between writes, kills and syncs: it is replaced,
//! moved, restored from a backup, cloned again and pruned. A ledger records all acknowledged writes. In the
//! end each of them must be in the store, or in a rescue file or a repository that was moved away, from which
//! it is brought back.
//!
//! An activity is a function and a row in [`ACTIVITIES`]. A run is determined by its seed.

mod git;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::sandbox::{
    Mode, Run, Sandbox, commit_something, is_alive, remove_directory, terminate, wait_until,
};

/// A name, its relative frequency, and the function.
type Activity = (&'static str, u64, fn(&mut World));

/// All activities and how often they happen.
const ACTIVITIES: &[Activity] = &[
    ("write", 8, World::write),
    ("sync", 3, World::sync),
    ("kill", 2, World::kill),
    ("clone again", 2, World::clone_again),
    ("move", 2, World::move_elsewhere),
    ("move and clone", 1, World::move_and_clone),
    ("delete local files", 1, World::delete_local_files),
    ("back up", 1, World::back_up),
    ("restore", 1, World::restore),
    ("prune", 1, World::prune),
    ("cut the remote off", 1, World::cut_off),
    ("connect the remote", 2, World::connect),
    ("mirror", 1, World::mirror),
    ("fetch as a mirror", 1, World::fetch_as_mirror),
    ("delete the ref", 1, World::delete_ref),
    ("rewind the ref", 1, World::rewind_ref),
    ("change an odd setting", 1, World::odd_setting),
    ("add an address", 1, World::second_address),
    ("start in a hook", 1, World::start_in_a_hook),
    ("lock the remote's ref", 1, World::lock_remote_ref),
    ("clone shallowly", 1, World::clone_shallow),
    ("clone as a mirror", 2, World::clone_mirror),
    ("update the mirror", 2, World::update_mirror),
    ("a branch in the way", 1, World::conflicting_branch),
    ("rename that branch", 2, World::remove_conflicting_branch),
    ("a branch in the way on the remote", 1, World::conflicting_branch_on_remote),
];

struct World {
    bd: Sandbox,
    /// The current path of the repository.
    repo: PathBuf,
    random: u64,
    /// Titles of all beads whose creation was acknowledged.
    ledger: BTreeSet<String>,
    writes: usize,
    moves: usize,
    quiet: &'static str,
    /// Repositories that were moved away to make place for another one. Each keeps its changes.
    left_behind: Vec<PathBuf>,
    /// Whether the git program is on the path, so that it is used for syncs.
    with_git: bool,
}

impl World {
    fn new(seed: u64) -> Self {
        let bd = Sandbox::new(Mode::Daemon);
        git2::Repository::init_bare(bd.root().join("remote.git")).unwrap();
        let repo = bd.dir().to_owned();
        let random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let (ledger, writes, moves) = (BTreeSet::new(), 0, 0);
        let quiet = if seed.is_multiple_of(2) { "1h" } else { "20ms" };
        let with_git = seed % 4 >= 2;
        let mut world =
            Self { bd, repo, random, ledger, writes, moves, quiet, left_behind: Vec::new(), with_git };
        world.set_up();
        let repository = git2::Repository::open(&world.repo).unwrap();
        let mut origin = repository.find_remote("origin").unwrap();
        origin.push(&["refs/heads/main:refs/heads/main"], None).unwrap();
        world
    }

    /// xorshift, good enough to choose from a table.
    fn below(&mut self, bound: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % bound
    }

    fn random_activity(&mut self) -> &'static str {
        let total = ACTIVITIES.iter().map(|(_, weight, _)| weight).sum();
        let mut chosen = self.below(total);
        for (name, weight, activity) in ACTIVITIES {
            if chosen < *weight {
                activity(self);
                return name;
            }
            chosen -= weight;
        }
        unreachable!("the weights add up");
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.bd.command(args);
        command.current_dir(&self.repo);
        if self.with_git {
            command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        }
        command
    }

    fn run(&self, args: &[&str]) -> Run {
        Run::of(&mut self.command(args))
    }

    /// Returns the git directory. A mirror is bare.
    fn git_dir(&self) -> PathBuf {
        git_dir(&self.repo)
    }

    fn remote(&self) -> PathBuf {
        self.bd.root().join("remote.git")
    }

    /// Configures a clone: its remote, and, depending on the seed, when changes are saved.
    fn set_up(&mut self) {
        let repository = git2::Repository::open(&self.repo).unwrap();
        if repository.find_remote("origin").is_err() {
            repository.remote("origin", self.remote().to_str().unwrap()).unwrap();
        }
        for key in ["sync.quiet", "sync.max_delay"] {
            self.run(&["config", "set", key, self.quiet]);
        }
    }

    fn write(&mut self) {
        self.writes += 1;
        let title = format!("write {}", self.writes);
        let run = self.run(&["create", &title, "--json"]);
        if run.exit == Some(0) {
            self.ledger.insert(title);
        }
    }

    fn sync(&mut self) {
        self.run(&["sync"]);
    }

    /// Replaces or damages the repository. Deleting the only copy of a journal whose daemon is dead is not
    /// covered, so a daemon runs before `change` and gets a request after it. A clone of another shape has
    /// its store at another path, so the next command does not reach the old daemon, and its session ends.
    fn disturb(&mut self, change: impl FnOnce(&mut Self)) {
        self.run(&["list"]);
        let before = self.daemon_pid();
        change(self);
        self.run(&["list"]);
        if let Some(pid) = before.filter(|pid| self.daemon_pid() != Some(*pid)) {
            terminate(pid);
            wait_until("the daemon of the removed repository exits", || !is_alive(pid));
        }
    }

    fn daemon_pid(&self) -> Option<u32> {
        let pid = self.run(&["daemon", "status", "--json"]).value()["pid"].as_u64()?;
        u32::try_from(pid).ok()
    }

    fn clone_again(&mut self) {
        self.disturb(|world| {
            remove_directory(&world.repo);
            world.clone_here();
        });
        self.set_up();
    }

    fn clone_here(&mut self) {
        std::fs::create_dir(&self.repo).unwrap();
        commit_something(&self.repo);
    }

    fn move_elsewhere(&mut self) {
        self.moves += 1;
        let elsewhere = self.bd.root().join(format!("moved {}", self.moves));
        std::fs::rename(&self.repo, &elsewhere).unwrap();
        self.repo = elsewhere;
    }

    fn move_and_clone(&mut self) {
        self.disturb(|world| {
            world.moves += 1;
            let elsewhere = world.bd.root().join(format!("left behind {}", world.moves));
            std::fs::rename(&world.repo, &elsewhere).unwrap();
            world.left_behind.push(elsewhere);
            world.clone_here();
        });
        self.set_up();
    }

    fn delete_local_files(&mut self) {
        self.disturb(|world| remove_directory(&world.git_dir().join("beads")));
    }

    fn backup(&self) -> PathBuf {
        self.bd.root().join("backup")
    }

    /// Copies the journal and all files beside it without taking the lock, as backup programs do.
    fn back_up(&mut self) {
        let _ = std::fs::remove_dir_all(self.backup());
        let _ = std::fs::remove_file(self.bd.root().join("backup of"));
        // After the daemon has exited, its files are consistent.
        self.run(&["daemon", "stop"]);
        copy(&self.git_dir().join("beads"), &self.backup());
        std::fs::write(self.bd.root().join("backup of"), root_of(&self.repo)).unwrap();
    }

    /// Restores the backup in place, so that inodes stay the same. Only files that are not in the backup are
    /// removed.
    fn restore(&mut self) {
        let of = std::fs::read_to_string(self.bd.root().join("backup of"));
        if of.ok() != Some(root_of(&self.repo)) {
            return;
        }
        self.disturb(|world| {
            let (from, to) = (world.backup(), world.git_dir().join("beads"));
            for entry in std::fs::read_dir(&to).unwrap().flatten() {
                let name = entry.file_name();
                if name != "lock" && !from.join(&name).exists() {
                    let _ = std::fs::remove_file(entry.path());
                }
            }
            for entry in
                std::fs::read_dir(&from).unwrap().flatten().filter(|entry| entry.file_name() != "lock")
            {
                let content = std::fs::read(entry.path()).unwrap();
                std::fs::write(to.join(entry.file_name()), content).unwrap();
            }
        });
    }

    /// Prunes the repository. Does nothing without a git program.
    fn prune(&mut self) {
        let mut git = Command::new("git");
        git.args(["gc", "--quiet", "--prune=now"]).current_dir(&self.repo);
        let _ = git.env("HOME", self.bd.root().join("home")).output();
    }

    fn away(&self) -> PathBuf {
        self.bd.root().join("remote.away")
    }

    fn cut_off(&mut self) {
        let _ = std::fs::rename(self.remote(), self.away());
    }

    fn connect(&mut self) {
        let _ = std::fs::rename(self.away(), self.remote());
        let _ = std::fs::remove_file(self.remote_lock());
        self.clear_remote();
    }

    /// Imports every rescue file and compares the store with the ledger.
    fn check_ledger(&mut self, trace: &[&str]) {
        self.connect();
        self.remove_conflicting_branch();
        let directory = self.bd.root().join("home/.local/state/beads/rescued");
        let files = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
        for file in files.filter(|path| path.extension().is_some_and(|ending| ending == "journal")) {
            let run = self.run(&["import", "--rescued", file.to_str().unwrap(), "--force"]);
            assert_eq!(run.exit, Some(0), "{trace:?}: {run:?}");
        }
        for moved in std::mem::take(&mut self.left_behind) {
            git::clear(&moved, git::BRANCH);
            let run = Run::of(self.command(&["sync", "--json"]).current_dir(&moved));
            assert_eq!(run.exit, Some(0), "{trace:?}: {run:?}");
        }
        let run = self.run(&["sync", "--json"]);
        assert_eq!(run.exit, Some(0), "{trace:?}: {run:?}");
        let run = self.run(&["list", "--json"]);
        let beads = run.value();
        let titles: BTreeSet<String> =
            beads.as_array().unwrap().iter().map(|bead| bead["title"].as_str().unwrap().to_owned()).collect();
        let lost: Vec<_> = self.ledger.difference(&titles).collect();
        assert!(lost.is_empty(), "lost {lost:?} of {} after {trace:?}", self.ledger.len());
        assert_eq!(self.run(&["validate", "--json"]).value(), serde_json::json!([]), "{trace:?}");
    }
}

fn git_dir(repo: &Path) -> PathBuf {
    let inside = repo.join(".git");
    if inside.exists() { inside } else { repo.to_owned() }
}

/// Returns a text that distinguishes two clones at the same path.
fn root_of(repo: &Path) -> String {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::metadata(git_dir(repo)).unwrap();
    format!("{} {} {}", repo.display(), metadata.ino(), metadata.ctime())
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).into_iter().flatten().flatten() {
        if entry.path().is_file() {
            std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

fn run_world(seeds: std::ops::Range<u64>, moments: usize) {
    let mut written = 0;
    for seed in seeds {
        eprintln!("seed {seed}");
        let mut world = World::new(seed);
        let mut trace = Vec::new();
        for _ in 0..moments {
            trace.push(world.random_activity());
        }
        world.check_ledger(&trace);
        written += world.ledger.len();
    }
    assert!(written > 0, "nothing was acknowledged, so nothing was tested");
}

/// The ref is moved after a save, when no other copy exists: the remote is unreachable, and the journal was
/// trimmed.
#[test]
fn nothing_acknowledged_is_lost_when_the_ref_is_moved_behind_a_save() {
    for (index, change) in [World::delete_ref, World::rewind_ref].into_iter().enumerate() {
        let mut world = World::new(index as u64);
        world.cut_off();
        for _ in 0..3 {
            world.write();
            world.sync();
        }
        change(&mut world);
        world.kill();
        world.check_ledger(&["the ref was moved behind a save"]);
        assert_eq!(world.ledger.len(), 3);
    }
}

#[test]
fn nothing_acknowledged_is_lost_whatever_happens_to_the_repository() {
    run_world(0..5, 20);
}

#[test]
fn nothing_acknowledged_is_lost_over_longer_lives() {
    run_world(5..7, 50);
}

#[test]
#[ignore = "the campaign: 2,000 moments"]
fn nothing_acknowledged_is_lost_in_two_thousand_moments() {
    run_world(100..140, 50);
}
