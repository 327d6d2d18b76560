//! What a machine does in one piece when nothing goes wrong on the way: an exchange, an import.

use std::cell::RefCell;

use beads_core::import::Import;

use crate::machine::{Broken, Machine};
use crate::remote::{Network, SimRemote};
use crate::repository::SimRepository;

impl Machine {
    /// The real sync loop against a repository that is always there.
    pub fn sync_with(&mut self, other: &SimRepository) -> Result<String, Broken> {
        let Some(checkpoint) = self.begin_sync()? else { return Ok("not open".into()) };
        let mut nobody = || ();
        let remote = SimRemote {
            own: self.repository.clone(),
            network: Network::new(other.clone()),
            partitioned: false,
            mirrored: false,
            trouble: None,
            rival: RefCell::new(&mut nobody),
        };
        let outcome = checkpoint.sync(&self.repository, &remote, |_| ());
        self.finish_sync(outcome)
    }

    /// Takes in a file of another tracker, in one commit of the journal.
    pub fn import(&mut self, lines: &[u8]) -> Result<String, Broken> {
        let Some(replica) = &mut self.replica else { return Ok("not open".into()) };
        let mut import = Import::default();
        for (number, line) in lines.split(|byte| *byte == b'\n').enumerate() {
            import.line("file", number + 1, line);
        }
        let delta = import.plan(replica.catalog()).delta;
        self.absorb(delta)
    }
}
