//! Beads that states share, and that are decoded when they are first read.
//!
//! A store that is opened from its [cache](crate::StateCache) has the lines of its beads in memory, and what
//! the indexes need to know about each. Most commands read a few beads; only those are decoded.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde::Deserialize;

use crate::decode::decode_stored;
use crate::{Bead, BeadId, BeadType, Lineage, Priority, Stamp, Status, Timestamp};

/// A bead that several states may share. Clones are cheap.
#[derive(Clone)]
pub struct SharedBead(Form);

#[derive(Clone)]
enum Form {
    Decoded(Arc<Bead>),
    /// A line of a cached state that was not changed since, by its number.
    Stored(Arc<StoredBeads>, u32),
}

/// What the indexes need to know about a bead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Facts {
    pub deleted: bool,
    /// Whether the bead is archived rather than deleted.
    pub archived: bool,
    /// Whether its content is only in the archive.
    pub hollow: bool,
    pub priority: Priority,
    pub is_epic: bool,
    pub status: Status,
    pub has_open_question: bool,
    /// Whether the status or the type has a custom word.
    pub has_words: bool,
    /// The end of the lease of a bead in progress, or of the deferral of an open one.
    pub until_ms: Option<u64>,
}

impl Facts {
    fn of(bead: &Bead) -> Self {
        let status = bead.status();
        Self {
            deleted: bead.deletion.is_some(),
            archived: bead.is_archived(),
            hollow: bead.is_hollow(),
            priority: bead.priority.value,
            is_epic: bead.kind.value.kind == BeadType::Epic,
            status,
            has_open_question: bead.has_open_question(),
            has_words: bead.status.value.word.is_some() || bead.kind.value.word.is_some(),
            until_ms: match status {
                Status::Open => bead.defer_until.value.map(Timestamp::ms),
                Status::InProgress => bead.claim.expires.map(Timestamp::ms),
                Status::Closed => None,
            },
        }
    }
}

/// The lines of a cached state.
pub(crate) struct StoredBeads {
    pub bytes: Vec<u8>,
    /// Whether every bead has its birth id.
    pub is_plain: bool,
    pub beads: Vec<StoredBead>,
}

/// A bead of a cached state.
pub(crate) struct StoredBead {
    /// Where its line is in the bytes, with the newline.
    pub start: usize,
    pub length: usize,
    pub facts: Facts,
    pub newest: Stamp,
    pub decoded: OnceLock<Box<Bead>>,
}

impl StoredBeads {
    fn line(&self, index: u32) -> &[u8] {
        let bead = &self.beads[index as usize];
        &self.bytes[bead.start..bead.start + bead.length]
    }

    fn bead(&self, index: u32) -> &Bead {
        let stored = &self.beads[index as usize];
        stored.decoded.get_or_init(|| {
            let decoded = decode_stored(self.line(index), stored.facts.deleted);
            // The caller checked that the same release wrote the bytes and that their checksums are right.
            Box::new(decoded.expect("a line of an intact cache can be decoded"))
        })
    }
}

impl SharedBead {
    /// Returns a bead of a cached state. `index` is one of its beads.
    pub(crate) fn stored(beads: &Arc<StoredBeads>, index: u32) -> Self {
        Self(Form::Stored(beads.clone(), index))
    }

    /// Returns whether one is an unmodified clone of the other.
    pub fn is_same_copy(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Form::Decoded(one), Form::Decoded(other)) => Arc::ptr_eq(one, other),
            (Form::Stored(one, index), Form::Stored(other, at)) => index == at && Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    /// Returns the bead for writing. Copies it if it is shared.
    pub(crate) fn make_mut(&mut self) -> &mut Bead {
        if let Form::Stored(beads, index) = &self.0 {
            self.0 = Form::Decoded(Arc::new(beads.bead(*index).clone()));
        }
        match &mut self.0 {
            Form::Decoded(bead) => Arc::make_mut(bead),
            Form::Stored(..) => unreachable!("it was decoded above"),
        }
    }

    /// Returns what the indexes need to know, without decoding the bead.
    pub(crate) fn facts(&self) -> Facts {
        match &self.0 {
            Form::Decoded(bead) => Facts::of(bead),
            Form::Stored(beads, index) => beads.beads[*index as usize].facts,
        }
    }

    /// Returns whether the bead is deleted, without decoding it.
    pub fn is_deleted(&self) -> bool {
        match &self.0 {
            Form::Decoded(bead) => bead.deletion.is_some(),
            Form::Stored(beads, index) => beads.beads[*index as usize].facts.deleted,
        }
    }

    /// Returns whether the bead is archived, without decoding it.
    pub fn is_archived(&self) -> bool {
        match &self.0 {
            Form::Decoded(bead) => bead.is_archived(),
            Form::Stored(beads, index) => beads.beads[*index as usize].facts.archived,
        }
    }

