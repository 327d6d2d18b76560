//! What the user's own git does around the store: refspecs of a mirror, settings, variables and URLs for
//! other work, refs that are moved or deleted, and clones without most of the history. Without a git program
//! nothing happens.

use std::path::Path;
use std::process::Command;

use beads_store::REF;

use super::World;
use crate::sandbox::{Run, kill, remove_directory};

/// Settings that change what a push does, and that must not affect ours.
const SETTINGS: [(&str, &str); 4] = [
    ("push.recurseSubmodules", "only"),
    ("push.gpgSign", "true"),
    ("push.pushOption", "ci.skip"),
    ("remote.origin.mirror", "true"),
];

/// A branch whose name conflicts with our ref.
pub(super) const BRANCH: &str = "refs/heads/beads";

/// The ref that keeps the beads of the remote while the conflicting branch exists.
const ASIDE: &str = "refs/aside/store";

/// Deletes our ref, after copying it to `aside` if given, and creates the conflicting branch. If that fails,
/// nothing has changed.
fn create_conflicting_branch(repository: &git2::Repository, aside: Option<&str>) {
    let Ok(work) = repository.refname_to_id("refs/heads/main") else { return };
    let ours = repository.refname_to_id(REF).ok();
    if let (Some(ours), Some(aside)) = (ours, aside) {
        repository.reference(aside, ours, true, "aside").unwrap();
    }
    if let Ok(mut reference) = repository.find_reference(REF)
        && reference.delete().is_err()
    {
        return;
    }
    if repository.reference(BRANCH, work, false, "work").is_err()
        && let Some(ours) = ours
    {
        let _ = repository.reference(REF, ours, false, "back");
    }
}

/// Deletes a ref if it exists.
pub(super) fn clear(repository: &Path, name: &str) {
    let Ok(repository) = git2::Repository::open(repository) else { return };
    if let Ok(mut reference) = repository.find_reference(name) {
        reference.delete().unwrap();
    };
}

impl World {
    fn git(&self, args: &[&str]) -> bool {
        let mut git = Command::new("git");
        git.args(args).current_dir(&self.repo).env("HOME", self.bd.root().join("home"));
        git.output().is_ok_and(|output| output.status.success())
    }

    /// Sets the refspec of a mirror, or restores the usual one.
    pub(super) fn mirror(&mut self) {
        let usual = "+refs/heads/*:refs/remotes/origin/*";
        let spec = if self.below(2) == 0 { usual } else { "+refs/heads/*:refs/heads/*" };
        self.git(&["config", "--replace-all", "remote.origin.fetch", spec]);
    }

    /// Moves our ref to the commit of the remote's ref.
    pub(super) fn fetch_as_mirror(&mut self) {
        self.git(&["fetch", "-q", "--update-head-ok", "origin", "+refs/heads/beads/*:refs/heads/beads/*"]);
    }

    pub(super) fn delete_ref(&mut self) {
        self.git(&["update-ref", "-d", REF]);
    }

    pub(super) fn rewind_ref(&mut self) {
        self.git(&["update-ref", REF, &format!("{REF}~1")]);
    }

    pub(super) fn odd_setting(&mut self) {
        let at = usize::try_from(self.below(SETTINGS.len() as u64)).unwrap();
        let (key, value) = SETTINGS[at];
        if !self.git(&["config", "--unset-all", key]) {
            self.git(&["config", key, value]);
        }
    }

    /// Adds a second URL. The first one must be used, for fetching and for pushing.
    pub(super) fn second_address(&mut self) {
        let other = self.bd.root().join("other.git");
        if git2::Repository::open(&other).is_err() {
            git2::Repository::init_bare(&other).unwrap();
        }
        self.git(&["remote", "set-url", "--add", "origin", other.to_str().unwrap()]);
    }

