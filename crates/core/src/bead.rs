//! Beads: registers, notes, and possibly a deletion.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::body::Body;
use crate::canonical::to_canonical;
use crate::field::{
    Estimate, Labels, Line, Metadata, Priority, Status, StatusGroup, Text, Title, TypeGroup, Value,
};
use crate::planted::{Bug, is_planted};
use crate::{ANSWER, Claim, Deletion, Mark, Note, NoteId, Register, Timestamp};

/// Lists the registers that hold a single field. `type`, `status` and the claim hold groups of fields and are
/// declared separately.
macro_rules! for_each_single_register {
    ($callback:ident) => {
        $callback! {
            title: Title = Title,
            description: Text = Description,
            priority: Priority = Priority,
            labels: Labels = Labels,
            design: Text = Design,
            acceptance_criteria: Text = AcceptanceCriteria,
            external_ref: Line = ExternalRef,
            source_repo: Line = SourceRepo,
            estimated_minutes: Option<Estimate> = EstimatedMinutes,
            due_at: Option<Timestamp> = DueAt,
            defer_until: Option<Timestamp> = DeferUntil,
            metadata: Metadata = Metadata,
        }
    };
}

mod patch;
mod values;

pub use patch::Patch;
use values::{claim_bytes, json, status_bytes, status_json, type_bytes, type_json};

macro_rules! define_bead {
    ($($field:ident: $ty:ty = $name:ident,)*) => {
        /// The name of a register, as used in `_v`, in conflicts and in `bd blame`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = "snake_case")]
        #[cfg_attr(feature = "schema", schemars(transform = crate::schema::plain_enum))]
        pub enum Field {
            $(
                #[doc = concat!("`", stringify!($field), "`.")]
                $name,
            )*
            /// The type, with its custom word.
            Type,
            /// The status, with its custom word and the close.
            Status,
            /// The holder of the claim.
            Assignee,
            /// The end of the lease.
            AssigneeExpires,
        }

        impl Field {
            /// All fields, in the order of their declaration.
            pub const ALL: &'static [Self] =
                &[$(Self::$name,)* Self::Type, Self::Status, Self::Assignee, Self::AssigneeExpires];
        }

        /// A complete bead. Everything that can change is a register. What is fixed at creation is in the
        /// [`Lineage`](crate::Lineage).
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct Bead {
            $(
                #[doc = concat!("The register `", stringify!($field), "`.")]
                pub $field: Register<$ty>,
            )*
            /// The type, with its custom word if it has one.
            pub kind: Register<TypeGroup>,
            /// The status, with its custom word and the details of a close. See also [`Bead::status`].
            pub status: Register<StatusGroup>,
            /// The assignee and the end of the lease.
            pub claim: Claim,
            /// The log.
            pub notes: BTreeMap<NoteId, Arc<Note>>,
            /// The deletion, if the bead is deleted.
            pub deletion: Option<Deletion>,
            /// The git branch that was checked out when the bead was created; may be empty.
            pub created_on_branch: Line,
        }

        impl Bead {
            /// Returns the mark of the last write to a register.
            pub fn mark(&self, field: Field) -> &Mark {
                match field {
                    $(Field::$name => &self.$field.mark,)*
                    Field::Type => &self.kind.mark,
                    Field::Status => &self.status.mark,
                    Field::Assignee => &self.claim.mark,
                    Field::AssigneeExpires => &self.claim.expires_mark,
                }
            }

            /// Returns the value of a register as plain JSON, or null if it is empty.
            pub fn value_json(&self, field: Field) -> serde_json::Value {
                match field {
                    $(Field::$name => json(&self.$field.value.stored()),)*
                    Field::Type => type_json(&self.kind.value),
                    Field::Status => status_json(&self.status.value),
                    Field::Assignee => json(&self.claim.assignee),
                    Field::AssigneeExpires => json(&self.claim.expires),
                }
            }

            /// Merges `patch` into the bead. A superseded deletion is dropped, because it can never win
            /// again.
            pub(crate) fn join(&mut self, patch: &Patch) {
                $(if let Some(register) = &patch.$field {
                    self.$field.join(register, |value| {
                        let body = Body { $field: value.stored(), ..Body::default() };
                        to_canonical(&body)
                    });
                })*
                if let Some(register) = &patch.kind {
                    self.kind.join(register, type_bytes);
                }
                if let Some(register) = &patch.status {
                    self.status.join(register, status_bytes);
                }
                if let Some(claim) = &patch.claim {
                    self.claim.join(claim, claim_bytes);
                }
                for note in &patch.notes {
                    if !self.notes.is_empty() && is_planted(Bug::NotesLostInJoin) {
                        continue;
                    }
                    insert_note(&mut self.notes, note);
                }
                if patch.deletion > self.deletion {
                    self.deletion.clone_from(&patch.deletion);
                }
                if patch.created_on_branch > self.created_on_branch {
                    self.created_on_branch = patch.created_on_branch.clone();
                }
                if self.is_live() {
                    self.deletion = None;
                }
            }
        }

    };
}

