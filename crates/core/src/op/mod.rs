//! The vocabulary of mutations. One operation is one file: its arguments, and how it turns a catalog into a delta.
//! The same types travel over the socket, in batches and through the JSON tools.

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
mod update;

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
pub use undo::{OldClaim, OldValue, Overwritten, Undo, Was};
pub use update::Update;

use serde::{Deserialize, Serialize};

use crate::{Actor, BeadId, Catalog, Context, Delta, EdgeKey, Lineage, NoteId, Result, Stamp};

/// Makes the vocabulary from its table: one row per operation, with its arguments, whether it has a [`Guard`], and where
/// it names beads (`id`, `ends` of an edge, what its own `references_mut` returns, or nowhere).
macro_rules! operations {
    ($($variant:ident($arguments:ty) $guard:ident $names:ident;)*) => {
        /// A mutation, as asked for.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "op", rename_all = "snake_case")]
        pub enum Op {
            $($variant($arguments),)*
        }

        impl Op {
            /// Returns what the bead must still be like for the operation to go through, where an operation has such a
            /// condition.
            pub fn guard_mut(&mut self) -> Option<&mut Guard> {
                match self {
                    $(Self::$variant(_op) => guard_of!(_op $guard),)*
                }
            }

            /// Every place where the operation names a bead, so that the names of a batch can be put in terms of ids.
            pub fn references_mut(&mut self) -> Vec<&mut String> {
                match self {
                    $(Self::$variant(_op) => names_of!(_op $names),)*
                }
            }

            /// Checks the operation against the catalog and says what it changes. Nothing is changed here.
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

operations! {
    Create(Box<Create>) free own;
    Update(Box<Update>) guarded own;
    Claim(ClaimBead) guarded id;
    ClaimNext(Box<ClaimNext>) free own;
    Renew(Renew) guarded id;
    Unclaim(Unclaim) guarded id;
    Close(Close) guarded id;
    Cancel(Cancel) guarded id;
    HandOver(Box<HandOver>) guarded id;
    Reopen(Reopen) guarded id;
    Delete(Delete) guarded id;
    Restore(Restore) guarded id;
    NoteAdd(NoteAdd) guarded id;
    DepAdd(DepAdd) free ends;
    DepRemove(DepRemove) free ends;
    SetPrefix(SetPrefix) free nowhere;
    SetSetting(SetSetting) free nowhere;
    MintStoreId(MintStoreId) free nowhere;
    RaiseFormat(RaiseFormat) free nowhere;
    ConflictDismiss(ConflictDismiss) free nowhere;
    ConflictRestore(ConflictRestore) free nowhere;
    CollectGarbage(CollectGarbage) free nowhere;
    ResetGcFloor(ResetGcFloor) free nowhere;
    Undo(Box<Undo>) free nowhere;
}

/// What an operation decided: the delta to keep, and what to show for it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Applied {
    pub delta: Delta,
    /// The bead that the operation was about.
    pub bead: Option<Lineage>,
    pub edge: Option<EdgeKey>,
    /// The note that was appended.
    pub note: Option<NoteId>,
    /// A holder claimed again: the lease is longer, the fence the same.
    pub renewed: bool,
    /// The fence of the claim that was made or renewed.
    pub fence: Option<Stamp>,
    /// There was nothing to do: it was closed, open or free before.
    pub unchanged: bool,
    /// Beads that waited for this one alone.
    pub unblocked: Vec<Lineage>,
    /// What the caller should know although the operation went through.
    pub warnings: Vec<Warning>,
    /// What taking an operation back overwrote in its turn.
    pub undone: Option<Box<Undo>>,
}

/// Something that a closing went past.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// The claim of this actor is over.
    ClaimOf(Actor),
    /// It waited for these.
    OpenBlockers(Vec<BeadId>),
    /// It is an epic, and these children are not finished.
    OpenChildren(Vec<BeadId>),
    /// Nothing shows that it is done, though the store asks for it.
    NoEvidence,
}

impl Applied {
    fn bead(lineage: &Lineage, delta: Delta) -> Self {
        Self { delta, bead: Some(lineage.clone()), ..Self::default() }
    }

    /// The bead is as it should be already.
    fn unchanged(lineage: &Lineage) -> Self {
        Self { unchanged: true, ..Self::bead(lineage, Delta::default()) }
    }
}
