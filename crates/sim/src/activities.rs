//! Activities of a machine that run without interruption: an exchange, an import.

use std::cell::RefCell;

use beads_core::import::Import;

use crate::machine::{Machine, Violation};
use crate::remote::{Network, SimRemote};
use crate::repository::SimRepository;

impl Machine {
    /// Runs the real sync loop against a repository that is always reachable.
    pub fn sync_with(&mut self, other: &SimRepository) -> Result<String, Violation> {
        let Some(checkpoint) = self.begin_sync()? else { return Ok("not open".into()) };
        let mut no_rival = || ();
        let remote = SimRemote {
            own: self.repository.clone(),
            network: Network::new(other.clone()),
            partitioned: false,
            mirrored: false,
            trouble: None,
            rival: RefCell::new(&mut no_rival),
        };
        let outcome = checkpoint.sync(&self.repository, &remote, |_| ());
        self.finish_sync(outcome)
    }

    /// Imports a file of another tracker, in one journal commit.
    pub fn import(&mut self, lines: &[u8]) -> Result<String, Violation> {
        let Some(replica) = &mut self.replica else { return Ok("not open".into()) };
        let mut import = Import::default();
        for (number, line) in lines.split(|byte| *byte == b'\n').enumerate() {
            import.line("file", number + 1, line);
        }
        let delta = import.plan(replica.catalog()).delta;
        self.absorb(delta)
    }
}
