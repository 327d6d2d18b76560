use beads_core::Op;
use beads_core::op::RaiseFormat;
use beads_core::snapshot::FORMAT_VERSION;
use beads_engine::client;
use beads_engine::failure::Failure;
use beads_engine::render::{self, MigrationAnswer, TakenOverAnswer};
use beads_engine::request::{Call, Format, Mutate, Query, Reply};
use beads_engine::service;
use beads_store::TakenOver;
use serde_json::Value;

use super::answered;
use super::globals::Globals;

/// Raise the store to the newest format that this bd knows
///
/// A store keeps its format until something needs a newer one; then the command that needs it raises the format by itself.
/// Raising it here does the same ahead of time. Earlier releases of bd refuse the store from then on; the way back is bd
/// export.
///
/// A branch beads/store that the earlier Rust bd wrote is taken over: all its beads are imported, and the old commit is kept
/// under refs/beads/backup. The remote keeps the earlier store until --remote, because machines that still run the earlier
/// bd cannot read ours. A store of a format newer than this bd is refused.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bd migrate --inspect --json\n  bd migrate\n  bd migrate --remote")]
pub struct Args {
    /// Look and change nothing
    #[arg(long, conflicts_with = "remote")]
    inspect: bool,
    /// Replace the earlier store on the remote too
    #[arg(long)]
    remote: bool,
}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        let place = globals.place()?;
        let earlier = if place.exists() { service::earlier_commits(&place)? } else { Vec::new() };
        let taken = if self.inspect || (earlier.is_empty() && !self.remote) {
            None
        } else {
            let stop = globals.request(&place, Call::DaemonStop)?;
            client::take_over(&place, &stop, &globals.access(), self.remote)?
        };
        if !self.inspect && taken.is_none() {
            let raise = Op::RaiseFormat(RaiseFormat { version: FORMAT_VERSION });
            // As a list: the answer to a single operation that touches no bead is null, which reads as no answer at all.
            let raise = Mutate { ops: vec![raise], many: true, dry_run: false };
            let _: Value = globals.value(&place, Call::Mutate(raise))?;
        }
        let waiting = self.inspect && !earlier.is_empty();
        let mut answer = MigrationAnswer {
            current_version: 0,
            latest_version: FORMAT_VERSION,
            needs_migration: waiting,
            registered_migrations: Vec::new(),
            warnings: Vec::new(),
            issue_count: 0,
            taken_over: taken.map(answer_of),
        };
        if waiting {
            let commits = earlier.join(", ");
            answer.warnings.push(format!("the earlier Rust bd wrote {commits}; bd migrate takes it over"));
        } else {
            let status: Value = globals.value(&place, Call::query(Query::Status))?;
            answer.issue_count = status["summary"]["total_issues"].as_u64().unwrap_or_default();
            answer.current_version = status["format_version"].as_u64().unwrap_or_default();
            if answer.current_version < FORMAT_VERSION {
                let warning = format!("format {FORMAT_VERSION} is refused by earlier releases of bd");
                answer.warnings.push(warning);
            }
        }
        Ok(answered(match globals.format() {
            Format::Json => render::json(&answer),
            _ => text(&answer, &globals.output()?),
        }))
    }
}

fn answer_of(taken: TakenOver) -> TakenOverAnswer {
    TakenOverAnswer {
        replaced: taken.replaced,
        backups: taken.backups,
        commit: taken.commit,
        pushed: taken.pushed,
        import: taken.summary,
    }
}

fn text(answer: &MigrationAnswer, output: &beads_engine::request::Output) -> String {
    let mut out = String::new();
    for warning in &answer.warnings {
        out.push_str(&format!("{warning}\n"));
    }
    match &answer.taken_over {
        Some(taken) => {
            render::import_summary(&mut out, &taken.import, output);
            out.push_str(&format!("the earlier store is kept as {}\n", taken.backups.join(", ")));
            out.push_str(if taken.pushed {
                "the remote has the new store; machines that still run the earlier bd cannot read it\n"
            } else {
                "a remote keeps the earlier store until bd migrate --remote\n"
            });
        }
        None if answer.current_version == 0 => {}
        None if answer.current_version < FORMAT_VERSION => out.push_str(&format!(
            "format {}; nothing here needs format {FORMAT_VERSION}, nothing to migrate\n",
            answer.current_version
        )),
        None => out.push_str(&format!("format {}, the newest; nothing to migrate\n", answer.current_version)),
    }
    out
}
