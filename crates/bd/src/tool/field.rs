//! How values look in a schema. Each bound is at least as strict as the type that takes the value, so an input that
//! fits its schema is not refused for its form. Lengths count characters where the store counts bytes; they are a
//! quarter of the store's, which every character fits into.
//!
//! Patterns mean the same in every regular-expression dialect: what must not occur is said by `not`, because `$` also
//! matches before a line break in some of them.

use std::borrow::Cow;

use beads_core::limits::{
    MAX_ACTOR_BYTES, MAX_DERIVED_ID_BYTES, MAX_ESTIMATE_MINUTES, MAX_ID_BYTES, MAX_LABEL_BYTES,
    MAX_LINE_BYTES, MAX_TITLE_BYTES,
};
use beads_core::query::SortKey;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::agent::bounds::{AGENT_ID_LEN, BEAD_ID_MAX, BODY_MAX, LABEL_MAX, MESSAGE_ID_MAX, SCOPE_MAX};
use crate::agent::bounds::{INBOX_LIMIT, SUBJECT_MAX, THREAD_ID_MAX, TTL};

/// The longest character takes this many bytes in UTF-8.
const WIDEST: usize = 4;

/// A claim for longer than a year is a mistake in the unit.
const MAX_LEASE_MS: u64 = 365 * 24 * 60 * 60 * 1000;

/// Events in one answer, at most; whoever wants more asks again.
pub const MAX_EVENTS: usize = 1_000;

/// Nobody should hang on a call for longer than ten minutes.
const MAX_TIMEOUT_MS: u64 = 10 * 60 * 1000;

/// Long enough for any digest or uuid.
const MAX_KEY_CHARS: usize = 128;
/// A hash of 64 digits and two words of 64 characters, with what stands between them.
const MAX_HASH_CHARS: usize = 194;

/// The longest path most systems take.
const MAX_PATH_CHARS: usize = 4096;

const CONTROL: &str = r"[\u0000-\u001f\u007f-\u009f]";
/// Anything but what counts as blank.
const VISIBLE: &str = r"[^\u0009-\u000d\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]";

