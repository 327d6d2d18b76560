use beads_core::Op;
use beads_core::op::Renew;
use beads_engine::failure::Failure;
use beads_engine::request::Call;

use super::claim::LeaseArgs;
use super::guard::GuardArgs;

/// Renew your claims
///
/// Restarts the lease of each bead; the fence stays the same. Without an ID, renews all your claims. Changing
/// a bead that you hold renews its lease too.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bd renew bd-a1 --lease 4h --fence 1772366400000.65539\n  bd renew")]
pub struct Args {
    /// Ids of the beads; unambiguous prefixes are enough
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    #[command(flatten)]
    lease: LeaseArgs,
    #[command(flatten)]
    guard: GuardArgs,
}

impl Args {
    pub fn call(self) -> Result<Call, Failure> {
        let (guard, lease_ms) = (self.guard.guard(), self.lease.ms());
        if self.ids.is_empty() {
            if guard != Default::default() {
                return Err(Failure::usage("--if-hash and --fence require an ID"));
            }
            return Ok(Call::RenewHeld { lease_ms });
        }
        Ok(Call::each(self.ids, |id| Op::Renew(Renew { id, guard: guard.clone(), lease_ms })))
    }
}
