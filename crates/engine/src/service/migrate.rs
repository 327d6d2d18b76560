//! Migrates a legacy store: the store of the earlier Rust implementation. It cannot be opened, so this works
//! on the ref directly.

use beads_core::Actor;
use beads_store::{GitRepository, RealWorld, TakenOver};

use super::sync::SyncPlan;
use crate::config::Config;
use crate::failure::Failure;
use crate::place::Place;

/// Returns the commits of a legacy store that opening the store would read.
pub fn legacy_commits(place: &Place) -> Result<Vec<String>, Failure> {
    Ok(GitRepository::open(&place.git_dir)?.legacy_commits()?)
}

/// Migrates a legacy store, and with `remote` also the one on the remote. Returns
/// `None` if there is none. The caller holds the lock.
pub fn take_over(place: &Place, actor: &Actor, remote: bool) -> Result<Option<TakenOver>, Failure> {
    let config = Config::load(&place.store_dir())?;
    let repository = GitRepository::open(&place.git_dir)?;
    let plan = SyncPlan::new(&place.git_dir, super::pin_identity(place)?, &config);
    let remote = remote.then(|| plan.open_remote()).transpose()?;
    let lease_ms = u64::try_from(config.duration("claim.lease").as_millis()).unwrap_or(u64::MAX);
    let taken = beads_store::take_over(&repository, &mut RealWorld, (actor, lease_ms), remote.as_ref())?;
    Ok(taken)
}
