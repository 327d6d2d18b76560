use beads_core::Timestamp;
use beads_core::query::Memory;

use super::reader::Reader;
use crate::render::{MemoryAnswer, excerpt};

impl Reader<'_> {
    pub(super) fn memories(&self, asked: Option<&str>, brief: bool) -> Vec<MemoryAnswer> {
        self.catalog.memories(asked).iter().filter_map(|memory| self.memory(memory, brief)).collect()
    }

    fn memory(&self, memory: &Memory, brief: bool) -> Option<MemoryAnswer> {
        let catalog = self.catalog;
        let written = &catalog.bead(&memory.lineage)?.description;
        let whole = written.value.as_str();
        let text = if brief { excerpt(whole) } else { whole.to_owned() };
        Some(MemoryAnswer {
            key: memory.key.clone(),
            id: catalog.id_of(&memory.lineage).clone(),
            is_brief: brief,
            text,
            author: written.mark.by().clone(),
            at: Timestamp::from(written.mark.at()).to_string(),
            age_ms: self.now_ms.saturating_sub(written.mark.at().ms()),
            earlier: memory.earlier.iter().map(|lineage| catalog.id_of(lineage).clone()).collect(),
        })
    }
}
