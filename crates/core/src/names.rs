//! Ids as a pure function of the set of births (§4.1.1). Replicas that know the same beads give them the same
//! ids, no matter in which order the beads arrived.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

use crate::canonical::to_canonical;
use crate::{BeadId, Lineage, SharedMap};

/// The length of the shortest suffix of a remapped bead.
const FIRST_SUFFIX: usize = 6;
const BASE36: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";
const DECIMAL: &[u8] = b"0123456789";

/// Which bead holds which id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// Every bead holds exactly one id, so this is also the set of births.
    holder: SharedMap<BeadId, Lineage>,
    renamed: BTreeMap<Lineage, BeadId>,
    vacated: BTreeMap<BeadId, BTreeSet<Lineage>>,
}

impl Names {
    /// Returns the names of beads that all have their birth ids, or `None` if one has not. `named` is sorted
    /// by id.
    pub(crate) fn of_births<'a>(
        named: impl Iterator<Item = (&'a BeadId, &'a Lineage)> + Clone,
    ) -> Option<Self> {
        if named.clone().any(|(id, lineage)| lineage.birth_id() != id) {
            return None;
        }
        let holder = named.map(|(id, lineage)| (id.clone(), lineage.clone())).collect();
        Some(Self { holder, ..Self::default() })
    }

    /// Returns the current id of a known bead.
    pub fn id_of<'a>(&'a self, lineage: &'a Lineage) -> &'a BeadId {
        self.renamed.get(lineage).unwrap_or(lineage.birth_id())
    }

    /// Returns the bead that holds an id.
    pub fn holder(&self, id: &str) -> Option<&Lineage> {
        self.holder.get(id)
    }

    /// Returns all ids in byte order with the beads that hold them.
    pub fn holders(&self) -> impl Iterator<Item = (&BeadId, &Lineage)> {
        self.holder.iter()
    }

    /// Returns the ids that start with `prefix`, in byte order, with the beads that hold them.
    pub fn starting_with<'s, 'p>(
        &'s self,
        prefix: &'p str,
    ) -> impl Iterator<Item = (&'s BeadId, &'s Lineage)> + use<'s, 'p> {
        self.holder.starting_at(prefix).take_while(move |(id, _)| id.as_str().starts_with(prefix))
    }

    /// Returns whether a bead holds or ever held this id.
    pub fn is_known(&self, id: &BeadId) -> bool {
        self.holder.contains_key(id) || self.vacated.contains_key(id)
    }

    /// Returns the beads that lost an id to another bead, by the id they lost.
    pub fn vacated(&self) -> &BTreeMap<BeadId, BTreeSet<Lineage>> {
        &self.vacated
    }

    /// Returns whether the same beads lost the same ids. Then a bead that both know has the same id in both.
    pub(crate) fn has_the_same_collisions(&self, other: &Self) -> bool {
        self.renamed == other.renamed && self.vacated == other.vacated
    }

    /// Returns whether a bead ever competed for an id. If so, the ids of other beads depend on its birth.
    pub(crate) fn ever_collided(&self, lineage: &Lineage) -> bool {
        self.renamed.contains_key(lineage) || self.vacated.contains_key(lineage.birth_id())
    }

    /// Returns one more than the highest child number ever used under `parent`. Only birth ids count, so that
    /// the digits of a remapped child are not mistaken for a number.
    pub fn next_child_number(&self, parent: &BeadId) -> u64 {
        let dot = format!("{parent}.");
        self.starting_with(&dot)
            .filter(|(id, lineage)| lineage.birth_id() == *id)
            .filter_map(|(id, _)| id.child_number(parent))
            .max()
            .map_or(1, |highest| highest.saturating_add(1))
    }

    /// Adds new births. All ids are derived again only if there is a collision.
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

    /// Removes a birth that did not collide.
    pub(crate) fn forget(&mut self, lineage: &Lineage) {
        self.holder.remove(lineage.birth_id());
    }

    /// Derives all ids. Each birth id goes to its oldest bead; then the other beads, oldest first, get longer
    /// ids.
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

    /// Returns the first derived id that is free, and the ids that were tried before it. Birth ids are never
    /// free: each is already held by its oldest bead.
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

/// The unlimited suffix of a bead: characters from the SHA-256 hashes of its birth and a block number.
struct Suffix<'a> {
    lineage: &'a Lineage,
    alphabet: &'static [u8],
    text: String,
    blocks: u64,
}

impl<'a> Suffix<'a> {
    fn new(lineage: &'a Lineage) -> Self {
        // After a dot, only digits keep the id valid and below its parent.
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
