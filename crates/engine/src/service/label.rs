use beads_core::op::Update;
use beads_core::{Catalog, Label, Op};

use super::Service;
use crate::dialect::Dialect;
use crate::failure::Failure;
use crate::render::Answer;
use crate::request::{LabelWords, Mutate, Request};

impl Service {
    /// Adds labels to beads, or removes them.
    pub(super) fn label(
        &mut self,
        request: &Request,
        asked: &LabelWords,
        dialect: Option<Dialect>,
    ) -> Result<Answer, Failure> {
        let (ids, labels) = split(self.replica.catalog(), &asked.words)?;
        let labels = labels.iter().map(|label| label.parse()).collect::<Result<Vec<Label>, _>>()?;
        let update = |id: &String| {
            let mut update = Update { guard: asked.guard.clone(), ..Update::of(id) };
            let change = if asked.remove { &mut update.remove_labels } else { &mut update.add_labels };
            change.clone_from(&labels);
            Op::Update(Box::new(update))
        };
        let mutate = Mutate { ops: ids.iter().map(update).collect(), many: true, dry_run: false };
        self.mutate_partly(request, &mutate, dialect)
    }
}

/// Splits words into ids and labels.
fn split<'a>(catalog: &Catalog, words: &'a [String]) -> Result<(&'a [String], &'a [String]), Failure> {
    let [_, between @ .., _] = words else {
        return Err(Failure::usage("an id and a label are required"));
    };
    let more = between.iter().take_while(|word| is_id(catalog, word)).count();
    Ok(words.split_at(1 + more))
}

/// Returns whether a word means a bead. An abbreviation does not count unless it begins with the prefix of
/// ids, because a short label may be the beginning of an id. An unknown id with the prefix counts, so that a
/// typo is an error and no label.
fn is_id(catalog: &Catalog, word: &str) -> bool {
    let prefix = format!("{}-", catalog.state().prefix().prefix);
    let is_whole = |id: &str| id == word || id.strip_prefix(&prefix) == Some(word);
    word.starts_with(&prefix)
        || catalog.resolve_to_change(word).is_ok_and(|lineage| is_whole(catalog.id_of(lineage).as_str()))
}
