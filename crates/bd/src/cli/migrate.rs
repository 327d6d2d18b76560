use beads_core::Op;
use beads_core::op::RaiseFormat;
use beads_core::snapshot::FORMAT_VERSION_WITHOUT_ARCHIVE as LATEST;
use beads_engine::client;
use beads_engine::failure::Failure;
use beads_engine::render::{self, MigrationAnswer, TakenOverAnswer};
use beads_engine::request::{Call, Format, Mutate, Query, Reply};
use beads_engine::service;
use beads_store::TakenOver;
use serde_json::Value;

use super::globals::Globals;
use super::stdout_reply;

/// Upgrade the store to the newest format
///
/// A store keeps its format until a command needs a newer one and upgrades it automatically. This command
/// does the same ahead of time. Earlier releases of bd cannot open an upgraded store; to go back, use bd
/// export. Only bd archive raises a store to format 3.
///
/// If branch beads/store holds a legacy store (of the earlier Rust bd), all its beads are imported, and the
/// old commit is kept under refs/beads/backup. The remote keeps the legacy store until you pass --remote,
/// because machines that still run the earlier bd cannot read the new one. A store with a format newer than
/// this bd is rejected.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bd migrate --inspect --json\n  bd migrate\n  bd migrate --remote")]
pub struct Args {
    /// Show the format and pending migrations without changing anything
    #[arg(long, conflicts_with = "remote")]
    inspect: bool,
    /// Also replace the legacy store on the remote
    #[arg(long)]
    remote: bool,
}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        let place = globals.place()?;
        let earlier = if place.exists() { service::legacy_commits(&place)? } else { Vec::new() };
        let taken = if self.inspect || (earlier.is_empty() && !self.remote) {
            None
        } else {
            let stop = globals.request(&place, Call::DaemonStop)?;
            client::take_over(&place, &stop, &globals.access(), self.remote)?
        };
        if !self.inspect && taken.is_none() {
            let raise = Op::RaiseFormat(RaiseFormat { version: LATEST });
            // Sent as a list, because the answer to a single operation without a bead is null, which means no
            // answer.
            let raise = Mutate { ops: vec![raise], many: true, dry_run: false };
            let _: Value = globals.value(&place, Call::Mutate(raise))?;
        }
        let waiting = self.inspect && !earlier.is_empty();
        let mut answer = MigrationAnswer {
            current_version: 0,
            latest_version: LATEST,
            needs_migration: waiting,
            registered_migrations: Vec::new(),
            warnings: Vec::new(),
            issue_count: 0,
            taken_over: taken.map(answer_of),
        };
        if waiting {
            let commits = earlier.join(", ");
            answer.warnings.push(format!("the earlier Rust bd wrote {commits}; run bd migrate to import it"));
        } else {
            let status: Value = globals.value(&place, Call::query(Query::Status))?;
            answer.issue_count = status["summary"]["total_issues"].as_u64().unwrap_or_default();
            answer.current_version = status["format_version"].as_u64().unwrap_or_default();
            answer.latest_version = LATEST.max(answer.current_version);
            if answer.current_version < LATEST {
                let warning = format!("earlier releases of bd cannot open format {LATEST}");
                answer.warnings.push(warning);
            }
        }
        Ok(stdout_reply(match globals.format() {
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
            out.push_str(&format!("the legacy store is kept as {}\n", taken.backups.join(", ")));
            out.push_str(if taken.pushed {
                "the remote has the new store; machines that still run the earlier bd cannot read it\n"
            } else {
                "the remote, if any, keeps the legacy store until bd migrate --remote\n"
            });
        }
        None if answer.current_version == 0 => {}
        None if answer.current_version < LATEST => out.push_str(&format!(
            "format {}; nothing needs format {LATEST}, nothing to migrate\n",
            answer.current_version
        )),
        None => out.push_str(&format!("format {}, the newest; nothing to migrate\n", answer.current_version)),
    }
    out
}
