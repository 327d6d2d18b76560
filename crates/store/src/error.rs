//! The error type of the store.

use std::path::PathBuf;

use beads_core::Code;
use rustix::io::Errno;

/// An error between memory, disk, repository and remote.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The core refused an operation or could not decode a value.
    #[error(transparent)]
    Core(#[from] beads_core::Error),

    /// An operation of an all-or-nothing batch failed.
    #[error("operation {} of the batch: {source}; nothing was changed", index + 1)]
    Batch {
        /// The index of the operation, from 0.
        index: usize,
        /// Why it failed.
        source: Box<Self>,
    },

    /// A file operation failed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// A verb, such as "read".
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },

    /// The journal has a bad frame that a crash cannot explain.
    #[error("the journal is damaged: {file} at byte {offset}: {reason}; nothing was changed")]
    JournalDamaged {
        /// The segment.
        file: String,
        /// Where in the segment, in bytes.
        offset: usize,
        /// What is wrong there.
        reason: String,
    },

    /// A write to the journal failed, so memory is ahead of the disk.
    #[error("cannot write the journal: {0}; no further changes are accepted until the store is opened again")]
    JournalFailed(String),

    /// The state exceeds what the format allows, so it could not be decoded again.
    #[error(
        "the store is too large to save: {0}; the changes stay in the journal. Delete beads, then save again"
    )]
    TooLargeToSave(String),

    /// The text is not an event cursor.
    #[error("{0:?} is not a cursor")]
    BadCursor(String),

    /// The events after the cursor were deleted.
    #[error("the events after {cursor} were deleted; the oldest valid cursor is {oldest}")]
    CursorExpired {
        /// The cursor of the request.
        cursor: String,
        /// The oldest cursor that still works.
        oldest: String,
    },

    /// The cursor is later than the newest event.
    #[error("{cursor} is later than the newest event; the newest cursor is {newest}")]
    CursorAhead {
        /// The cursor of the request.
        cursor: String,
        /// The newest cursor.
        newest: String,
    },

    /// A request id was used twice with different content.
    #[error("request id {0:?} was already used for a different request; nothing was changed")]
    RequestReused(String),

    /// The store remembers as many request ids as it may.
    #[error("the limit of {0} remembered request ids is reached; nothing was changed")]
    TooManyRequests(usize),

    /// libgit2 failed.
    #[error("git: {0}")]
    Git(#[from] git2::Error),

    /// The repository uses a format that libgit2 cannot read.
    #[error(
        "this repository uses {0}, which bd cannot read; nothing was changed. Use a repository with \
         git's default formats: SHA-1 object names, and refs in files"
    )]
    RepositoryFormat(&'static str),

    /// A commit of the sync ref cannot be read or decoded.
    #[error("commit {commit} on {reference}: {reason}; nothing was changed")]
    RefDamaged {
        /// The name of the sync ref.
        reference: &'static str,
        /// The commit, or "?" if it is not known.
        commit: String,
        /// What is wrong with it.
        reason: String,
    },

    /// A commit has the format of the earlier Rust implementation.
    #[error(
        "{}commit {commit} is in the format of the earlier Rust bd; nothing was changed",
        if *remote { "the remote's " } else { "" }
    )]
    EarlierFormat {
        /// The commit.
        commit: String,
        /// Whether it is the remote's.
        remote: bool,
    },

    /// Another process holds the lock.
    #[error("the store is busy: another process has held {} for more than {waited_ms} ms", path.display())]
    Busy {
        /// The lock file.
        path: PathBuf,
        /// How long this process waited.
        waited_ms: u64,
    },

    /// The path now leads to another store than the one that was opened.
    #[error(
        "{} is not the store that was opened: it was replaced or moved; nothing was changed there",
        path.display()
    )]
    Replaced {
        /// The git directory.
        path: PathBuf,
    },

    /// Objects are missing in a partial clone, so this may not be damage.
    #[error(
        "{reason}. This is a partial clone: the missing objects may still be on its remote, so nothing \
         was repaired. Make sure that git is installed and the remote is reachable, then run this again"
    )]
    Partial {
        /// What could not be read.
        reason: String,
    },

    /// No commit of the sync ref has this prefix.
    #[error("no commit of the store begins with {0:?}")]
    NoRevision(String),

    /// Several commits of the sync ref have this prefix.
    #[error("more than one commit of the store begins with {0:?}")]
    AmbiguousRevision(String),

    /// The directory has no store.
    #[error("there is no store here: {0}")]
    NoStore(String),

    /// The remote could not be reached or answered with an error.
    #[error("cannot use the remote {remote}: {reason}; nothing was lost, all changes are saved locally")]
    Remote {
        /// The name of the remote.
        remote: String,
        /// What git or libgit2 reported.
        reason: String,
    },

    /// The server asked to be left alone for a while.
    #[error(
        "the remote {remote} limits requests (Retry-After: {retry_after}): {reason}; nothing \
         was lost, all changes are saved locally. They are synced later"
    )]
    RateLimited {
        /// The name of the remote.
        remote: String,
        /// What git reported.
        reason: String,
        /// The value of the `Retry-After` header: seconds or a date.
        retry_after: String,
    },

    /// The sync exceeded its deadline.
    #[error(
        "the sync with {remote} took longer than {seconds} s (setting sync.deadline); nothing was lost, \
         all changes are saved locally"
    )]
    Timeout {
        /// The name of the remote.
        remote: String,
        /// The deadline.
        seconds: u64,
    },

    /// A program that the remote needs is not installed.
    #[error(
        "{program} is not installed, and the remote {remote} needs it; nothing was lost, \
         all changes are saved locally"
    )]
    ProgramMissing {
        /// `git` or `ssh`.
        program: &'static str,
        /// The name of the remote.
        remote: String,
    },

    /// The remote does not let the ref be updated.
    #[error(
        "the remote {remote} refused the push: {reason}; nothing was lost, all changes are saved locally"
    )]
    PushRefused {
        /// The name of the remote.
        remote: String,
        /// What the server reported.
        reason: String,
    },

    /// A branch named `beads` on the remote prevents a branch named `beads/store`.
    #[error(
        "the remote {remote} has a branch named beads, so beads/store cannot exist there; nothing \
         was lost, all changes are saved locally. Rename that branch on the remote, then sync again"
    )]
    RemoteConflictingBranch {
        /// The name of the remote.
        remote: String,
    },

    /// A branch named `beads` prevents a branch named `beads/store`.
    #[error(
        "this repository has a branch named beads, so beads/store cannot exist; nothing was lost, \
         all changes are in the journal. Rename that branch: git branch -m beads beads-old"
    )]
    ConflictingBranch,

    /// The remote's commit cannot be decoded or exceeds a limit.
    #[error("cannot use the remote's commit {commit}: {reason}; nothing was changed here")]
    RemoteInvalid {
        /// The commit.
        commit: String,
        /// What is wrong with it.
        reason: String,
    },

    /// Every push of a sync lost the race against another machine.
    #[error("other machines pushed first {0} times in a row; nothing was lost, the next sync tries again")]
    Contention(u32),

    /// The hub does not answer.
    #[error("the hub cannot be reached: {0}; nothing was lost, all changes are saved locally")]
    HubUnreachable(String),

    /// The hub requires this machine to attach again, such as after a failover.
    #[error("the hub requires this machine to attach again")]
    HubAttachAgain,

    /// The cursor is not part of the hub's history, or the deltas after it are no longer kept.
    #[error("the hub has another history than the one known here")]
    HubHistory,

    /// Another machine uses the id of this replica, such as a copy of its directory.
    #[error("another machine uses the replica id of this one at the hub")]
    HubReplicaReused,

    /// The hub refused a call: rights, versions, or settings.
    #[error("the hub refused: {0}; nothing was lost, all changes are saved locally")]
    HubRefused(String),

    /// The hub sent something that cannot be decoded or exceeds a limit.
    #[error("cannot use what the hub sent: {0}; nothing was lost, and what came before it was taken")]
    HubInvalid(String),

    /// The address of the hub is not valid. The message does not repeat it, because it may hold a password.
    #[error("the address of the hub cannot be used: {0}")]
    HubAddress(String),

    /// A `git gc` may delete the commit that was just written.
    #[error(
        "git gc is running in this repository and may delete the commit that was just saved; \
         nothing was lost, all changes stay in the journal until git gc ends"
    )]
    GcRunning,

    /// Another program kept moving the sync ref.
    #[error("another program kept moving {0} while it was being written; nothing was lost, try again")]
    RefMoved(&'static str),
}

