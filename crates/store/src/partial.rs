//! Partial clones, which leave objects on the remote they came from. The git program creates such clones and
//! fetches single objects. Without it, or if it fails, libgit2 fetches them from any remote that has them.

use std::time::Duration;

use git2::Oid;

use crate::GitRepository;
use crate::git_program::{git_command, run};
use crate::native::Native;
use crate::repository::REF;

/// The time limit for fetching one object.
const DEADLINE: Duration = Duration::from_secs(60);

impl GitRepository {
    /// Returns whether objects may be missing because they are on a remote.
    pub(crate) fn is_partial(&self) -> bool {
        let Ok(config) = self.git.config() else { return false };
        let mut promised = config.get_string("extensions.partialclone").is_ok();
        if let Ok(entries) = config.entries(Some("^remote\\..*\\.promisor$")) {
            let _ = entries.for_each(|_| promised = true);
        }
        promised
    }

    /// Fetches a missing object. Returns whether it exists here now.
    pub(crate) fn fetch_missing_object(&self, id: Oid) -> bool {
        if !self.is_partial() {
            return false;
        }
        let mut command = git_command(self.git.commondir());
        command.args(["cat-file", "-t", &id.to_string()]);
        let fetched = run(command, DEADLINE, &mut || ()).is_ok_and(|output| output.success);
        fetched || self.fetch_missing_natively(id)
    }

    /// Fetches an object through libgit2, first from remotes that are marked as promisors.
    fn fetch_missing_natively(&self, id: Oid) -> bool {
        let (Ok(names), Ok(config)) = (self.git.remotes(), self.git.config()) else { return false };
        let mut names: Vec<String> = names.iter().flatten().flatten().map(str::to_owned).collect();
        names.sort_by_key(|name| !config.get_bool(&format!("remote.{name}.promisor")).unwrap_or(false));
        names.iter().any(|name| {
            let native = Native::new(self.git.commondir(), name, DEADLINE);
            native.within_deadline(move |connection| connection.fetch_object(id)).unwrap_or(false)
        })
    }

    /// Returns whether the configured refspecs of a remote cover the sync ref, so that a clone or fetch has
    /// fetched it if it exists.
    pub fn is_fetched_by_default(&self, remote: &str) -> bool {
        let Ok(remote) = self.git.find_remote(remote) else { return false };
        remote.refspecs().any(|spec| spec.direction() == git2::Direction::Fetch && spec.src_matches(REF))
    }
}
