//! An oracle for "no silent overwrite". It records which write each writer knew. It follows each register
//! back through writes that knew each other. A write that is not on that path lost to one that did not know
//! it, and must be among the conflicts.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::ledger::{BeadKey, Fact, Mark, ParsedSnapshot};

/// One register of one bead.
type Register = (BeadKey, String);

/// A write, acknowledged or not.
#[derive(Debug, Clone)]
struct Write {
    value: Value,
    /// The previous write, as the writer saw it.
    over: Option<Mark>,
}

/// The writes of one machine.
#[derive(Debug, Default)]
pub struct Writes {
    seen: BTreeMap<Register, Mark>,
    written: BTreeMap<(Register, Mark), Write>,
}

impl Writes {
    /// Records that the machine now knows this state.
    pub fn see(&mut self, parsed: &ParsedSnapshot) {
        self.seen = parsed.marks();
    }

    /// Adds the writes of another machine.
    pub fn take(&mut self, other: Self) {
        self.written.extend(other.written);
    }

    /// Records writes of this machine.
    pub fn write(&mut self, facts: &[Fact]) {
        for fact in facts {
            if let Fact::Register { bead, register, mark, value } = fact {
                let key = (bead.clone(), register.clone());
                let over = self.seen.insert(key.clone(), mark.clone());
                self.written.insert((key, mark.clone()), Write { value: value.clone(), over });
            }
        }
    }
}

/// Checks every acknowledged write: the current value builds on it, a writer who knew it overwrote it, or it
/// is among the conflicts.
pub fn check(machines: &[(&Writes, Vec<Fact>)], parsed: &ParsedSnapshot) -> Result<(), String> {
    let mut written = BTreeMap::new();
    for (writes, _) in machines {
        written.extend(writes.written.iter());
    }
    let known_and_overwritten: BTreeSet<(&Register, &Mark)> =
        written.iter().filter_map(|((register, _), write)| Some((register, write.over.as_ref()?))).collect();
    for fact in machines.iter().flat_map(|(_, facts)| facts.iter()) {
        let Fact::Register { bead, register, mark, value } = fact else { continue };
        let key = (bead.clone(), register.clone());
        if known_and_overwritten.contains(&(&key, mark)) {
            continue;
        }
        let current_path = path(&key, parsed.marks_of(&key), &written);
        let kept = parsed.conflicts(&key);
        if current_path.contains(mark) || kept.contains(mark) {
            continue;
        }
        // Two writes of the same value do not conflict. A later write may have known only one of them, and
        // may itself have lost and been kept as a conflict.
        let value_of = |mark: &Mark| written.get(&(key.clone(), mark.clone())).map(|write| &write.value);
        let mut led_to_kept = kept.iter().flat_map(|mark| path(&key, Some(mark.clone()), &written));
        let same = |mark: &Mark| value_of(mark) == Some(value);
        if !current_path.iter().any(same) && !led_to_kept.any(|mark| same(&mark)) {
            return Err(format!("{register} of {bead}: {value} by {mark:?} was overwritten silently"));
        }
    }
    Ok(())
}

/// Returns a write, the write that its writer knew, and so on.
fn path(
    key: &Register,
    mut next: Option<Mark>,
    written: &BTreeMap<&(Register, Mark), &Write>,
) -> BTreeSet<Mark> {
    let mut path = BTreeSet::new();
    while let Some(mark) = next.take() {
        next = written.get(&(key.clone(), mark.clone())).and_then(|write| write.over.clone());
        if !path.insert(mark) {
            break;
        }
    }
    path
}
