//! What a request asks for.

use std::path::PathBuf;
use std::time::Duration;

use beads_core::op::{ClaimNext, Close, Fence, NoteAdd};
use beads_core::{Actor, Op, Text, Timestamp};
use serde::{Deserialize, Serialize};

use super::{
    Atomic, Each, ExportFormat, ImportSource, InputNotes, LabelWords, Mutate, Query, ResolveConflicts,
};
use crate::failure::Failure;

/// The longest wait that a client can ask for: one day. The bound also keeps `Instant` from overflowing.
const MAX_WAIT_MS: u64 = 24 * 60 * 60 * 1000;

/// What a request asks for: a mutation, a question, or an operation on the store or its daemon.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// A forwarded command line: the arguments after `bd`, not yet parsed.
    #[serde(rename = "words")]
    CommandLine(Vec<String>),
    /// Applies independent mutations.
    Mutate(Mutate),
    /// Applies several mutations as one.
    Atomic(Atomic),
    /// Applies independent mutations and answers each one separately.
    Each(Each),
    /// Answers a question about the beads.
    Query(Box<Query>),
    /// Adds a note: an entry in the log, or, in the compat dialect, text appended to the bead's `notes`.
    Note(NoteAdd),
    /// Adds labels to beads, or removes them.
    Label(LabelWords),
    /// Waits until `call` has something to return: a bead for `claim_next` and `ready`, an event for
    /// `events`.
    Wait {
        /// How long to wait, in milliseconds.
        ms: u64,
        /// The call to retry until it succeeds.
        call: Box<Self>,
    },
    /// Makes a claim and answers once the remote has confirmed it.
    Confirm {
        /// The claim.
        call: Box<Self>,
    },
    /// Closes beads and claims the next one in the same request.
    CloseAndClaim {
        /// The beads to close.
        close: Vec<Close>,
        /// Which bead to claim.
        next: Box<ClaimNext>,
    },
    /// Renews the leases of all beads that the caller holds.
    RenewHeld {
        /// The new lease; `claim.lease` if absent.
        lease_ms: Option<u64>,
    },
    /// Claims again every bead that the caller holds, except those of its other sessions.
    ClaimMine {
        /// The new lease; `claim.lease` if absent.
        lease_ms: Option<u64>,
    },
    /// Reports that the caller's session is alive, and renews its leases.
    Heartbeat,
    /// Ends the caller's session and releases its claims.
    EndSession {
        /// Keep the claims for the next session of the same actor.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        keep: bool,
        /// Release only the claims with these fences, and do not end the session.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        fences: Vec<Fence>,
    },
    /// Lists the sessions that hold claims.
    Sessions,
    /// Releases every claim of an actor.
    UnclaimAll {
        /// The holder; the caller if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        assignee: Option<Actor>,
        /// Release another actor's claims; needs a reason.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        force: bool,
        /// Why the claims are released, recorded as a note on each bead.
        #[serde(default, skip_serializing_if = "Text::is_empty")]
        reason: Text,
    },
    /// Releases every claim whose lease has expired.
    ReclaimExpired {
        /// Only claims of this actor.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        assignee: Option<Actor>,
        /// Only report what would be released.
        dry_run: bool,
    },
    /// Creates the store.
    Init {
        /// The prefix of new bead ids.
        prefix: Option<String>,
        /// Set the store up for clients written for the Go `bd`.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        compat: bool,
        /// Create a private store even inside a git repository.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        private: bool,
    },
    /// Saves to the ref and exchanges it with the remote.
    Sync,
    /// Saves to the ref, without contacting the remote.
    Save,
    /// Returns a fingerprint of the whole state.
    Verify,
    /// Lists conflicts.
    ConflictList {
        /// Include dismissed conflicts.
        all: bool,
        /// Only conflicts of this bead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bead: Option<String>,
    },
    /// Dismisses conflicts, or restores the values that lost.
    ResolveConflicts(ResolveConflicts),
    /// Shows one conflict.
    ConflictShow {
        /// The id of the conflict, or a unique prefix of it.
        id: String,
    },
    /// Checks the store for damage and inconsistencies.
    Validate,
    /// Plans the repair of a damaged store, or carries it out.
    Repair {
        /// Carry out the repair.
        apply: bool,
    },
    /// Lowers a garbage-collection floor that a wrong clock has raised.
    ResetGcFloor,
    /// Archives the beads that were closed before a time.
    Archive {
        /// The time.
        closed_before: Timestamp,
        /// Only report what would be archived.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        dry_run: bool,
    },
    /// Finds edges whose beads no longer exist.
    RepairDeps {
        /// Remove the edges that a deletion left behind.
        fix: bool,
    },
    /// Returns the value of a setting.
    ConfigGet {
        /// The name of the setting.
        key: String,
    },
    /// Changes a setting.
    ConfigSet {
        /// The name of the setting.
        key: String,
        /// Its new value.
        value: String,
    },
    /// Resets a setting to its default.
    ConfigUnset {
        /// The name of the setting.
        key: String,
    },
    /// Lists all settings.
    ConfigList,
    /// Describes settings.
    ConfigDescribe {
        /// Only this one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
    },
    /// Closes every epic whose children are all closed.
    CloseEligibleEpics {
        /// Only report what would be closed.
        dry_run: bool,
    },
    /// Undoes the caller's last operation.
    Undo {
        /// Only report what would be undone.
        dry_run: bool,
        /// Redo the operation that was undone last.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        redo: bool,
        /// Skip operations that can never be undone, such as notes.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        skip: bool,
    },
    /// Imports beads from files. The process that holds the store's lock reads the files.
    Import {
        /// The files.
        source: ImportSource,
        /// Only report what would be imported.
        dry_run: bool,
        /// Also answer with one decision per line of the input.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        decisions: bool,
        /// Always refused: the daemon does not write files for clients. Earlier versions sent this.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        report: Option<PathBuf>,
        /// What the client knows about the input as a whole.
        #[serde(default, skip_serializing_if = "InputNotes::is_empty")]
        input: InputNotes,
    },
    /// Compares a file of beads with the store.
    CompareFile {
        /// The absolute path of the file.
        path: PathBuf,
        /// The name of the file in reports.
        name: String,
    },
    /// Merges a rescue file, which a daemon writes when its repository is replaced.
    ImportRescued {
        /// The absolute path of the rescue file.
        path: PathBuf,
        /// Merge it even if it has no history in common with this store.
        force: bool,
        /// Only report what would be merged.
        dry_run: bool,
    },
    /// Returns all beads in a file format.
    Export {
        /// The file format.
        format: ExportFormat,
        /// Always refused: the daemon does not write files for clients. Earlier versions sent this.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<PathBuf>,
    },
    /// Describes what this machine knows about the hub.
    HubStatus,
    /// Describes the running daemon.
    DaemonStatus,
    /// Saves everything and stops the daemon.
    DaemonStop,
}