    /// Starts a daemon inside a hook, so that it gets the variables of that hook.
    pub(super) fn start_in_a_hook(&mut self) {
        self.kill();
        let elsewhere = self.bd.root().join("elsewhere");
        let _ = std::fs::create_dir(&elsewhere);
        let mut command = self.command(&["list"]);
        command.env("GIT_NAMESPACE", "other");
        for variable in ["GIT_DIR", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_INDEX_FILE"] {
            command.env(variable, &elsewhere);
        }
        Run::of(&mut command);
    }

    /// Creates the lock file that a killed push leaves behind. [`World::connect`] removes it.
    pub(super) fn lock_remote_ref(&mut self) {
        let _ = std::fs::write(self.remote_lock(), "");
    }

    pub(super) fn remote_lock(&self) -> std::path::PathBuf {
        self.remote().join("refs/heads/beads/store.lock")
    }

    /// Clones as CI does: one commit of one branch, and with a git program that fetches the rest, without
    /// blobs.
    pub(super) fn clone_shallow(&mut self) {
        let url = format!("file://{}", self.remote().display());
        let into = self.repo.to_str().unwrap().to_owned();
        let mut clone = vec!["clone", "-q", "--branch", "main", "--depth", "1", &url, &into];
        if self.with_git {
            clone.insert(1, "--filter=blob:none");
        }
        self.disturb(|world| {
            remove_directory(&world.repo);
            let mut git = Command::new("git");
            git.args(&clone).current_dir(world.bd.root()).env("HOME", world.bd.root().join("home"));
            if !git.output().is_ok_and(|output| output.status.success()) {
                let _ = std::fs::remove_dir_all(&world.repo);
                world.clone_here();
            }
        });
        self.set_up();
    }

    /// Runs `git clone --mirror`, which makes a bare repository whose refs are those of the remote. Without a
    /// git program it makes an ordinary clone.
    pub(super) fn clone_mirror(&mut self) {
        let (from, into) = (self.remote(), self.repo.clone());
        self.disturb(|world| {
            remove_directory(&world.repo);
            let mut git = Command::new("git");
            git.args(["clone", "-q", "--mirror"]).arg(&from).arg(&into);
            git.current_dir(world.bd.root()).env("HOME", world.bd.root().join("home"));
            if !git.output().is_ok_and(|output| output.status.success()) {
                let _ = std::fs::remove_dir_all(&world.repo);
                world.clone_here();
            }
        });
        self.set_up();
    }

    /// Updates a mirror. This sets all refs to those of the remote, including ours, and may delete all
    /// others.
    pub(super) fn update_mirror(&mut self) {
        let prune = if self.below(2) == 0 { "--prune" } else { "--no-prune" };
        self.git(&["fetch", "-q", prune, "origin"]);
    }

    /// Creates a branch `beads` of the user, beside which `beads/store` cannot exist.
    pub(super) fn conflicting_branch(&mut self) {
        if let Ok(repository) = git2::Repository::open(&self.repo) {
            create_conflicting_branch(&repository, None);
        }
    }

    pub(super) fn remove_conflicting_branch(&mut self) {
        clear(&self.repo, BRANCH);
    }

    /// Does the same on the remote and keeps a copy of its beads: losing them both there and here is not
    /// covered.
    pub(super) fn conflicting_branch_on_remote(&mut self) {
        if let Ok(repository) = git2::Repository::open_bare(self.remote()) {
            create_conflicting_branch(&repository, Some(ASIDE));
        }
    }

    pub(super) fn clear_remote(&mut self) {
        clear(&self.remote(), BRANCH);
        let Ok(repository) = git2::Repository::open_bare(self.remote()) else { return };
        let Ok(aside) = repository.refname_to_id(ASIDE) else { return };
        if repository.refname_to_id(REF).is_err() {
            repository.reference(REF, aside, true, "back").unwrap();
        }
        clear(&self.remote(), ASIDE);
    }

    /// Kills the daemon.
    pub(super) fn kill(&mut self) {
        if let Some(pid) = self.daemon_pid() {
            kill(pid);
        }
    }
}
