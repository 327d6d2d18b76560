use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use beads_store::{AnyRemote, Guarded, Identity, Transport, default_remote};

use crate::config::Config;
use crate::failure::Failure;

/// The value of `sync.remote` that means no remote.
pub(in crate::service) const NO_REMOTE: &str = "none";

/// The scope of a sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Saves locally for a waiting command. Housekeeping is left to the next sync.
    Save,
    /// Saves locally, without the remote.
    Local,
    /// Fetches and merges, but does not push.
    Fetch,
    /// Exchanges everything with the remote.
    Remote {
        /// A user asked for it, so the store may be published to a remote that has none.
        asked: bool,
    },
}

impl Reach {
    pub(super) fn asks_remote(self) -> bool {
        !matches!(self, Self::Save | Self::Local)
    }
}

/// Where the remote is and how to reach it.
#[derive(Debug, Clone)]
pub struct SyncPlan {
    git_dir: PathBuf,
    identity: Arc<Identity>,
    /// The value of `sync.remote`. It is resolved when the plan runs, because remotes may change.
    remote: String,
    pub(in crate::service) transport: Transport,
    pub(in crate::service) deadline: Duration,
    /// `sync.auto` allows publishing the store to a remote that has none.
    may_publish: bool,
    /// The remote for which a user once asked for a sync.
    consent: Option<String>,
}

impl SyncPlan {
    /// Returns the plan for a repository and its settings.
    pub fn new(git_dir: &Path, identity: Arc<Identity>, config: &Config) -> Self {
        Self {
            git_dir: git_dir.to_owned(),
            identity,
            remote: config.get("sync.remote").unwrap_or_default().to_owned(),
            transport: config.transport(),
            deadline: config.duration("sync.deadline"),
            may_publish: config.get("sync.auto").is_ok_and(|auto| auto == "true"),
            consent: None,
        }
    }

    pub(super) fn with_consent(self, consent: Option<String>) -> Self {
        Self { consent, ..self }
    }

    pub(in crate::service) fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    pub(super) fn may_publish_to(&self, remote: &str) -> bool {
        self.may_publish || self.consent.as_deref() == Some(remote)
    }

    /// Guards against using another repository that is now at the same path.
    pub(in crate::service) fn guarded<T>(&self, inner: T) -> Guarded<T> {
        Guarded::new(inner, &self.git_dir, self.identity.clone())
    }

    pub(super) fn open(&self, remote: &str, deadline: Duration) -> AnyRemote {
        AnyRemote::open(&self.git_dir, remote, self.transport, deadline)
    }

    /// Opens the remote; fails if there is none.
    pub fn open_remote(&self) -> Result<AnyRemote, Failure> {
        let missing = || Failure::invalid("there is no remote; nothing was changed");
        let name = self.remote_name()?.ok_or_else(missing)?;
        Ok(self.open(&name, self.deadline))
    }

    pub(in crate::service) fn remote_name(&self) -> Result<Option<String>, Failure> {
        match self.remote.as_str() {
            NO_REMOTE => Ok(None),
            "" => Ok(default_remote(&self.git_dir)?),
            name => Ok(Some(name.to_owned())),
        }
    }
}
