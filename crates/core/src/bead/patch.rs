//! Patches: the parts of a bead that one write touched.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::insert_note;
use super::values::{claim_bytes, json, status_bytes, type_bytes};
use crate::body::Body;
use crate::canonical::to_canonical;
use crate::field::{Estimate, Labels, Line, Metadata, Priority, StatusGroup, Text, Title, TypeGroup, Value};
use crate::snapshot::ARCHIVE_FORMAT_VERSION;
use crate::{Bead, Claim, Deletion, Field, Mark, Note, Register, Timestamp};

macro_rules! define_patch {
    ($($field:ident: $ty:ty = $name:ident,)*) => {
        /// The changes that one write made to one bead. `None` means that the register was not written.
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub struct Patch {
            $(
                #[doc = concat!("The new value of `", stringify!($field), "`.")]
                pub $field: Option<Register<$ty>>,
            )*
            /// The new type.
            pub kind: Option<Register<TypeGroup>>,
            /// The new status.
            pub status: Option<Register<StatusGroup>>,
            /// The new claim.
            pub claim: Option<Claim>,
            /// The added notes.
            pub notes: Vec<Arc<Note>>,
            /// The deletion, if the write deleted the bead.
            pub deletion: Option<Deletion>,
            /// The git branch of a new bead; otherwise empty.
            pub created_on_branch: Line,
        }

        impl Patch {
            /// Returns the bead that the patch creates: a complete one if every register is present, or a hollow
            /// one if the patch is a marker. No other patch can create a bead.
            pub(crate) fn into_bead(self) -> Option<Bead> {
                if self.is_marker() {
                    return self.deletion.map(Bead::hollow);
                }
                let mut bead = Bead {
                    $($field: self.$field?,)*
                    kind: self.kind?,
                    status: self.status?,
                    claim: self.claim?,
                    notes: BTreeMap::new(),
                    deletion: self.deletion,
                    created_on_branch: self.created_on_branch,
                };
                for note in &self.notes {
                    insert_note(&mut bead.notes, note);
                }
                if bead.is_live() {
                    bead.deletion = None;
                }
                Some(bead)
            }

            /// Returns whether the patch can create a bead. See [`into_bead`](Self::into_bead).
            pub(crate) fn creates_a_bead(&self) -> bool {
                self.is_marker() || self.is_complete()
            }

            /// Returns whether every register is present.
            pub(crate) fn is_complete(&self) -> bool {
                $(self.$field.is_some() &&)* self.kind.is_some() && self.status.is_some() && self.claim.is_some()
            }

            /// Merges `other` into this patch.
            pub(crate) fn join(&mut self, other: &Self) {
                $(match (&mut self.$field, &other.$field) {
                    (Some(mine), Some(theirs)) => mine.join(theirs, |value| {
                        let body = Body { $field: value.stored(), ..Body::default() };
                        to_canonical(&body)
                    }),
                    (mine @ None, theirs) => mine.clone_from(theirs),
                    (Some(_), None) => {}
                })*
                match (&mut self.kind, &other.kind) {
                    (Some(mine), Some(theirs)) => mine.join(theirs, type_bytes),
                    (mine @ None, theirs) => mine.clone_from(theirs),
                    (Some(_), None) => {}
                }
                match (&mut self.status, &other.status) {
                    (Some(mine), Some(theirs)) => mine.join(theirs, status_bytes),
                    (mine @ None, theirs) => mine.clone_from(theirs),
                    (Some(_), None) => {}
                }
                match (&mut self.claim, &other.claim) {
                    (Some(mine), Some(theirs)) => mine.join(theirs, claim_bytes),
                    (mine @ None, theirs) => mine.clone_from(theirs),
                    (Some(_), None) => {}
                }
                let new = other.notes.iter().filter(|note| !self.notes.contains(note)).cloned();
                let new: Vec<_> = new.collect();
                self.notes.extend(new);
                if other.deletion > self.deletion {
                    self.deletion.clone_from(&other.deletion);
                }
                if other.created_on_branch > self.created_on_branch {
                    self.created_on_branch = other.created_on_branch.clone();
                }
            }

            /// Removes the registers that `old` has, too.
            pub(crate) fn drop_unchanged(&mut self, old: &Bead) {
                $(if self.$field.as_ref() == Some(&old.$field) {
                    self.$field = None;
                })*
                if self.kind.as_ref() == Some(&old.kind) {
                    self.kind = None;
                }
                if self.status.as_ref() == Some(&old.status) {
                    self.status = None;
                }
                if self.claim.as_ref() == Some(&old.claim) {
                    self.claim = None;
                }
            }

            /// Replaces registers by those of `other`, regardless of their marks.
            pub(crate) fn overlay(&mut self, other: Self) {
                $(if other.$field.is_some() {
                    self.$field = other.$field;
                })*
                if other.kind.is_some() {
                    self.kind = other.kind;
                }
                if other.status.is_some() {
                    self.status = other.status;
                }
            }

            /// Returns the lowest format version that can hold this patch.
            pub(crate) fn format_version(&self) -> u64 {
                let words = self.kind.as_ref().is_some_and(|kind| kind.value.word.is_some())
                    || self.status.as_ref().is_some_and(|status| status.value.word.is_some());
                if self.deletion.as_ref().is_some_and(|deletion| deletion.archived) {
                    return ARCHIVE_FORMAT_VERSION;
                }
                if words || self.notes.iter().any(|note| note.is_structured()) { 2 } else { 1 }
            }

            /// Returns whether the patch only says that the bead was archived.
            pub(crate) fn is_marker(&self) -> bool {
                let archived = self.deletion.as_ref().is_some_and(|deletion| deletion.archived);
                archived && Self { deletion: None, ..self.clone() } == Self::default()
            }

            /// Returns every stamp in the patch.
            pub fn stamps(&self) -> impl Iterator<Item = crate::Stamp> + '_ {
                let registers = self.marks().map(|(_, mark)| mark.at());
                let notes = self.notes.iter().map(|note| note.at);
                let deletion = self.deletion.iter().map(|deletion| deletion.mark.at());
                registers.chain(notes).chain(deletion)
            }

            /// Returns the registers that the patch writes, with their marks.
            pub fn marks(&self) -> impl Iterator<Item = (Field, &Mark)> {
                let singles = [$((Field::$name, self.$field.as_ref().map(|register| &register.mark)),)*];
                let groups = [
                    (Field::Type, self.kind.as_ref().map(|register| &register.mark)),
                    (Field::Status, self.status.as_ref().map(|register| &register.mark)),
                    (Field::Assignee, self.claim.as_ref().map(|claim| &claim.mark)),
                    (Field::AssigneeExpires, self.claim.as_ref().map(|claim| &claim.expires_mark)),
                ];
                singles.into_iter().chain(groups).filter_map(|(field, mark)| Some((field, mark?)))
            }

            /// Returns a patch that sets one register to a plain JSON value, as returned by
            /// [`Bead::value_json`].
            pub fn from_json(field: Field, value: &serde_json::Value, mark: &Mark) -> Result<Self, String> {
                let mut body = match (field, value) {
                    (Field::Status | Field::Type, serde_json::Value::Object(map)) => map.clone(),
                    _ => [(field.name().to_owned(), value.clone())].into_iter().collect(),
                };
                let mut versions = vec![(field.name(), mark)];
                if field == Field::Assignee {
                    versions.push((Field::AssigneeExpires.name(), mark));
                }
                body.insert("_v".into(), json(&versions.into_iter().collect::<BTreeMap<_, _>>()));
                let body: Body = serde_json::from_value(body.into()).map_err(|error| error.to_string())?;
                body.into_patch()
            }

            pub(crate) fn write_singles(&self, body: &mut Body) {
                $(body.$field = self.$field.as_ref().and_then(|register| register.value.stored());)*
            }

            /// Moves the single registers out of a line. `mark` returns the mark of each register that is
            /// present. Fails with the name of a register that must not be empty but is.
            pub(crate) fn read_singles(
                &mut self,
                body: &mut Body,
                mark: impl Fn(Field) -> Option<Mark>,
            ) -> Result<(), Field> {
                $(
                    let stored = body.$field.take();
                    if let Some(mark) = mark(Field::$name) {
                        let value = Value::restored(stored).ok_or(Field::$name)?;
                        self.$field = Some(Register::new(mark, value));
                    } else if stored.is_some() {
                        return Err(Field::$name);
                    }
                )*
                Ok(())
            }
        }

        impl From<Bead> for Patch {
            fn from(bead: Bead) -> Self {
                if bead.is_hollow() {
                    return Self { deletion: bead.deletion, ..Self::default() };
                }
                Self {
                    $($field: Some(bead.$field),)*
                    kind: Some(bead.kind),
                    status: Some(bead.status),
                    claim: Some(bead.claim),
                    notes: bead.notes.into_values().collect(),
                    deletion: bead.deletion,
                    created_on_branch: bead.created_on_branch,
                }
            }
        }

        impl From<&Bead> for Patch {
            fn from(bead: &Bead) -> Self {
                Self::from(bead.clone())
            }
        }
    };
}

for_each_single_register!(define_patch);
