use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::{Bead, Catalog, Lineage, MemoryKey, Stamp};

/// A memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    /// The key it is stored under.
    pub key: String,
    /// The bead that holds it: the newest one with the key.
    pub lineage: Lineage,
    /// Older memories with the same key, newest first. They are kept but not shown.
    pub earlier: Vec<Lineage>,
}

impl Catalog {
    /// Returns the memories, newest first, one for each key. With a `query`, returns the memory with that
    /// key, or if there is none, the memories that contain every word of the query.
    pub fn memories(&self, query: Option<&str>) -> Vec<Memory> {
        let mut keys: BTreeMap<&str, Vec<(Stamp, &Lineage)>> = BTreeMap::new();
        for (lineage, bead) in self.by_age() {
            if let Some(key) = MemoryKey::of_bead(bead, self.id_of(lineage).as_str()) {
                keys.entry(key).or_default().push((written(bead), lineage));
            }
        }
        if let Some(query) = query {
            if keys.contains_key(query) {
                keys.retain(|key, _| *key == query);
            } else {
                let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
                keys.values_mut().for_each(|all| all.sort_unstable());
                keys.retain(|key, all| all.last().is_some_and(|(_, last)| self.mentions(key, last, &words)));
            }
        }
        let mut found: Vec<(Stamp, Memory)> =
            keys.into_iter().filter_map(|(key, all)| newest(key, all)).collect();
        found.sort_by(|a, b| (Reverse(a.0), &a.1.key).cmp(&(Reverse(b.0), &b.1.key)));
        found.into_iter().map(|(_, memory)| memory).collect()
    }

    fn mentions(&self, key: &str, lineage: &Lineage, words: &[String]) -> bool {
        let Some(bead) = self.bead(lineage) else { return false };
        let text = format!("{key}\n{}\n{}", bead.title.value.as_str(), bead.description.value.as_str());
        let text = text.to_lowercase();
        words.iter().all(|word| text.contains(word))
    }
}

/// Returns when the text was last written.
fn written(bead: &Bead) -> Stamp {
    bead.description.mark.at()
}

fn newest(key: &str, mut all: Vec<(Stamp, &Lineage)>) -> Option<(Stamp, Memory)> {
    all.sort_unstable_by(|a, b| b.cmp(a));
    let ((at, lineage), earlier) = all.split_first()?;
    let earlier = earlier.iter().map(|(_, lineage)| (*lineage).clone()).collect();
    Some((*at, Memory { key: key.to_owned(), lineage: (*lineage).clone(), earlier }))
}
