//! The methods of the clients: one row each.

/// The type of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    Texts,
    /// Operations, as the socket takes them.
    Operations,
    /// Names of beads that a batch creates, with the index of the operation.
    Names,
    OptionalText,
    OptionalTexts,
    OptionalInteger,
    Flag,
    Filter,
    /// A filter and the bead below which to look.
    ReadyFilter,
    /// The optional fields of an operation: the name of their type.
    Fields(&'static str),
}

/// A parameter.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    pub name: &'static str,
    /// Its name in the request.
    pub wire: &'static str,
    pub kind: Kind,
}

/// How the parameters become a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// An operation of `mutate`.
    Operation,
    /// A query with named arguments.
    Query,
    /// A query whose argument is a filter.
    FilterQuery,
    /// A query without arguments.
    PlainQuery,
    /// A call with named arguments.
    Call,
    /// A call without arguments.
    PlainCall,
}

/// A method.
#[derive(Debug, Clone, Copy)]
pub struct Method {
    pub name: &'static str,
    pub about: &'static str,
    pub form: Form,
    /// The name of the operation, query or call.
    pub wire: &'static str,
    pub parameters: &'static [Parameter],
    /// It can wait: `wait_ms`.
    pub waits: bool,
    /// It can ask the remote to confirm a claim: `confirm`.
    pub confirms: bool,
    /// The type of the answer, with `[]` for a list.
    pub answer: &'static str,
}

impl Method {
    /// Returns whether the method takes a request id.
    pub fn changes(&self) -> bool {
        self.form == Form::Operation
            || matches!(self.wire, "atomic" | "close_and_claim" | "unclaim_all" | "undo")
    }
}

const fn parameter(name: &'static str, kind: Kind) -> Parameter {
    Parameter { name, wire: name, kind }
}

const ID: Parameter = parameter("id", Kind::Text);
const FENCE: Parameter = parameter("fence", Kind::OptionalText);
const LEASE: Parameter = parameter("lease_ms", Kind::OptionalInteger);
const FILTER: Parameter = parameter("filter", Kind::Filter);
const UNDER: Parameter = parameter("under", Kind::OptionalText);
const TEXT: Parameter = parameter("text", Kind::Text);
const FROM: Parameter = Parameter { name: "id", wire: "from", kind: Kind::Text };
const TO: Parameter = Parameter { name: "depends_on", wire: "to", kind: Kind::Text };
const EDGE_KIND: Parameter = parameter("kind", Kind::OptionalText);

const fn method(
    name: &'static str,
    form: Form,
    parameters: &'static [Parameter],
    answer: &'static str,
    about: &'static str,
) -> Method {
    Method { name, about, form, wire: name, parameters, waits: false, confirms: false, answer }
}

