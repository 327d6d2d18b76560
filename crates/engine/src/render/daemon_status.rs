use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The output of `bd daemon status --json`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct DaemonStatus {
    /// Whether a daemon is running.
    pub running: bool,
    /// Its process id.
    pub pid: Option<u32>,
    /// Its socket.
    pub socket: String,
    /// Its version.
    pub version: Option<String>,
    /// Seconds since the daemon opened the store.
    pub uptime: Option<u64>,
    /// The number of open connections.
    pub connections: Option<usize>,
}
