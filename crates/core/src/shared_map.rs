//! An ordered map that is cheap to clone. A clone shares all entries with its original, and the first write
//! to a shared entry copies only the few entries around it. So a snapshot of a state is fast even if the
//! state is large, and its cost is spread over later writes.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The maximum size of a chunk. Larger chunks make clones cheaper; smaller chunks make the first write to a
/// shared chunk cheaper.
const CHUNK_SIZE: usize = 64;

/// An ordered map with copy-on-write chunks of entries. No chunk is empty.
pub struct SharedMap<K, V> {
    chunks: Vec<Arc<Vec<(K, V)>>>,
    len: usize,
}

impl<K: Ord + Clone, V: Clone> SharedMap<K, V> {
    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether one map is an unmodified clone of the other.
    pub fn is_same_copy(&self, other: &Self) -> bool {
        self.chunks.len() == other.chunks.len()
            && self.chunks.iter().zip(&other.chunks).all(|(one, other)| Arc::ptr_eq(one, other))
    }

    /// Returns whether the map has no entries.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.get_key_value(key).map(|(_, value)| value)
    }

    /// Returns the stored key and its value.
    pub fn get_key_value<Q: Ord + ?Sized>(&self, key: &Q) -> Option<(&K, &V)>
    where
        K: Borrow<Q>,
    {
        let (chunk, index) = self.find(key).ok()?;
        let (key, value) = &self.chunks[chunk][index];
        Some((key, value))
    }

    /// Returns whether the map contains a key.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.find(key).is_ok()
    }

    /// Returns the value of a key for writing. Copies the chunk if it is shared.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let (chunk, index) = self.find(key).ok()?;
        Some(&mut Arc::make_mut(&mut self.chunks[chunk])[index].1)
    }

    /// Sets the value of a key and returns the previous one.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.find(&key) {
            Ok((chunk, index)) => {
                let entry = &mut Arc::make_mut(&mut self.chunks[chunk])[index];
                Some(std::mem::replace(&mut entry.1, value))
            }
            Err((chunk, index)) => {
                self.len += 1;
                match self.chunks.get_mut(chunk) {
                    None => self.chunks.push(Arc::new(vec![(key, value)])),
                    Some(entries) => {
                        let entries = Arc::make_mut(entries);
                        entries.insert(index, (key, value));
                        self.split(chunk, index);
                    }
                }
                None
            }
        }
    }

    /// Splits a chunk that has become too long. Insertions in order leave full chunks behind.
    fn split(&mut self, chunk: usize, inserted: usize) {
        let entries = Arc::make_mut(&mut self.chunks[chunk]);
        if entries.len() <= CHUNK_SIZE {
            return;
        }
        let at = if inserted + 1 == entries.len() { inserted } else { entries.len() / 2 };
        let second = entries.split_off(at);
        self.chunks.insert(chunk + 1, Arc::new(second));
    }

    /// Removes a key and returns its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let (chunk, index) = self.find(key).ok()?;
        self.len -= 1;
        let entries = Arc::make_mut(&mut self.chunks[chunk]);
        let (_, value) = entries.remove(index);
        if entries.is_empty() {
            self.chunks.remove(chunk);
        }
        Some(value)
    }

    /// Removes the entries for which `keep` returns `false`.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &V) -> bool) {
        *self = self
            .iter()
            .filter(|(key, value)| keep(key, value))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
    }

    /// Returns the entries in the order of their keys.
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter { chunks: self.chunks.iter(), entries: [].iter() }
    }

    /// Returns the entries in chunks that are not shared with `base`. They include all entries that differ
    /// from `base`, and some that may not.
    pub fn changed_since<'a>(&'a self, base: &Self) -> impl Iterator<Item = (&'a K, &'a V)> {
        let is_same = |(one, other): &(&Arc<_>, &Arc<_>)| Arc::ptr_eq(one, other);
        // Most changes are in one place, mostly at the end.
        let before = self.chunks.iter().zip(&base.chunks).take_while(is_same).count();
        let (ours, theirs) = (&self.chunks[before..], &base.chunks[before..]);
        let after = ours.iter().rev().zip(theirs.iter().rev()).take_while(is_same).count();
        let (ours, theirs) = (&ours[..ours.len() - after], &theirs[..theirs.len() - after]);
        let shared: BTreeSet<_> = theirs.iter().map(Arc::as_ptr).collect();
        let chunks = ours.iter().filter(move |chunk| !shared.contains(&Arc::as_ptr(chunk)));
        chunks.flat_map(|chunk| chunk.iter().map(|(key, value)| (key, value)))
    }

    /// Returns a map that is equal to this one and shares its memory with `other` as far as their entries are
    /// equal; `None` if `other` lacks an entry of this map. [`changed_since`](Self::changed_since) is then fast.
    pub fn shared_with(&self, other: &Self) -> Option<Self>
    where
        V: PartialEq,
    {
        let mut shared = other.clone();
        for (key, value) in other.changed_since(self) {
            match self.get(key) {
                Some(mine) if mine == value => {}
                Some(mine) => drop(shared.insert(key.clone(), mine.clone())),
                None => drop(shared.remove(key)),
            }
        }
        (shared.len() == self.len()).then_some(shared)
    }

    /// Returns the keys in order.
    pub fn keys(&self) -> impl Iterator<Item = &K> + Clone {
        self.iter().map(|(key, _)| key)
    }

    /// Returns the values in the order of their keys.
    pub fn values(&self) -> impl Iterator<Item = &V> + Clone {
        self.iter().map(|(_, value)| value)
    }

    /// Returns the entries whose keys are at or after `start`.
    pub fn starting_at<Q: Ord + ?Sized>(&self, start: &Q) -> Iter<'_, K, V>
    where
        K: Borrow<Q>,
    {
        let (chunk, index) = self.find(start).unwrap_or_else(|place| place);
        let mut chunks = self.chunks[chunk..].iter();
        let entries = chunks.next().map_or([].iter(), |entries| entries[index..].iter());
        Iter { chunks, entries }
    }

    /// Returns the chunk of a key and its index in the chunk. If the key is absent, returns where to insert
    /// it as `Err`.
    fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Result<(usize, usize), (usize, usize)>
    where
        K: Borrow<Q>,
    {
        let behind = self.chunks.partition_point(|entries| entries[0].0.borrow() <= key);
        let chunk = behind.saturating_sub(1);
        let Some(entries) = self.chunks.get(chunk) else { return Err((0, 0)) };
        match entries.binary_search_by(|(found, _)| found.borrow().cmp(key)) {
            Ok(index) => Ok((chunk, index)),
            Err(index) => Err((chunk, index)),
        }
    }
}

