//! Error codes and how each interface reports them. To add a code, add one row to the table at the end of
//! this file.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Exit codes. They are the same on every interface (DESIGN §2).
pub mod exit {
    /// Success.
    pub const OK: u8 = 0;
    /// The request was understood but could not be carried out.
    pub const DOMAIN: u8 = 1;
    /// Invalid arguments or input.
    pub const USAGE: u8 = 2;
    /// The remote could not be reached.
    pub const NETWORK: u8 = 22;
    /// A required program is not installed.
    pub const MISSING: u8 = 127;
}

/// The closed set of error codes of the JSON tools (contract 3). The specific [`Code`] is in `details.code`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolCode {
    /// The input is not valid JSON.
    InvalidJson,
    /// A required field is missing.
    MissingField,
    /// A field has the wrong JSON type.
    InvalidType,
    /// A field has an invalid value.
    InvalidValue,
    /// The requested object does not exist.
    NotFound,
    /// The request conflicts with the current state.
    Conflict,
    /// The operating system or the remote denied access.
    PermissionDenied,
    /// The request took too long.
    Timeout,
    /// There were too many requests.
    RateLimited,
    /// The remote could not be reached.
    NetworkError,
    /// A required program is not installed.
    DependencyMissing,
    /// Any other error.
    InternalError,
}

impl ToolCode {
    /// Returns the exit code of a tool that fails with this code.
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
    /// Returns the name of this code on the wire and in `--json`.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Other(name) => name,
            known => known.row().name,
        }
    }

    /// Returns the exit code of a command that fails with this code.
    pub fn exit(&self) -> u8 {
        self.row().exit
    }

    /// Returns the code that the JSON tools report.
    pub fn tool(&self) -> ToolCode {
        self.row().tool
    }

    /// Returns the code that `bd mcp` reports (contract 4).
    pub fn mcp(&self) -> Cow<'static, str> {
        match self {
            Self::Other(name) => name.to_ascii_uppercase().into(),
            known => known.row().mcp.into(),
        }
    }

    /// Returns what to do next, for a user of the command line.
    pub fn hint(&self) -> Option<&'static str> {
        self.row().hint
    }

    /// Returns what to do next, for a client of `bd mcp`.
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

