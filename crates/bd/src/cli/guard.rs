//! Preconditions of a mutation.

use beads_core::op::{Fence, Guard};
use clap::Args;

#[derive(Debug, Clone, Args)]
pub struct GuardArgs {
    /// Fail unless the bead's if_hash (or content_hash, if it has none) is still HASH
    #[arg(long, value_name = "HASH")]
    if_hash: Option<String>,
    /// Fail unless your claim still has this fence
    #[arg(long, value_name = "FENCE")]
    fence: Option<Fence>,
}

impl GuardArgs {
    pub fn guard(&self) -> Guard {
        Guard { content_hash: self.if_hash.clone(), fence: self.fence }
    }
}
