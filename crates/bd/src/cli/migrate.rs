use beads_core::Op;
use beads_core::op::RaiseFormat;
use beads_core::snapshot::FORMAT_VERSION;
use beads_engine::failure::Failure;
use beads_engine::render::{self, MigrationAnswer};
use beads_engine::request::{Call, Format, Query, Reply};
use serde_json::Value;

use super::answered;
use super::globals::Globals;

/// Raise the store to the newest format that this bd knows
///
/// A store keeps its format until something needs a newer one; then the command that needs it raises the format by itself.
/// Raising it here does the same ahead of time. Earlier releases of bd refuse the store from then on; the way back is bd
/// export. A store of a format newer than this bd is refused.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bd migrate --inspect --json\n  bd migrate")]
pub struct Args {
    /// Look and change nothing
    #[arg(long)]
    inspect: bool,
}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        let place = globals.place()?;
        if !self.inspect {
            let raise = Op::RaiseFormat(RaiseFormat { version: FORMAT_VERSION });
            let _: Value = globals.value(&place, Call::one(raise))?;
        }
        let status: Value = globals.value(&place, Call::query(Query::Status))?;
        let current = status["format_version"].as_u64().unwrap_or_default();
        let needs_migration = current < FORMAT_VERSION;
        let warnings = if needs_migration {
            vec![format!("format {FORMAT_VERSION} is refused by earlier releases of bd")]
        } else {
            Vec::new()
        };
        let answer = MigrationAnswer {
            current_version: current,
            latest_version: FORMAT_VERSION,
            needs_migration: false,
            registered_migrations: Vec::new(),
            warnings,
            issue_count: status["summary"]["total_issues"].as_u64().unwrap_or_default(),
        };
        Ok(answered(match globals.format() {
            Format::Json => render::json(&answer),
            _ if needs_migration => {
                format!("format {current}; nothing here needs format {FORMAT_VERSION}, nothing to migrate\n")
            }
            _ => format!("format {current}, the newest; nothing to migrate\n"),
        }))
    }
}
