//! The record of the last commits that the sync ref was seen to contain. The newest is recorded twice: in a
//! file, because a program that moves our ref may move other refs too, and as a ref, because git deletes
//! commits that no ref points at.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use git2::{ErrorCode, Oid};

use crate::checkpoint::state_of;
use crate::git_gc::wait_for_git_gc;
use crate::replace_file::replace_file;
use crate::repository::{CommitId, REF, Repository};
use crate::{Error, GitRepository, Result};

/// A file in the store's directory with one commit name per line, newest first.
const FILE: &str = "saved";

/// How many commits are kept. The journal depends on the newest only; `repair` can go back to the others.
const MAX_PAST: usize = 8;

/// The ref that keeps the saved commit from being collected as garbage.
const REFERENCE: &str = "refs/beads/saved";

/// The ref that protects a commit which the sync ref is about to move to.
const STAGING: &str = "refs/beads/saving";

/// How often writing a ref is retried if another program, such as `git gc`, locks it.
const MAX_LOCKED: usize = 10;

/// How often, and after which pause, rolling back an unfinished save is retried.
const ROLL_BACK_TRIES: usize = 100;
const ROLL_BACK_PAUSE: std::time::Duration = std::time::Duration::from_millis(10);

/// Allows one recorder at a time: a checkpoint in the engine's thread and an exchange may both record.
static RECORDING: Mutex<()> = Mutex::new(());

impl GitRepository {
    /// Points one of our own refs at a commit.
    fn point(&self, name: &str, commit: Oid) -> Result<()> {
        let mut tried = 0;
        loop {
            crate::git::wait_for_ref_lock(self.git.commondir(), name);
            tried += 1;
            match self.git.reference(name, commit, true, "bd checkpoint") {
                Err(error) if error.code() == ErrorCode::Locked && tried < MAX_LOCKED => {}
                pointed => return Ok(pointed.map(|_| ())?),
            }
        }
    }

    fn saved_file(&self) -> PathBuf {
        self.git.commondir().join("beads").join(FILE)
    }

