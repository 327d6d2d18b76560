//! Checks the limit on the length of a bead's line before a write.

use crate::canonical::to_canonical;
use crate::limits::{MAX_LINE_BYTES, MAX_NOTES_BYTES};
use crate::line::bead_line;
use crate::{Bead, BeadId, Catalog, Delta, Error, Lineage, Note, Patch, Result, SharedBead, State};

/// One byte of text takes at most this many bytes in JSON (`\u00xx`).
const WORST_ESCAPE: usize = 6;
/// A generous estimate for the stamps, names and punctuation of a line.
const OVERHEAD: usize = 8 * 1024;
/// About the size of the stamps, names and punctuation of a new bead in the journal.
const PATCH_OVERHEAD: usize = 512;

/// Rejects a delta that would make a bead's line too long.
pub(crate) fn check(catalog: &Catalog, delta: &Delta) -> Result<()> {
    for (lineage, patch) in &delta.beads {
        let known = catalog.bead(lineage);
        // The texts of the changed bead are some of those before and some of the patch.
        let most = known.map_or(0, |bead| text_bytes(bead)) + patch_bytes(patch);
        if most * WORST_ESCAPE + OVERHEAD <= MAX_LINE_BYTES.min(MAX_NOTES_BYTES) {
            continue;
        }
        let Some(bead) = patched(known, patch) else { continue };
        check_bead(catalog.id_of(lineage), lineage, &bead)?;
        if !patch.notes.is_empty() {
            check_notes(catalog.id_of(lineage), lineage, &bead)?;
        }
    }
    Ok(())
}

/// Rejects a bead whose line would be too long. Nearly all beads are far below the limit, so a cheap estimate
/// comes first.
pub(crate) fn check_bead(id: &BeadId, lineage: &Lineage, bead: &Bead) -> Result<()> {
    if text_bytes(bead) * WORST_ESCAPE + OVERHEAD <= MAX_LINE_BYTES {
        return Ok(());
    }
    let bytes = to_canonical(&bead_line(id, lineage, bead)).len();
    if bytes > MAX_LINE_BYTES {
        return Err(Error::TooLarge { id: id.clone(), bytes, limit: MAX_LINE_BYTES });
    }
    Ok(())
}

/// Returns a bead after a change; `None` if there still is no bead.
fn patched(known: Option<&SharedBead>, patch: &Patch) -> Option<Bead> {
    let Some(bead) = known else { return patch.clone().into_bead() };
    let mut bead = bead.as_ref().clone();
    bead.join(patch);
    Some(bead)
}

impl State {
    /// Fails if a delta of another machine would make the line of a bead longer than `limit`. As after a merge of
    /// commits, it could not be saved, and so nothing could.
    pub fn check_lines(&self, delta: &Delta, limit: usize) -> Result<()> {
        for (lineage, patch) in &delta.beads {
            let known = self.bead(lineage);
            let most = known.map_or(0, |bead| text_bytes(bead)) + patch_bytes(patch);
            if most * WORST_ESCAPE + OVERHEAD <= limit {
                continue;
            }
            let Some(bead) = patched(known, patch) else { continue };
            let id = lineage.birth_id();
            let bytes = to_canonical(&bead_line(id, lineage, &bead)).len();
            if bytes > limit {
                return Err(Error::TooLarge { id: id.clone(), bytes, limit });
            }
        }
        Ok(())
    }
}

/// Rejects notes that take more than their share of the line.
fn check_notes(id: &BeadId, lineage: &Lineage, bead: &Bead) -> Result<()> {
    if bead.notes.values().map(|note| note_bytes(note)).sum::<usize>() * WORST_ESCAPE <= MAX_NOTES_BYTES {
        return Ok(());
    }
    let line = |bead: &Bead| to_canonical(&bead_line(id, lineage, bead)).len();
    let without = Bead { notes: Default::default(), ..bead.clone() };
    let bytes = line(bead).saturating_sub(line(&without));
    if bytes > MAX_NOTES_BYTES {
        return Err(Error::NotesTooLarge { id: id.clone(), bytes, limit: MAX_NOTES_BYTES });
    }
    Ok(())
}

fn text_bytes(bead: &Bead) -> usize {
    let texts = [&bead.description, &bead.design, &bead.acceptance_criteria];
    let metadata = bead.metadata.value.as_map();
    texts.iter().map(|register| register.value.as_str().len()).sum::<usize>()
        + bead.status.value.closed_reason.as_str().len()
        + bead.labels.value.iter().map(|label| label.as_str().len()).sum::<usize>()
        + bead.notes.values().map(|note| note_bytes(note)).sum::<usize>()
        + if metadata.is_empty() { 0 } else { to_canonical(metadata).len() }
}

/// Estimates the size of a patch in the journal. It counts no escapes, so the patch may take up to
/// [`WORST_ESCAPE`] times as much.
pub(crate) fn patch_bytes(patch: &Patch) -> usize {
    let texts = [&patch.description, &patch.design, &patch.acceptance_criteria];
    let metadata = patch.metadata.as_ref().map(|register| register.value.as_map());
    PATCH_OVERHEAD
        + texts.into_iter().flatten().map(|register| register.value.as_str().len()).sum::<usize>()
        + patch.title.as_ref().map_or(0, |register| register.value.as_str().len())
        + patch.status.as_ref().map_or(0, |register| register.value.closed_reason.as_str().len())
        + patch
            .labels
            .iter()
            .flat_map(|register| register.value.iter())
            .map(|one| one.as_str().len())
            .sum::<usize>()
        + patch.notes.iter().map(|note| note_bytes(note)).sum::<usize>()
        + metadata.filter(|map| !map.is_empty()).map_or(0, |map| to_canonical(map).len())
}

fn note_bytes(note: &Note) -> usize {
    let data = if note.data.is_empty() { 0 } else { to_canonical(&note.data).len() };
    note.content.as_str().len() + data + 300
}
