//! The tags that this store directory drew, recorded from its first write on. The floor of garbage collection
//! must stay below recent births of other replicas, and only the tag in a birth's stamp shows which replica
//! made it.
//!
//! The file `tags` consists of frames. Each adds an [`Entry`] to those before it. A torn frame at the end
//! belongs to a write that was never acknowledged.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use beads_core::limits::COUNTER_STEP;
use beads_core::{Lineage, Stamp, State};
use serde::{Deserialize, Serialize};

use crate::disk::{Disk, DiskFile};
use crate::frame::{self, Found};
use crate::{Error, Result};

const NAME: &str = "tags";

/// The tag of imported stamps.
const IMPORTED: u16 = 0;

/// With more tags, those with the oldest births are dropped, so that own tags stay a small part of all tags.
const MAX_TAGS: usize = 4_096;

/// Our own tags. Each opening draws one, so the list grows with the openings that created beads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tags {
    known: Entry,
    /// Where the next frame goes, and its number. Frame 0 is not written yet if the number is 0.
    next: (u64, u64),
}

/// What one frame adds to the list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    own: BTreeSet<u16>,
    /// Tags of births that existed when the list was started in a directory that had been written to before,
    /// each with its last birth. They may be our own. A later birth with such a tag is not, because no opening
    /// draws a tag twice on purpose.
    #[serde(default)]
    before: BTreeMap<u16, Stamp>,
    /// Whether beads were imported here. Imported births have no tag that shows who imported them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    imported: bool,
}

/// A store that was just opened, as the list needs to know it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Opening<'a> {
    /// The tag drawn by this opening.
    pub tag: u16,
    /// Whether the store directory had been written to before this opening.
    pub was_used: bool,
    /// The current state.
    pub state: &'a State,
}

impl Tags {
    /// Reads the list. Starts one if there is none, or if its start is damaged.
    pub(crate) fn load(disk: &impl Disk, opening: Opening<'_>) -> Result<Self> {
        let bytes = match disk.read(NAME) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::start(opening)),
            Err(error) => return Err(failed("read", disk, error)),
        };
        let mut tags = Self::default();
        while let Found::Frame { number, payload, end } = frame::find(&bytes, tags.next.0 as usize) {
            let Some(entry) = serde_json::from_slice(payload).ok().filter(|_| number == tags.next.1) else {
                break;
            };
            tags.known.add(entry);
            tags.next = (end as u64, number + 1);
        }
        let is_damaged = tags.next.1 == 0;
        Ok(if is_damaged { Self::start(Opening { was_used: true, ..opening }) } else { tags })
    }

    /// In a directory that was never written to, no birth is ours. Otherwise all of them may be.
    fn start(opening: Opening<'_>) -> Self {
        let mut before = BTreeMap::new();
        for (tag, at) in births(opening.state).filter(|(tag, _)| opening.was_used && *tag != opening.tag) {
            let last = before.entry(tag).or_insert(at);
            *last = at.max(*last);
        }
        Self { known: Entry { before, ..Entry::default() }, next: (0, 0) }
    }

    /// Records the births among `written`, before they become durable. Writes nothing if the list already
    /// knows their tag.
    pub(crate) fn note<'a>(
        &mut self,
        mut written: impl Iterator<Item = &'a Lineage>,
        imported: bool,
        opening: Opening<'_>,
        disk: &impl Disk,
    ) -> Result<()> {
        let is_new = !self.known.own.contains(&opening.tag);
        let own = if is_new && written.any(|lineage| tag(lineage.at()) == opening.tag) {
            BTreeSet::from([opening.tag])
        } else {
            BTreeSet::new()
        };
        let imported = imported && !self.known.imported;
        let is_started = self.next.1 > 0;
        if is_started && own.is_empty() && !imported {
            return Ok(());
        }
        let entry = Entry { own, imported, ..Entry::default() };
        self.known.add(entry.clone());
        let rewrites = !is_started || self.known.own.len() > MAX_TAGS;
        if rewrites {
            self.known.drop_oldest(opening);
            self.next = (0, 0);
        }
        self.write(if rewrites { &self.known } else { &entry }, disk)
            .map(|end| self.next = (end, self.next.1 + 1))
            .map_err(|error| failed("write", disk, error))
    }

    /// Appends a frame and returns where it ends. Frame 0 replaces the file. A crash meanwhile leaves a
    /// damaged list, which is started over.
    fn write(&self, entry: &Entry, disk: &impl Disk) -> io::Result<u64> {
        let (offset, number) = self.next;
        let file = if number == 0 { disk.create(NAME)? } else { disk.open(NAME)? };
        let frame = frame::encode(number, &serde_json::to_vec(entry)?);
        file.write_at(&frame, offset)?;
        file.sync()?;
        if number == 0 {
            disk.sync_directory()?;
        }
        Ok(offset + frame.len() as u64)
    }

    /// Returns when another replica last created a bead, by its own clock. If no birth is certainly foreign,
    /// those that may be count. `None` means that only this replica wrote to the store.
    pub(crate) fn newest_foreign_ms(&self, opening: Opening<'_>) -> Option<u64> {
        let (mut certain, mut possible) = (None, None);
        for (tag, at) in births(opening.state) {
            let newest = match tag {
                IMPORTED if self.known.imported => continue,
                IMPORTED => &mut possible,
                tag if tag == opening.tag || self.known.own.contains(&tag) => continue,
                tag if self.known.before.get(&tag).is_some_and(|last| at <= *last) => &mut possible,
                _ => &mut certain,
            };
            *newest = Some(at.ms()).max(*newest);
        }
        certain.or(possible)
    }
}

impl Entry {
    fn add(&mut self, other: Self) {
        self.own.extend(other.own);
        self.before.extend(other.before);
        self.imported |= other.imported;
    }

    /// Keeps at most half of the tags that fit: those with the newest births, because only the newest foreign
    /// birth matters. A tag without births is not needed.
    fn drop_oldest(&mut self, opening: Opening<'_>) {
        if self.own.len() <= MAX_TAGS {
            return;
        }
        let mut newest = BTreeMap::new();
        for (tag, at) in births(opening.state).filter(|(tag, _)| self.own.contains(tag)) {
            let last = newest.entry(tag).or_insert(at);
            *last = at.max(*last);
        }
        let mut newest: Vec<_> = newest.into_iter().map(|(tag, at)| (at, tag)).collect();
        newest.sort_unstable();
        let kept = newest.into_iter().rev().take(MAX_TAGS / 2).map(|(_, tag)| tag);
        self.own = kept.chain([opening.tag]).collect();
    }
}

fn births(state: &State) -> impl Iterator<Item = (u16, Stamp)> + '_ {
    state.beads().keys().map(Lineage::at).map(|at| (tag(at), at))
}

/// Returns the tag of the replica that minted a stamp.
pub(crate) fn tag(at: Stamp) -> u16 {
    (at.counter() % COUNTER_STEP) as u16
}

/// Returns whether a bead was imported.
pub(crate) fn is_imported(lineage: &Lineage) -> bool {
    tag(lineage.at()) == IMPORTED
}

fn failed(action: &'static str, disk: &impl Disk, source: io::Error) -> Error {
    Error::Io { action, path: disk.describe(NAME).into(), source }
}