macro_rules! fields {
    ($($(#[$comment:meta])* $name:ident: $schema:expr;)*) => {$(
        $(#[$comment])*
        #[derive(Debug)]
        pub enum $name {}

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    )*};
}

fields! {
    /// A bead that is there: its id, or a beginning that fits only one.
    BeadRef: text(1, MAX_DERIVED_ID_BYTES);
    /// An id for a new bead.
    NewId: json_schema!({
        "type": "string", "minLength": 1, "maxLength": MAX_ID_BYTES, "pattern": "^[A-Za-z0-9][A-Za-z0-9._]*-",
        "not": {"pattern": "[^A-Za-z0-9._-]"}
    });
    /// As long as on every other interface; the store counts bytes and refuses what is longer in them.
    Title: line(1, MAX_TITLE_BYTES, true);
    /// One line, perhaps empty.
    Line: line(0, MAX_TITLE_BYTES / WIDEST, false);
    Text: long_text(0, false);
    /// Text that says something.
    Said: long_text(1, true);
    Actor: line(1, MAX_ACTOR_BYTES / WIDEST, true);
    Label: json_schema!({
        "type": "string", "minLength": 1, "maxLength": MAX_LABEL_BYTES / WIDEST, "pattern": VISIBLE,
        "not": {"pattern": r"[\u0000-\u001f\u007f-\u009f,]"}
    });
    /// RFC 3339, a date-time in local time or with a zone in brackets, or a date; from 1970 to 2099, days as the calendar
    /// has them.
    Time: json_schema!({
        "type": "string", "minLength": 10, "maxLength": 100, "not": {"pattern": r"\n"},
        "pattern": concat!(
            "^((19[7-9][0-9]|20[0-9][0-9])-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)",
            "|02-(0[1-9]|1[0-9]|2[0-8]))|(19(72|76|8[048]|9[26])|20([02468][048]|[13579][26]))-02-29)",
            r"([T ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,9})?)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])?",
            r"(\[[A-Za-z0-9_/+-]{1,64}\])?)?$"
        )
    });
    /// `ms.counter`
    Fence: json_schema!({
        "type": "string", "minLength": 3, "maxLength": 24, "not": {"pattern": r"\n"},
        "pattern": r"^([0-9]{1,12}|[1-3][0-9]{12})\.([0-9]{1,9}|[1-3][0-9]{9})$"
    });
    ContentHash: text(1, MAX_HASH_CHARS);
    Key: text(1, MAX_KEY_CHARS);
    Directory: path();
    Path: path();
    Kind: words(beads_core::BeadType::ALL.map(beads_core::BeadType::as_str));
    Status: words(beads_core::Status::ALL.map(beads_core::Status::as_str));
    /// What a closed bead may become again.
    Reopened: words(["open", "in_progress"]);
    ReadyOrder: words(["priority", "oldest", "hybrid", "impact"]);
    /// A stored status, or the derived one.
    StatusFilter: words(["open", "in_progress", "closed", "blocked"]);
    EdgeKind: words(beads_core::EdgeKind::ALL.map(beads_core::EdgeKind::as_str));
    Sort: words(SortKey::ALL.map(SortKey::as_str));
    Direction: words(["down", "up"]);
    ExportFormat: words(["jsonl", "csv", "md", "dot", "mermaid"]);
    Priority: number(0, 4);
    Estimate: number(0, u64::from(MAX_ESTIMATE_MINUTES));
    LeaseMs: number(1, MAX_LEASE_MS);
    /// At most so many; 0 for all.
    Limit: number(0, 1_000_000);
    /// Where `bd watch` goes on.
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
    /// An agent that registers: not the address of everybody.
    NewAgentId: json_schema!({
        "type": "string", "minLength": AGENT_ID_LEN.start(), "maxLength": AGENT_ID_LEN.end(),
        "not": {"pattern": "[^a-z0-9-]|--|^-|-$|^broadcast$"}
    });
    /// An agent, `broadcast`, or `role:ROLE`.
    Recipient: text(1, LABEL_MAX);
    /// A role or a display name.
    AgentLabel: line(1, LABEL_MAX / WIDEST, true);
    AgentFilter: text(0, LABEL_MAX);
    MessageId: text(1, MESSAGE_ID_MAX);
    MessageState: words(["unread", "read", "acked"]);
    Category: words(["HANDOFF", "BLOCKED", "DECISION", "INFO"]);
    Subject: line(1, SUBJECT_MAX / WIDEST, true);
    Body: json_schema!({"type": "string", "minLength": 1, "maxLength": BODY_MAX / WIDEST, "pattern": VISIBLE});
    /// A bead as agents speak of it; whether it exists is not asked.
    AgentBead: json_schema!({
        "type": "string", "minLength": 1, "maxLength": BEAD_ID_MAX, "pattern": VISIBLE,
        "not": {"pattern": r"[^\u0020-\u007e]"}
    });
    Thread: text(0, THREAD_ID_MAX / WIDEST);
    InboxLimit: number(*INBOX_LIMIT.start() as u64, *INBOX_LIMIT.end() as u64);
    TtlMinutes: number(*TTL.start() as u64, *TTL.end() as u64);
    /// Relative to the root of the repository.
    Scope: json_schema!({
        "type": "string", "minLength": 1, "maxLength": SCOPE_MAX / WIDEST, "pattern": VISIBLE,
        "not": {"pattern": r"[\u0000-\u001f\u007f-\u009f]"}
    });
}

/// The same value, or null to clear the field.
#[derive(Debug)]
pub struct OrNull<T>(std::marker::PhantomData<T>);

impl<T: JsonSchema> JsonSchema for OrNull<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("OrNull{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = T::json_schema(generator);
        let own = schema.get("type").cloned().unwrap_or(Value::Null);
        // What is said of characters holds for text alone; `not` would else exclude null, which has none.
        if let Some(Value::Object(excluded)) = schema.get_mut("not") {
            excluded.insert("type".to_owned(), own.clone());
        }
        schema.insert("type".to_owned(), json!([own, "null"]));
        schema
    }
}

fn text(least: usize, most: usize) -> Schema {
    json_schema!({"type": "string", "minLength": least, "maxLength": most})
}

fn path() -> Schema {
    json_schema!({"type": "string", "minLength": 1, "maxLength": MAX_PATH_CHARS, "not": {"pattern": r"\u0000"}})
}

fn line(least: usize, most: usize, visible: bool) -> Schema {
    let mut schema = text(least, most);
    schema.insert("not".to_owned(), json!({"pattern": CONTROL}));
    if visible {
        schema.insert("pattern".to_owned(), json!(VISIBLE));
    }
    schema
}

fn long_text(least: usize, visible: bool) -> Schema {
    let mut schema = text(least, MAX_LINE_BYTES / WIDEST);
    schema.insert("not".to_owned(), json!({"pattern": r"\u0000"}));
    if visible {
        schema.insert("pattern".to_owned(), json!(VISIBLE));
    }
    schema
}

fn words<const N: usize>(words: [&str; N]) -> Schema {
    json_schema!({"type": "string", "enum": words.as_slice()})
}

fn number(least: u64, most: u64) -> Schema {
    json_schema!({"type": "integer", "minimum": least, "maximum": most})
}