impl Call {
    /// Returns a call for one mutation, answered with one object.
    pub fn one(op: Op) -> Self {
        Self::Mutate(Mutate { ops: vec![op], many: false, dry_run: false })
    }

    /// Returns a call for the same mutation of several beads, answered with an array.
    pub fn each(ids: Vec<String>, op: impl Fn(String) -> Op) -> Self {
        Self::Mutate(Mutate { ops: ids.into_iter().map(op).collect(), many: true, dry_run: false })
    }

    /// Returns a call for a question.
    pub fn query(query: Query) -> Self {
        Self::Query(Box::new(query))
    }

    /// Returns a call that waits up to `wait` for a result that is not empty.
    pub fn waiting(self, wait: Option<Duration>) -> Self {
        let ms = wait.map_or(0, |wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        if ms == 0 { self } else { Self::Wait { ms, call: Box::new(self) } }
    }

    /// Returns how long the caller is willing to wait for a result.
    pub fn wait(&self) -> Duration {
        match self {
            Self::Wait { ms, .. } => Duration::from_millis((*ms).min(MAX_WAIT_MS)),
            _ => Duration::ZERO,
        }
    }

    /// Returns whether sending the call twice could apply it twice.
    pub fn mutates(&self) -> bool {
        match self {
            Self::Mutate(_) | Self::Atomic(_) | Self::Each(_) | Self::CloseAndClaim { .. } => true,
            Self::Note(_) | Self::Label(_) | Self::ResetGcFloor => true,
            Self::ResolveConflicts(_) | Self::UnclaimAll { .. } => true,
            Self::Undo { dry_run, .. } | Self::Archive { dry_run, .. } => !dry_run,
            Self::RepairDeps { fix } => *fix,
            Self::Wait { call, .. } | Self::Confirm { call } => call.mutates(),
            _ => false,
        }
    }

    /// Returns whether the call can be answered from a read-only store.
    pub fn only_reads(&self) -> bool {
        match self {
            Self::Query(_)
            | Self::Verify
            | Self::HubStatus
            | Self::ConflictList { .. }
            | Self::ConflictShow { .. }
            | Self::Validate
            | Self::ConfigGet { .. }
            | Self::ConfigList
            | Self::ConfigDescribe { .. }
            | Self::Export { path: None, .. } => true,
            Self::Wait { call, .. } => call.only_reads(),
            _ => false,
        }
    }

    /// Rejects relative paths, because the daemon's working directory is not the caller's, and paths of files
    /// to write, because the daemon does not write files for its clients.
    pub fn check_paths(&self) -> Result<(), Failure> {
        let (named, written): (Vec<&PathBuf>, _) = match self {
            Self::Import { source: ImportSource::Jsonl { path, deletions, .. }, report, .. } => {
                (std::iter::once(path).chain(deletions).collect(), report.as_ref())
            }
            Self::Import { source: ImportSource::LegacyStore { directory, .. }, report, .. } => {
                (vec![directory], report.as_ref())
            }
            Self::CompareFile { path, .. } | Self::ImportRescued { path, .. } => (vec![path], None),
            Self::Export { path, .. } => (Vec::new(), path.as_ref()),
            Self::Wait { call, .. } => return call.check_paths(),
            _ => return Ok(()),
        };
        if let Some(path) = written {
            let path = path.display();
            return Err(Failure::invalid(format!(
                "{path} was not written: the daemon does not write files for clients. Earlier versions of bd ask for this; \
                 upgrade bd"
            )));
        }
        match named.into_iter().find(|path| !path.is_absolute()) {
            None => Ok(()),
            Some(path) => Err(Failure::invalid(format!(
                "{} is a relative path, but the daemon needs an absolute one; nothing was read",
                path.display()
            ))),
        }
    }

    /// Returns whether this call creates a private store that does not exist yet.
    pub fn creates_the_store(&self) -> bool {
        match self {
            // Other operations need a bead that exists, and a new store has none.
            Self::Mutate(mutate) => {
                !mutate.dry_run && mutate.ops.iter().any(|op| matches!(op, Op::Create(_)))
            }
            Self::Atomic(atomic) => {
                !atomic.dry_run && atomic.ops.iter().any(|op| matches!(op, Op::Create(_)))
            }
            Self::Each(each) => !each.dry_run && each.ops.iter().any(|op| matches!(op, Op::Create(_))),
            Self::Import { dry_run, .. } | Self::ImportRescued { dry_run, .. } => !dry_run,
            Self::Init { .. } | Self::ConfigSet { .. } => true,
            _ => false,
        }
    }
}
