//! The mutations. Each operation has its own file with its arguments and the `apply` that turns a catalog
//! into a delta. The socket, batches and the JSON tools all use these types.

mod answer;
mod archive;
mod ask;
mod cancel;
mod change;
mod claim;
mod claim_next;
mod close;
mod close_check;
mod collect_garbage;
mod conflict_dismiss;
mod conflict_restore;
mod create;
mod delete;
mod dep;
mod dep_add;
mod dep_remove;
mod guard;
mod hand_over;
mod lease;
mod mint_store_id;
mod note_add;
mod raise_format;
mod renew;
mod reopen;
mod reset_gc_floor;
mod restore;
mod set_prefix;
mod set_setting;
mod unclaim;
mod undo;
pub mod undo_chain;
mod update;

pub use answer::AnswerQuestion;
pub use archive::Archive;
pub use ask::Ask;
pub use cancel::{CANCELLED, Cancel};
pub use change::Change;
pub use claim::ClaimBead;
pub use claim_next::ClaimNext;
pub use close::Close;
pub use collect_garbage::CollectGarbage;
pub use conflict_dismiss::ConflictDismiss;
pub use conflict_restore::ConflictRestore;
pub use create::Create;
pub use delete::Delete;
pub use dep::{Dep, DepRole};
pub use dep_add::DepAdd;
pub use dep_remove::DepRemove;
pub(crate) use guard::if_hash;
pub use guard::{Fence, Guard};
pub use hand_over::{HANDOVER, HandOver};
pub use mint_store_id::MintStoreId;
pub use note_add::NoteAdd;
pub use raise_format::RaiseFormat;
pub use renew::Renew;
pub use reopen::Reopen;
pub use reset_gc_floor::ResetGcFloor;
pub use restore::Restore;
pub use set_prefix::SetPrefix;
pub use set_setting::SetSetting;
pub use unclaim::Unclaim;
pub use undo::{OldClaim, OldValue, Overwritten, PriorState, Undo};
pub use update::Update;

use serde::{Deserialize, Serialize};

use crate::{Actor, BeadId, Catalog, Context, Delta, EdgeKey, Lineage, NoteId, Result, Stamp};