for_each_single_register!(define_bead);

/// The title of a bead whose content is in the archive. It is never stored.
const HOLLOW_TITLE: &str = "(archived)";

impl Bead {
    /// Returns an archived bead without content. Its registers are older than every write, so joining it with
    /// the content gives the content.
    pub(crate) fn hollow(deletion: Deletion) -> Self {
        let mark = Mark::new(crate::Stamp::ZERO, crate::Actor::least());
        fn empty<T: Clone + Default + PartialEq>(mark: &Mark) -> Register<T> {
            Register::new(mark.clone(), T::default())
        }
        Self {
            title: Register::new(mark.clone(), HOLLOW_TITLE.parse().expect("a valid title")),
            description: empty(&mark),
            priority: empty(&mark),
            labels: empty(&mark),
            design: empty(&mark),
            acceptance_criteria: empty(&mark),
            external_ref: empty(&mark),
            source_repo: empty(&mark),
            estimated_minutes: empty(&mark),
            due_at: empty(&mark),
            defer_until: empty(&mark),
            metadata: empty(&mark),
            kind: empty(&mark),
            status: Register::new(
                mark.clone(),
                StatusGroup { status: Status::Closed, ..StatusGroup::default() },
            ),
            claim: Claim { mark: mark.clone(), assignee: None, expires_mark: mark, expires: None },
            notes: BTreeMap::new(),
            deletion: Some(deletion),
            created_on_branch: Line::default(),
        }
    }

    /// Returns whether the bead is archived and its content is only in the archive.
    pub fn is_hollow(&self) -> bool {
        self.title.mark.by().as_str().is_empty()
    }

    /// Returns whether the bead is archived, with or without its content.
    pub fn is_archived(&self) -> bool {
        self.deletion.as_ref().is_some_and(|deletion| deletion.archived)
    }

    /// Returns the marker that archives the bead as it is now. A write that this replica has not seen and
    /// that is later than the last one seen keeps the bead live.
    pub fn marker(&self) -> Deletion {
        let (at, by) = self.last_sign_of_life();
        Deletion::archived(Mark::new(at, by.clone()))
    }

    /// Returns the latest write that keeps a bead alive. Lease renewals do not count: a renewal belongs to
    /// its claim and disappears when a later claim wins, so whether the bead is deleted would depend on the
    /// order of merges.
    fn last_sign_of_life(&self) -> (crate::Stamp, &crate::Actor) {
        let registers = Field::ALL
            .iter()
            .filter(|field| **field != Field::AssigneeExpires)
            .map(|field| self.mark(*field))
            .map(|mark| (mark.at(), mark.by()));
        let notes = self.notes.values().map(|note| (note.at, &note.author));
        registers.chain(notes).max().expect("a bead has registers")
    }

