//! An ordered map whose copies are cheap: a copy shares all entries with its original, and whoever writes first copies
//! only the few entries around the one it writes. So a snapshot of a state keeps nobody waiting, however large the
//! state is, and what it costs is spread over the writes that follow.

use std::borrow::Borrow;
use std::sync::Arc;

/// So many entries are copied together. More make a copy of the map cheaper, fewer the first write behind it.
const FULL: usize = 64;

/// Entries in order, cut into chunks of which none is empty.
pub struct SharedMap<K, V> {
    chunks: Vec<Arc<Vec<(K, V)>>>,
    len: usize,
}

impl<K: Ord + Clone, V: Clone> SharedMap<K, V> {
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing was written to either since one was copied from the other.
    pub fn is_same_copy(&self, other: &Self) -> bool {
        self.chunks.len() == other.chunks.len()
            && self.chunks.iter().zip(&other.chunks).all(|(one, other)| Arc::ptr_eq(one, other))
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.get_key_value(key).map(|(_, value)| value)
    }

    pub fn get_key_value<Q: Ord + ?Sized>(&self, key: &Q) -> Option<(&K, &V)>
    where
        K: Borrow<Q>,
    {
        let (chunk, index) = self.find(key).ok()?;
        let (key, value) = &self.chunks[chunk][index];
        Some((key, value))
    }

    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.find(key).is_ok()
    }

    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let (chunk, index) = self.find(key).ok()?;
        Some(&mut Arc::make_mut(&mut self.chunks[chunk])[index].1)
    }

    /// Returns what stood there before.
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

    /// Cuts a chunk that has become too long. What arrives in order leaves full chunks behind.
    fn split(&mut self, chunk: usize, inserted: usize) {
        let entries = Arc::make_mut(&mut self.chunks[chunk]);
        if entries.len() <= FULL {
            return;
        }
        let at = if inserted + 1 == entries.len() { inserted } else { entries.len() / 2 };
        let second = entries.split_off(at);
        self.chunks.insert(chunk + 1, Arc::new(second));
    }

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

    pub fn retain(&mut self, mut keep: impl FnMut(&K, &V) -> bool) {
        *self = self
            .iter()
            .filter(|(key, value)| keep(key, value))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
    }

    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter { chunks: self.chunks.iter(), entries: [].iter() }
    }

    pub fn keys(&self) -> impl Iterator<Item = &K> + Clone {
        self.iter().map(|(key, _)| key)
    }

    pub fn values(&self) -> impl Iterator<Item = &V> + Clone {
        self.iter().map(|(_, value)| value)
    }

    /// The entries whose keys are not before `start`.
    pub fn starting_at<Q: Ord + ?Sized>(&self, start: &Q) -> Iter<'_, K, V>
    where
        K: Borrow<Q>,
    {
        let (chunk, index) = self.find(start).unwrap_or_else(|place| place);
        let mut chunks = self.chunks[chunk..].iter();
        let entries = chunks.next().map_or([].iter(), |entries| entries[index..].iter());
        Iter { chunks, entries }
    }

    /// The chunk and the place in it where a key stands, or would stand.
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

/// Entries in the order of their keys.
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

/// Of entries with one key the last stays.
impl<K: Ord + Clone, V: Clone> FromIterator<(K, V)> for SharedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut entries: Vec<(K, V)> = entries.into_iter().collect();
        // A stable sort, which costs little where most of it is in order already.
        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut map = Self::default();
        let mut chunk: Vec<(K, V)> = Vec::with_capacity(FULL.min(entries.len()));
        for (key, value) in entries {
            match chunk.last_mut() {
                Some(last) if last.0 == key => last.1 = value,
                _ => {
                    if chunk.len() == FULL {
                        map.push(std::mem::replace(&mut chunk, Vec::with_capacity(FULL)));
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
        /// Sets a copy aside, to be looked at in the end.
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

    fn same(map: &SharedMap<u16, u8>, due: &BTreeMap<u16, u8>) {
        assert!(map.iter().eq(due.iter()));
        assert_eq!((map.len(), map.is_empty()), (due.len(), due.is_empty()));
        assert!(map.chunks.iter().all(|chunk| !chunk.is_empty() && chunk.len() <= FULL));
        assert_eq!(*map, due.iter().map(|(key, value)| (*key, *value)).collect());
    }

    proptest! {
        #[test]
        fn it_is_what_the_standard_map_is_and_a_copy_stays_as_it_was(steps in steps(), start in 0..700_u16) {
            let (mut map, mut due) = (SharedMap::default(), BTreeMap::new());
            let mut copies = Vec::new();
            for step in steps {
                match step {
                    Step::Insert(key, value) => prop_assert_eq!(map.insert(key, value), due.insert(key, value)),
                    Step::Change(key, value) => {
                        let (ours, theirs) = (map.get_mut(&key), due.get_mut(&key));
                        prop_assert_eq!(&ours, &theirs);
                        ours.into_iter().chain(theirs).for_each(|found| *found = value);
                    }
                    Step::Remove(key) => prop_assert_eq!(map.remove(&key), due.remove(&key)),
                    Step::Copy => copies.push((map.clone(), due.clone())),
                    Step::KeepOdd => {
                        map.retain(|key, _| key % 2 == 1);
                        due.retain(|key, _| key % 2 == 1);
                    }
                }
            }
            prop_assert!(map.starting_at(&start).eq(due.range(start..)));
            prop_assert_eq!(map.get_key_value(&start), due.get_key_value(&start));
            prop_assert_eq!(map.contains_key(&start), due.contains_key(&start));
            copies.push((map, due));
            copies.iter().for_each(|(map, due)| same(map, due));
        }
    }

    #[test]
    fn a_copy_shares_all_but_what_is_written() {
        let original: SharedMap<u32, u32> = (0..1_000).map(|key| (key, key)).collect();
        let mut copy = original.clone();
        copy.insert(500, 0);
        let shared = original.chunks.iter().zip(&copy.chunks).filter(|(one, other)| Arc::ptr_eq(one, other));
        assert_eq!(shared.count(), original.chunks.len() - 1);
        assert_eq!((original.get(&500), copy.get(&500)), (Some(&500), Some(&0)));
    }

    #[test]
    fn chunks_are_full_behind_what_comes_in_order_and_half_full_elsewhere() {
        let collected: SharedMap<usize, ()> = (0..10 * FULL).map(|key| (key, ())).collect();
        let mut in_order = SharedMap::default();
        (0..10 * FULL).for_each(|key| {
            in_order.insert(key, ());
        });
        for map in [collected, in_order] {
            assert!(map.chunks.iter().all(|chunk| chunk.len() == FULL));
        }
        let mut before_the_last: SharedMap<usize, ()> = [(usize::MAX, ())].into_iter().collect();
        (0..10 * FULL).for_each(|key| {
            before_the_last.insert(key, ());
        });
        assert!(before_the_last.chunks.iter().all(|chunk| chunk.len() >= FULL / 2));
    }

    #[test]
    fn equal_are_maps_with_the_same_entries_however_they_came_to_be() {
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
    fn of_entries_with_one_key_the_last_stays() {
        let map: SharedMap<u8, &str> = [(2, "b"), (1, "a"), (2, "c")].into_iter().collect();
        assert!(map.iter().eq([(&1, &"a"), (&2, &"c")]));
        assert_eq!(map.len(), 2);
    }
}