impl Error {
    /// Returns whether a write failed because the directory or file system is read-only for this user.
    pub fn is_read_only(&self) -> bool {
        use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
        matches!(self, Self::Io { source, .. } if matches!(source.kind(), PermissionDenied | ReadOnlyFilesystem))
    }

    /// Returns whether a file could not be opened or read because the process or machine ran out of file
    /// descriptors or memory. Such an error says nothing about the file.
    pub(crate) fn is_lack_of_resources(&self) -> bool {
        let lacks = [Errno::MFILE, Errno::NFILE, Errno::NOMEM].map(|errno| Some(errno.raw_os_error()));
        matches!(self, Self::Io { source, .. } if lacks.contains(&source.raw_os_error()))
    }

    pub(crate) fn busy(path: &std::path::Path, patience: std::time::Duration) -> Self {
        let waited_ms = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
        Self::Busy { path: path.to_owned(), waited_ms }
    }

    /// Returns the error code that clients see.
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
            Self::Git(_) | Self::RepositoryFormat(_) | Self::ConflictingBranch => Code::GitError,
            Self::Busy { .. } | Self::GcRunning | Self::RefMoved(_) => Code::Busy,
            Self::Replaced { .. } => Code::StoreReplaced,
            Self::NoRevision(_) => Code::NotFound,
            Self::AmbiguousRevision(_) => Code::AmbiguousRevision,
            Self::NoStore(_) => Code::NoStore,
            Self::Remote { .. } | Self::RateLimited { .. } => Code::NetworkError,
            Self::Timeout { .. } => Code::Timeout,
            Self::ProgramMissing { .. } => Code::DependencyMissing,
            Self::PushRefused { .. } | Self::RemoteConflictingBranch { .. } => Code::PushRefused,
            Self::RemoteInvalid { .. } => Code::RemoteInvalid,
            Self::Contention(_) => Code::SyncContention,
            Self::HubUnreachable(_) | Self::HubAttachAgain | Self::HubHistory | Self::HubReplicaReused => {
                Code::HubUnreachable
            }
            Self::HubRefused(_) | Self::HubInvalid(_) => Code::HubRefused,
            Self::HubAddress(_) => Code::InvalidValue,
        }
    }
}

/// A result with the store's [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;
