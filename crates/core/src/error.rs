//! The one error of the core. [`Code`] says what each interface makes of it.

use crate::{Actor, BeadId, Code, Mark, Timestamp};

/// What can go wrong when text is parsed, a snapshot decoded or an operation applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("invalid {field}: {reason}")]
    Invalid { field: &'static str, reason: String },

    #[error("{file} line {line}: {reason}")]
    Corrupt { file: &'static str, line: usize, reason: String },

    #[error("the store has format version {found}, this program reads up to {known}: upgrade bd")]
    NewerFormat { found: u64, known: u64 },

    #[error("no bead matches {0:?}")]
    NotFound(String),

    #[error("{asked} was deleted{}{}", reason.as_deref().map(|r| format!(" ({r})")).unwrap_or_default(), also_born(remapped))]
    Deleted { asked: String, reason: Option<String>, remapped: Vec<BeadId> },

    #[error("{asked:?} is ambiguous: it could be {}", .candidates.iter().map(BeadId::as_str).collect::<Vec<_>>().join(", "))]
    Ambiguous { asked: String, candidates: Vec<BeadId> },

    #[error("a bead with id {0} exists or existed; ids are never used twice")]
    IdTaken(BeadId),

    #[error("{id} is not as you read it: {}", compared(current, if_hash.as_deref()))]
    HashMismatch { id: BeadId, current: String, if_hash: Option<String> },

    #[error("{id} is held by {holder}{}", expires.map(|t| format!(" until {t}")).unwrap_or_default())]
    AlreadyClaimed { id: BeadId, holder: Actor, expires: Option<Timestamp> },

    #[error("{id} is held by {holder}, not by you")]
    NotHolder { id: BeadId, holder: Actor },

    #[error("your claim on {id} is over: {}", over(holder.as_ref(), current))]
    StaleClaim { id: BeadId, current: String, holder: Option<Actor> },

    #[error("{id} waits for {}: nothing was changed", ids(open))]
    OpenBlockers { id: BeadId, open: Vec<BeadId> },

    #[error("{id} has open children, {}: nothing was changed", ids(open))]
    OpenChildren { id: BeadId, open: Vec<BeadId> },

    #[error("{id} was cancelled{}; nothing was changed", reason_in(reason))]
    Cancelled { id: BeadId, reason: String },

    #[error("{id} needs evidence to be closed; nothing was changed")]
    EvidenceRequired { id: BeadId },

    #[error("nothing is ready")]
    NothingReady,

    #[error("{0} is closed; reopen it first")]
    Closed(BeadId),

    #[error("a bead cannot depend on itself ({0})")]
    SelfEdge(BeadId),

    #[error("that would close a cycle: {}", .0.iter().map(BeadId::as_str).collect::<Vec<_>>().join(" -> "))]
    Cycle(Vec<BeadId>),

    #[error("{from} has no {kind} dependency on {to}")]
    NoSuchEdge { from: BeadId, to: BeadId, kind: &'static str },

    #[error("{id} would take {bytes} bytes, more than the {limit} a bead may have")]
    TooLarge { id: BeadId, bytes: usize, limit: usize },

    #[error(
        "the notes of {id} would take {bytes} bytes, more than the {limit} they may have; nothing was changed. Go on in a new bead \
         that is related to it"
    )]
    NotesTooLarge { id: BeadId, bytes: usize, limit: usize },

    #[error("you have done nothing here that could be undone")]
    NothingToUndo,

    #[error("your last operation cannot be undone: {0}")]
    CannotUndo(&'static str),

    #[error("somebody wrote there since: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    UndoBlocked(Vec<Obstacle>),

    #[error(
        "this bead was stamped by a broken clock at the very end of what the format can hold, so nothing can be written \
         over it; it was left unchanged and no other bead is affected: create a new bead in its place (bd validate \
         lists such beads)"
    )]
    ClockExhausted,
}

impl Error {
    /// The machine-readable name of this error, as `bd --json` prints it.
    pub fn code(&self) -> Code {
        match self {
            Self::Invalid { .. } => Code::InvalidValue,
            Self::Corrupt { .. } => Code::CorruptStore,
            Self::NewerFormat { .. } => Code::NewerFormat,
            Self::NotFound(_) => Code::NotFound,
            Self::Deleted { .. } => Code::Deleted,
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
            Self::NothingToUndo => Code::NothingToUndo,
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
    pub id: BeadId,
    /// The field, or another word for what was done.
    pub what: String,
    pub mark: Mark,
}

impl std::fmt::Display for Obstacle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { id, what, mark } = self;
        write!(f, "{what} of {id} by {} at {}", mark.by(), Timestamp::from(mark.at()))
    }
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// How many ids a message names; the rest is counted.
const NAMED: usize = 10;

fn ids(all: &[BeadId]) -> String {
    let named: Vec<_> = all.iter().take(NAMED).map(BeadId::as_str).collect();
    match all.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// What a guard has to name now.
fn compared(content_hash: &str, if_hash: Option<&str>) -> String {
    match if_hash {
        Some(if_hash) => {
            format!("it has a word that content_hash does not cover, and its if_hash is now {if_hash}")
        }
        None => format!("its content_hash is now {content_hash}"),
    }
}

fn reason_in(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(" ({reason})") }
}

fn over(holder: Option<&Actor>, current: &str) -> String {
    match holder {
        Some(holder) => format!("{holder} holds it, and its fence is now {current}"),
        None => format!("nobody holds it, and its fence is now {current}"),
    }
}

/// Whoever asks for an id may mean the bead that lost it.
fn also_born(remapped: &[BeadId]) -> String {
    if remapped.is_empty() {
        return String::new();
    }
    let ids: Vec<_> = remapped.iter().map(BeadId::as_str).collect();
    format!("; another bead that was born with this id is now {}", ids.join(", "))
}
