use beads_core::Op;
use beads_core::op::{NoteAdd, Update};

use super::Service;
use crate::dialect::Dialect;
use crate::failure::Failure;
use crate::render::Answer;
use crate::request::{Format, Mutate, Output, Request};

impl Service {
    /// Adds a note. In the Go `bd`, `bd note` appends to the one `notes` text of a bead, and compat clients
    /// expect that, in text and in JSON. For all others, a note is an entry in the log.
    pub(super) fn note(
        &mut self,
        request: &Request,
        note: &NoteAdd,
        output: &Output,
    ) -> Result<Answer, Failure> {
        // An empty note goes to the log, which rejects it.
        let to_log = note.content.as_str().trim().is_empty() || !self.has_running_notes(&request.output);
        let op = if to_log { Op::NoteAdd(note.clone()) } else { append_op(note) };
        let mutate = Mutate { ops: vec![op], many: false, dry_run: false };
        self.mutate(request, &mutate, output.dialect)
    }

    fn has_running_notes(&self, asked: &Output) -> bool {
        let set = || self.configured_dialect().filter(|_| asked.format != Format::Value);
        let dialect = asked.dialect.or_else(set).unwrap_or_else(|| asked.default_dialect());
        dialect == Dialect::Compat
    }
}

fn append_op(note: &NoteAdd) -> Op {
    let append_notes = Some(note.content.clone());
    Op::Update(Box::new(Update { guard: note.guard.clone(), append_notes, ..Update::of(&note.id) }))
}
