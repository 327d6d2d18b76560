use beads_core::Timestamp;
use beads_store::{StoreLock, remove_remote_store};
use serde_json::json;

use super::Service;
use crate::failure::{Code, Failure};
use crate::place::{Kind, Place};
use crate::render::UninstallAnswer;

/// Removes a store from this clone, and with `remote` also from the remote. Backup refs keep its content. The
/// lock ensures that no other process uses the store.
pub fn uninstall(
    place: &Place,
    lock: StoreLock,
    remote: bool,
    dry_run: bool,
) -> Result<UninstallAnswer, Failure> {
    let mut service = Service::open(place, lock)?;
    let name: String =
        Timestamp::text_of(service.replica.now_ms()).chars().filter(char::is_ascii_alphanumeric).collect();
    let beads = service.replica.catalog().live_count();
    let mut answer =
        UninstallAnswer { store: place.store_dir(), beads, dry_run, ..UninstallAnswer::default() };
    if dry_run {
        return Ok(answer);
    }
    service.commit()?;
    service.checkpoint()?;
    if remote {
        let open = service.sync_plan().open_remote()?;
        let removed = remove_remote_store(&open, &name, &service.ref_prefix());
        answer.remote_backup = removed.map_err(|error| {
            let failure = Failure::from(error);
            let message = format!("{}; nothing was removed, neither here nor on the remote", failure.message);
            Failure { message, ..failure }
        })?;
    }
    answer.backup = match place.kind {
        Kind::Repository => service.repository.inner().remove_store(&name)?,
        Kind::Private => None,
    };
    drop(service);
    answer.moved = remove_files(place, &name)?;
    Ok(answer)
}

/// Removes the store's files from a repository. A private store is a repository itself, and is moved instead.
fn remove_files(place: &Place, name: &str) -> Result<Option<std::path::PathBuf>, Failure> {
    match place.kind {
        Kind::Repository => {
            let directory = place.store_dir();
            std::fs::remove_dir_all(&directory).map_err(|error| {
                let message = format!(
                    "the store was removed, but some files in {} were not: {error}",
                    directory.display()
                );
                Failure::new(Code::IoError, message).with(json!({"path": directory}))
            })?;
            Ok(None)
        }
        Kind::Private => {
            let target = place.git_dir.with_file_name(format!("removed-{name}.git"));
            std::fs::rename(&place.git_dir, &target)
                .map_err(|error| Failure::io("move", &place.git_dir, &error))?;
            Ok(Some(target))
        }
    }
}
