use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use beads_store::{AnyRemote, Guarded, Identity, Transport, default_remote};

use crate::config::Config;
use crate::failure::Failure;

/// The remote's name that means: stay alone.
pub(in crate::service) const NO_REMOTE: &str = "none";

/// How far a sync goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Saves here for a waiting command. Housekeeping is left to the next sync.
    Save,
    /// Saves here; the remote has its turn later.
    Local,
    /// Takes in what the remote has and pushes nothing.
    Fetch,
    /// Exchanges everything. When it was asked for, a remote without a store is given one.
    Remote { asked: bool },
}

impl Reach {
    pub(super) fn asks_remote(self) -> bool {
        !matches!(self, Self::Save | Self::Local)
    }
}

/// Where the remote is and how it is talked to.
#[derive(Debug, Clone)]
pub struct SyncPlan {
    git_dir: PathBuf,
    identity: Arc<Identity>,
    /// As configured; looked up when the plan runs, because remotes come and go.
    remote: String,
    pub(in crate::service) transport: Transport,
    pub(in crate::service) deadline: Duration,
    /// Make the store on the remote if it has none.
    may_publish: bool,
    /// The remote for which that was asked once.
    consent: Option<String>,
}

impl SyncPlan {
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

    /// The path may name another repository by now.
    pub(in crate::service) fn guarded<T>(&self, inner: T) -> Guarded<T> {
        Guarded::new(inner, &self.git_dir, self.identity.clone())
    }

    pub(super) fn open(&self, remote: &str, deadline: Duration) -> AnyRemote {
        AnyRemote::open(&self.git_dir, remote, self.transport, deadline)
    }

    /// The remote, which must be there.
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
