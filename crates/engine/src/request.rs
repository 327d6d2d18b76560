//! What a client asks of whoever holds the store, as it travels over the socket (docs/PROTOCOL.md).

mod output;
mod query;
mod reply;

pub use output::{Format, Output};
pub use query::{EventsQuery, GraphFormat, Moment, Query};
pub use reply::{ClaimOver, HandedOut, OverReason, Reply, Unconfirmed};

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use beads_core::op::{ClaimNext, Close, Fence, NoteAdd};
use beads_core::{Actor, Line, Op};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::session_id::SessionId;

/// Nobody waits longer than a day; also keeps clocks from overflowing.
const MAX_WAIT_MS: u64 = 24 * 60 * 60 * 1000;

/// One line on the socket.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The version of the program that asks; a newer one replaces an older daemon.
    pub client: String,
    pub actor: Actor,
    #[serde(default, skip_serializing_if = "Line::is_empty")]
    pub branch: Line,
    /// The run of the agent that asks, as far as it is known. Never synchronised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// Makes a mutation safe to repeat. The tools call it `idempotency_key`, and so may whoever speaks the protocol.
    #[serde(default, alias = "idempotency_key", skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// Leave the file at `export.path` alone on account of this request.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_export: bool,
    /// Leave the remote alone on account of this request.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub offline: bool,
    pub call: Call,
    #[serde(default)]
    pub output: Output,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// A command line that the sender has not read: the words behind `bd`.
    Words(Vec<String>),
    Mutate(Mutate),
    Atomic(Atomic),
    Each(Each),
    Query(Box<Query>),
    /// A note: an entry of the log, or for callers in the compat dialect the text behind the bead's `notes`.
    Note(NoteAdd),
    /// The same call, answered when there is something to answer: a bead for `claim_next` and `ready`, an event for
    /// `events`.
    Wait {
        ms: u64,
        call: Box<Self>,
    },
    /// A claim, answered when the remote has it and it still stands.
    Confirm {
        call: Box<Self>,
    },
    /// Close beads and take the next one in the same step.
    CloseAndClaim {
        close: Vec<Close>,
        next: Box<ClaimNext>,
    },
    /// Renew everything that the caller holds.
    RenewHeld {
        lease_ms: Option<u64>,
    },
    /// Claim again everything that the caller holds and no other session of the same actor does.
    ClaimMine {
        lease_ms: Option<u64>,
    },
    /// A sign of life of the caller's session. Renews what it holds.
    Heartbeat,
    /// The caller's session ended: give back what it holds.
    EndSession {
        /// Leave the claims to the next session of the same actor.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        keep: bool,
        /// Only claims with these fences; the session itself goes on.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        fences: Vec<Fence>,
    },
    /// The sessions that hold something.
    Sessions,
    /// Give back everything whose lease ran out.
    ReclaimExpired {
        dry_run: bool,
    },
    Init {
        prefix: Option<String>,
        /// Set the store up for clients written for the Go `bd`.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        compat: bool,
        /// Make a private store even inside a git repository.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        private: bool,
    },
    Sync,
    /// What a sync does here, without the remote.
    Save,
    Verify,
    ConflictList {
        all: bool,
    },
    ConflictShow {
        id: String,
    },
    Validate,
    Repair {
        apply: bool,
    },
    /// Take back a floor of garbage collection that a broken clock raised.
    ResetGcFloor,
    /// Find edges whose beads are gone, and perhaps remove them.
    RepairDeps {
        fix: bool,
    },
    ConfigGet {
        key: String,
    },
    ConfigSet {
        key: String,
        value: String,
    },
    ConfigUnset {
        key: String,
    },
    ConfigList,
    /// Close every epic whose children are all closed.
    CloseEligibleEpics {
        dry_run: bool,
    },
    /// Take the last operation of the caller back.
    Undo {
        dry_run: bool,
    },
    /// Take in a foreign store. Whoever holds the store reads it from disk.
    Import {
        source: ImportSource,
        dry_run: bool,
        /// Answer with one decision per line of the input, too.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        decisions: bool,
        /// Refused: clients write their own files.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        report: Option<PathBuf>,
        /// What the caller knows about the input as a whole.
        #[serde(default, skip_serializing_if = "InputNotes::is_empty")]
        input: InputNotes,
    },
    /// Compare a file of beads with the store.
    CompareFile {
        path: PathBuf,
        /// How reports name the file.
        name: String,
    },
    /// Join a state that a daemon rescued when its repository was replaced.
    ImportRescued {
        path: PathBuf,
        /// Also one of a store that has nothing in common with this one.
        force: bool,
        dry_run: bool,
    },
    /// All beads, as the answer.
    Export {
        format: ExportFormat,
        /// Refused: clients write their own files.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<PathBuf>,
    },
    DaemonStatus,
    /// Save, then exit.
    DaemonStop,
}

impl Call {
    /// One mutation, answered with one object.
    pub fn one(op: Op) -> Self {
        Self::Mutate(Mutate { ops: vec![op], many: false, dry_run: false })
    }