/// Generates [`Op`] from a table with one row per operation: its arguments, whether it has a [`Guard`], which
/// fields name beads (`id`, the `ends` of an edge, whatever its `own` `references_mut` returns, or `nowhere`),
/// the participle for its answer, and its subject: a field or a text.
macro_rules! operations {
    ($($(#[$doc:meta])* $variant:ident($arguments:ty) $guard:ident $names:ident, $done:literal $subject:tt;)*) => {
        /// A requested mutation.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "op", rename_all = "snake_case")]
        pub enum Op {
            $(
                $(#[$doc])*
                $variant($arguments),
            )*
        }

        impl Op {
            /// Returns the preconditions on the bead, for operations that take them.
            pub fn guard_mut(&mut self) -> Option<&mut Guard> {
                match self {
                    $(Self::$variant(_op) => guard_of!(_op $guard),)*
                }
            }

            /// Returns every field that names a bead, so that a batch can replace its local names with ids.
            pub fn references_mut(&mut self) -> Vec<&mut String> {
                match self {
                    $(Self::$variant(_op) => names_of!(_op $names),)*
                }
            }

            /// Returns the past participle that answers use for the operation.
            pub fn participle(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $done,)*
                }
            }

            /// Returns what the operation is about, as the caller wrote it.
            pub fn subject(&self) -> String {
                match self {
                    $(Self::$variant(_op) => subject_of!(_op $subject),)*
                }
            }

            /// Checks the operation against the catalog and returns its changes as a delta. The catalog
            /// itself does not change.
            pub fn apply(&self, catalog: &Catalog, context: &mut Context<'_>) -> Result<Applied> {
                let applied = match self {
                    $(Self::$variant(op) => op.apply(catalog, context),)*
                }?;
                crate::size::check(catalog, &applied.delta)?;
                Ok(applied)
            }
        }
    };
}

macro_rules! guard_of {
    ($op:ident guarded) => {
        Some(&mut $op.guard)
    };
    ($op:ident free) => {
        None
    };
}

macro_rules! names_of {
    ($op:ident id) => {
        vec![&mut $op.id]
    };
    ($op:ident ends) => {
        vec![&mut $op.from, &mut $op.to]
    };
    ($op:ident own) => {
        $op.references_mut()
    };
    ($op:ident nowhere) => {
        Vec::new()
    };
}

macro_rules! subject_of {
    ($op:ident $text:literal) => {
        $text.to_owned()
    };
    ($op:ident $field:ident) => {
        $op.$field.to_string()
    };
}

operations! {
    /// Creates a bead.
    Create(Box<Create>) free own, "created" title;
    /// Changes fields of a bead.
    Update(Box<Update>) guarded own, "updated" id;
    /// Claims a bead.
    Claim(ClaimBead) guarded id, "claimed" id;
    /// Claims the best available bead.
    ClaimNext(Box<ClaimNext>) free own, "claimed" "the next bead";
    /// Extends the lease of a claim.
    Renew(Renew) guarded id, "renewed" id;
    /// Releases a claim.
    Unclaim(Unclaim) guarded id, "unclaimed" id;
    /// Closes a bead.
    Close(Close) guarded id, "closed" id;
    /// Closes a bead that will not be done.
    Cancel(Cancel) guarded id, "cancelled" id;
    /// Offers a bead to another actor.
    HandOver(Box<HandOver>) guarded id, "handed over" id;
    /// Asks a person about a bead and releases the claim.
    Ask(Ask) guarded id, "asked" id;
    /// Answers a question.
    Answer(AnswerQuestion) guarded id, "answered" id;
    /// Reopens a closed bead.
    Reopen(Reopen) guarded id, "reopened" id;
    /// Deletes a bead.
    Delete(Delete) guarded id, "deleted" id;
    /// Restores a deleted bead.
    Restore(Restore) guarded id, "restored" id;
    /// Archives beads that were closed long ago.
    Archive(Archive) free nowhere, "archived" "closed beads";
    /// Appends a note to a bead.
    NoteAdd(NoteAdd) guarded id, "noted" id;
    /// Adds a dependency.
    DepAdd(DepAdd) free ends, "added" from;
    /// Removes a dependency.
    DepRemove(DepRemove) free ends, "removed" from;
    /// Sets the prefix of new ids.
    SetPrefix(SetPrefix) free nowhere, "set" prefix;
    /// Sets a replicated setting.
    SetSetting(SetSetting) free nowhere, "set" key;
    /// Generates the id of the store.
    MintStoreId(MintStoreId) free nowhere, "minted" "the store id";
    /// Raises the format version of the store.
    RaiseFormat(RaiseFormat) free nowhere, "raised" "the format";
    /// Dismisses a conflict.
    ConflictDismiss(ConflictDismiss) free nowhere, "dismissed" id;
    /// Writes the losing value of a conflict again.
    ConflictRestore(ConflictRestore) free nowhere, "restored" id;
    /// Drops old tombstones.
    CollectGarbage(CollectGarbage) free nowhere, "collected" "garbage";
    /// Resets the garbage collection floor.
    ResetGcFloor(ResetGcFloor) free nowhere, "reset" "garbage";
    /// Undoes an earlier operation.
    Undo(Box<Undo>) free nowhere, "undone" "the last operation";
}

/// The result of an operation: the delta to record, and the details to report to the caller.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Applied {
    /// The changes. Empty when there was nothing to change.
    pub delta: Delta,
    /// The bead that the operation acted on.
    pub bead: Option<Lineage>,
    /// The dependency that was added or removed.
    pub edge: Option<EdgeKey>,
    /// The note that was appended.
    pub note: Option<NoteId>,
    /// The caller already held the claim, so its lease was extended and its fence kept.
    pub renewed: bool,
    /// The fence of the claim that was made or renewed.
    pub fence: Option<Stamp>,
    /// The bead was already closed, open or unclaimed, as requested.
    pub unchanged: bool,
    /// Beads whose last open blocker was this one.
    pub unblocked: Vec<Lineage>,
    /// Problems that did not stop the operation.
    pub warnings: Vec<Warning>,
    /// For an undo: the values it overwrote, so that the undo can be undone as well.
    pub undone: Option<Box<Undo>>,
}

/// A problem that closing a bead ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// Closing ended the claim of this actor.
    ClaimOf(Actor),
    /// These blockers are still open.
    OpenBlockers(Vec<BeadId>),
    /// The bead is an epic, and these children are still open.
    OpenChildren(Vec<BeadId>),
    /// The store asks for evidence (`close.require_evidence`), and there is none.
    NoEvidence,
}

impl Applied {
    fn bead(lineage: &Lineage, delta: Delta) -> Self {
        Self { delta, bead: Some(lineage.clone()), ..Self::default() }
    }

    /// The result for a bead that is already in the requested state.
    fn unchanged(lineage: &Lineage) -> Self {
        Self { unchanged: true, ..Self::bead(lineage, Delta::default()) }
    }
}
