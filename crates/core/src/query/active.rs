use std::collections::BTreeSet;

use crate::Catalog;
use crate::limits::COUNTER_STEP;

impl Catalog {
    /// Counts the replicas that wrote since `since_ms`, by their own clocks. Every stamp carries the tag of
    /// its replica; imported stamps carry 0 and do not count.
    pub fn active_replicas(&self, since_ms: u64) -> usize {
        let beads = self.live().map(|(_, bead)| bead);
        let recent = beads.flat_map(|bead| bead.stamps()).filter(|stamp| stamp.ms() >= since_ms);
        let tags: BTreeSet<u32> = recent.map(|stamp| stamp.counter() % COUNTER_STEP).collect();
        tags.into_iter().filter(|tag| *tag != 0).count()
    }
}
