//! The choice of transport: the user's git program, or libgit2.

use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use crate::claim_refs::{ClaimListing, ClaimRemote, RefChange, Swapped};
use crate::git_program::GitProgram;
use crate::native::Native;
use crate::plain_remote::is_plain;
use crate::remote::{Pushed, Remote};
use crate::repository::CommitId;
use crate::{Error, Result};

/// The setting `sync.transport`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Transport {
    /// The git program if it is installed, else libgit2. A directory on this machine where git would do nothing
    /// else is written by libgit2.
    #[default]
    Auto,
    /// The git program.
    Git,
    /// libgit2.
    Native,
}

impl FromStr for Transport {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "git" => Ok(Self::Git),
            "native" => Ok(Self::Native),
            _ => Err(format!("{text:?} is not auto, git or native")),
        }
    }
}

/// A remote behind either transport.
#[derive(Debug)]
pub enum AnyRemote {
    /// Through the git program.
    Git(GitProgram),
    /// Through libgit2.
    Native(Native),
}

impl AnyRemote {
    /// Returns the remote through the chosen transport. The deadline starts now.
    pub fn open(git_dir: &Path, remote: &str, transport: Transport, deadline: Duration) -> Self {
        let git = || Self::Git(GitProgram::new(git_dir, remote, deadline));
        match transport {
            Transport::Git => git(),
            // Plain directories first, because looking for git starts a process.
            Transport::Auto if !is_plain(git_dir, remote) && GitProgram::is_installed() => git(),
            Transport::Auto | Transport::Native => Self::Native(Native::new(git_dir, remote, deadline)),
        }
    }
}

impl Remote for AnyRemote {
    fn name(&self) -> &str {
        match self {
            Self::Git(remote) => remote.name(),
            Self::Native(remote) => remote.name(),
        }
    }

    fn fetch(&self) -> Result<Option<CommitId>> {
        match self {
            Self::Git(remote) => remote.fetch(),
            Self::Native(remote) => remote.fetch(),
        }
    }

    fn push(&self, expected: Option<&str>, new: &str) -> Result<Pushed> {
        match self {
            Self::Git(remote) => remote.push(expected, new),
            Self::Native(remote) => remote.push(expected, new),
        }
    }

    fn push_while(&self, expected: Option<&str>, new: &str, work: &mut dyn FnMut()) -> Result<Pushed> {
        match self {
            Self::Git(remote) => remote.push_while(expected, new, work),
            Self::Native(remote) => remote.push_while(expected, new, work),
        }
    }

    fn fetch_archive(&self) -> Result<Option<CommitId>> {
        match self {
            Self::Git(remote) => remote.fetch_archive(),
            Self::Native(remote) => remote.fetch_archive(),
        }
    }

    fn push_archive(&self, expected: Option<&str>, new: &str) -> Result<Pushed> {
        match self {
            Self::Git(remote) => remote.push_archive(expected, new),
            Self::Native(remote) => remote.push_archive(expected, new),
        }
    }
}

impl ClaimRemote for AnyRemote {
    fn claims(&self, prefix: &str) -> Result<ClaimListing> {
        match self {
            Self::Git(remote) => remote.claims(prefix),
            Self::Native(remote) => remote.claims(prefix),
        }
    }

    fn swap(&self, prefix: &str, changes: &[RefChange]) -> Result<Vec<Swapped>> {
        match self {
            Self::Git(remote) => remote.swap(prefix, changes),
            Self::Native(remote) => remote.swap(prefix, changes),
        }
    }
}

/// Returns whether a remote is reached over a network. False if its URL cannot be determined.
pub fn is_over_network(git_dir: &Path, remote: &str) -> bool {
    let url = || -> Result<String> {
        let repository = crate::GitRepository::open(git_dir)?;
        let address = crate::address::Address::of(&repository.git, remote)?;
        // libgit2 applies `url.*.insteadOf`.
        let remote = repository.git.remote_anonymous(&address.push)?;
        Ok(remote.url().unwrap_or_default().to_owned())
    };
    url().is_ok_and(|url| crate::url::local_path(&url).is_none())
}

/// Returns the remote to sync with if none is configured: `origin`, or the only one there is.
pub fn default_remote(git_dir: &Path) -> Result<Option<String>> {
    let repository = crate::GitRepository::open(git_dir)?;
    let remotes = repository.git.remotes()?;
    let names: Vec<String> = remotes.iter().flatten().flatten().map(str::to_owned).collect();
    match names.as_slice() {
        [only] => Ok(Some(only.clone())),
        many if many.iter().any(|name| name == "origin") => Ok(Some("origin".into())),
        [] => Ok(None),
        _ => Err(Error::Remote {
            remote: names.join(", "),
            reason: "there are several remotes; choose one with: bd config set sync.remote NAME".into(),
        }),
    }
}
