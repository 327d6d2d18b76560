//! The error type of the core. Each error has a [`Code`], which determines how the interfaces report it.

use crate::{Actor, BeadId, Code, Mark, Timestamp};

/// An error in parsing text, decoding a snapshot or applying an operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A value does not have the form that its type requires.
    #[error("invalid {field}: {reason}")]
    Invalid {
        /// The kind of value, such as `title`.
        field: &'static str,
        /// What is wrong with it.
        reason: String,
    },

    /// A file of a snapshot is damaged.
    #[error("{file} line {line}: {reason}")]
    Corrupt {
        /// The name of the file.
        file: &'static str,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with the line.
        reason: String,
    },

    /// The store was written in a later format.
    #[error("the store has format version {found}, this program reads up to {known}: upgrade bd")]
    NewerFormat {
        /// The version of the store.
        found: u64,
        /// The highest version that this program reads.
        known: u64,
    },

    /// No bead has this id or an id that starts with it.
    #[error("no bead matches {0:?}")]
    NotFound(String),

    /// The bead is deleted.
    #[error("{asked} was deleted{}{}", reason.as_deref().map(|r| format!(" ({r})")).unwrap_or_default(), also_born(remapped))]
    Deleted {
        /// The id of the bead.
        asked: String,
        /// The reason for the deletion.
        reason: Option<String>,
        /// Other beads that were created with this id and have another one now.
        remapped: Vec<BeadId>,
    },

    /// The bead is in the archive.
    #[error("{asked} is archived{}", also_born(remapped))]
    Archived {
        /// The id of the bead.
        asked: String,
        /// Other beads that were created with this id and have another one now.
        remapped: Vec<BeadId>,
    },

    /// Several ids start with the given text.
    #[error("{asked:?} is ambiguous: it could be {}", .candidates.iter().map(BeadId::as_str).collect::<Vec<_>>().join(", "))]
    Ambiguous {
        /// The given text.
        asked: String,
        /// The first few ids that start with it.
        candidates: Vec<BeadId>,
    },

    /// The id of a new bead is or was in use.
    #[error("the id {0} is or was in use; ids are never reused")]
    IdTaken(BeadId),

    /// The bead has changed since the caller read it.
    #[error("{id} has changed since you read it: {}", describe_hash(current, if_hash.as_deref()))]
    HashMismatch {
        /// The bead.
        id: BeadId,
        /// Its current `content_hash`.
        current: String,
        /// Its current `if_hash`, if it has custom words.
        if_hash: Option<String>,
    },

    /// Another actor holds the bead.
    #[error("{id} is held by {holder}{}", expires.map(|t| format!(" until {t}")).unwrap_or_default())]
    AlreadyClaimed {
        /// The bead.
        id: BeadId,
        /// Its holder.
        holder: Actor,
        /// The end of the lease.
        expires: Option<Timestamp>,
    },

    /// Only the holder may do this, and the caller is not the holder.
    #[error("{id} is held by {holder}, not by you")]
    NotHolder {
        /// The bead.
        id: BeadId,
        /// Its holder.
        holder: Actor,
    },

    /// The claim that the caller's fence belongs to has ended.
    #[error("your claim on {id} has ended: {}", describe_holder(holder.as_ref(), current))]
    StaleClaim {
        /// The bead.
        id: BeadId,
        /// The current fence.
        current: String,
        /// The current holder.
        holder: Option<Actor>,
    },

    /// The bead cannot be closed because it has open blockers.
    #[error("{id} is blocked by {}; nothing was changed", ids(open))]
    OpenBlockers {
        /// The bead.
        id: BeadId,
        /// The open blockers.
        open: Vec<BeadId>,
    },

    /// The bead cannot be closed because it has open children.
    #[error("{id} has open children: {}; nothing was changed", ids(open))]
    OpenChildren {
        /// The bead.
        id: BeadId,
        /// The open children.
        open: Vec<BeadId>,
    },

    /// The bead was closed as cancelled.
    #[error("{id} was cancelled{}; nothing was changed", in_parentheses(reason))]
    Cancelled {
        /// The bead.
        id: BeadId,
        /// The reason for the cancellation; may be empty.
        reason: String,
    },

    /// The store's settings require evidence to close a bead.
    #[error("{id} cannot be closed without evidence; nothing was changed")]
    EvidenceRequired {
        /// The bead.
        id: BeadId,
    },

    /// No bead is ready to be claimed.
    #[error("nothing is ready")]
    NothingReady,

    /// The bead is closed.
    #[error("{0} is closed; reopen it first")]
    Closed(BeadId),

    /// The two ends of a new edge are the same bead.
    #[error("a bead cannot depend on itself ({0})")]
    SelfEdge(BeadId),

    /// A new edge would create a cycle.
    #[error("that would create a cycle: {}", path(.0))]
    Cycle(Vec<BeadId>),

    /// The edge to remove does not exist.
    #[error("{from} has no {kind} dependency on {to}")]
    NoSuchEdge {
        /// The dependent bead.
        from: BeadId,
        /// The bead it would depend on.
        to: BeadId,
        /// The kind of the edge.
        kind: &'static str,
    },

    /// The write would make the bead too large.
    #[error("{id} would take {bytes} bytes; the limit for a bead is {limit}. Nothing was changed")]
    TooLarge {
        /// The bead.
        id: BeadId,
        /// The size of its line after the write.
        bytes: usize,
        /// The limit.
        limit: usize,
    },

    /// The new note would make the bead's notes too large.
    #[error(
        "the notes of {id} would take {bytes} bytes; the limit is {limit}. Nothing was changed. Continue in a new \
         bead that is related to it"
    )]
    NotesTooLarge {
        /// The bead.
        id: BeadId,
        /// The size of its notes after the write.
        bytes: usize,
        /// The limit.
        limit: usize,
    },

    /// The actor has no operation that could be undone.
    #[error("you have no operation here that can be undone")]
    NothingToUndo,

    /// The actor has undone no operation since the last one.
    #[error("you have no undone operation here that can be redone")]
    NothingToRedo,

    /// The last operation is of a kind that cannot be undone.
    #[error("your last operation cannot be undone: {0}")]
    CannotUndo(&'static str),

    /// Later writes would be lost if the operation were undone.
    #[error("later changes are in the way: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    UndoBlocked(Vec<Obstacle>),

    /// The bead carries the highest possible stamp, so no write can win over it.
    #[error(
        "a broken clock gave this bead the last stamp that the format can hold, so it cannot be changed any \
         more; it was left unchanged and no other bead is affected. Create a new bead in its place (bd validate \
         lists such beads)"
    )]
    ClockExhausted,
}

