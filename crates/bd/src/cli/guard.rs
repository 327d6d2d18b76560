//! What must still hold for a mutation to go ahead.

use beads_core::op::{Fence, Guard};
use clap::Args;

#[derive(Debug, Clone, Args)]
pub struct GuardArgs {
    /// Only if the bead's if_hash, or without one its content_hash, is still this
    #[arg(long, value_name = "HASH")]
    if_hash: Option<String>,
    /// Only if your claim still has this fence
    #[arg(long, value_name = "FENCE")]
    fence: Option<Fence>,
}

impl GuardArgs {
    pub fn guard(&self) -> Guard {
        Guard { content_hash: self.if_hash.clone(), fence: self.fence }
    }
}
