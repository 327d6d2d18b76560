//! Who knew what: an oracle for "no silent overwrite". It follows each register back through the writes that knew one
//! another; a write off that path lost against one that did not know it, and must be among the conflicts.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::ledger::{BeadKey, Fact, Mark, Reading};

/// One register of one bead.
type Register = (BeadKey, String);

/// A write, acknowledged or not.
#[derive(Debug, Clone)]
struct Write {
    value: Value,
    /// What stood there before, as its writer saw it.
    over: Option<Mark>,
}

/// The writes of one machine.
#[derive(Debug, Default)]
pub struct Writes {
    seen: BTreeMap<Register, Mark>,
    written: BTreeMap<(Register, Mark), Write>,
}

impl Writes {
    /// From now on the machine knows this state.
    pub fn see(&mut self, reading: &Reading) {
        self.seen = reading.marks();
    }

    /// Adds the writes of another machine.
    pub fn take(&mut self, other: Self) {
        self.written.extend(other.written);
    }

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

/// Every acknowledged write led to the one that stands, was overwritten by somebody who knew it, or is among the
/// conflicts.
pub fn check(machines: &[(&Writes, Vec<Fact>)], reading: &Reading) -> Result<(), String> {
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
        let standing = path(&key, reading.marks_of(&key), &written);
        let kept = reading.conflicts(&key);
        if standing.contains(mark) || kept.contains(mark) {
            continue;
        }
        // Two that wrote the same value do not disagree, and somebody may have overwritten both in knowledge of one; what he
        // wrote may in turn be what lost and was kept.
        let value_of = |mark: &Mark| written.get(&(key.clone(), mark.clone())).map(|write| &write.value);
        let mut led_to_kept = kept.iter().flat_map(|mark| path(&key, Some(mark.clone()), &written));
        let same = |mark: &Mark| value_of(mark) == Some(value);
        if !standing.iter().any(same) && !led_to_kept.any(|mark| same(&mark)) {
            return Err(format!("{register} of {bead}: {value} by {mark:?} was overwritten silently"));
        }
    }
    Ok(())
}

/// A write, the one its writer knew, and so on.
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