    /// The same mutation of each bead, answered with an array.
    pub fn each(ids: Vec<String>, op: impl Fn(String) -> Op) -> Self {
        Self::Mutate(Mutate { ops: ids.into_iter().map(op).collect(), many: true, dry_run: false })
    }

    pub fn query(query: Query) -> Self {
        Self::Query(Box::new(query))
    }

    /// The same call, waiting for an answer that is not empty.
    pub fn waiting(self, wait: Option<Duration>) -> Self {
        let ms = wait.map_or(0, |wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        if ms == 0 { self } else { Self::Wait { ms, call: Box::new(self) } }
    }

    /// How long the caller is ready to wait for something to answer.
    pub fn wait(&self) -> Duration {
        match self {
            Self::Wait { ms, .. } => Duration::from_millis((*ms).min(MAX_WAIT_MS)),
            _ => Duration::ZERO,
        }
    }

    /// Whether asking it twice could do it twice.
    pub fn mutates(&self) -> bool {
        match self {
            Self::Mutate(_) | Self::Atomic(_) | Self::Each(_) | Self::CloseAndClaim { .. } => true,
            Self::Note(_) | Self::ResetGcFloor => true,
            Self::Undo { dry_run } => !dry_run,
            Self::RepairDeps { fix } => *fix,
            Self::Wait { call, .. } | Self::Confirm { call } => call.mutates(),
            _ => false,
        }
    }

    /// Whether it can be answered from a store that nothing can be written to.
    pub fn only_reads(&self) -> bool {
        match self {
            Self::Query(_)
            | Self::Verify
            | Self::ConflictList { .. }
            | Self::ConflictShow { .. }
            | Self::Validate
            | Self::ConfigGet { .. }
            | Self::ConfigList
            | Self::Export { path: None, .. } => true,
            Self::Wait { call, .. } => call.only_reads(),
            _ => false,
        }
    }

    /// Refuses paths that would be looked up in a directory that the caller does not know, and files to be written: the daemon
    /// writes none for its clients.
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
                "{path} was not written: the daemon writes no files for clients, so write the answer yourself. An earlier bd \
                 asks for this; upgrade it"
            )));
        }
        match named.into_iter().find(|path| !path.is_absolute()) {
            None => Ok(()),
            Some(path) => Err(Failure::invalid(format!(
                "{} is a relative path, and the daemon does not know relative to what; nothing was read",
                path.display()
            ))),
        }
    }

    /// Whether a private store that is not there yet should be made for this.
    pub fn creates_the_store(&self) -> bool {
        match self {
            // Anything else has nothing to work on in a store that is not there.
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

impl Request {
    /// The same request with what is left of its wait, so that asking again does not wait anew.
    pub fn still_waiting(&self, give_up: Instant) -> Cow<'_, Self> {
        let Call::Wait { call, .. } = &self.call else { return Cow::Borrowed(self) };
        let left = give_up.saturating_duration_since(Instant::now());
        let ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
        Cow::Owned(Self { call: Call::Wait { ms, call: call.clone() }, ..self.clone() })
    }
}

/// Where a foreign store lies; paths are absolute.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ImportSource {
    /// Lines of Go's `bd`, or our own.
    Jsonl {
        path: PathBuf,
        /// How reports name the file.
        name: String,
        /// The file of deletions beside it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deletions: Option<PathBuf>,
        /// What was put aside at the path for this one request: a digest of it, or the commit it is from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        copy_of: Option<String>,
    },
    /// A directory with the files of the earlier store.
    LegacyStore {
        directory: PathBuf,
        /// The same for a copy.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        copy_of: Option<String>,
    },
}

impl ImportSource {
    /// What is imported, alike for every copy of it.
    pub fn what(&self) -> Cow<'_, str> {
        match self {
            Self::Jsonl { copy_of: Some(what), .. } | Self::LegacyStore { copy_of: Some(what), .. } => {
                what.into()
            }
            Self::Jsonl { path, .. } | Self::LegacyStore { directory: path, .. } => path.to_string_lossy(),
        }
    }
}

/// What a caller found out about the input of an import before it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InputNotes {
    /// Where the input was found, when the caller was not given a path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl InputNotes {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum ExportFormat {
    Jsonl,
    Csv,
    Md,
    Dot,
    Mermaid,
    /// The files of the store of the earlier Rust implementation: an object with their contents by name.
    #[value(help = clap::builder::Resettable::Reset)]
    LegacyStore,
}

/// Mutations, each on its own: one that fails does not stop the others.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mutate {
    pub ops: Vec<Op>,
    /// Answer with an array even for one operation.
    #[serde(default)]
    pub many: bool,
    #[serde(default)]
    pub dry_run: bool,
}

/// Mutations that go through together, in one record of the journal, or not at all.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Atomic {
    pub ops: Vec<Op>,
    /// Names for beads that operations make, each with the index of its operation. Later operations may use them
    /// instead of ids.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub names: BTreeMap<String, usize>,
    #[serde(default)]
    pub dry_run: bool,
}

/// Mutations, each with an answer of its own, whether it went through or not.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Each {
    pub ops: Vec<Op>,
    /// Where these stand among the operations of the request id: a long batch comes in several requests.
    #[serde(default)]
    pub first: usize,
    #[serde(default)]
    pub dry_run: bool,
}
