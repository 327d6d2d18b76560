//! Archiving in the simulation. What is archived may be in the store or in the archive, but never lost.

use beads_core::op::{Archive, Close, Restore};
use beads_core::{Lineage, Op, State, Timestamp};
use beads_store::read_archive;

use crate::dice::Dice;
use crate::machine::{Machine, Violation};

/// Returns a state with the content of its archived beads.
pub fn with_content(state: &State, archive: &State) -> State {
    let mut whole = state.clone();
    for lineage in state.archived().map(|(lineage, _)| lineage) {
        whole.thaw(lineage, archive);
    }
    whole
}

impl Machine {
    /// Closes a bead, perhaps, and archives the closed beads.
    pub fn archive(&mut self, dice: &mut Dice) -> Result<String, Violation> {
        let Some(replica) = &self.replica else { return Ok("not open".into()) };
        let mut trace = String::new();
        let live: Vec<_> = replica.catalog().live().map(|(lineage, _)| lineage.clone()).collect();
        if let Some(bead) = dice.pick(&live).filter(|_| dice.chance(70)) {
            let id = replica.catalog().id_of(bead).to_string();
            let close = Close { id, force: true, ..Close::default() };
            trace.push_str(&self.apply(Op::Close(close), Self::caller())?);
        }
        let closed_before =
            Timestamp::from_ms(beads_core::limits::MAX_MS - 1).map_err(|error| error.to_string())?;
        trace.push_str(&self.apply(Op::Archive(Archive { closed_before }), Self::caller())?);
        Ok(trace)
    }

    /// Restores an archived bead, if its content is here.
    pub fn restore_archived(&mut self, dice: &mut Dice) -> Result<String, Violation> {
        let Some(replica) = &mut self.replica else { return Ok("not open".into()) };
        let archived: Vec<Lineage> =
            replica.catalog().archived().map(|(lineage, _)| lineage.clone()).collect();
        let Some(bead) = dice.pick(&archived) else { return Ok("nothing is archived".into()) };
        let archive = match read_archive(&self.repository) {
            Ok(archive) => archive,
            Err(error) => return self.expect_fault(&error, "restore"),
        };
        if !replica.thaw(bead, &archive).map_err(|error| error.to_string())? {
            return Ok("its content is elsewhere".into());
        }
        let id = replica.catalog().id_of(bead).to_string();
        self.apply(Op::Restore(Restore { id, ..Restore::default() }), Self::caller())
    }
}
