//! Schemas of values that exist only on this interface or in the agents' store. The schema of a bead's field
//! is defined by its type in [`beads_core`]; [`beads_core::schema`] has the rules for all of them.

use beads_core::schema::{MAX_CHAR_BYTES, VISIBLE, line, number, text, words};
use schemars::{Schema, json_schema};

use crate::agent::bounds::{AGENT_ID_LEN, BEAD_ID_MAX, BODY_MAX, LABEL_MAX, MESSAGE_ID_MAX, SCOPE_MAX};
use crate::agent::bounds::{INBOX_LIMIT, SUBJECT_MAX, THREAD_ID_MAX, TTL};

/// The maximum number of events in one answer; a caller that wants more calls again.
pub const MAX_EVENTS: usize = 1_000;

/// No call should block for longer than ten minutes.
const MAX_TIMEOUT_MS: u64 = 10 * 60 * 1000;

/// Long enough for any digest or UUID.
const MAX_KEY_CHARS: usize = 128;

/// The longest path that most systems accept.
const MAX_PATH_CHARS: usize = 4096;

/// RFC 3339, a date-time in local time or with a zone in brackets, or a date; from 1970 to 2099, only days
/// that exist. A field with this pattern is parsed as a time (see [`super::check`]).
pub const TIME: &str = concat!(
    "^((19[7-9][0-9]|20[0-9][0-9])-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)",
    "|02-(0[1-9]|1[0-9]|2[0-8]))|(19(72|76|8[048]|9[26])|20([02468][048]|[13579][26]))-02-29)",
    r"([T ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,9})?)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])?",
    r"(\[[A-Za-z0-9_/+-]{1,64}\])?)?$"
);

beads_core::schema_types! {
    /// A time as interfaces write it.
    Time: time();
    Key: text(1, MAX_KEY_CHARS);
    Directory: path();
    Path: path();
    ReadyOrder: words(["priority", "oldest", "hybrid", "impact"]);
    /// A stored status, or the derived one.
    StatusFilter: words(["open", "in_progress", "closed", "blocked"]);
    /// The published sort keys. The command line also has `due`.
    Sort: words([
        "priority", "created", "updated", "closed", "id", "title", "status", "type", "assignee", "impact"
    ]);
    Direction: words(["down", "up"]);
    ExportFormat: words(["jsonl", "csv", "md", "dot", "mermaid"]);
    /// Maximum number; 0 for all.
    Limit: number(0, 1_000_000);
    /// Where `bd watch` continues.
    Cursor: json_schema!({
        "type": "string", "minLength": 1, "maxLength": 64, "pattern": "^(0|[0-9A-Za-z]{1,32}-[0-9]{1,19})$",
        "not": {"pattern": r"\n"}
    });
    EventLimit: number(1, MAX_EVENTS as u64);
    TimeoutMs: number(0, MAX_TIMEOUT_MS);
    Depth: number(0, beads_core::limits::MAX_TREE_DEPTH as u64);
    ConflictId: json_schema!({
        "type": "string", "minLength": 41, "maxLength": 41, "pattern": "^CONFLICT-[0-9a-f]{32}"
    });
    Resolution: words(["restore", "dismiss"]);
    AgentId: json_schema!({
        "type": "string", "minLength": AGENT_ID_LEN.start(), "maxLength": AGENT_ID_LEN.end(),
        "not": {"pattern": "[^a-z0-9-]|--|^-|-$"}
    });
    /// The id of a new agent; `broadcast` is reserved.
    NewAgentId: json_schema!({
        "type": "string", "minLength": AGENT_ID_LEN.start(), "maxLength": AGENT_ID_LEN.end(),
        "not": {"pattern": "[^a-z0-9-]|--|^-|-$|^broadcast$"}
    });
    /// An agent, `broadcast`, or `role:ROLE`.
    Recipient: text(1, LABEL_MAX);
    /// A role or a display name.
    AgentLabel: line(1, LABEL_MAX / MAX_CHAR_BYTES, true);
    AgentFilter: text(0, LABEL_MAX);
    MessageId: text(1, MESSAGE_ID_MAX);
    MessageState: words(["unread", "read", "acked"]);
    Category: words(["HANDOFF", "BLOCKED", "DECISION", "INFO"]);
    Subject: line(1, SUBJECT_MAX / MAX_CHAR_BYTES, true);
    Body: json_schema!({"type": "string", "minLength": 1, "maxLength": BODY_MAX / MAX_CHAR_BYTES, "pattern": VISIBLE});
    /// A bead id in the agents' store, which does not check that the bead exists.
    AgentBead: json_schema!({
        "type": "string", "minLength": 1, "maxLength": BEAD_ID_MAX, "pattern": VISIBLE,
        "not": {"pattern": r"[^\u0020-\u007e]"}
    });
    Thread: text(0, THREAD_ID_MAX / MAX_CHAR_BYTES);
    InboxLimit: number(*INBOX_LIMIT.start() as u64, *INBOX_LIMIT.end() as u64);
    TtlMinutes: number(*TTL.start() as u64, *TTL.end() as u64);
    /// Relative to the root of the repository.
    Scope: json_schema!({
        "type": "string", "minLength": 1, "maxLength": SCOPE_MAX / MAX_CHAR_BYTES, "pattern": VISIBLE,
        "not": {"pattern": r"[\u0000-\u001f\u007f-\u009f]"}
    });
}

/// Returns the schema of a time as text; the store has milliseconds.
pub fn time() -> Schema {
    json_schema!({"type": "string", "minLength": 10, "maxLength": 100, "not": {"pattern": r"\n"}, "pattern": TIME})
}

fn path() -> Schema {
    json_schema!({"type": "string", "minLength": 1, "maxLength": MAX_PATH_CHARS, "not": {"pattern": r"\u0000"}})
}
