//! Partial clones: objects that were left at the remote that the clone came from. Only the git program can bring single
//! objects, and only it makes such clones.

use std::time::Duration;

use git2::Oid;

use crate::GitRepository;
use crate::git_program::{git_command, run};
use crate::repository::REF;

/// How long the remote may take for one object.
const DEADLINE: Duration = Duration::from_secs(60);

impl GitRepository {
    /// Whether objects may be missing because they are elsewhere.
    pub fn is_partial(&self) -> bool {
        let Ok(config) = self.git.config() else { return false };
        let mut promised = config.get_string("extensions.partialclone").is_ok();
        if let Ok(entries) = config.entries(Some("^remote\\..*\\.promisor$")) {
            let _ = entries.for_each(|_| promised = true);
        }
        promised
    }

    /// Lets git bring an object that is missing. Says whether it is here now.
    pub(crate) fn bring(&self, id: Oid) -> bool {
        if !self.is_partial() {
            return false;
        }
        let mut command = git_command(self.git.commondir());
        command.args(["cat-file", "-t", &id.to_string()]);
        run(command, DEADLINE, &mut || ()).is_ok_and(|output| output.success)
    }

    /// Whether the refspecs of a remote, as they are configured, cover the sync ref: then a clone or a fetch has brought it
    /// along if it exists.
    pub fn is_fetched_by_default(&self, remote: &str) -> bool {
        let Ok(remote) = self.git.find_remote(remote) else { return false };
        remote.refspecs().any(|spec| spec.direction() == git2::Direction::Fetch && spec.src_matches(REF))
    }
}
