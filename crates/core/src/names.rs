//! Ids as a pure function of the set of births (§4.1.1): every replica that knows the same beads gives them the
//! same ids, whatever the order in which it met them.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

use crate::canonical::to_canonical;
use crate::{BeadId, Lineage, SharedMap};

/// Length of the shortest suffix that a remapped bead gets.
const FIRST_SUFFIX: usize = 6;
const BASE36: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";
const DECIMAL: &[u8] = b"0123456789";

/// Who has which id. Kept beside the beads and updated as they arrive.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// Every known bead holds exactly one id, so this is also the set of births.
    holder: SharedMap<BeadId, Lineage>,
    renamed: BTreeMap<Lineage, BeadId>,
    vacated: BTreeMap<BeadId, BTreeSet<Lineage>>,
}

impl Names {
    /// Names of beads in the order of their ids, all of which they were born with; `None` where some were not.
    pub(crate) fn of_births<'a>(
        named: impl Iterator<Item = (&'a BeadId, &'a Lineage)> + Clone,
    ) -> Option<Self> {
        if named.clone().any(|(id, lineage)| lineage.birth_id() != id) {
            return None;
        }
        let holder = named.map(|(id, lineage)| (id.clone(), lineage.clone())).collect();
        Some(Self { holder, ..Self::default() })
    }

    /// The id a known bead has now.
    pub fn id_of<'a>(&'a self, lineage: &'a Lineage) -> &'a BeadId {
        self.renamed.get(lineage).unwrap_or(lineage.birth_id())
    }

    pub fn holder(&self, id: &str) -> Option<&Lineage> {
        self.holder.get(id)
    }

    /// All ids in use, in byte order, with the beads that hold them.
    pub fn holders(&self) -> impl Iterator<Item = (&BeadId, &Lineage)> {
        self.holder.iter()
    }

    /// Holders whose id starts with `prefix`, in byte order.
    pub fn starting_with<'s, 'p>(
        &'s self,
        prefix: &'p str,
    ) -> impl Iterator<Item = (&'s BeadId, &'s Lineage)> + use<'s, 'p> {
        self.holder.starting_at(prefix).take_while(move |(id, _)| id.as_str().starts_with(prefix))
    }

    /// Whether an id means or ever meant something here.
    pub fn is_known(&self, id: &BeadId) -> bool {
        self.holder.contains_key(id) || self.vacated.contains_key(id)
    }

    /// Beads that were pushed off an id, by the id they lost.
    pub fn vacated(&self) -> &BTreeMap<BeadId, BTreeSet<Lineage>> {
        &self.vacated
    }

    /// Whether a bead ever competed for an id: then the ids of others follow from its birth.
    pub(crate) fn ever_collided(&self, lineage: &Lineage) -> bool {
        self.renamed.contains_key(lineage) || self.vacated.contains_key(lineage.birth_id())
    }

    /// One more than the highest child number ever used under `parent`, counting births only, so that the digits
    /// of a remapped child are not taken for a number.
    pub fn next_child_number(&self, parent: &BeadId) -> u64 {
        let dot = format!("{parent}.");
        self.starting_with(&dot)
            .filter(|(id, lineage)| lineage.birth_id() == *id)
            .filter_map(|(id, _)| id.child_number(parent))
            .max()
            .map_or(1, |highest| highest.saturating_add(1))
    }

    /// Takes in new births. A birth without a rival changes nobody's id; only a collision asks for all ids anew.
    pub(crate) fn extend<'a>(&mut self, lineages: impl IntoIterator<Item = &'a Lineage>) {
        let mut rivals = Vec::new();
        for lineage in lineages {
            match self.holder.get(lineage.birth_id()) {
                None => {
                    self.holder.insert(lineage.birth_id().clone(), lineage.clone());
                }
                Some(holder) if holder == lineage => {}
                Some(_) => rivals.push(lineage.clone()),
            }
        }
        if !rivals.is_empty() {
            self.derive(rivals);
        }
    }

    /// Takes back a birth that had no rival.
    pub(crate) fn forget(&mut self, lineage: &Lineage) {
        self.holder.remove(lineage.birth_id());
    }

    /// First each birth id goes to its earliest bead; then the others, oldest first, take longer ids.
    fn derive(&mut self, rivals: Vec<Lineage>) {
        let births: BTreeSet<Lineage> = self.holder.values().cloned().chain(rivals).collect();
        *self = Self::default();
        let mut losers = Vec::new();
        for lineage in births {
            let id = lineage.birth_id();
            if self.holder.contains_key(id) {
                losers.push(lineage);
            } else {
                self.holder.insert(id.clone(), lineage);
            }
        }
        for loser in losers {
            let (id, tried) = self.longer_id(&loser);
            for lost in tried {
                self.vacated.entry(lost).or_default().insert(loser.clone());
            }
            self.holder.insert(id.clone(), loser.clone());
            self.renamed.insert(loser, id);
        }
    }

    /// The first derived id that is not taken, and the ids that were tried before it. Nobody's birth id is free: each
    /// has its earliest bead as its holder by now.
    fn longer_id(&self, loser: &Lineage) -> (BeadId, Vec<BeadId>) {
        let mut tried = vec![loser.birth_id().clone()];
        let mut suffix = Suffix::new(loser);
        for length in FIRST_SUFFIX.. {
            let id = BeadId::derived(loser.birth_id(), suffix.first(length));
            if !self.holder.contains_key(&id) {
                return (id, tried);
            }
            tried.push(id);
        }
        unreachable!("there are more suffixes than beads")
    }
}

/// The endless suffix of a bead: characters of SHA-256 over its birth and a block number.
struct Suffix<'a> {
    lineage: &'a Lineage,
    alphabet: &'static [u8],
    text: String,
    blocks: u64,
}

impl<'a> Suffix<'a> {
    fn new(lineage: &'a Lineage) -> Self {
        // After a dot only digits keep the id valid and under its parent.
        let alphabet = if lineage.birth_id().as_str().contains('.') { DECIMAL } else { BASE36 };
        Self { lineage, alphabet, text: String::new(), blocks: 0 }
    }

    fn first(&mut self, length: usize) -> &str {
        while self.text.len() < length {
            let birth = (self.lineage.birth_id(), self.lineage.at(), self.lineage.by(), self.blocks);
            let digest = Sha256::digest(to_canonical(&birth));
            let character = |byte: &u8| char::from(self.alphabet[usize::from(*byte) % self.alphabet.len()]);
            self.text.extend(digest.iter().map(character));
            self.blocks += 1;
        }
        &self.text[..length]
    }
}
