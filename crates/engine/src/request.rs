//! What a client asks of whoever holds the store, as it travels over the socket (docs/PROTOCOL.md).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use beads_core::op::{ClaimNext, Close, Fence, NoteAdd};
use beads_core::query::{CountBy, Direction, Filter, PlanFor, ReadyFilter};
use beads_core::{Actor, BeadId, EdgeKind, Line, Op};
use beads_store::Cursor;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::dialect::Dialect;
use crate::failure::Failure;
use crate::rest::Rest;
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExportFormat {
    Jsonl,
    Csv,
    Md,
    Dot,
    Mermaid,
    /// The files of the store of the earlier Rust implementation: an object with their contents by name.
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

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Query {
    Show {
        ids: Vec<String>,
    },
    List(Filter),
    /// The same, as text each bead below its parent.
    Forest(Filter),
    /// The same, each bead in full.
    Details(Filter),
    Ready(ReadyFilter),
    Blocked(Filter),
    Deleted,
    /// Some deleted beads, by their ids.
    DeletedBeads {
        ids: Vec<String>,
    },
    Notes {
        id: String,
    },
    /// Memories: all, the one with this key, or those that mention every word.
    Memories {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked: Option<String>,
        /// Only the beginning of the first line of each.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        brief: bool,
    },
    Labels,
    LabelsOf {
        id: String,
    },
    DepList {
        id: String,
        direction: Direction,
        kind: Option<EdgeKind>,
    },
    DepTree {
        id: String,
        direction: Direction,
        depth: Option<usize>,
    },
    Explain(ReadyFilter),
    Plan(PlanFor),
    Graph {
        id: Option<String>,
        closed: bool,
        format: GraphFormat,
    },
    ShowAsOf {
        ids: Vec<String>,
        moment: Moment,
    },
    Log {
        id: String,
    },
    Blame {
        id: String,
    },
    Diff {
        from: Moment,
        to: Option<Moment>,
    },
    Cycles,
    Epics,
    Count {
        filter: Filter,
        by: Option<CountBy>,
    },
    Status,
    Events(EventsQuery),
    /// The revisions of beads, by id; see `Catalog::revisions`. Ids that mean nothing are left out.
    Revisions {
        ids: Vec<String>,
    },
    /// Whether a claim is over, and why; with a wait, answered when it is.
    ClaimOver {
        fence: Fence,
    },
}

/// Which events are asked for.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EventsQuery {
    /// Those behind this cursor; when absent no events, only the newest cursor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Cursor>,
    /// Only about these beads.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// A state of the past: a commit of the sync ref by the beginning of its name, or a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    Revision(String),
    Time(beads_core::Timestamp),
}

/// What a graph is drawn as when it is not asked for as data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum GraphFormat {
    #[default]
    Text,
    Mermaid,
    Dot,
    Svg,
}

/// How the answer should look.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Output {
    pub format: Format,
    /// The dialect of a value or of JSON that was asked for; the store's setting and the caller decide when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialect: Option<Dialect>,
    /// The caller passed what only programs written for the Go `bd` pass.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub compat_caller: bool,
    pub color: bool,
    /// Columns of the terminal; absent when the output is piped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<usize>,
    pub quiet: bool,
    /// As text, nothing but the ids of the beads that a mutation was about.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ids_only: bool,
    pub verbose: bool,
}

impl Output {
    /// The dialect that suits the caller when nothing else decides.
    pub fn dialect_of_caller(&self) -> Dialect {
        if self.compat_caller { Dialect::Compat } else { Dialect::Spec }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// The answer as a value, for programs that speak the protocol themselves.
    #[default]
    Value,
    /// Rendered for people.
    Text,
    /// Rendered as `--json` prints it.
    Json,
}

/// The answer to a request. How it travels is in [`crate::wire`].
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Reply {
    /// The place in the order of all mutations that this answer reflects.
    pub position: u64,
    pub exit: u8,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Box<RawValue>>,
    /// The ids of the beads that the request changed, for a client that cannot show the rest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// What became of each line of an import, for a client that asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decisions: Option<Box<RawValue>>,
    /// The number of bytes of standard output that follow the line, in place of `stdout`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<usize>,
    /// The end of a long standard output, which is still on its way.
    #[serde(skip)]
    pub rest: Option<Arc<Rest>>,
    /// Claims of the caller that ended without its doing since it was last answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claim_over: Vec<ClaimOver>,
    /// Claims that this reply hands out: given back when it cannot be delivered.
    #[serde(skip)]
    pub handed_out: Vec<HandedOut>,
    /// A claim that still has to be confirmed before the reply may leave.
    #[serde(skip)]
    pub unconfirmed: Option<Box<Unconfirmed>>,
}

/// The end of a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClaimOver {
    pub id: BeadId,
    /// The fence of the claim that is over.
    pub fence: String,
    pub reason: OverReason,
    /// Who ended it; absent when its time ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Actor>,
    /// Who holds the bead now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<Actor>,
    /// What was said about a closing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl std::fmt::Display for ClaimOver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the claim on {} is over: {}", self.id, self.reason.as_str())?;
        if let Some(by) = &self.by {
            write!(f, " by {by}")?;
        }
        match &self.text {
            Some(text) => write!(f, " ({text})"),
            None => Ok(()),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OverReason {
    /// Its bead was closed.
    Closed,
    /// Its bead was closed as not to be done.
    Cancelled,
    /// Its bead was deleted.
    Deleted,
    /// Another claim took its place.
    Taken,
    /// It was given back.
    Released,
    /// Its lease ran out.
    Expired,
}

impl OverReason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Cancelled => "cancelled",
            Self::Deleted => "deleted",
            Self::Taken => "taken",
            Self::Released => "released",
            Self::Expired => "expired",
        }
    }
}

/// A claim on its way to its holder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandedOut {
    pub actor: Actor,
    pub request_id: Option<String>,
    pub id: String,
    pub fence: String,
    /// The claim was there before: a lost reply does not end it.
    pub renewed: bool,
}

impl HandedOut {
    /// Whether the caller chose the request id, and so may ask again. An id that was drawn for it does not count.
    pub fn may_be_retried(&self) -> bool {
        self.request_id.as_ref().is_some_and(|id| !id.starts_with('~'))
    }
}

/// A claim that the remote may not have yet, as it will be shown.
#[derive(Debug, Clone)]
pub struct Unconfirmed {
    pub request: Request,
    pub claimed: serde_json::Value,
}
