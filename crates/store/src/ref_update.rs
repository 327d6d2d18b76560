//! Compare-and-swap of a ref in a repository on this machine.

use git2::{Error, ErrorClass, ErrorCode, Oid, Repository};

/// Moves a ref from `expected` to `new`, or creates it if `expected` is `None`. Fails if the ref has another
/// value.
///
/// libgit2 compares the old value under the lock of the ref, but "create unless it exists" checks before it
/// takes the lock: if two processes create the same ref at once, both succeed and the second overwrites the
/// first. The zero id stands for "absent" and is compared under the lock like any other value.
///
/// The value is read back, because a process that stood still for seconds may have lost its lock
/// ([`wait_for_ref_lock`](crate::git::wait_for_ref_lock) removes abandoned ones). It then renames the lock of the
/// next process, with that process's value, and takes this for success.
pub(crate) fn compare_and_swap(
    git: &Repository,
    name: &str,
    expected: Option<Oid>,
    new: Oid,
    message: &str,
) -> Result<(), Error> {
    git.reference_matching(name, new, true, expected.unwrap_or(Oid::ZERO_SHA1), message)?;
    match git.refname_to_id(name)? == new {
        true => Ok(()),
        false => Err(Error::new(ErrorCode::Modified, ErrorClass::Reference, "the ref has another value now")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // failing is a test's job

    use std::path::Path;
    use std::sync::Barrier;

    use super::*;
    use crate::git::is_lost_race;

    const RIVALS: usize = 4;
    const ROUNDS: usize = 200;

    /// What became of one ref.
    #[derive(Debug)]
    struct Race {
        winners: Vec<Oid>,
        /// Its value in the end, if it can be read.
        value: Option<Oid>,
    }

    /// Lets several threads create or move the same refs at the same moments, while `disturb` is called with each ref in
    /// turn.
    fn race(old: Option<&str>, may_fail: fn(&Error) -> bool, disturb: fn(&Path)) -> Vec<Race> {
        let dir = tempfile::tempdir().unwrap();
        let git = Repository::init_bare(dir.path()).unwrap();
        let names: Vec<String> = (0..ROUNDS).map(|round| format!("refs/beads/claims/{round}")).collect();
        let expected = old.map(|old| commit(&git, old));
        if let Some(old) = expected {
            names.iter().for_each(|name| drop(git.reference(name, old, false, "test").unwrap()));
        }
        let commits = (0..RIVALS).map(|number| commit(&git, &format!("rival {number}")));
        let barrier = Barrier::new(RIVALS);
        let compete = &|new: Oid| -> Vec<Option<Oid>> {
            let git = Repository::open(dir.path()).unwrap();
            let try_one = |name: &String| {
                barrier.wait();
                match compare_and_swap(&git, name, expected, new, "test") {
                    Ok(()) => Some(new),
                    Err(error) if may_fail(&error) => None,
                    Err(error) => panic!("{error}"),
                }
            };
            names.iter().map(try_one).collect()
        };
        let won: Vec<Vec<Option<Oid>>> = std::thread::scope(|scope| {
            let threads: Vec<_> = commits.map(|new| scope.spawn(move || compete(new))).collect();
            while threads.iter().any(|thread| !thread.is_finished()) {
                names.iter().for_each(|name| disturb(&dir.path().join(name)));
                std::thread::yield_now();
            }
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let race = |(round, name): (usize, &String)| Race {
            winners: won.iter().filter_map(|won| won[round]).collect(),
            value: git.refname_to_id(name).ok(),
        };
        names.iter().enumerate().map(race).collect()
    }

    fn commit(git: &Repository, message: &str) -> Oid {
        let tree = git.find_tree(git.treebuilder(None).unwrap().write().unwrap()).unwrap();
        let who = git2::Signature::now("x", "x@localhost").unwrap();
        git.commit(None, &who, &who, message, &tree, &[]).unwrap()
    }

    fn one_winner_each(races: &[Race]) {
        for race in races {
            let is_right = race.winners.is_empty() || race.winners.as_slice() == race.value.as_slice();
            assert!(is_right, "{race:?}");
        }
        assert!(races.iter().any(|race| !race.winners.is_empty()));
    }

    #[test]
    fn a_ref_that_several_create_at_once_has_one_creator() {
        one_winner_each(&race(None, is_lost_race, |_| ()));
    }

    #[test]
    fn a_ref_that_several_move_at_once_is_moved_by_one() {
        one_winner_each(&race(Some("old"), is_lost_race, |_| ()));
    }

    /// A ref may be unreadable afterwards: its lock was taken from a process that was still writing it.
    #[test]
    fn whoever_loses_its_lock_does_not_win() {
        let break_lock = |reference: &Path| drop(std::fs::remove_file(reference.with_extension("lock")));
        for old in [None, Some("old")] {
            for race in race(old, |_| true, break_lock) {
                assert!(race.winners.len() <= 1, "{race:?}");
                let has_won = |value: &Oid| race.winners.is_empty() || race.winners.contains(value);
                assert!(race.value.as_ref().is_none_or(has_won), "{race:?}");
            }
        }
    }
}
