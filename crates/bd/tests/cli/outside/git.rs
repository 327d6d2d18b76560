//! What the user's own git does around the store: refspecs of a mirror, settings, variables and addresses for other work, refs
//! that are moved or deleted, and clones that lack most of the history. Without a git program nothing happens.

use std::path::Path;
use std::process::Command;

use beads_store::REF;

use super::World;
use crate::sandbox::{Run, kill, remove_directory};

/// Settings that change what a push does, and that are none of our business.
const SETTINGS: [(&str, &str); 4] = [
    ("push.recurseSubmodules", "only"),
    ("push.gpgSign", "true"),
    ("push.pushOption", "ci.skip"),
    ("remote.origin.mirror", "true"),
];

/// A name that does not leave room for our ref.
pub(super) const BRANCH: &str = "refs/heads/beads";

/// Where the beads of the remote are while a branch is in the way.
const ASIDE: &str = "refs/aside/store";

/// Deletes our ref, perhaps after putting it aside, and takes its place with a branch. If that fails, nothing has changed.
fn put_in_the_way(repository: &git2::Repository, aside: Option<&str>) {
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

/// Deletes a ref, if it is there.
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

    /// The refspec of a mirror, or the usual one again.
    pub(super) fn mirror(&mut self) {
        let usual = "+refs/heads/*:refs/remotes/origin/*";
        let spec = if self.below(2) == 0 { usual } else { "+refs/heads/*:refs/heads/*" };
        self.git(&["config", "--replace-all", "remote.origin.fetch", spec]);
    }

    /// Our ref goes to where the remote's is.
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

    /// The first address counts, for fetching and for pushing.
    pub(super) fn second_address(&mut self) {
        let other = self.bd.root().join("other.git");
        if git2::Repository::open(&other).is_err() {
            git2::Repository::init_bare(&other).unwrap();
        }
        self.git(&["remote", "set-url", "--add", "origin", other.to_str().unwrap()]);
    }

    /// A daemon that is started inside a hook gets the variables of that hook.
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

    /// What a killed push leaves behind. [`World::connect`] removes it.
    pub(super) fn lock_remote_ref(&mut self) {
        let _ = std::fs::write(self.remote_lock(), "");
    }

    pub(super) fn remote_lock(&self) -> std::path::PathBuf {
        self.remote().join("refs/heads/beads/store.lock")
    }

    /// As CI clones: one commit of one branch, and with a git program to bring the rest without the files.
    pub(super) fn clone_shallow(&mut self) {
        let url = format!("file://{}", self.remote().display());
        let into = self.repo.to_str().unwrap().to_owned();
        let mut clone = vec!["clone", "-q", "--branch", "main", "--depth", "1", &url, &into];
        if self.with_git {
            clone.insert(1, "--filter=blob:none");
        }
        self.blow(|world| {
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

    /// `git clone --mirror`: a bare repository whose refs are those of the remote. Without a git program it is an ordinary clone.
    pub(super) fn clone_mirror(&mut self) {
        let (from, into) = (self.remote(), self.repo.clone());
        self.blow(|world| {
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

    /// What is run to bring a mirror up to date: it sets all refs to those of the remote, ours too, and may delete all others.
    pub(super) fn update_mirror(&mut self) {
        let prune = if self.below(2) == 0 { "--prune" } else { "--no-prune" };
        self.git(&["fetch", "-q", prune, "origin"]);
    }

    /// A branch `beads` of the user. There cannot be a `beads/store` beside it.
    pub(super) fn branch_in_the_way(&mut self) {
        if let Ok(repository) = git2::Repository::open(&self.repo) {
            put_in_the_way(&repository, None);
        }
    }

    pub(super) fn clear_the_way(&mut self) {
        clear(&self.repo, BRANCH);
    }

    /// The same on the remote, whose beads are put aside: deleting them there and here is not covered.
    pub(super) fn branch_on_remote(&mut self) {
        if let Ok(repository) = git2::Repository::open_bare(self.remote()) {
            put_in_the_way(&repository, Some(ASIDE));
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

    /// Ends the daemon at once.
    pub(super) fn kill(&mut self) {
        if let Some(pid) = self.daemon_pid() {
            kill(pid);
        }
    }
}
