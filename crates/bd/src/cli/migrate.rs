use beads_core::snapshot::FORMAT_VERSION;
use beads_engine::failure::Failure;
use beads_engine::render::{self, MigrationAnswer};
use beads_engine::request::{Call, Format, Query, Reply};
use serde_json::Value;

use super::answered;
use super::globals::Globals;

/// Tell whether the store's format is the newest that this bd knows
///
/// A store of a newer format is refused and says so. Older formats do not exist yet, so there is nothing to do but to look.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd migrate --inspect --json")]
pub struct Args {
    /// Look and change nothing
    #[arg(long, required = true)]
    inspect: bool,
}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        let place = globals.place()?;
        let status: Value = globals.value(&place, Call::query(Query::Status))?;
        let answer = MigrationAnswer {
            current_version: FORMAT_VERSION,
            latest_version: FORMAT_VERSION,
            needs_migration: false,
            registered_migrations: Vec::new(),
            warnings: Vec::new(),
            issue_count: status["summary"]["total_issues"].as_u64().unwrap_or_default(),
        };
        Ok(answered(match globals.format() {
            Format::Json => render::json(&answer),
            _ => format!("format {FORMAT_VERSION}, the newest; nothing to migrate\n"),
        }))
    }
}