impl Error {
    /// Returns the machine-readable code of this error, as printed by `bd --json`.
    pub fn code(&self) -> Code {
        match self {
            Self::Invalid { .. } => Code::InvalidValue,
            Self::Corrupt { .. } => Code::CorruptStore,
            Self::NewerFormat { .. } => Code::NewerFormat,
            Self::NotFound(_) => Code::NotFound,
            Self::Deleted { .. } => Code::Deleted,
            Self::Archived { .. } => Code::Archived,
            Self::Ambiguous { .. } => Code::AmbiguousId,
            Self::IdTaken(_) => Code::IdTaken,
            Self::HashMismatch { .. } => Code::Conflict,
            Self::AlreadyClaimed { .. } => Code::AlreadyClaimed,
            Self::NotHolder { .. } => Code::NotHolder,
            Self::StaleClaim { .. } => Code::StaleClaim,
            Self::OpenBlockers { .. } => Code::Blocked,
            Self::OpenChildren { .. } => Code::OpenChildren,
            Self::Cancelled { .. } => Code::Cancelled,
            Self::EvidenceRequired { .. } => Code::EvidenceRequired,
            Self::NothingReady => Code::NothingReady,
            Self::Closed(_) => Code::Closed,
            Self::SelfEdge(_) => Code::SelfDependency,
            Self::Cycle(_) => Code::Cycle,
            Self::NoSuchEdge { .. } => Code::DependencyNotFound,
            Self::TooLarge { .. } | Self::NotesTooLarge { .. } => Code::TooLarge,
            Self::NothingToUndo | Self::NothingToRedo => Code::NothingToUndo,
            Self::CannotUndo(_) => Code::CannotUndo,
            Self::UndoBlocked(_) => Code::UndoConflict,
            Self::ClockExhausted => Code::ClockExhausted,
        }
    }

    pub(crate) fn invalid(field: &'static str, reason: impl Into<String>) -> Self {
        Self::Invalid { field, reason: reason.into() }
    }
}

/// A later write that would be lost if an operation were undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obstacle {
    /// The bead that was written to.
    pub id: BeadId,
    /// The field, or another description of what was written.
    pub what: String,
    /// Who wrote it and when.
    pub mark: Mark,
}

impl std::fmt::Display for Obstacle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { id, what, mark } = self;
        write!(f, "{what} of {id} by {} at {}", mark.by(), Timestamp::from(mark.at()))
    }
}

/// A result with the error type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The number of ids listed in a message. The rest are only counted.
const MAX_LISTED_IDS: usize = 10;

fn ids(all: &[BeadId]) -> String {
    let listed: Vec<_> = all.iter().take(MAX_LISTED_IDS).map(BeadId::as_str).collect();
    match all.len().saturating_sub(MAX_LISTED_IDS) {
        0 => listed.join(", "),
        more => format!("{} and {more} more", listed.join(", ")),
    }
}

/// Lists the ids of a path. Only its ends are listed if it is long.
fn path(all: &[BeadId]) -> String {
    let join = |ids: &[BeadId]| ids.iter().map(BeadId::as_str).collect::<Vec<_>>().join(" -> ");
    if all.len() <= MAX_LISTED_IDS {
        return join(all);
    }
    let (start, rest) = all.split_at(MAX_LISTED_IDS / 2);
    let (left_out, end) = rest.split_at(rest.len() - MAX_LISTED_IDS / 2);
    format!("{} -> ({} more) -> {}", join(start), left_out.len(), join(end))
}

/// Describes the value that a guard has to contain now.
fn describe_hash(content_hash: &str, if_hash: Option<&str>) -> String {
    match if_hash {
        Some(if_hash) => {
            format!("it has a custom word, which content_hash does not cover; its if_hash is now {if_hash}")
        }
        None => format!("its content_hash is now {content_hash}"),
    }
}

fn in_parentheses(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(" ({reason})") }
}

fn describe_holder(holder: Option<&Actor>, current: &str) -> String {
    match holder {
        Some(holder) => format!("{holder} holds it, and its fence is now {current}"),
        None => "no one holds it".to_owned(),
    }
}

/// Lists beads that were created with the same id, because the caller may mean one of them.
fn also_born(remapped: &[BeadId]) -> String {
    if remapped.is_empty() {
        return String::new();
    }
    let ids: Vec<_> = remapped.iter().map(BeadId::as_str).collect();
    format!("; another bead that was created with this id is now {}", ids.join(", "))
}