/// Returns the keys that only one of two maps has, or whose values are not the same. This is fast if one map
/// began as a clone of the other.
pub(crate) fn differing<'a, K: Ord + Clone, V: Clone>(
    one: &'a SharedMap<K, V>,
    other: &'a SharedMap<K, V>,
    same: impl Fn(&V, &V) -> bool,
) -> Vec<&'a K> {
    let changed = one
        .changed_since(other)
        .filter(|(key, value)| !other.get(*key).is_some_and(|before| same(before, value)));
    let removed = other.changed_since(one).filter(|(key, _)| !one.contains_key(*key));
    changed.chain(removed).map(|(key, _)| key).collect()
}

/// An iterator over entries in the order of their keys.
#[derive(Debug)]
pub struct Iter<'a, K, V> {
    chunks: std::slice::Iter<'a, Arc<Vec<(K, V)>>>,
    entries: std::slice::Iter<'a, (K, V)>,
}

impl<K, V> Clone for Iter<'_, K, V> {
    fn clone(&self) -> Self {
        Self { chunks: self.chunks.clone(), entries: self.entries.clone() }
    }
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((key, value)) = self.entries.next() {
                return Some((key, value));
            }
            self.entries = self.chunks.next()?.iter();
        }
    }
}

impl<'a, K: Ord + Clone, V: Clone> IntoIterator for &'a SharedMap<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Iter<'a, K, V> {
        self.iter()
    }
}

