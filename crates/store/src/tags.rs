//! The tags that this replica drew, recorded only if garbage collection is configured. The floor of garbage
//! collection must stay below recent births of other replicas, and only the tag in a birth's stamp shows
//! which replica made it.

use std::collections::{BTreeMap, BTreeSet};

use beads_core::limits::COUNTER_STEP;
use beads_core::{Stamp, State};
use serde::{Deserialize, Serialize};

use crate::disk::{Disk, DiskFile};
use crate::frame::{self, Found};
use crate::{Error, Result};

const NAME: &str = "tags";

/// A longer list is started over, so that it stays a small part of all tags.
const MAX_TAGS: usize = 4_096;

/// Our own tags. Each opening draws one, so the list grows with the openings that wrote something.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tags {
    own: BTreeSet<u16>,
    /// Tags of births that existed when the list was started, each with its last birth. They may be our own.
    /// A later birth with such a tag is not, because no opening draws a tag twice on purpose.
    before: BTreeMap<u16, Stamp>,
}

impl Tags {
    /// Reads the list on disk. If it is unreadable, starts over with the content of the store.
    pub(crate) fn load(disk: &impl Disk, state: &State) -> Self {
        let bytes = disk.read(NAME).unwrap_or_default();
        let read = match frame::find(&bytes, 0) {
            Found::Frame { payload, .. } => serde_json::from_slice(payload).ok(),
            _ => None,
        };
        read.unwrap_or_else(|| Self::begin(state))
    }

    fn begin(state: &State) -> Self {
        let mut before = BTreeMap::new();
        for (tag, at) in births(state) {
            let last = before.entry(tag).or_insert(at);
            *last = at.max(*last);
        }
        Self { own: BTreeSet::new(), before }
    }

    /// Records a tag before anything minted with it becomes durable.
    pub(crate) fn note(&mut self, tag: u16, disk: &impl Disk, state: &State) -> Result<()> {
        if self.own.contains(&tag) {
            return Ok(());
        }
        if self.own.len() >= MAX_TAGS {
            *self = Self::begin(state);
        }
        self.own.insert(tag);
        let payload = serde_json::to_vec(&*self).map_err(|error| self.failed(disk, error.into()))?;
        let write = || {
            let file = disk.create(NAME)?;
            file.write_at(&frame::encode(0, &payload), 0)?;
            file.sync()?;
            disk.sync_directory()
        };
        write().map_err(|error| self.failed(disk, error))
    }

    fn failed(&self, disk: &impl Disk, source: std::io::Error) -> Error {
        Error::Io { action: "write", path: disk.describe(NAME).into(), source }
    }

    /// Returns when another replica last created a bead, by its own clock. `current` is the tag of this
    /// opening.
    pub(crate) fn newest_foreign_ms(&self, state: &State, current: u16) -> Option<u64> {
        let foreign = births(state).filter(|(tag, at)| {
            *tag != current && !self.own.contains(tag) && self.before.get(tag).is_none_or(|last| at > last)
        });
        foreign.map(|(_, at)| at.ms()).max()
    }
}

/// Returns the births that a replica minted, with its tag. Imported ones carry tag 0.
fn births(state: &State) -> impl Iterator<Item = (u16, Stamp)> + '_ {
    let births = state.beads().keys().map(beads_core::Lineage::at);
    births.map(|at| ((at.counter() % COUNTER_STEP) as u16, at)).filter(|(tag, _)| *tag != 0)
}