    /// Returns whether the content of the bead is only in the archive, without decoding it.
    pub fn is_hollow(&self) -> bool {
        match &self.0 {
            Form::Decoded(bead) => bead.is_hollow(),
            Form::Stored(beads, index) => beads.beads[*index as usize].facts.hollow,
        }
    }

    /// Returns the effective status as [`Bead::status`] does, without decoding the bead.
    pub fn status(&self) -> Status {
        match &self.0 {
            Form::Decoded(bead) => bead.status(),
            Form::Stored(beads, index) => beads.beads[*index as usize].facts.status,
        }
    }

    /// Returns whether the bead is a memory as [`Bead::is_memory`] does, without decoding most beads.
    pub fn is_memory(&self) -> bool {
        match &self.0 {
            Form::Decoded(bead) => bead.is_memory(),
            Form::Stored(beads, index) => {
                beads.beads[*index as usize].facts.has_words && beads.bead(*index).is_memory()
            }
        }
    }

    /// Returns the title of a live bead, without decoding the bead.
    pub(crate) fn title(&self) -> Cow<'_, str> {
        if let Form::Stored(beads, index) = &self.0
            && self.is_undecoded()
            && !self.is_deleted()
            && let Some(title) = title_in(beads.line(*index))
        {
            return title;
        }
        Cow::Borrowed(self.title.value.as_str())
    }

    /// Decodes the bead, if that was not done yet.
    pub(crate) fn decode(&self) {
        let _: &Bead = self;
    }

    /// Returns whether reading the bead would decode it.
    pub(crate) fn is_undecoded(&self) -> bool {
        match &self.0 {
            Form::Decoded(_) => false,
            Form::Stored(beads, index) => beads.beads[*index as usize].decoded.get().is_none(),
        }
    }

    /// Returns the greatest stamp, without decoding the bead.
    pub(crate) fn newest_stamp(&self) -> Stamp {
        match &self.0 {
            Form::Decoded(bead) => bead.stamps().max().unwrap_or(Stamp::ZERO),
            Form::Stored(beads, index) => beads.beads[*index as usize].newest,
        }
    }

    /// Returns the line of a live bead in `state.jsonl`, if it is known and neither the bead nor its id was
    /// changed since.
    pub(crate) fn stored_line(&self, id: &BeadId, lineage: &Lineage) -> Option<&[u8]> {
        match &self.0 {
            Form::Stored(beads, index)
                if beads.is_plain && id == lineage.birth_id() && !self.is_deleted() =>
            {
                Some(beads.line(*index))
            }
            _ => None,
        }
    }
}

/// Returns the title in a line of `state.jsonl`. The line is canonical: after the title there are only the type and its
/// word, which are strings, and no string contains a quotation mark that is not escaped. So the last place that looks
/// like the title is the title.
fn title_in(line: &[u8]) -> Option<Cow<'_, str>> {
    const NAME: &[u8] = b",\"title\":";
    /// Borrows the text, unless a character is escaped.
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    let start = line.windows(NAME.len()).rposition(|bytes| bytes == NAME)? + NAME.len();
    let mut values = serde_json::Deserializer::from_slice(&line[start..]).into_iter::<Text<'_>>();
    values.next()?.ok().map(|Text(title)| title)
}

impl Deref for SharedBead {
    type Target = Bead;

    fn deref(&self) -> &Bead {
        match &self.0 {
            Form::Decoded(bead) => bead,
            Form::Stored(beads, index) => beads.bead(*index),
        }
    }
}

impl AsRef<Bead> for SharedBead {
    fn as_ref(&self) -> &Bead {
        self
    }
}

impl From<Bead> for SharedBead {
    fn from(bead: Bead) -> Self {
        Self(Form::Decoded(Arc::new(bead)))
    }
}

impl PartialEq for SharedBead {
    fn eq(&self, other: &Self) -> bool {
        self.is_same_copy(other) || **self == **other
    }
}

impl Eq for SharedBead {}

impl std::fmt::Debug for SharedBead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Bead::fmt(self, f)
    }
}

impl std::fmt::Debug for StoredBeads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoredBeads").field("beads", &self.beads.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_of_a_line_is_found_behind_everything_that_looks_like_it() {
        let line = |title: &str| {
            let before =
                r#"{"description":",\"title\":\"no\"","metadata":{"id":1,"title":"no"},"priority":2"#;
            format!(r#"{before},"title":{title},"type":"task","type_word":",\"title\":\"no"}}"#)
        };
        for (title, is_borrowed) in [("plain, é", true), (r#"with "title": and \"#, false)] {
            let line = line(&serde_json::to_string(title).unwrap());
            let found = title_in(line.as_bytes()).unwrap();
            assert_eq!((found.as_ref(), matches!(found, Cow::Borrowed(_))), (title, is_borrowed));
        }
        assert_eq!(title_in(br#"{"_at":[1,1],"title":7}"#), None);
    }
}
