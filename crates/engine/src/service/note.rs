use beads_core::Op;
use beads_core::op::{NoteAdd, Update};

use super::Service;
use crate::dialect::Dialect;
use crate::failure::Failure;
use crate::render::Answer;
use crate::request::{Format, Mutate, Output, Request};

impl Service {
    /// `bd note`. In the Go `bd` a bead has one running text of notes, and `bd note` appends to it. Clients in that dialect look
    /// for the text there, whether they asked for JSON or not. All others get an entry of the log.
    pub(super) fn note(
        &mut self,
        request: &Request,
        note: &NoteAdd,
        output: &Output,
    ) -> Result<Answer, Failure> {
        // An empty note is refused as one.
        let to_log = note.content.as_str().trim().is_empty() || !self.has_running_notes(&request.output);
        let op = if to_log { Op::NoteAdd(note.clone()) } else { appended(note) };
        let mutate = Mutate { ops: vec![op], many: false, dry_run: false };
        self.mutate(request, &mutate, output.dialect)
    }

    fn has_running_notes(&self, asked: &Output) -> bool {
        let set = || self.dialect_set().filter(|_| asked.format != Format::Value);
        let dialect = asked.dialect.or_else(set).unwrap_or_else(|| asked.dialect_of_caller());
        dialect == Dialect::Compat
    }
}

fn appended(note: &NoteAdd) -> Op {
    let append_notes = Some(note.content.clone());
    Op::Update(Box::new(Update { guard: note.guard.clone(), append_notes, ..Update::of(&note.id) }))
}