/// If several entries have the same key, the last one wins.
impl<K: Ord + Clone, V: Clone> FromIterator<(K, V)> for SharedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut entries: Vec<(K, V)> = entries.into_iter().collect();
        // The sort must be stable. It is fast if the entries are mostly in order.
        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut map = Self::default();
        let mut chunk: Vec<(K, V)> = Vec::with_capacity(CHUNK_SIZE.min(entries.len()));
        for (key, value) in entries {
            match chunk.last_mut() {
                Some(last) if last.0 == key => last.1 = value,
                _ => {
                    if chunk.len() == CHUNK_SIZE {
                        map.push(std::mem::replace(&mut chunk, Vec::with_capacity(CHUNK_SIZE)));
                    }
                    chunk.push((key, value));
                }
            }
        }
        map.push(chunk);
        map
    }
}

impl<K, V> SharedMap<K, V> {
    fn push(&mut self, chunk: Vec<(K, V)>) {
        if !chunk.is_empty() {
            self.len += chunk.len();
            self.chunks.push(Arc::new(chunk));
        }
    }
}

impl<K, V> Default for SharedMap<K, V> {
    fn default() -> Self {
        Self { chunks: Vec::new(), len: 0 }
    }
}

impl<K, V> Clone for SharedMap<K, V> {
    fn clone(&self) -> Self {
        Self { chunks: self.chunks.clone(), len: self.len }
    }
}

impl<K: Ord + Clone, V: Clone + PartialEq> PartialEq for SharedMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl<K: Ord + Clone, V: Clone + Eq> Eq for SharedMap<K, V> {}

