//! Every way in which a command can fail, and what each interface makes of it. Adding a code means adding one row to the
//! table at the end of this file.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Exit codes, the same on every interface (DESIGN §2).
pub mod exit {
    pub const OK: u8 = 0;
    pub const DOMAIN: u8 = 1;
    pub const USAGE: u8 = 2;
    pub const NETWORK: u8 = 22;
    pub const MISSING: u8 = 127;
}

/// The closed set of words by which tools name a failure (contract 3). The code itself is in `details.code`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolCode {
    InvalidJson,
    MissingField,
    InvalidType,
    InvalidValue,
    NotFound,
    Conflict,
    PermissionDenied,
    Timeout,
    RateLimited,
    NetworkError,
    DependencyMissing,
    InternalError,
}

impl ToolCode {
    pub fn exit(self) -> u8 {
        match self {
            Self::InvalidJson | Self::MissingField | Self::InvalidType | Self::InvalidValue => exit::USAGE,
            Self::NetworkError => exit::NETWORK,
            Self::DependencyMissing => exit::MISSING,
            Self::NotFound
            | Self::Conflict
            | Self::PermissionDenied
            | Self::Timeout
            | Self::RateLimited
            | Self::InternalError => exit::DOMAIN,
        }
    }
}

/// One row of the table.
struct Row {
    name: &'static str,
    exit: u8,
    tool: ToolCode,
    mcp: &'static str,
    hint: Option<&'static str>,
    recovery: Option<&'static str>,
}

impl Code {
    /// The name of this code on the wire and in `--json`.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Other(name) => name,
            known => known.row().name,
        }
    }

    /// The exit code of a command that fails with this code.
    pub fn exit(&self) -> u8 {
        self.row().exit
    }

    /// The word for this code in the answers of tools.
    pub fn tool(&self) -> ToolCode {
        self.row().tool
    }

    /// The word for this code in the answers of `bd mcp` (contract 4).
    pub fn mcp(&self) -> Cow<'static, str> {
        match self {
            Self::Other(name) => name.to_ascii_uppercase().into(),
            known => known.row().mcp.into(),
        }
    }

    /// What to do next, on the command line.
    pub fn hint(&self) -> Option<&'static str> {
        self.row().hint
    }

    /// What to do next, for a client of `bd mcp`.
    pub fn recovery(&self) -> Option<&'static str> {
        let row = self.row();
        row.recovery.or(row.hint)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Accepts codes of newer versions too. A reply that could not be decoded would look like a lost one, and the request
/// would be sent again.
impl<'de> Deserialize<'de> for Code {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::decode(&Cow::<str>::deserialize(deserializer)?))
    }
}

/// Turns the table into the enum, the decoder, and one exhaustive match.
macro_rules! codes {
    ($(
        $variant:ident ($name:literal, $exit:ident, $tool:ident, $mcp:literal)
        $(hint $hint:literal)? $(recovery $recovery:literal)? ;
    )*) => {
        /// The machine-readable name of a failure, or of a finding of `bd validate`.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Code {
            $($variant,)*
            /// A code that this version does not know.
            Other(String),
        }

        impl Code {
            /// All codes of this version.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The only place that compares codes as text.
            fn decode(name: &str) -> Self {
                match name {
                    $($name => Self::$variant,)*
                    other => Self::Other(other.to_owned()),
                }
            }

            fn row(&self) -> Row {
                match self {
                    $(Self::$variant => Row {
                        name: $name,
                        exit: exit::$exit,
                        tool: ToolCode::$tool,
                        mcp: $mcp,
                        hint: [$($hint)?].first().copied(),
                        recovery: [$($recovery)?].first().copied(),
                    },)*
                    Self::Other(_) => Row {
                        name: "",
                        exit: exit::DOMAIN,
                        tool: ToolCode::InternalError,
                        mcp: "",
                        hint: None,
                        recovery: None,
                    },
                }
            }
        }
    };
}

