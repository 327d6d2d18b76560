use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What `bd daemon status --json` prints.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct DaemonStatus {
    pub running: bool,
    pub pid: Option<u32>,
    pub socket: String,
    pub version: Option<String>,
    /// Seconds since the daemon opened the store.
    pub uptime: Option<u64>,
    pub connections: Option<usize>,
}
