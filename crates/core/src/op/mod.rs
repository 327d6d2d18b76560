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
mod references;
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

/// A mutation, as asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Op {
    Create(Box<Create>),
    Update(Box<Update>),
    Claim(ClaimBead),
    ClaimNext(Box<ClaimNext>),
    Renew(Renew),
    Unclaim(Unclaim),
    Close(Close),
    Cancel(Cancel),
    HandOver(Box<HandOver>),
    Reopen(Reopen),
    Delete(Delete),
    Restore(Restore),
    NoteAdd(NoteAdd),
    DepAdd(DepAdd),
    DepRemove(DepRemove),
    SetPrefix(SetPrefix),
    SetSetting(SetSetting),
    MintStoreId(MintStoreId),
    RaiseFormat(RaiseFormat),
    ConflictDismiss(ConflictDismiss),
    ConflictRestore(ConflictRestore),
    CollectGarbage(CollectGarbage),
    ResetGcFloor(ResetGcFloor),
    Undo(Box<Undo>),
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

impl Op {
    /// Returns what the bead must still be like for the operation to go through, where an operation has such a condition.
    pub fn guard_mut(&mut self) -> Option<&mut Guard> {
        match self {
            Self::Update(op) => Some(&mut op.guard),
            Self::Claim(op) => Some(&mut op.guard),
            Self::Renew(op) => Some(&mut op.guard),
            Self::Unclaim(op) => Some(&mut op.guard),
            Self::Close(op) => Some(&mut op.guard),
            Self::Cancel(op) => Some(&mut op.guard),
            Self::HandOver(op) => Some(&mut op.guard),
            Self::Reopen(op) => Some(&mut op.guard),
            Self::Delete(op) => Some(&mut op.guard),
            Self::Restore(op) => Some(&mut op.guard),
            Self::NoteAdd(op) => Some(&mut op.guard),
            Self::Create(_)
            | Self::ClaimNext(_)
            | Self::DepAdd(_)
            | Self::DepRemove(_)
            | Self::SetPrefix(_)
            | Self::SetSetting(_)
            | Self::MintStoreId(_)
            | Self::RaiseFormat(_)
            | Self::ConflictDismiss(_)
            | Self::ConflictRestore(_)
            | Self::CollectGarbage(_)
            | Self::ResetGcFloor(_)
            | Self::Undo(_) => None,
        }
    }

    /// Checks the operation against the catalog and says what it changes. Nothing is changed here.
    pub fn apply(&self, catalog: &Catalog, context: &mut Context<'_>) -> Result<Applied> {
        let applied = match self {
            Self::Create(op) => op.apply(catalog, context),
            Self::Update(op) => op.apply(catalog, context),
            Self::Claim(op) => op.apply(catalog, context),
            Self::ClaimNext(op) => op.apply(catalog, context),
            Self::Renew(op) => op.apply(catalog, context),
            Self::Unclaim(op) => op.apply(catalog, context),
            Self::Close(op) => op.apply(catalog, context),
            Self::Cancel(op) => op.apply(catalog, context),
            Self::HandOver(op) => op.apply(catalog, context),
            Self::Reopen(op) => op.apply(catalog, context),
            Self::Delete(op) => op.apply(catalog, context),
            Self::Restore(op) => op.apply(catalog, context),
            Self::NoteAdd(op) => op.apply(catalog, context),
            Self::DepAdd(op) => op.apply(catalog, context),
            Self::DepRemove(op) => op.apply(catalog, context),
            Self::SetPrefix(op) => op.apply(catalog, context),
            Self::SetSetting(op) => op.apply(catalog, context),
            Self::MintStoreId(op) => op.apply(catalog, context),
            Self::RaiseFormat(op) => op.apply(catalog, context),
            Self::ConflictDismiss(op) => op.apply(catalog, context),
            Self::ConflictRestore(op) => op.apply(catalog, context),
            Self::CollectGarbage(op) => op.apply(catalog, context),
            Self::ResetGcFloor(op) => op.apply(catalog, context),
            Self::Undo(op) => op.apply(catalog, context),
        }?;
        crate::size::check(catalog, &applied.delta)?;
        Ok(applied)
    }
}
