//! A second, slow implementation of the ids that follow from a set of births.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use sha2::{Digest, Sha256};

/// `(ms, counter, actor)`, compared as in the format: numbers first, then the bytes of the name.
pub type RawMark = (u64, u32, String);
/// The birth id of a bead, with its creation time and creator.
pub type Birth = (String, RawMark);

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Ids {
    pub of: BTreeMap<Birth, String>,
    /// Ids that beads lost, with the sorted current ids of those beads.
    pub remapped: BTreeMap<String, Vec<String>>,
}

pub fn derive(births: &BTreeSet<Birth>) -> Ids {
    let mut oldest_first: Vec<_> = births.iter().collect();
    oldest_first.sort_by_key(|(id, mark)| (mark, id));
    let mut ids = Ids::default();
    let mut taken = BTreeSet::new();
    let mut losers = Vec::new();
    for birth in oldest_first {
        if taken.insert(birth.0.clone()) {
            ids.of.insert(birth.clone(), birth.0.clone());
        } else {
            losers.push(birth);
        }
    }
    let mut lost: BTreeMap<String, Vec<&Birth>> = BTreeMap::new();
    for birth in losers {
        lost.entry(birth.0.clone()).or_default().push(birth);
        for length in 6.. {
            let candidate = birth.0.clone() + &suffix(birth, length);
            if taken.insert(candidate.clone()) {
                ids.of.insert(birth.clone(), candidate);
                break;
            }
            lost.entry(candidate).or_default().push(birth);
        }
    }
    for (id, births) in lost {
        let mut now: Vec<_> = births.iter().map(|birth| ids.of[*birth].clone()).collect();
        now.sort();
        ids.remapped.insert(id, now);
    }
    ids
}

/// Returns the first characters of a bead's suffix.
pub fn suffix((born, (ms, counter, by)): &Birth, length: usize) -> String {
    let alphabet: &[u8] =
        if born.contains('.') { b"0123456789" } else { b"0123456789abcdefghijklmnopqrstuvwxyz" };
    let mut text = String::new();
    for block in 0.. {
        if text.len() >= length {
            break;
        }
        let hashed = json!([born, [ms, counter], by, block]).to_string();
        for byte in Sha256::digest(hashed.as_bytes()) {
            text.push(char::from(alphabet[usize::from(byte) % alphabet.len()]));
        }
    }
    text.truncate(length);
    text
}
