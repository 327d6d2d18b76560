use beads_core::Op;
use beads_core::op::ClaimBead;

use super::guard::GuardArgs;
use crate::config::parse_duration;
use crate::failure::Failure;
use crate::request::Call;

/// Take a bead, so that nobody else does
///
/// The claim is a lease: it runs out unless you renew it, by claiming again or by any change you make to the bead.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd claim bd-a1 --lease 4h")]
pub struct Args {
    #[arg(value_name = "ID")]
    id: String,
    /// How long it is yours, such as 90m [default: the setting claim.lease]
    #[arg(long, value_name = "TIME")]
    lease: Option<String>,
    #[command(flatten)]
    guard: GuardArgs,
}

impl Args {
    pub fn call(self) -> Result<Call, Failure> {
        let lease = self.lease.as_deref().map(parse_duration).transpose()?;
        if lease.is_some_and(|lease| lease.is_zero()) {
            return Err(Failure::invalid("a lease of no time is no claim"));
        }
        let lease_ms = lease.map(|lease| u64::try_from(lease.as_millis()).unwrap_or(u64::MAX));
        let op = Op::Claim(ClaimBead { id: self.id, guard: self.guard.guard(), lease_ms });
        Ok(Call::one(op))
    }
}
