//! Partial clones: objects that were left at the remote that the clone came from. The git program makes such clones and
//! brings single objects; without it, or when it fails, the library brings them from any remote that has them.

use std::time::Duration;

use git2::Oid;

use crate::GitRepository;
use crate::git_program::{git_command, run};
use crate::native::Native;
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
        let brought = run(command, DEADLINE, &mut || ()).is_ok_and(|output| output.success);
        brought || self.bring_natively(id)
    }

    /// Asks the remotes for an object, those first that promised to have it.
    fn bring_natively(&self, id: Oid) -> bool {
        let (Ok(names), Ok(config)) = (self.git.remotes(), self.git.config()) else { return false };
        let mut names: Vec<String> = names.iter().flatten().flatten().map(str::to_owned).collect();
        names.sort_by_key(|name| !config.get_bool(&format!("remote.{name}.promisor")).unwrap_or(false));
        names.iter().any(|name| {
            let native = Native::new(self.git.commondir(), name, DEADLINE);
            native.within_deadline(move |line| line.bring(id)).unwrap_or(false)
        })
    }

    /// Whether the refspecs of a remote, as they are configured, cover the sync ref: then a clone or a fetch has brought it
    /// along if it exists.
    pub fn is_fetched_by_default(&self, remote: &str) -> bool {
        let Ok(remote) = self.git.find_remote(remote) else { return false };
        remote.refspecs().any(|spec| spec.direction() == git2::Direction::Fetch && spec.src_matches(REF))
    }
}