    /// Returns the commits in the file, newest first. Skips lines that are not commit names.
    pub(crate) fn past_tips(&self) -> Result<Vec<CommitId>> {
        let path = self.saved_file();
        match fs::read_to_string(&path) {
            Ok(text) => Ok(text
                .lines()
                .filter_map(|line| Oid::from_str(line).ok())
                .map(|oid| oid.to_string())
                .collect()),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidData) => {
                Ok(Vec::new())
            }
            Err(source) => Err(Error::Io { action: "read", path, source }),
        }
    }

    /// Returns the newest commit in the file, and the ref's commit if it differs.
    pub(crate) fn saved_commits(&self) -> Result<Vec<CommitId>> {
        let mut commits = self.past_tips()?;
        commits.truncate(1);
        let kept = self.git.refname_to_id(REFERENCE).ok().map(|kept| kept.to_string());
        commits.extend(kept.filter(|kept| !commits.contains(kept)).into_iter().collect::<Vec<_>>());
        Ok(commits)
    }

    /// Adds a commit to the record, durably.
    ///
    /// The refs already point at the commit, so a `git gc` that starts later keeps it. One that is running
    /// may not, so this waits for it.
    pub(crate) fn write_saved(&self, commit: &str) -> Result<()> {
        wait_for_git_gc(self.git.commondir())?;
        if !self.is_complete(commit) {
            return Err(Error::RefMoved(REF));
        }
        let _recording = RECORDING.lock().unwrap_or_else(PoisonError::into_inner);
        let mut past = self.past_tips()?;
        let kept = self.git.refname_to_id(REFERENCE).ok().map(|kept| kept.to_string());
        if past.first().map(String::as_str) == Some(commit) && kept.as_deref() == Some(commit) {
            return Ok(());
        }
        self.point(REFERENCE, Oid::from_str(commit)?)?;
        past.retain(|known| known != commit);
        past.insert(0, commit.to_owned());
        past.truncate(MAX_PAST);
        let path = self.saved_file();
        let write = || -> std::io::Result<()> {
            let directory = path.parent().unwrap_or(self.git.commondir());
            fs::create_dir_all(directory)?;
            replace_file(&path, (past.join("\n") + "\n").as_bytes())
        };
        write().map_err(|source| Error::Io { action: "write", path: path.clone(), source })
    }

    /// Protects a commit that the sync ref will move to, and returns whether it is complete: git may have
    /// collected some of its objects before a ref pointed at them.
    pub(crate) fn stage(&self, commit: Oid) -> Result<bool> {
        let recording = RECORDING.lock().unwrap_or_else(PoisonError::into_inner);
        self.point(STAGING, commit)?;
        drop(recording);
        Ok(self.is_complete(&commit.to_string()))
    }

    /// Moves the sync ref back to the last saved commit if it points at a commit that cannot be read, was
    /// being saved here, and was never recorded as saved. The journal still has all changes of that commit.
    ///
    /// Returns whether the ref was moved back. The caller holds the lock.
    pub fn roll_back_unfinished_save(&self) -> Result<bool> {
        for _ in 0..ROLL_BACK_TRIES {
            if let Some(done) = self.try_to_roll_back()? {
                return Ok(done);
            }
            // Git holds the locks of refs for milliseconds while it packs them.
            std::thread::sleep(ROLL_BACK_PAUSE);
        }
        Ok(false)
    }

    /// Tries once. Returns `None` if the ref or the saved commit is not accessible right now.
    fn try_to_roll_back(&self) -> Result<Option<bool>> {
        let (Ok(tip), Ok(staged)) = (self.git.refname_to_id(REF), self.git.refname_to_id(STAGING)) else {
            return Ok(Some(false));
        };
        let saved = self.saved_commits()?;
        if tip != staged || saved.contains(&tip.to_string()) || state_of(self, &tip.to_string()).is_ok() {
            return Ok(Some(false));
        }
        match saved.first() {
            Some(saved) if state_of(self, saved).is_ok() => {
                Ok(self.compare_and_swap_ref(Some(&tip.to_string()), saved)?.then_some(true))
            }
            // Git may be moving its objects into a pack right now.
            Some(_) => Ok(None),
            None => {
                self.git.find_reference(REF)?.delete()?;
                Ok(Some(true))
            }
        }
    }

    /// Returns whether a commit and its files exist here, without reading them. A partial clone fetches them
    /// now.
    pub(crate) fn is_complete(&self, commit: &str) -> bool {
        let (Ok(tree), Ok(objects)) = (self.tree(commit), self.git.odb()) else { return false };
        tree.iter().all(|entry| objects.exists(entry.id()) || self.fetch_missing_object(entry.id()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failing test may panic

    use super::*;

    #[test]
    fn threads_that_record_at_once_do_not_fail() {
        let directory = tempfile::tempdir().unwrap();
        let git = git2::Repository::init_bare(directory.path()).unwrap();
        let by = git2::Signature::now("ann", "ann@here").unwrap();
        let tree = git.find_tree(git.treebuilder(None).unwrap().write().unwrap()).unwrap();
        let commits: Vec<_> = (0..8)
            .map(|n| git.commit(None, &by, &by, &format!("{n}"), &tree, &[]).unwrap().to_string())
            .collect();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (commits, path) = (&commits, directory.path());
                scope.spawn(move || {
                    let repository = GitRepository::open(path).unwrap();
                    for round in 0..20 {
                        repository.write_saved(&commits[(thread + round) % commits.len()]).unwrap();
                    }
                });
            }
        });
        let repository = GitRepository::open(directory.path()).unwrap();
        let past = repository.past_tips().unwrap();
        assert_eq!(past.len(), commits.len(), "{past:?}");
        assert_eq!(repository.saved_commits().unwrap(), past[..1]);
    }
}
