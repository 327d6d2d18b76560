use beads_store::progress::{Position, Step};
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
    /// How far the sync has come that a client asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync: Option<StepProgress>,
    /// How far the running import has come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub import: Option<StepProgress>,
}

/// How far a running operation has come in its current step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepProgress {
    /// The current step.
    pub step: ProgressStep,
    /// How many objects, bytes or parts are done.
    pub done: u64,
    /// How many there are.
    pub total: u64,
}

/// A step of a sync or an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProgressStep {
    /// Collecting the objects to transfer.
    Preparing,
    /// Receiving objects.
    Receiving,
    /// Indexing the received objects.
    Indexing,
    /// Sending objects.
    Sending,
    /// Reading files.
    Reading,
    /// Applying changes to the store.
    Applying,
}

impl StepProgress {
    /// Returns the share that is done, in percent, rounded down.
    pub fn percent(&self) -> u64 {
        self.done.min(self.total).saturating_mul(100) / self.total.max(1)
    }
}

impl From<Position> for StepProgress {
    fn from(Position { step, done, total }: Position) -> Self {
        let step = match step {
            Step::Preparing => ProgressStep::Preparing,
            Step::Receiving => ProgressStep::Receiving,
            Step::Indexing => ProgressStep::Indexing,
            Step::Sending => ProgressStep::Sending,
            Step::Reading => ProgressStep::Reading,
            Step::Applying => ProgressStep::Applying,
        };
        Self { step, done, total }
    }
}

impl std::fmt::Display for StepProgress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let step = match self.step {
            ProgressStep::Preparing => "preparing",
            ProgressStep::Receiving => "receiving",
            ProgressStep::Indexing => "indexing",
            ProgressStep::Sending => "sending",
            ProgressStep::Reading => "reading",
            ProgressStep::Applying => "applying",
        };
        write!(f, "{step} {} %", self.percent())
    }
}
