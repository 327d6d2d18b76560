//! The one error of the store.

use std::path::PathBuf;

use beads_core::Code;
use rustix::io::Errno;

/// What can go wrong between memory, disk and the repository.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Core(#[from] beads_core::Error),

    #[error("operation {} of the batch: {source}; nothing was changed", index + 1)]
    Batch { index: usize, source: Box<Self> },

    #[error("cannot {action} {}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: std::io::Error },

    #[error("the journal is damaged: {file} at byte {offset}: {reason}; nothing was changed")]
    JournalDamaged { file: String, offset: usize, reason: String },

    #[error(
        "the journal could not be written ({0}); nothing more is written until the store is opened again"
    )]
    JournalFailed(String),

    #[error(
        "{0} and could not be read again; it was not saved to the ref, and stays in the journal. Delete beads"
    )]
    TooLargeToSave(String),

    #[error("{0:?} is not a cursor")]
    BadCursor(String),

    #[error("the events right after {cursor} are not kept any more; the oldest cursor is {oldest}")]
    CursorExpired { cursor: String, oldest: String },

    #[error("{cursor} is ahead of everything that happened here; the newest cursor is {newest}")]
    CursorAhead { cursor: String, newest: String },

    #[error("the request id {0:?} was used for another request; nothing was changed")]
    RequestReused(String),

    #[error("{0} requests are remembered, which is as many as can be; nothing was changed")]
    TooManyRequests(usize),

    #[error("git: {0}")]
    Git(#[from] git2::Error),

    #[error(
        "this repository uses {0}, which bd cannot read; nothing was changed. Use a repository with the defaults of git: \
         SHA-1 object names, and refs in files"
    )]
    RepositoryFormat(&'static str),

    #[error("commit {commit} on {reference}: {reason}; nothing was changed")]
    RefDamaged { reference: &'static str, commit: String, reason: String },

    #[error(
        "{}commit {commit} was written by the earlier Rust bd, in another format; nothing was changed",
        if *remote { "the remote's " } else { "" }
    )]
    EarlierFormat { commit: String, remote: bool },

    #[error("the store is busy: another process holds {} for longer than {waited_ms} ms", path.display())]
    Busy { path: PathBuf, waited_ms: u64 },

    #[error("{} is not the store that was opened: it was replaced or moved; nothing was changed there", path.display())]
    Replaced { path: PathBuf },
    #[error(
        "{reason}. This is a partial clone: what is missing may still be at its remote, so nothing is repaired. Run this \
         again when the remote can be reached and git is installed"
    )]
    Partial { reason: String },

    #[error("no commit of the store begins with {0:?}")]
    NoRevision(String),

    #[error("more than one commit of the store begins with {0:?}")]
    AmbiguousRevision(String),

    #[error("there is no store here: {0}")]
    NoStore(String),

    #[error(
        "the remote {remote} did not answer as it should: {reason}; nothing was lost, everything is safe here"
    )]
    Remote { remote: String, reason: String },

    #[error(
        "the remote {remote} asks to be tried again later (Retry-After: {retry_after}): {reason}; nothing was lost, everything is safe here"
    )]
    RateLimited { remote: String, reason: String, retry_after: String },

    #[error(
        "the sync with {remote} took longer than {seconds} s (the setting sync.deadline); nothing was lost, everything is safe here"
    )]
    Timeout { remote: String, seconds: u64 },

    #[error(
        "{program} is needed to reach the remote {remote} and is not installed; nothing was lost, everything is safe here"
    )]
    ProgramMissing { program: &'static str, remote: String },

    #[error("the remote {remote} refused the push: {reason}; nothing was lost, everything is safe here")]
    PushRefused { remote: String, reason: String },

    #[error(
        "the remote {remote} has a branch named beads, so beads/store cannot exist there; nothing was lost, everything \
         is safe here. Rename that branch there, then sync again"
    )]
    RemoteBranchInTheWay { remote: String },

    #[error(
        "this repository has a branch named beads, so beads/store cannot exist; nothing was lost, everything is in the \
         journal. Rename that branch: git branch -m beads beads-old"
    )]
    BranchInTheWay,

    #[error("the remote's commit {commit} cannot be used: {reason}; nothing was changed here")]
    RemoteInvalid { commit: String, reason: String },

    #[error("other machines were faster {0} times in a row; nothing was lost, the next sync goes on")]
    Contention(u32),

    #[error(
        "git gc is running in this repository and may delete what was just saved; nothing was lost, changes stay in the journal \
         until it is done"
    )]
    Collecting,

    #[error("the reference {0} kept moving while it was being written; nothing was lost, try again")]
    RefMoved(&'static str),
}

impl Error {
    /// Whether a file could not be written because nothing can be written there.
    pub fn is_read_only(&self) -> bool {
        use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
        matches!(self, Self::Io { source, .. } if matches!(source.kind(), PermissionDenied | ReadOnlyFilesystem))
    }

    /// Whether a file could not be opened or read because of the state of this process or this machine, which says nothing
    /// about the file.
    pub(crate) fn is_lack_of_resources(&self) -> bool {
        let lacks = [Errno::MFILE, Errno::NFILE, Errno::NOMEM].map(|errno| Some(errno.raw_os_error()));
        matches!(self, Self::Io { source, .. } if lacks.contains(&source.raw_os_error()))
    }

    pub(crate) fn busy(path: &std::path::Path, patience: std::time::Duration) -> Self {
        let waited_ms = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
        Self::Busy { path: path.to_owned(), waited_ms }
    }

    pub fn code(&self) -> Code {
        match self {
            Self::Core(error) => error.code(),
            Self::Batch { source, .. } => source.code(),
            Self::Io { .. } => Code::IoError,
            Self::JournalDamaged { .. } | Self::RefDamaged { .. } | Self::Partial { .. } => {
                Code::CorruptStore
            }
            Self::EarlierFormat { .. } => Code::EarlierFormat,
            Self::JournalFailed(_) => Code::JournalFailed,
            Self::BadCursor(_) => Code::InvalidValue,
            Self::CursorExpired { .. } => Code::CursorExpired,
            Self::CursorAhead { .. } => Code::CursorAhead,
            Self::RequestReused(_) => Code::RequestIdReused,
            Self::TooManyRequests(_) => Code::TooManyRequests,
            Self::TooLargeToSave(_) => Code::TooLarge,
            Self::Git(_) | Self::RepositoryFormat(_) | Self::BranchInTheWay => Code::GitError,
            Self::Busy { .. } | Self::Collecting | Self::RefMoved(_) => Code::Busy,
            Self::Replaced { .. } => Code::StoreReplaced,
            Self::NoRevision(_) => Code::NotFound,
            Self::AmbiguousRevision(_) => Code::AmbiguousRevision,
            Self::NoStore(_) => Code::NoStore,
            Self::Remote { .. } | Self::RateLimited { .. } => Code::NetworkError,
            Self::Timeout { .. } => Code::Timeout,
            Self::ProgramMissing { .. } => Code::DependencyMissing,
            Self::PushRefused { .. } | Self::RemoteBranchInTheWay { .. } => Code::PushRefused,
            Self::RemoteInvalid { .. } => Code::RemoteInvalid,
            Self::Contention(_) => Code::SyncContention,
        }
    }
}

pub type Result<T, E = Error> = std::result::Result<T, E>;
