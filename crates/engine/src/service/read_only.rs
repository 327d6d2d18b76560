//! Opens a store that can only be read: without the lock, and without writing anything.

use std::path::Path;
use std::sync::Arc;

use beads_store::{GitRepository, Guarded, Identity, RealDisk, RealWorld, Replica, Repository};

use super::Service;
use crate::failure::{Code, Failure};
use crate::place::Place;

/// How often to retry if the lock holder trims the journal while it is read.
const MAX_ATTEMPTS: usize = 10;

impl Service {
    /// Opens the store for queries.
    pub fn open_to_read(place: &Place) -> Result<Self, Failure> {
        crate::name_lookup::disable_plugins();
        while_unchanged(place, |repository| Self::read_once(place, repository))
    }

    fn read_once(place: &Place, repository: GitRepository) -> Result<Self, Failure> {
        let pinned = Identity::of(&[&place.git_dir]);
        let identity = Arc::new(pinned.map_err(|error| Failure::io("look at", &place.git_dir, &error))?);
        let repository = Guarded::read_only(repository, &place.git_dir, identity.clone());
        let replica = Replica::open(RealDisk::read_only(place.store_dir()), &repository, RealWorld)?;
        Self::assemble(place, (replica, repository, identity), None)
    }
}

/// Reads a store that another thread or process may write to. The ref and the journal's segments must be the
/// same before and after reading: records that were moved from the journal to the ref in between would be
/// missing.
pub(super) fn while_unchanged<T>(
    place: &Place,
    read: impl Fn(GitRepository) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let look = |repository: &GitRepository| (repository.tip().ok(), segments(&place.store_dir()));
    for _ in 0..MAX_ATTEMPTS {
        let repository = GitRepository::open(&place.git_dir)?;
        let before = look(&repository);
        let found = read(repository);
        if before == look(&GitRepository::open(&place.git_dir)?) {
            return found;
        }
    }
    let message =
        format!("{} kept changing while it was read; nothing was changed", place.store_dir().display());
    Err(Failure::new(Code::Busy, message))
}

/// Returns the names of the journal's segments.
fn segments(store_dir: &Path) -> Vec<std::ffi::OsString> {
    let entries = std::fs::read_dir(store_dir).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name());
    let mut segments: Vec<_> = names.filter(|name| name.to_string_lossy().starts_with("journal.")).collect();
    segments.sort();
    segments
}