/// Accepts codes of newer versions too. Otherwise a reply with such a code would look like a lost reply, and
/// the client would send the request again.
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
            $(
                #[doc = concat!("`", $name, "`")]
                $(#[doc = concat!("\n\nHint: ", $hint, ".")])?
                $variant,
            )*
            /// A code that this version does not know.
            Other(String),
        }

        impl Code {
            /// All codes of this version.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Parses the name of a code. No other code compares codes as text.
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

// Each row: the variant, the name on the wire, the exit code, the code of the tools, the code of `bd mcp`;
// then what to do next on the command line, and on MCP if that differs.
codes! {
    // Invalid requests.
    Usage("usage", USAGE, InvalidValue, "INVALID_INPUT")
        hint "see --help" recovery "send the fields that the inputSchema of the tool describes";
    InvalidValue("invalid_value", USAGE, InvalidValue, "INVALID_INPUT") recovery "send the fields that the inputSchema of the tool describes";
    InvalidName("invalid_name", USAGE, InvalidValue, "INVALID_NAME") recovery "send the fields that the inputSchema of the tool describes";
    InvalidJson("invalid_json", USAGE, InvalidJson, "INVALID_INPUT")
        hint "pass one JSON object" recovery "send the fields that the inputSchema of the tool describes";
    InvalidType("invalid_type", USAGE, InvalidType, "INVALID_INPUT")
        hint "--schema shows what is expected" recovery "send the fields that the inputSchema of the tool describes";
    MissingField("missing_field", USAGE, MissingField, "INVALID_INPUT")
        hint "--schema shows what is needed" recovery "send the fields that the inputSchema of the tool describes";
    UnknownKey("unknown_key", USAGE, InvalidValue, "INVALID_INPUT")
        hint "bd config list shows all keys" recovery "send the fields that the inputSchema of the tool describes";
    InvalidRequest("invalid_request", DOMAIN, InvalidValue, "INVALID_INPUT") recovery "send the fields that the inputSchema of the tool describes";
    TooLarge("too_large", DOMAIN, InvalidValue, "INVALID_INPUT") recovery "send less text, or split it over several calls";
    SelfDependency("self_dependency", DOMAIN, Conflict, "INVALID_INPUT") recovery "remove the dependency of the bead on itself";

    // Missing objects.
    NotFound("not_found", DOMAIN, NotFound, "UNKNOWN_ID")
        hint "bd list shows all beads" recovery "use an id from status";
    Deleted("deleted", DOMAIN, NotFound, "UNKNOWN_ID")
        hint "bd restore brings it back" recovery "use an id from status";
    Archived("archived", DOMAIN, NotFound, "UNKNOWN_ID")
        hint "bd show and bd list --archive read it, bd restore brings it back"
        recovery "use an id from status";
    AmbiguousId("ambiguous_id", DOMAIN, NotFound, "UNKNOWN_ID")
        hint "type more of the id" recovery "use an id from status";
    AmbiguousRevision("ambiguous_revision", DOMAIN, InternalError, "AMBIGUOUS_REVISION")
        recovery "use more digits of the commit hash";
    DependencyNotFound("dependency_not_found", DOMAIN, NotFound, "UNKNOWN_ID")
        hint "bd dep list shows the dependencies; --type selects the kind"
        recovery "read the dependencies with beads_show";
    NoFocus("no_focus", DOMAIN, InternalError, "UNKNOWN_ID") recovery "claim one with next, or pass id";
    NoStore("no_store", DOMAIN, NotFound, "NOT_INITIALIZED")
        hint "run bd init; bd create creates a store too"
        recovery "start bd mcp inside a git repository, or create the first bead";
    UnknownWorkspace("unknown_workspace", DOMAIN, InternalError, "UNKNOWN_WORKSPACE")
        recovery "leave workspace out";
    NothingReady("nothing_ready", DOMAIN, NotFound, "NOTHING_READY")
        hint "bd blocked shows blocked beads; --wait waits for work" recovery "call next with wait_s to wait";
    NothingToUndo("nothing_to_undo", DOMAIN, NotFound, "NOTHING_TO_UNDO")
        hint "bd log shows the changes to a bead" recovery "read the bead, then change it again";

    // Conflicts with the current state or with another writer.
    Conflict("conflict", DOMAIN, Conflict, "CONFLICT")
        hint "read it again, then decide whether to retry" recovery "read it again with beads_show, then decide";
    RevisionMismatch("revision_mismatch", DOMAIN, InternalError, "REVISION_MISMATCH")
        recovery "read it again with beads_show, then decide";
    ExpectedTargetMismatch("expected_target_mismatch", DOMAIN, InternalError, "EXPECTED_TARGET_MISMATCH")
        recovery "leave expected_target_id out, or pass the id of that bead";
    StrictTargeting("strict_targeting", DOMAIN, InternalError, "STRICT_TARGETING_REQUIRES_EXPECTED_TARGET_ID")
        recovery "pass expected_target_id";
    IdTaken("id_taken", DOMAIN, Conflict, "CONFLICT")
        hint "leave out --id to get a new one" recovery "leave id out to get a new one";
    AlreadyClaimed("already_claimed", DOMAIN, Conflict, "CONFLICT")
        hint "bd ready lists available beads" recovery "claim another with next";
    NotHolder("not_holder", DOMAIN, Conflict, "CONFLICT")
        hint "ask the holder to release it or hand it over, or choose another: bd ready lists available beads"
        recovery "claim another with next";
    StaleClaim("stale_claim", DOMAIN, Conflict, "CONFLICT")
        hint "claim it again, or choose another bead" recovery "claim another with next";
    Closed("closed", DOMAIN, Conflict, "CONFLICT")
        recovery "reopen it with beads_reopen, or claim another with next";
    Blocked("blocked", DOMAIN, Conflict, "CONFLICT")
        hint "close those first" recovery "close those first";
    OpenChildren("open_children", DOMAIN, Conflict, "CONFLICT")
        hint "close those first" recovery "close those first";
    Cancelled("cancelled", DOMAIN, Conflict, "CONFLICT")
        hint "bd reopen brings it back" recovery "claim another";
    EvidenceRequired("evidence_required", DOMAIN, Conflict, "CONFLICT")
        hint "pass --evidence commit:SHA, url:URL or cmd:TEXT" recovery "pass evidence";
    SeveralHeld("several_held", DOMAIN, Conflict, "CONFLICT") recovery "pass id";
    Holding("holding", DOMAIN, Conflict, "CONFLICT") recovery "finish it with done, or pass more: true";
    CallCancelled("call_cancelled", DOMAIN, Timeout, "CALL_CANCELLED") recovery "call again";
    Cycle("cycle", DOMAIN, Conflict, "CONFLICT") recovery "remove the dependency that closes the cycle";
    PartialFailure("partial_failure", DOMAIN, Conflict, "CONFLICT")
        recovery "retry the failed items; details lists them";
    CannotUndo("cannot_undo", DOMAIN, Conflict, "CANNOT_UNDO")
        hint "--skip undoes the operation before it" recovery "read the bead, then change it again";
    UndoConflict("undo_conflict", DOMAIN, Conflict, "UNDO_CONFLICT")
        hint "bd log shows both changes; make the one you want with bd update" recovery "read the bead, then change it again";
    CursorExpired("cursor_expired", DOMAIN, Conflict, "CURSOR_EXPIRED")
        hint "read everything once with bd list, then watch from now on"
        recovery "watch again without a cursor";
    CursorAhead("cursor_ahead", DOMAIN, Conflict, "CURSOR_AHEAD")
        hint "the cursor is from another store, or the store was restored; watch from now on"
        recovery "watch again without a cursor";
    RequestIdReused("request_id_reused", DOMAIN, Conflict, "REQUEST_ID_REUSED")
        hint "use a new id for a new request" recovery "send a new idempotency_key";
    TooManyRequests("too_many_requests", DOMAIN, RateLimited, "TOO_MANY_REQUESTS")
        hint "leave out --request-id, or wait until older ones are a day old"
        recovery "leave idempotency_key out";
    Busy("busy", DOMAIN, RateLimited, "BUSY")
        hint "try again, or see bd daemon status" recovery "call again in a moment";
    Timeout("timeout", DOMAIN, Timeout, "TIMEOUT") recovery "call again in a moment";

    // Problems with the machine or the files.
    CorruptStore("corrupt_store", DOMAIN, InternalError, "CORRUPT_STORE")
        hint "bd validate shows the damage; bd repair --dry-run shows what can be recovered"
        recovery "tell the user to run bd validate, then bd repair --dry-run";
    NewerFormat("newer_format", DOMAIN, InternalError, "NEWER_FORMAT") recovery "tell the user to upgrade bd";
    EarlierFormat("earlier_format", DOMAIN, InternalError, "EARLIER_FORMAT")
        hint "bd migrate converts the store and keeps the old commit under refs/beads/backup; --remote also replaces it on the remote"
        recovery "tell the user to run bd migrate";
    ClockExhausted("clock_exhausted", DOMAIN, InternalError, "CLOCK_EXHAUSTED") recovery "tell the user to run bd doctor";
    IoError("io_error", DOMAIN, InternalError, "IO_ERROR")
        recovery "tell the user to check the path and the disk, then call again";
    GitError("git_error", DOMAIN, InternalError, "GIT_ERROR")
        recovery "keep working, everything is saved locally; tell the user that sync fails";
    JournalFailed("journal_failed", DOMAIN, InternalError, "JOURNAL_FAILED")
        hint "check whether the disk is full, then run the command again"
        recovery "tell the user to check the disk, then call again";
    CorruptConfig("corrupt_config", DOMAIN, InternalError, "CORRUPT_CONFIG")
        recovery "tell the user to fix the settings file named in the message";
    StoreReplaced("store_replaced", DOMAIN, Conflict, "STORE_REPLACED")
        hint "bd doctor lists changes that were set aside" recovery "tell the user to run bd doctor";
    UnrelatedStore("unrelated_store", DOMAIN, Conflict, "UNRELATED_STORE")
        hint "bd import --rescued FILE --dry-run shows what would be imported" recovery "tell the user to inspect the rescued file";
    CannotEdit("cannot_edit", DOMAIN, InternalError, "CANNOT_EDIT");
    NotSetUp("not_set_up", DOMAIN, InternalError, "NOT_SET_UP")
        hint "run bd setup without --check" recovery "tell the user to run bd setup";
    PermissionDenied("permission_denied", DOMAIN, PermissionDenied, "PERMISSION_DENIED");
    DependencyMissing("dependency_missing", MISSING, DependencyMissing, "DEPENDENCY_MISSING")
        hint "install the program, or run bd config set sync.transport native, which does not need it"
        recovery "keep working, everything is saved locally; tell the user that sync fails";
    DemoFailed("demo_failed", DOMAIN, InternalError, "DEMO_FAILED");
    InternalError("internal_error", DOMAIN, InternalError, "INTERNAL_ERROR");

    // The daemon and the socket.
    DaemonUnreachable("daemon_unreachable", DOMAIN, InternalError, "DAEMON_UNREACHABLE")
        hint "bd --no-daemon works without the daemon" recovery "call again in a moment";
    DaemonOlder("daemon_older", DOMAIN, InternalError, "DAEMON_OLDER");
    UnsafeRuntimeDirectory("unsafe_runtime_directory", DOMAIN, PermissionDenied, "UNSAFE_RUNTIME_DIRECTORY");
    NotRead("not_read", DOMAIN, InternalError, "NOT_READ");
    InvalidReply("invalid_reply", DOMAIN, InternalError, "INVALID_REPLY");
    ProtocolError("protocol_error", DOMAIN, InternalError, "PROTOCOL_ERROR");

    // The remote.
    NetworkError("network_error", NETWORK, NetworkError, "NETWORK_ERROR")
        hint "bd status shows what has not been synced"
        recovery "keep working, everything is saved locally; tell the user that sync fails";
    PushRefused("push_refused", DOMAIN, PermissionDenied, "PUSH_REFUSED")
        hint "ask for permission to push, or set another sync.remote"
        recovery "keep working, everything is saved locally; tell the user that sync fails";
    RemoteInvalid("remote_invalid", DOMAIN, InternalError, "REMOTE_INVALID")
        hint "inspect branch beads/store on the remote"
        recovery "keep working, everything is saved locally; tell the user that sync fails";
    HubUnreachable("hub_unreachable", NETWORK, NetworkError, "HUB_UNREACHABLE")
        hint "bd hub status shows the connection; to claim through git while the hub is unreachable, run bd config set hub.offline_claims git"
        recovery "keep working, everything is saved locally; tell the user that the hub cannot be reached";
    HubRefused("hub_refused", DOMAIN, PermissionDenied, "HUB_REFUSED")
        hint "bd hub status shows the connection and what to do"
        recovery "keep working, everything is saved locally; tell the user that the hub refuses this machine";
    SyncContention("sync_contention", DOMAIN, Conflict, "CONFLICT")
        hint "run bd sync again" recovery "call again in a moment";

    // Findings of `bd validate`. No command fails with them.
    DanglingDependency("dangling_dependency", DOMAIN, InternalError, "DANGLING_DEPENDENCY");
    OrphanedDependency("orphaned_dependency", DOMAIN, InternalError, "ORPHANED_DEPENDENCY");
    FutureStamp("future_stamp", DOMAIN, InternalError, "FUTURE_STAMP");
    MissingChecksum("missing_checksum", DOMAIN, InternalError, "MISSING_CHECKSUM");
    Stuck("stuck", DOMAIN, InternalError, "STUCK");
    UnreadableRef("unreadable_ref", DOMAIN, InternalError, "UNREADABLE_REF");
    ArchiveIncomplete("archive_incomplete", DOMAIN, InternalError, "ARCHIVE_INCOMPLETE")
        hint "bd sync fetches the archive from the remote";

    // The registry of `bb` (contract 2 §9).
    InvalidArgs("INVALID_ARGS", USAGE, InvalidValue, "INVALID_ARGS") recovery "send the fields that the inputSchema of the tool describes";
    AgentNotFound("AGENT_NOT_FOUND", DOMAIN, NotFound, "AGENT_NOT_FOUND")
        recovery "send to an agent that wrote to you, or to broadcast";
    DuplicateAgentId("DUPLICATE_AGENT_ID", DOMAIN, Conflict, "DUPLICATE_AGENT_ID")
        recovery "send to an agent that wrote to you, or to broadcast";
    UnknownSender("UNKNOWN_SENDER", DOMAIN, NotFound, "UNKNOWN_SENDER")
        recovery "send to an agent that wrote to you, or to broadcast";
    UnknownRecipient("UNKNOWN_RECIPIENT", DOMAIN, NotFound, "UNKNOWN_RECIPIENT")
        recovery "send to an agent that wrote to you, or to broadcast";
    MissingBeadId("MISSING_BEAD_ID", USAGE, MissingField, "MISSING_BEAD_ID") recovery "send the fields that the inputSchema of the tool describes";
    InvalidCategory("INVALID_CATEGORY", USAGE, InvalidValue, "INVALID_CATEGORY") recovery "send the fields that the inputSchema of the tool describes";
    MessageNotFound("MESSAGE_NOT_FOUND", DOMAIN, NotFound, "MESSAGE_NOT_FOUND") recovery "use a message id from mail";
    AckForbidden("ACK_FORBIDDEN", DOMAIN, PermissionDenied, "ACK_FORBIDDEN") recovery "use a message id from mail";
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
    fn every_code_decodes_to_itself_and_has_a_unique_name() {
        let names: std::collections::BTreeSet<_> = Code::ALL.iter().map(Code::as_str).collect();
        assert_eq!(names.len(), Code::ALL.len());
        for code in Code::ALL {
            let text = serde_json::to_string(code).unwrap();
            assert_eq!(serde_json::from_str::<Code>(&text).unwrap(), *code, "{text}");
        }
    }

    #[test]
    fn a_code_of_a_newer_version_is_preserved() {
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