impl<K: Ord + Clone + std::fmt::Debug, V: Clone + std::fmt::Debug> std::fmt::Debug for SharedMap<K, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Step {
        Insert(u16, u8),
        Change(u16, u8),
        Remove(u16),
        /// Keeps a clone that is checked at the end.
        Copy,
        KeepOdd,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let key = || 0..600_u16;
        let step = prop_oneof![
            30 => (key(), any::<u8>()).prop_map(|(key, value)| Step::Insert(key, value)),
            5 => (key(), any::<u8>()).prop_map(|(key, value)| Step::Change(key, value)),
            12 => key().prop_map(Step::Remove),
            2 => Just(Step::Copy),
            1 => Just(Step::KeepOdd),
        ];
        prop::collection::vec(step, 0..1_500)
    }

    fn same(map: &SharedMap<u16, u8>, expected: &BTreeMap<u16, u8>) {
        assert!(map.iter().eq(expected.iter()));
        assert_eq!((map.len(), map.is_empty()), (expected.len(), expected.is_empty()));
        assert!(map.chunks.iter().all(|chunk| !chunk.is_empty() && chunk.len() <= CHUNK_SIZE));
        assert_eq!(*map, expected.iter().map(|(key, value)| (*key, *value)).collect());
    }

    proptest! {
        #[test]
        fn it_behaves_like_a_btree_map_and_clones_are_independent(steps in steps(), start in 0..700_u16) {
            let (mut map, mut expected) = (SharedMap::default(), BTreeMap::new());
            let mut copies = Vec::new();
            for step in steps {
                match step {
                    Step::Insert(key, value) => prop_assert_eq!(map.insert(key, value), expected.insert(key, value)),
                    Step::Change(key, value) => {
                        let (ours, theirs) = (map.get_mut(&key), expected.get_mut(&key));
                        prop_assert_eq!(&ours, &theirs);
                        ours.into_iter().chain(theirs).for_each(|found| *found = value);
                    }
                    Step::Remove(key) => prop_assert_eq!(map.remove(&key), expected.remove(&key)),
                    Step::Copy => copies.push((map.clone(), expected.clone())),
                    Step::KeepOdd => {
                        map.retain(|key, _| key % 2 == 1);
                        expected.retain(|key, _| key % 2 == 1);
                    }
                }
            }
            prop_assert!(map.starting_at(&start).eq(expected.range(start..)));
            prop_assert_eq!(map.get_key_value(&start), expected.get_key_value(&start));
            prop_assert_eq!(map.contains_key(&start), expected.contains_key(&start));
            copies.push((map, expected));
            copies.iter().for_each(|(map, expected)| same(map, expected));
        }
    }

    proptest! {
        #[test]
        fn sharing_memory_changes_no_entry(ours in steps(), theirs in steps()) {
            let run = |mut map: SharedMap<u16, u8>, steps: &[Step]| {
                for step in steps {
                    match step {
                        Step::Insert(key, value) | Step::Change(key, value) => drop(map.insert(*key, *value)),
                        Step::Remove(key) => drop(map.remove(key)),
                        Step::Copy | Step::KeepOdd => {}
                    }
                }
                map
            };
            let one = run(SharedMap::default(), &ours);
            let other = run(one.clone(), &theirs);
            match one.shared_with(&other) {
                Some(shared) => {
                    prop_assert_eq!(&shared, &one);
                    let differs = |key: &u16| one.get(key) != other.get(key);
                    let changed: Vec<_> = other.changed_since(&shared).filter(|(key, _)| differs(key)).collect();
                    let expected: Vec<_> = other.iter().filter(|(key, _)| differs(key)).collect();
                    prop_assert_eq!(changed, expected);
                }
                None => prop_assert!(one.keys().any(|key| !other.contains_key(key))),
            }
        }
    }

    #[test]
    fn sharing_leaves_only_the_chunks_that_differ() {
        let theirs: SharedMap<u32, u32> = (0..1_000).map(|key| (key, key)).collect();
        let mut ours: SharedMap<u32, u32> = (0..1_000).map(|key| (key, key)).collect();
        ours.insert(500, 0);
        assert_eq!(theirs.changed_since(&ours).count(), 1_000);
        let ours = ours.shared_with(&theirs).unwrap();
        assert_eq!((ours.get(&500), ours.len()), (Some(&0), 1_000));
        assert!(theirs.changed_since(&ours).count() <= CHUNK_SIZE);
    }

    #[test]
    fn a_write_copies_only_one_chunk() {
        let original: SharedMap<u32, u32> = (0..1_000).map(|key| (key, key)).collect();
        let mut copy = original.clone();
        copy.insert(500, 0);
        let shared = original.chunks.iter().zip(&copy.chunks).filter(|(one, other)| Arc::ptr_eq(one, other));
        assert_eq!(shared.count(), original.chunks.len() - 1);
        assert_eq!((original.get(&500), copy.get(&500)), (Some(&500), Some(&0)));
    }

    #[test]
    fn chunks_are_full_after_ordered_inserts_and_half_full_otherwise() {
        let collected: SharedMap<usize, ()> = (0..10 * CHUNK_SIZE).map(|key| (key, ())).collect();
        let mut in_order = SharedMap::default();
        (0..10 * CHUNK_SIZE).for_each(|key| {
            in_order.insert(key, ());
        });
        for map in [collected, in_order] {
            assert!(map.chunks.iter().all(|chunk| chunk.len() == CHUNK_SIZE));
        }
        let mut before_the_last: SharedMap<usize, ()> = [(usize::MAX, ())].into_iter().collect();
        (0..10 * CHUNK_SIZE).for_each(|key| {
            before_the_last.insert(key, ());
        });
        assert!(before_the_last.chunks.iter().all(|chunk| chunk.len() >= CHUNK_SIZE / 2));
    }

    #[test]
    fn maps_with_the_same_entries_are_equal() {
        let map = |entries: &[(u8, u8)]| entries.iter().copied().collect::<SharedMap<_, _>>();
        let mut grown = map(&[(3, 3)]);
        (0..3).rev().for_each(|key| {
            grown.insert(key, key);
        });
        assert_eq!(grown, map(&[(0, 0), (1, 1), (2, 2), (3, 3)]));
        let one = map(&[(1, 1), (2, 2)]);
        for other in [map(&[(1, 1), (2, 3)]), map(&[(1, 1), (3, 2)]), map(&[(1, 1)])] {
            assert_ne!(one, other);
            assert_ne!(other, one);
        }
    }

    #[test]
    fn the_last_of_several_entries_with_the_same_key_wins() {
        let map: SharedMap<u8, &str> = [(2, "b"), (1, "a"), (2, "c")].into_iter().collect();
        assert!(map.iter().eq([(&1, &"a"), (&2, &"c")]));
        assert_eq!(map.len(), 2);
    }
}
