//! From what a caller writes to the bead it names.

use crate::{Catalog, Error, Lineage, Result};

/// The least number of characters that identify a bead in a mutation, not counting the prefix.
const MIN_ABBREVIATION: usize = 3;

/// What programs print for a missing value.
const NULL_NAMES: [&str; 5] = ["null", "undefined", "none", "nil", "nan"];

/// Rejects the printed form of a missing value, even if the id of a bead starts with it.
fn check_name(name: &str) -> Result<()> {
    let missing = name.trim().is_empty() || NULL_NAMES.contains(&name.to_lowercase().as_str());
    if !missing {
        return Ok(());
    }
    let message = format!("{name:?} is not an id; it looks like a missing value. Nothing was changed");
    Err(Error::invalid("id", message))
}

impl Catalog {
    /// Returns the live bead with the id `name`. An unambiguous beginning of the id is enough, and the
    /// store's prefix may be omitted.
    pub fn resolve(&self, name: &str) -> Result<&Lineage> {
        let lineage = self.resolve_any(name)?;
        match self.bead(lineage).and_then(|bead| bead.deletion.as_ref()) {
            None => Ok(lineage),
            Some(deletion) if deletion.archived => Err(Error::Archived {
                asked: self.id_of(lineage).to_string(),
                remapped: self.remapped(self.id_of(lineage)),
            }),
            Some(deletion) => Err(Error::Deleted {
                asked: self.id_of(lineage).to_string(),
                reason: deletion.reason.non_empty().map(str::to_owned),
                remapped: self.remapped(self.id_of(lineage)),
            }),
        }
    }

    /// Like [`resolve`](Self::resolve), but also finds deleted beads, by their full id.
    pub fn resolve_any(&self, name: &str) -> Result<&Lineage> {
        let names = self.state.names();
        let prefixed = format!("{}-{name}", self.state.prefix().prefix);
        if let Some(lineage) = names.holder(name).or_else(|| names.holder(&prefixed)) {
            return Ok(lineage);
        }
        if name.is_empty() {
            return Err(Error::NotFound(name.to_owned()));
        }
        for beginning in [name, &prefixed] {
            let mut found =
                names.starting_with(beginning).filter(|(_, lineage)| self.live_bead(lineage).is_some());
            if let Some((first, lineage)) = found.next() {
                let others: Vec<_> = found.take(4).map(|(id, _)| id.clone()).collect();
                if others.is_empty() {
                    return Ok(lineage);
                }
                let candidates = [first.clone()].into_iter().chain(others).collect();
                return Err(Error::Ambiguous { asked: name.to_owned(), candidates });
            }
        }
        Err(Error::NotFound(name.to_owned()))
    }

    /// Returns the live bead that a mutation names. Stricter than [`resolve`](Self::resolve): a missing value
    /// or a typo must not change a bead whose id happens to begin with it.
    pub fn resolve_to_change(&self, name: &str) -> Result<&Lineage> {
        check_name(name)?;
        let lineage = self.resolve(name)?;
        self.check_length(name, lineage)?;
        Ok(lineage)
    }

    /// Like [`resolve_to_change`](Self::resolve_to_change), but also finds deleted beads, by their full id.
    pub fn resolve_any_to_change(&self, name: &str) -> Result<&Lineage> {
        check_name(name)?;
        let lineage = self.resolve_any(name)?;
        self.check_length(name, lineage)?;
        Ok(lineage)
    }

    /// Checks that an abbreviation is the prefix and at least one more character, or at least three
    /// characters of the part after the prefix.
    fn check_length(&self, name: &str, found: &Lineage) -> Result<()> {
        let id = self.id_of(found).as_str();
        let prefix = id.rfind('-').map_or(0, |dash| dash + 1);
        let with_prefix = id.starts_with(name) && name.len() > prefix;
        if with_prefix || (!id.starts_with(name) && name.chars().count() >= MIN_ABBREVIATION) {
            return Ok(());
        }
        let message = format!(
            "{name:?} is too short to identify the bead to change; nothing was changed. Use {} or at least \
             {MIN_ABBREVIATION} characters of the part after the prefix",
            self.id_of(found)
        );
        Err(Error::invalid("id", message))
    }
}
