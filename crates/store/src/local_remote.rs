//! A remote that is a directory on this machine. libgit2 writes to it directly, without a server.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use git2::{ObjectType, Oid, Sort};

use crate::disk::sync_directory;
use crate::file_lock::try_lock;
use crate::random::random_u64;
use crate::replace_file::Replacement;
use crate::repository::REF;
use crate::{GitRepository, loose};

/// Hooks that may refuse a push. Only git can run them properly.
const REFUSING_HOOKS: [&str; 4] = ["pre-receive", "update", "proc-receive", "reference-transaction"];

/// A push of up to this many commits arrives as loose objects, which [`pack`] later turns into one pack of
/// deltas. A pack per push would leave two files per push forever.
const LOOSE_COMMITS: usize = 32;

/// Refuses a push that the remote's settings would refuse, or that one of its hooks would have to check.
pub(crate) fn check_rules(git: &git2::Repository) -> Result<(), String> {
    let hooks = git.commondir().join("hooks");
    let is_hook = |name: &&str| {
        let file = fs::metadata(hooks.join(name));
        file.is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    if let Some(hook) = REFUSING_HOOKS.iter().find(|name| is_hook(name)) {
        return Err(format!(
            "the remote has a hook {hook}, which only git can run: install git, and set sync.transport to auto or git"
        ));
    }
    let Ok(config) = git.config() else { return Ok(()) };
    let mut hidden = false;
    for name in ["transfer.hiderefs", "receive.hiderefs"] {
        let Ok(entries) = config.multivar(name, None) else { continue };
        let _ = entries.for_each(|entry| {
            // The last matching pattern counts, and ! negates.
            let pattern = entry.value().unwrap_or_default();
            let (shows, prefix) = pattern.strip_prefix('!').map_or((false, pattern), |prefix| (true, prefix));
            let prefix = prefix.trim_start_matches('^').trim_end_matches('/');
            if REF.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
                hidden = !shows;
            }
        });
    }
    if hidden {
        Err(format!("the remote hides {REF} (hideRefs), so nothing can be pushed to it"))
    } else {
        Ok(())
    }
}

/// Copies the objects that the other repository lacks as loose objects. Copies nothing and returns false if
/// there are too many commits. Fails if the objects exceed the remote's `receive.maxInputSize`.
pub(crate) fn copy_loose(
    from: &git2::Repository,
    to: &git2::Repository,
    wanted: Oid,
    known: Option<Oid>,
) -> Result<bool, git2::Error> {
    let (source, target) = (from.odb()?, to.odb()?);
    let commits = unknown_commits(from, wanted, known)?;
    let mut missing: Vec<(Oid, ObjectType)> = Vec::new();
    for id in &commits {
        let tree = from.find_commit(*id)?.tree()?;
        let files = tree.iter().filter(|entry| entry.kind() == Some(ObjectType::Blob));
        let files = files.map(|entry| (entry.id(), ObjectType::Blob));
        let all: Vec<_> = files.chain([(tree.id(), ObjectType::Tree), (*id, ObjectType::Commit)]).collect();
        missing.extend(all.into_iter().filter(|(id, _)| !target.exists(*id)));
    }
    let most = to.config().and_then(|config| config.get_i64("receive.maxInputSize")).unwrap_or(0);
    if most > 0 {
        let sizes = missing.iter().map(|(id, _)| source.read_header(*id).map(|(length, _)| length as u64));
        let bytes: u64 = sizes.collect::<Result<Vec<_>, _>>()?.iter().sum();
        // The uncompressed size refuses a little early, but such a limit is a round number anyway.
        if bytes > most.unsigned_abs() {
            let message =
                format!("the push has {bytes} bytes, more than the remote allows (receive.maxInputSize)");
            return Err(git2::Error::from_str(&message));
        }
    }
    if commits.len() > LOOSE_COMMITS {
        return Ok(false);
    }
    let mut directories = BTreeSet::new();
    for (id, kind) in missing {
        if target.exists(id) {
            continue;
        }
        match copy_file(from, to, id, kind).map_err(|reason| git2::Error::from_str(&reason))? {
            Some(directory) => directories.extend([directory, to.commondir().join("objects")]),
            None => {
                let object = source.read(id)?;
                target.write(object.kind(), object.data())?;
            }
        }
    }
    // The deepest first, as their entries are useless before they are durable.
    for directory in directories.into_iter().rev() {
        sync_directory(&directory).map_err(|error| git2::Error::from_str(&error.to_string()))?;
    }
    Ok(true)
}

/// Copies the file of a loose object: deflating the content again would take most of the time of a push.
/// Returns the directory of the copy, which still has to be synced, or `None` if the object is packed.
fn copy_file(
    from: &git2::Repository,
    to: &git2::Repository,
    id: Oid,
    kind: ObjectType,
) -> Result<Option<PathBuf>, String> {
    let [source, target] = [from, to].map(|git| git.commondir().join("objects"));
    if loose::read(&source, id, kind)?.is_none() {
        return Ok(None);
    }
    let name = id.to_string();
    let directory = target.join(&name[..2]);
    let copy = || -> io::Result<()> {
        let file = File::open(source.join(&name[..2]).join(&name[2..]))?;
        fs::create_dir_all(&directory)?;
        // Git deletes old files with this beginning as garbage. Others may copy the same object at the same time, also
        // from another container or machine, where process ids repeat.
        let unique = random_u64()?;
        let temporary = directory.join(format!("tmp_obj_bd_{unique:016x}"));
        let mut copy = Replacement::read_only(&directory.join(&name[2..]), temporary)?;
        copy.copy_from(&file)?;
        copy.sync()?;
        copy.publish().map(drop)
    };
    copy().map_err(|error| format!("cannot copy object {id}: {error}"))?;
    Ok(Some(directory))
}