/// All methods.
pub const METHODS: &[Method] = &[
    method(
        "create",
        Form::Operation,
        &[parameter("title", Kind::Text), parameter("fields", Kind::Fields("CreateFields"))],
        "Created",
        "Creates a bead.",
    ),
    method(
        "update",
        Form::Operation,
        &[ID, parameter("fields", Kind::Fields("UpdateFields"))],
        "Changed",
        "Changes fields of a bead.",
    ),
    Method {
        confirms: true,
        ..method(
            "claim",
            Form::Operation,
            &[ID, LEASE, FENCE, parameter("take_over", Kind::Flag)],
            "Claimed",
            "Claims a bead, or renews a claim.",
        )
    },
    Method {
        waits: true,
        confirms: true,
        ..method(
            "claim_next",
            Form::Operation,
            &[
                parameter("filter", Kind::ReadyFilter),
                LEASE,
                parameter("steal_silent_ms", Kind::OptionalInteger),
            ],
            "Claimed",
            "Claims the next ready bead. Fails with `nothing_ready` when there is none.",
        )
    },
    method("renew", Form::Operation, &[ID, FENCE, LEASE], "Claimed", "Renews the lease of a claim."),
    method(
        "unclaim",
        Form::Operation,
        &[ID, parameter("fields", Kind::Fields("UnclaimFields"))],
        "Changed",
        "Releases a claim.",
    ),
    method(
        "close",
        Form::Operation,
        &[ID, parameter("fields", Kind::Fields("CloseFields"))],
        "Closed",
        "Closes a bead as done.",
    ),
    method(
        "cancel",
        Form::Operation,
        &[ID, parameter("reason", Kind::Text), parameter("fields", Kind::Fields("CancelFields"))],
        "Closed",
        "Closes a bead that will not be done.",
    ),
    method(
        "hand_over",
        Form::Operation,
        &[ID, parameter("to", Kind::Text), parameter("fields", Kind::Fields("HandOverFields"))],
        "Changed",
        "Offers a bead to another actor.",
    ),
    method(
        "ask",
        Form::Operation,
        &[ID, TEXT, parameter("fields", Kind::Fields("AskFields"))],
        "Changed",
        "Asks a person about a bead and gives the claim back.",
    ),
    method(
        "answer",
        Form::Operation,
        &[ID, TEXT, parameter("fields", Kind::Fields("AnswerFields"))],
        "Changed",
        "Answers a question.",
    ),
    method(
        "reopen",
        Form::Operation,
        &[ID, parameter("fields", Kind::Fields("ReopenFields"))],
        "Changed",
        "Reopens a closed bead.",
    ),
    method(
        "delete",
        Form::Operation,
        &[ID, parameter("fields", Kind::Fields("DeleteFields"))],
        "Changed",
        "Deletes a bead; it can be restored.",
    ),
    method(
        "restore",
        Form::Operation,
        &[ID, parameter("fields", Kind::Fields("RestoreFields"))],
        "Changed",
        "Restores a deleted bead.",
    ),
    Method {
        wire: "note_add",
        ..method(
            "note",
            Form::Operation,
            &[ID, parameter("content", Kind::Text), parameter("fields", Kind::Fields("NoteFields"))],
            "NoteAnswer",
            "Adds a note to a bead.",
        )
    },
    method("dep_add", Form::Operation, &[FROM, TO, EDGE_KIND], "EdgeAnswer", "Adds a dependency."),
    method("dep_remove", Form::Operation, &[FROM, TO, EDGE_KIND], "EdgeAnswer", "Removes a dependency."),
    method(
        "atomic",
        Form::Call,
        &[parameter("ops", Kind::Operations), parameter("names", Kind::Names)],
        "Batch",
        "Applies several operations as one.",
    ),
    method("show", Form::Query, &[parameter("ids", Kind::Texts)], "Detail[]", "Returns beads in full."),
    method("list", Form::FilterQuery, &[FILTER], "Bead[]", "Returns the beads that match a filter."),
    Method {
        waits: true,
        ..method(
            "ready",
            Form::Query,
            &[FILTER, UNDER],
            "Bead[]",
            "Returns the beads that can be worked on now.",
        )
    },
    method("blocked", Form::FilterQuery, &[FILTER], "Bead[]", "Returns the beads with open blockers."),
    method(
        "count",
        Form::Query,
        &[FILTER],
        "CountAnswer",
        "Returns the number of beads that match a filter.",
    ),
    method("notes", Form::Query, &[ID], "NoteAnswer[]", "Returns the notes of a bead."),
    method(
        "questions",
        Form::PlainQuery,
        &[],
        "QuestionAnswer[]",
        "Returns the open questions, oldest first.",
    ),
    method(
        "status",
        Form::PlainQuery,
        &[],
        "StatusAnswer",
        "Returns the status of the store and its last sync.",
    ),
    Method {
        waits: true,
        ..method(
            "events",
            Form::Query,
            &[
                parameter("since", Kind::OptionalText),
                parameter("ids", Kind::OptionalTexts),
                parameter("limit", Kind::OptionalInteger),
            ],
            "Events",
            "Returns the events after a cursor; without one, only the current cursor.",
        )
    },
    method(
        "claim_mine",
        Form::Call,
        &[LEASE],
        "Claimed[]",
        "Claims again the beads that the actor holds and no other session does.",
    ),
    method(
        "heartbeat",
        Form::PlainCall,
        &[],
        "HeartbeatAnswer",
        "Reports that the session is alive and renews its leases.",
    ),
    method(
        "end_session",
        Form::Call,
        &[parameter("keep", Kind::Flag)],
        "Changed[]",
        "Ends the session and releases its claims.",
    ),
    method("unclaim_all", Form::Call, &[], "Changed[]", "Releases all claims of the actor."),
    method("sync", Form::PlainCall, &[], "SyncAnswer", "Saves everything and exchanges it with the remote."),
    method("save", Form::PlainCall, &[], "SyncAnswer", "Saves everything to the local branch."),
    method("daemon_status", Form::PlainCall, &[], "DaemonStatus", "Describes the daemon."),
];