    /// Returns the effective status: an open bead with a claim is in progress. Claims never write the status
    /// register, so that a stale claim cannot undo a close.
    pub fn status(&self) -> Status {
        match self.status.value.status {
            Status::Open if self.claim.is_taken() => Status::InProgress,
            stored => stored,
        }
    }

    /// Returns whether the bead was closed as cancelled.
    pub fn is_cancelled(&self) -> bool {
        let group = &self.status.value;
        let word = group.word.as_ref().is_some_and(|word| word.as_str() == crate::op::CANCELLED);
        group.status == Status::Closed && word
    }

    /// Returns whether the claim is an offer: made for its holder by a handover or by the answer to its
    /// question, and not yet accepted.
    pub fn is_offer(&self) -> bool {
        self.is_handover() || self.is_offered_by(ANSWER)
    }

    /// Returns whether the claim is an offer that a handover made.
    pub fn is_handover(&self) -> bool {
        self.is_offered_by(crate::op::HANDOVER)
    }

    /// Returns whether the claim was made together with a note of a kind.
    fn is_offered_by(&self, kind: &str) -> bool {
        let is_its_note = |note: &Arc<Note>| {
            note.at == self.claim.mark.at() && note.kind.as_ref().is_some_and(|its| its.as_str() == kind)
        };
        self.claim.is_taken() && self.notes.values().any(is_its_note)
    }

    /// Returns the displayed status: the custom word if there is one.
    pub fn shown_status(&self) -> &str {
        match &self.status.value.word {
            Some(word) => word.as_str(),
            None => self.status().as_str(),
        }
    }

    /// Returns whether the bead is a memory rather than work.
    pub fn is_memory(&self) -> bool {
        self.kind.value.word.as_ref().is_some_and(|word| word.as_str() == crate::words::MEMORY)
    }

    /// Returns whether the bead is not deleted, or was written to after its deletion.
    pub fn is_live(&self) -> bool {
        match &self.deletion {
            None => true,
            Some(deletion) => self.last_sign_of_life() > (deletion.mark.at(), deletion.mark.by()),
        }
    }

    /// Returns the greatest register mark, which is `_at` and `_by` in the bead's line.
    pub fn top_mark(&self) -> &Mark {
        Field::ALL.iter().map(|field| self.mark(*field)).max().expect("a bead has registers")
    }

    /// Returns the mark of the newest register or note, which is shown as `updated_at` and `updated_by`.
    pub fn updated(&self) -> Mark {
        let newest_note = self.notes.values().map(|note| note.mark()).max();
        newest_note.into_iter().chain([self.top_mark().clone()]).max().expect("there is at least one")
    }

    /// Returns every stamp in the bead. A deletion has to be later than all of them.
    pub fn stamps(&self) -> impl Iterator<Item = crate::Stamp> + '_ {
        let registers = Field::ALL.iter().map(|field| self.mark(*field).at());
        let deletion = self.deletion.iter().map(|deletion| deletion.mark.at());
        registers.chain(self.notes.values().map(|note| note.at)).chain(deletion)
    }

    /// Returns the notes in reading order.
    pub fn notes_in_order(&self) -> Vec<&Arc<Note>> {
        let mut notes: Vec<_> = self.notes.values().collect();
        notes.sort_by(|a, b| a.order().cmp(&b.order()));
        notes
    }
}

/// Adds a note. Two different notes share an id only if one of them was forged. Then the later one wins, and
/// on a tie the one with the greater bytes. A note keeps its bead alive, so its stamp must only grow;
/// otherwise the order of merges would decide whether the bead is deleted.
fn insert_note(notes: &mut BTreeMap<NoteId, Arc<Note>>, note: &Arc<Note>) {
    let rank = |note: &Arc<Note>| (note.mark(), to_canonical(note));
    match notes.get_mut(&note.id) {
        None => {
            notes.insert(note.id.clone(), note.clone());
        }
        Some(present) if present != note && rank(note) > rank(present) => *present = note.clone(),
        Some(_) => {}
    }
}
