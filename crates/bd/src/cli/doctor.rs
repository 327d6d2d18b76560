use std::collections::BTreeMap;
use std::path::Path;

use beads_core::query::Severity;
use beads_engine::failure::{Code, Failure, exit};
use beads_engine::journal_end;
use beads_engine::place::{Kind, Place};
use beads_engine::render::{self, CheckAnswer, DoctorAnswer, status_word};
use beads_engine::request::{Call, Format, Query, Reply};
use beads_engine::rescued;
use beads_store::GitRepository;
use serde_json::{Value, json};

use super::answered;
use super::globals::Globals;

/// Check the store, for programs that call it so
///
/// The findings of bd validate, gathered in one object. With --fix, dependencies on deleted beads are removed first; what is damaged
/// is mended by bd repair alone, which shows its plan first.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd doctor --check=validate --json")]
pub struct Args {
    /// What to check
    #[arg(long, value_name = "CHECK", default_value = "validate")]
    check: String,
    /// Remove dependencies on deleted beads
    #[arg(long)]
    fix: bool,
    /// Goes with --fix and --clean; nothing is ever asked, with it or without
    #[arg(long)]
    yes: bool,
    /// Goes with --check=pollution, which there is not
    #[arg(long, hide = true)]
    clean: bool,
}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        if self.check == "pollution" || self.clean {
            return Err(Failure::invalid(
                "which beads are only tests cannot be told from their titles, and nothing is deleted on a guess; \
                 bd search finds candidates, bd delete removes those you name",
            ));
        }
        if self.check != "validate" {
            return Err(Failure::invalid(format!("there is no check {:?}; there is validate", self.check)));
        }
        if self.yes && !self.fix {
            return Err(Failure::usage("--yes goes with --fix"));
        }
        let place = globals.place()?;
        let mut fixed = 0;
        if self.fix {
            let orphans: Value = globals.value(&place, Call::RepairDeps { fix: true })?;
            fixed = orphans["fixed"].as_u64().unwrap_or_default();
        }
        let findings: Vec<Value> = globals.value(&place, Call::Validate)?;
        let about_edges = |finding: &Value| finding["file"] == beads_core::snapshot::DEPS;
        let (edges, store): (Vec<_>, Vec<_>) = findings.into_iter().partition(about_edges);
        let about_clocks = |finding: &Value| {
            [Code::FutureStamp, Code::ClockExhausted].iter().any(|code| finding["code"] == code.as_str())
        };
        let (clocks, store): (Vec<_>, Vec<_>) = store.into_iter().partition(about_clocks);
        let mut checks =
            vec![check("store", store), check("dependencies", edges), check("clock_skew", clocks)];
        let rescued = rescued::of(&place);
        if !rescued.is_empty() {
            checks.push(check("rescued", rescued.iter().map(|path| finding(path)).collect()));
        }
        let lost: Vec<_> = journal_end::lost(&place).iter().map(|path| lost_finding(&place, path)).collect();
        if !lost.is_empty() {
            checks.push(check("journal", lost));
        }
        checks.push(check("clients", client_findings(globals, &place)?));
        let refused = claim_ref_findings(globals, &place)?;
        if !refused.is_empty() {
            checks.push(check("claim_refs", refused));
        }
        let overall_ok = checks.iter().all(|check| check.status != "error");
        let answer = DoctorAnswer { overall_ok, checks, fixed };
        let stdout = match globals.format() {
            Format::Json => render::json(&answer),
            _ => text(&answer),
        };
        Ok(Reply { exit: if overall_ok { exit::OK } else { exit::DOMAIN }, ..answered(stdout) })
    }
}

/// A rescue file, in the shape of what `bd validate` finds.
fn finding(path: &Path) -> Value {
    json!({
        "severity": Severity::Warning.as_str(), "code": "rescued_changes", "file": path, "line": null, "id": null,
        "message": rescued::describe(path),
    })
}

/// A journal that ended too early when it was opened.
fn lost_finding(place: &Place, path: &Path) -> Value {
    json!({
        "severity": Severity::Error.as_str(), "code": "journal_went_back", "file": path, "line": null, "id": null,
        "message": journal_end::describe(place, path),
    })
}

/// Whether the store is set up for the programs that look for a `.beads` directory.
fn client_findings(globals: &Globals, place: &Place) -> Result<Vec<Value>, Failure> {
    let settings: BTreeMap<String, String> = globals.value(place, Call::ConfigList)?;
    let set = |key: &str| settings.get(key).is_some_and(|value| !value.is_empty());
    let mut findings = Vec::new();
    let mut warn = |code: &str, message: String| {
        findings.push(json!({"severity": "warning", "code": code, "message": message}));
    };
    if place.beads_dir().join("metadata.json").is_file() && !set("json.dialect") {
        warn(
            "clients_not_set_up",
            "this work tree has .beads/metadata.json, but this clone is not set up for the programs that read it; \
             bd init --compat does that"
                .to_owned(),
        );
    }
    if let Some(path) = settings.get("export.path").filter(|path| !path.is_empty())
        && place.kind == Kind::Repository
        && GitRepository::open(&place.git_dir)?.tracks(&place.home().join(path))?
    {
        warn("export_tracked", format!("{path} is tracked by git, so nothing is exported there"));
    }
    if let Some(work_tree) = &place.inside {
        let (store, root) = (place.git_dir.display(), work_tree.display());
        let directory = place.git_dir.parent().unwrap_or(&place.git_dir).display();
        warn(
            "private_store",
            format!(
                "the private store {store} answers instead of the store of the repository {root}; bd import --from \
                 private-store {directory} takes its beads into that one, and moving {store} away lets that one answer"
            ),
        );
    }
    Ok(findings)
}

/// Whether the remote takes the refs that decide claims.
fn claim_ref_findings(globals: &Globals, place: &Place) -> Result<Vec<Value>, Failure> {
    let status: Value = globals.value(place, Call::query(Query::Status))?;
    let reason = status["sync"]["claim_refs_refused"].as_str();
    Ok(reason
        .map(|reason| {
            let message = format!(
                "the remote does not take claim refs ({reason}), so claims are decided on each machine; \
                 bd config set claim.ref_prefix refs/heads/beads-claims/ puts them where most servers take them"
            );
            json!({"severity": "warning", "code": "claim_refs_refused", "message": message})
        })
        .into_iter()
        .collect())
}

fn check(name: &'static str, findings: Vec<Value>) -> CheckAnswer {
    let has = |severity: Severity| findings.iter().any(|finding| finding["severity"] == severity.as_str());
    let worst = [Severity::Error, Severity::Warning, Severity::Info].into_iter().find(|one| has(*one));
    let message = match findings.len() {
        0 => "nothing found".to_owned(),
        count => format!("{count} found"),
    };
    CheckAnswer { name, status: status_word(worst), message, findings }
}

fn text(answer: &DoctorAnswer) -> String {
    let mut out = String::new();
    for check in &answer.checks {
        out.push_str(&format!("{:<13} {:<8} {}\n", check.name, check.status, check.message));
        for finding in &check.findings {
            let message = finding["message"].as_str().unwrap_or_default();
            out.push_str(&format!("  {}\n", beads_engine::escape::escape(message)));
        }
    }
    out
}
