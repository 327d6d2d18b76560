//! Compare-and-swap of a ref in a repository on this machine.

use git2::{Oid, Repository};

/// Moves a ref from `expected` to `new`, or creates it if `expected` is `None`. Fails if the ref has another
/// value.
///
/// libgit2 compares the old value under the lock of the ref, but "create unless it exists" checks before it
/// takes the lock: if two processes create the same ref at once, both succeed and the second overwrites the
/// first. The zero id stands for "absent" and is compared under the lock like any other value.
pub(crate) fn compare_and_swap(
    git: &Repository,
    name: &str,
    expected: Option<Oid>,
    new: Oid,
    message: &str,
) -> Result<(), git2::Error> {
    git.reference_matching(name, new, true, expected.unwrap_or(Oid::ZERO_SHA1), message).map(drop)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // failing is a test's job

    use std::sync::Barrier;

    use super::*;
    use crate::git::is_lost_race;

    /// Lets several threads create or move the same refs at the same moments. Returns how many succeeded for each ref.
    fn race(old: Option<&str>) -> Vec<usize> {
        const RIVALS: usize = 4;
        const ROUNDS: usize = 200;
        let dir = tempfile::tempdir().unwrap();
        let git = Repository::init_bare(dir.path()).unwrap();
        let names: Vec<String> = (0..ROUNDS).map(|round| format!("refs/beads/claims/{round}")).collect();
        let expected = old.map(|old| commit(&git, old));
        if let Some(old) = expected {
            names.iter().for_each(|name| drop(git.reference(name, old, false, "test").unwrap()));
        }
        let commits = (0..RIVALS).map(|number| commit(&git, &format!("rival {number}")));
        let barrier = Barrier::new(RIVALS);
        let compete = &|new: Oid| -> Vec<bool> {
            let git = Repository::open(dir.path()).unwrap();
            let try_one = |name: &String| {
                barrier.wait();
                match compare_and_swap(&git, name, expected, new, "test") {
                    Ok(()) => true,
                    Err(error) if is_lost_race(&error) => false,
                    Err(error) => panic!("{error}"),
                }
            };
            names.iter().map(try_one).collect()
        };
        let won: Vec<Vec<bool>> = std::thread::scope(|scope| {
            let threads: Vec<_> = commits.map(|new| scope.spawn(move || compete(new))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        (0..ROUNDS).map(|round| won.iter().filter(|won| won[round]).count()).collect()
    }

    fn commit(git: &Repository, message: &str) -> Oid {
        let tree = git.find_tree(git.treebuilder(None).unwrap().write().unwrap()).unwrap();
        let who = git2::Signature::now("x", "x@localhost").unwrap();
        git.commit(None, &who, &who, message, &tree, &[]).unwrap()
    }

    #[test]
    fn a_ref_that_several_create_at_once_has_one_creator() {
        let winners = race(None);
        assert!(winners.iter().all(|count| *count <= 1), "created more than once: {winners:?}");
        assert!(winners.contains(&1));
    }

    #[test]
    fn a_ref_that_several_move_at_once_is_moved_by_one() {
        let winners = race(Some("old"));
        assert!(winners.iter().all(|count| *count <= 1), "moved more than once: {winners:?}");
        assert!(winners.contains(&1));
    }
}
