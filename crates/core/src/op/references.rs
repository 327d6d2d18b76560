use super::{Change, Op};

impl Op {
    /// Every place where the operation names a bead, so that the names of a batch can be put in terms of ids.
    pub fn references_mut(&mut self) -> Vec<&mut String> {
        match self {
            Self::Create(op) => {
                op.parent.iter_mut().chain(op.deps.iter_mut().map(|dep| &mut dep.id)).collect()
            }
            Self::Update(op) => {
                let parent = op.parent.iter_mut().filter_map(|change| match change {
                    Change::Set(parent) => Some(parent),
                    Change::Clear => None,
                });
                let deps = op.deps.iter_mut().map(|dep| &mut dep.id);
                [&mut op.id].into_iter().chain(parent).chain(deps).collect()
            }
            Self::Claim(op) => vec![&mut op.id],
            Self::Renew(op) => vec![&mut op.id],
            Self::Unclaim(op) => vec![&mut op.id],
            Self::Close(op) => vec![&mut op.id],
            Self::Cancel(op) => vec![&mut op.id],
            Self::HandOver(op) => vec![&mut op.id],
            Self::Reopen(op) => vec![&mut op.id],
            Self::Delete(op) => vec![&mut op.id],
            Self::Restore(op) => vec![&mut op.id],
            Self::NoteAdd(op) => vec![&mut op.id],
            Self::DepAdd(op) => vec![&mut op.from, &mut op.to],
            Self::DepRemove(op) => vec![&mut op.from, &mut op.to],
            Self::ClaimNext(op) => op.filter.under.iter_mut().collect(),
            Self::SetPrefix(_)
            | Self::SetSetting(_)
            | Self::MintStoreId(_)
            | Self::RaiseFormat(_)
            | Self::ConflictDismiss(_)
            | Self::ConflictRestore(_)
            | Self::CollectGarbage(_)
            | Self::ResetGcFloor(_)
            | Self::Undo(_) => Vec::new(),
        }
    }
}