// Each row: the variant, the name on the wire, the exit code, the word of the tools, the word of `bd mcp`; then what to do
// next on the command line, and on MCP when that differs.
codes! {
    // The question is wrong.
    Usage("usage", USAGE, InvalidValue, "INVALID_INPUT")
        hint "see --help" recovery "send the fields as the inputSchema of the tool has them";
    InvalidValue("invalid_value", USAGE, InvalidValue, "INVALID_INPUT") recovery "send the fields as the inputSchema of the tool has them";
    InvalidName("invalid_name", USAGE, InvalidValue, "INVALID_NAME") recovery "send the fields as the inputSchema of the tool has them";
    InvalidJson("invalid_json", USAGE, InvalidJson, "INVALID_INPUT")
        hint "give one JSON object" recovery "send the fields as the inputSchema of the tool has them";
    InvalidType("invalid_type", USAGE, InvalidType, "INVALID_INPUT")
        hint "--schema shows what is expected" recovery "send the fields as the inputSchema of the tool has them";
    MissingField("missing_field", USAGE, MissingField, "INVALID_INPUT")
        hint "--schema shows what is needed" recovery "send the fields as the inputSchema of the tool has them";
    UnknownKey("unknown_key", USAGE, InvalidValue, "INVALID_INPUT")
        hint "bd config list shows all keys" recovery "send the fields as the inputSchema of the tool has them";
    InvalidRequest("invalid_request", DOMAIN, InvalidValue, "INVALID_INPUT") recovery "send the fields as the inputSchema of the tool has them";
    TooLarge("too_large", DOMAIN, InvalidValue, "INVALID_INPUT") recovery "send less text, or split it over several calls";
    SelfDependency("self_dependency", DOMAIN, Conflict, "INVALID_INPUT") recovery "leave out the dependency of the bead on itself";

    // It is not there.
    NotFound("not_found", DOMAIN, NotFound, "UNKNOWN_ID")
        hint "bd list shows all beads" recovery "take an id from status";
    Deleted("deleted", DOMAIN, NotFound, "UNKNOWN_ID")
        hint "bd restore brings it back" recovery "take an id from status";
    AmbiguousId("ambiguous_id", DOMAIN, NotFound, "UNKNOWN_ID")
        hint "type more of it" recovery "take an id from status";
    AmbiguousRevision("ambiguous_revision", DOMAIN, InternalError, "AMBIGUOUS_REVISION")
        recovery "give more digits of the commit";
    DependencyNotFound("dependency_not_found", DOMAIN, NotFound, "UNKNOWN_ID")
        hint "bd dep list shows what there is; --type names the kind"
        recovery "read the dependencies with beads_show";
    NoFocus("no_focus", DOMAIN, InternalError, "UNKNOWN_ID") recovery "claim one with next, or give id";
    NoStore("no_store", DOMAIN, NotFound, "NOT_INITIALIZED")
        hint "bd init makes one, and so does the first bd create"
        recovery "start bd mcp inside a git repository, or make the first bead";
    UnknownWorkspace("unknown_workspace", DOMAIN, InternalError, "UNKNOWN_WORKSPACE")
        recovery "leave workspace out";
    NothingReady("nothing_ready", DOMAIN, NotFound, "NOTHING_READY")
        hint "bd blocked shows what waits, --wait waits for work" recovery "wait with next and wait_s";
    NothingToUndo("nothing_to_undo", DOMAIN, NotFound, "NOTHING_TO_UNDO")
        hint "bd log shows what was done to a bead" recovery "read the bead and change it anew";

    // The store has moved on, or belongs to another writer.
    Conflict("conflict", DOMAIN, Conflict, "CONFLICT")
        hint "read it again and decide anew" recovery "read it with beads_show and decide anew";
    RevisionMismatch("revision_mismatch", DOMAIN, InternalError, "REVISION_MISMATCH")
        recovery "read it with beads_show and decide anew";
    ExpectedTargetMismatch("expected_target_mismatch", DOMAIN, InternalError, "EXPECTED_TARGET_MISMATCH")
        recovery "leave expected_target_id out, or name that bead";
    StrictTargeting("strict_targeting", DOMAIN, InternalError, "STRICT_TARGETING_REQUIRES_EXPECTED_TARGET_ID")
        recovery "give expected_target_id";
    IdTaken("id_taken", DOMAIN, Conflict, "CONFLICT")
        hint "leave out --id to get a new one" recovery "leave id out to get a new one";
    AlreadyClaimed("already_claimed", DOMAIN, Conflict, "CONFLICT")
        hint "bd ready shows what is free" recovery "take another with next";
    NotHolder("not_holder", DOMAIN, Conflict, "CONFLICT")
        hint "ask its holder to give it back or hand it over, or take another: bd ready shows what is free"
        recovery "take another with next";
    StaleClaim("stale_claim", DOMAIN, Conflict, "CONFLICT")
        hint "another agent has it now; claim again or leave it" recovery "take another with next";
    Closed("closed", DOMAIN, Conflict, "CONFLICT")
        recovery "reopen it with beads_reopen, or take another with next";
    Blocked("blocked", DOMAIN, Conflict, "CONFLICT")
        hint "finish those first" recovery "finish those first";
    OpenChildren("open_children", DOMAIN, Conflict, "CONFLICT")
        hint "finish those first" recovery "finish those first";
    Cancelled("cancelled", DOMAIN, Conflict, "CONFLICT")
        hint "bd reopen brings it back" recovery "take another";
    EvidenceRequired("evidence_required", DOMAIN, Conflict, "CONFLICT")
        hint "give --evidence commit:SHA, url:URL or cmd:TEXT" recovery "give evidence";
    SeveralHeld("several_held", DOMAIN, Conflict, "CONFLICT") recovery "give id";
    Holding("holding", DOMAIN, Conflict, "CONFLICT") recovery "finish it with done, or give more: true";
    CallCancelled("call_cancelled", DOMAIN, Timeout, "CALL_CANCELLED") recovery "call again";
    Cycle("cycle", DOMAIN, Conflict, "CONFLICT") recovery "leave out the dependency that closes the circle";
    PartialFailure("partial_failure", DOMAIN, Conflict, "CONFLICT")
        recovery "send those again that failed; details names them";
    CannotUndo("cannot_undo", DOMAIN, Conflict, "CANNOT_UNDO") recovery "read the bead and change it anew";
    UndoConflict("undo_conflict", DOMAIN, Conflict, "UNDO_CONFLICT")
        hint "bd log shows both; decide anew with bd update" recovery "read the bead and change it anew";
    CursorExpired("cursor_expired", DOMAIN, Conflict, "CURSOR_EXPIRED")
        hint "look at everything once with bd list, then watch from now"
        recovery "watch again without a cursor";
    CursorAhead("cursor_ahead", DOMAIN, Conflict, "CURSOR_AHEAD")
        hint "it belongs to another store, or the store was restored; watch from now"
        recovery "watch again without a cursor";
    RequestIdReused("request_id_reused", DOMAIN, Conflict, "REQUEST_ID_REUSED")
        hint "a new request needs a new id" recovery "send a new idempotency_key";
    TooManyRequests("too_many_requests", DOMAIN, RateLimited, "TOO_MANY_REQUESTS")
        hint "leave out --request-id, or wait until older ones are a day old"
        recovery "leave idempotency_key out";
    Busy("busy", DOMAIN, RateLimited, "BUSY")
        hint "try again, or see bd daemon status" recovery "call again in a moment";
    Timeout("timeout", DOMAIN, Timeout, "TIMEOUT") recovery "call again in a moment";

    // The machine or the files.
    CorruptStore("corrupt_store", DOMAIN, InternalError, "CORRUPT_STORE")
        hint "bd validate shows where, bd repair --dry-run what can be saved"
        recovery "tell the user to run bd validate, then bd repair --dry-run";
    NewerFormat("newer_format", DOMAIN, InternalError, "NEWER_FORMAT") recovery "tell the user to upgrade bd";
    EarlierFormat("earlier_format", DOMAIN, InternalError, "EARLIER_FORMAT")
        hint "bd migrate takes the store over and keeps the old commit under refs/beads/backup; --remote replaces it on the remote too"
        recovery "tell the user to run bd migrate";
    ClockExhausted("clock_exhausted", DOMAIN, InternalError, "CLOCK_EXHAUSTED") recovery "tell the user to run bd doctor";
    IoError("io_error", DOMAIN, InternalError, "IO_ERROR")
        recovery "tell the user to look at the path or the disk, then call again";
    GitError("git_error", DOMAIN, InternalError, "GIT_ERROR")
        recovery "go on working, everything is saved here; tell the user that the sync fails";
    JournalFailed("journal_failed", DOMAIN, InternalError, "JOURNAL_FAILED")
        hint "see whether the disk is full, then run the command again"
        recovery "tell the user to look at the disk, then call again";
    CorruptConfig("corrupt_config", DOMAIN, InternalError, "CORRUPT_CONFIG")
        recovery "tell the user to correct the settings file that the message names";
    StoreReplaced("store_replaced", DOMAIN, Conflict, "STORE_REPLACED")
        hint "bd doctor lists changes that were put aside" recovery "tell the user to run bd doctor";
    UnrelatedStore("unrelated_store", DOMAIN, Conflict, "UNRELATED_STORE")
        hint "bd import --rescued FILE --dry-run shows what it would bring" recovery "tell the user to look at the rescued file";
    CannotEdit("cannot_edit", DOMAIN, InternalError, "CANNOT_EDIT");
    NotSetUp("not_set_up", DOMAIN, InternalError, "NOT_SET_UP")
        hint "run bd setup without --check" recovery "tell the user to run bd setup";
    PermissionDenied("permission_denied", DOMAIN, PermissionDenied, "PERMISSION_DENIED");
    DependencyMissing("dependency_missing", MISSING, DependencyMissing, "DEPENDENCY_MISSING")
        hint "install the program, or run bd config set sync.transport native, which needs none"
        recovery "go on working, everything is saved here; tell the user that the sync fails";
    DemoFailed("demo_failed", DOMAIN, InternalError, "DEMO_FAILED");
    InternalError("internal_error", DOMAIN, InternalError, "INTERNAL_ERROR");

    // The daemon and the socket.
    DaemonUnreachable("daemon_unreachable", DOMAIN, InternalError, "DAEMON_UNREACHABLE")
        hint "bd --no-daemon works without it" recovery "call again in a moment";
    DaemonOlder("daemon_older", DOMAIN, InternalError, "DAEMON_OLDER");
    UnsafeRuntimeDirectory("unsafe_runtime_directory", DOMAIN, PermissionDenied, "UNSAFE_RUNTIME_DIRECTORY");
    NotRead("not_read", DOMAIN, InternalError, "NOT_READ");
    InvalidReply("invalid_reply", DOMAIN, InternalError, "INVALID_REPLY");
    ProtocolError("protocol_error", DOMAIN, InternalError, "PROTOCOL_ERROR");

    // The remote.
    NetworkError("network_error", NETWORK, NetworkError, "NETWORK_ERROR")
        hint "bd status shows what is waiting"
        recovery "go on working, everything is saved here; tell the user that the sync fails";
    PushRefused("push_refused", DOMAIN, PermissionDenied, "PUSH_REFUSED")
        hint "ask for the right to push, or set another sync.remote"
        recovery "go on working, everything is saved here; tell the user that the sync fails";
    RemoteInvalid("remote_invalid", DOMAIN, InternalError, "REMOTE_INVALID")
        hint "inspect branch beads/store on the remote"
        recovery "go on working, everything is saved here; tell the user that the sync fails";
    SyncContention("sync_contention", DOMAIN, Conflict, "CONFLICT")
        hint "run bd sync again" recovery "call again in a moment";

    // Findings of `bd validate`. They end no command.
    DanglingDependency("dangling_dependency", DOMAIN, InternalError, "DANGLING_DEPENDENCY");
    OrphanedDependency("orphaned_dependency", DOMAIN, InternalError, "ORPHANED_DEPENDENCY");
    FutureStamp("future_stamp", DOMAIN, InternalError, "FUTURE_STAMP");
    MissingChecksum("missing_checksum", DOMAIN, InternalError, "MISSING_CHECKSUM");
    Stuck("stuck", DOMAIN, InternalError, "STUCK");
    UnreadableRef("unreadable_ref", DOMAIN, InternalError, "UNREADABLE_REF");

    // The registry of `bb` (contract 2 §9).
    InvalidArgs("INVALID_ARGS", USAGE, InvalidValue, "INVALID_ARGS") recovery "send the fields as the inputSchema of the tool has them";
    AgentNotFound("AGENT_NOT_FOUND", DOMAIN, NotFound, "AGENT_NOT_FOUND")
        recovery "send to an agent that wrote to you, or to broadcast";
    DuplicateAgentId("DUPLICATE_AGENT_ID", DOMAIN, Conflict, "DUPLICATE_AGENT_ID")
        recovery "send to an agent that wrote to you, or to broadcast";
    UnknownSender("UNKNOWN_SENDER", DOMAIN, NotFound, "UNKNOWN_SENDER")
        recovery "send to an agent that wrote to you, or to broadcast";
    UnknownRecipient("UNKNOWN_RECIPIENT", DOMAIN, NotFound, "UNKNOWN_RECIPIENT")
        recovery "send to an agent that wrote to you, or to broadcast";
    MissingBeadId("MISSING_BEAD_ID", USAGE, MissingField, "MISSING_BEAD_ID") recovery "send the fields as the inputSchema of the tool has them";
    InvalidCategory("INVALID_CATEGORY", USAGE, InvalidValue, "INVALID_CATEGORY") recovery "send the fields as the inputSchema of the tool has them";
    MessageNotFound("MESSAGE_NOT_FOUND", DOMAIN, NotFound, "MESSAGE_NOT_FOUND") recovery "take a message id from mail";
    AckForbidden("ACK_FORBIDDEN", DOMAIN, PermissionDenied, "ACK_FORBIDDEN") recovery "take a message id from mail";
    ReservationConflict("RESERVATION_CONFLICT", DOMAIN, Conflict, "RESERVATION_CONFLICT")
        recovery "read the reservations with agent_status, or work on other files";
    ReservationStaleFound("RESERVATION_STALE_FOUND", DOMAIN, Conflict, "RESERVATION_STALE_FOUND")
        recovery "read the reservations with agent_status, or work on other files";
    ReservationNotFound("RESERVATION_NOT_FOUND", DOMAIN, NotFound, "RESERVATION_NOT_FOUND")
        recovery "read the reservations with agent_status, or work on other files";
    ReleaseForbidden("RELEASE_FORBIDDEN", DOMAIN, PermissionDenied, "RELEASE_FORBIDDEN")
        recovery "read the reservations with agent_status, or work on other files";
    IoWriteFailed("IO_WRITE_FAILED", DOMAIN, InternalError, "IO_WRITE_FAILED");
    IoReadFailed("IO_READ_FAILED", DOMAIN, InternalError, "IO_READ_FAILED");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_decodes_to_itself_and_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<_> = Code::ALL.iter().map(Code::as_str).collect();
        assert_eq!(names.len(), Code::ALL.len());
        for code in Code::ALL {
            let text = serde_json::to_string(code).unwrap();
            assert_eq!(serde_json::from_str::<Code>(&text).unwrap(), *code, "{text}");
        }
    }

    #[test]
    fn a_code_of_a_newer_version_is_kept_as_it_is() {
        let code: Code = serde_json::from_str(r#""caf\u00e9_closed""#).unwrap();
        assert_eq!(code, Code::Other("café_closed".to_owned()));
        assert_eq!(serde_json::to_string(&code).unwrap(), r#""café_closed""#);
        assert_eq!((code.exit(), code.tool(), code.hint()), (exit::DOMAIN, ToolCode::InternalError, None));
        assert_eq!(code.mcp(), "CAFé_CLOSED");
    }

    #[test]
    fn hints_are_not_empty() {
        for code in Code::ALL {
            assert_ne!(code.hint(), Some(""), "{code}");
            assert_ne!(code.recovery(), Some(""), "{code}");
        }
    }
}