/// Returns the commits that come after `known`, but not many more than [`LOOSE_COMMITS`]. A commit comes after
/// its parents: while a push is running, and after one that was interrupted, no commit lacks its history.
/// Otherwise a fetch from there that knows such a commit fails.
fn unknown_commits(
    from: &git2::Repository,
    wanted: Oid,
    known: Option<Oid>,
) -> Result<Vec<Oid>, git2::Error> {
    let mut walk = from.revwalk()?;
    walk.set_sorting(Sort::TOPOLOGICAL | Sort::REVERSE)?;
    walk.push(wanted)?;
    if let Some(known) = known.filter(|known| from.find_commit(*known).is_ok()) {
        walk.hide(known)?;
    }
    walk.take(LOOSE_COMMITS + 1).collect()
}

/// Returns whether the directory was moved away while it was written to. libgit2 creates missing directories,
/// so this removes what it created at the old place: only an `objects` directory, where a repository has a
/// `HEAD`.
pub(crate) fn has_moved(git: &git2::Repository) -> bool {
    let root = git.commondir();
    if root.join("HEAD").exists() {
        return false;
    }
    let names = fs::read_dir(root).into_iter().flatten().flatten().map(|entry| entry.file_name());
    if names.into_iter().all(|name| name == "objects") {
        let _ = fs::remove_dir_all(root.join("objects")).and_then(|()| fs::remove_dir(root));
    }
    true
}

/// Packs the loose objects of the store's history there if there are many. Only one process does so at a
/// time. Errors are left to the next push, because this push is already done.
pub(crate) fn pack(repository: &GitRepository) {
    let objects = repository.git.commondir().join("objects");
    let Ok(directory) = File::open(&objects) else { return };
    if try_lock(&directory).is_ok_and(|is_ours| is_ours) {
        let _ = repository.pack_loose_history();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failing test may panic

    use super::*;

    #[test]
    fn a_remote_that_was_moved_away_is_not_recreated() {
        let dir = tempfile::tempdir().unwrap();
        let [ours, theirs, moved] = ["ours", "theirs", "moved"].map(|name| dir.path().join(name));
        let from = git2::Repository::init_bare(ours).unwrap();
        let to = git2::Repository::init_bare(&theirs).unwrap();
        let tree = from.find_tree(from.treebuilder(None).unwrap().write().unwrap()).unwrap();
        let who = git2::Signature::now("x", "x@localhost").unwrap();
        let commit = from.commit(None, &who, &who, "x", &tree, &[]).unwrap();
        assert!(!has_moved(&to));
        fs::rename(&theirs, moved).unwrap();
        let _ = copy_loose(&from, &to, commit, None);
        assert!(has_moved(&to));
        assert!(!theirs.exists(), "nothing is left at the old place");
    }

    /// Clocks differ, so a commit may be dated before its parents.
    #[test]
    fn a_commit_is_copied_after_its_parents() {
        let dir = tempfile::tempdir().unwrap();
        let git = git2::Repository::init_bare(dir.path()).unwrap();
        let tree = git.find_tree(git.treebuilder(None).unwrap().write().unwrap()).unwrap();
        let commit = |seconds: i64, parents: &[Oid]| {
            let who = git2::Signature::new("x", "x@localhost", &git2::Time::new(seconds, 0)).unwrap();
            let parents: Vec<_> = parents.iter().map(|id| git.find_commit(*id).unwrap()).collect();
            git.commit(None, &who, &who, "x", &tree, &parents.iter().collect::<Vec<_>>()).unwrap()
        };
        let first = commit(100, &[]);
        let (ours, theirs) = (commit(100, &[first]), commit(50, &[first]));
        let later = commit(20, &[theirs]);
        let merge = commit(300, &[ours, later]);
        let last = commit(10, &[merge]);
        let order = unknown_commits(&git, last, Some(first)).unwrap();
        assert_eq!(order.len(), 5);
        let place = |id: Oid| order.iter().position(|one| *one == id);
        for id in &order {
            for parent in git.find_commit(*id).unwrap().parent_ids() {
                assert!(place(parent) < place(*id), "{order:?}");
            }
        }
    }

    #[test]
    fn the_rules_of_the_remote_are_respected() {
        let dir = tempfile::tempdir().unwrap();
        let git = git2::Repository::init_bare(dir.path()).unwrap();
        assert_eq!(check_rules(&git), Ok(()));
        let mut config = git.config().unwrap();
        for (pattern, refused) in
            [("refs/heads/other", false), ("refs/heads/beads", true), ("!refs/heads/beads/store", false)]
        {
            config.set_multivar("receive.hiderefs", "^$", pattern).unwrap();
            assert_eq!(check_rules(&git).is_err(), refused, "{pattern}");
        }
        let hook = dir.path().join("hooks/pre-receive");
        fs::create_dir_all(hook.parent().unwrap()).unwrap();
        fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
        assert_eq!(check_rules(&git), Ok(()), "git runs only executable hooks");
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(check_rules(&git).unwrap_err().contains("hook pre-receive"));
    }
}
