//! `bd doctor`: each check is a function in a file of its own that returns its findings.

mod agents;
mod archive;
mod claim_refs;
mod claims;
mod clients;
mod clock;
mod clone;
mod daemon;
mod disk;
mod finding;
mod formats;
mod identity;
mod leftovers;
mod program;
mod remote;
mod rescued;
mod runtime_directory;
mod size;
mod store;

use std::collections::BTreeMap;

use beads_core::query::Severity;
use beads_engine::failure::{Failure, exit};
use beads_engine::place::Place;
use beads_engine::render::{self, CheckAnswer, DoctorAnswer, status_word};
use beads_engine::request::{Call, Format, Query, Reply};
use serde_json::Value;

use super::globals::Globals;
use super::{stdout_reply, terminal};

/// Check the store and its setup
///
/// Runs bd validate, checks the surroundings (daemon, remote, clone, identity, coding agents, claims, clock,
/// disk, file sizes, the archive, formats, leftovers of other trackers), and says what to type for each problem. Contacts
/// the remote unless --sandbox is given. --fix first removes dependencies on deleted beads. Only bd repair
/// fixes a damaged store, and it shows its plan first. Exits with 1 if a check finds an error; warnings and
/// remarks do not count.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bd doctor\n  bd doctor --check=remote --probe\n  bd doctor --check=validate --json"
)]
pub struct Args {
    /// Check to run: validate (the store only) or the name of a check [default: all]
    #[arg(long, value_name = "CHECK")]
    check: Option<String>,
    /// Remove dependencies on deleted beads
    #[arg(long)]
    fix: bool,
    /// Also create a test ref among the claim refs on the remote and delete it, to learn whether it takes them
    #[arg(long)]
    probe: bool,
    /// Accepted with --fix; bd never asks questions
    #[arg(long)]
    yes: bool,
    /// Accepted for --check=pollution, which is not supported
    #[arg(long, hide = true)]
    clean: bool,
}

/// What the checks look at.
struct Examined<'a> {
    globals: &'a Globals,
    place: &'a Place,
    /// The answer of `bd status`; null if the store cannot be opened.
    status: Value,
    /// The settings; empty if the store cannot be opened.
    settings: BTreeMap<String, String>,
    /// Whether the remote may be written to.
    probe: bool,
}

impl Examined<'_> {
    /// Returns a setting that is not empty.
    fn setting(&self, key: &str) -> Option<&str> {
        self.settings.get(key).map(String::as_str).filter(|value| !value.is_empty())
    }
}

type Check = fn(&Examined) -> Vec<Value>;

/// Further checks of the store, which `--check=validate` runs too.
const OF_THE_STORE: [(&str, Check); 4] = [
    ("rescued", rescued::check),
    ("journal", rescued::check_journal),
    ("clients", clients::check),
    ("claim_refs", claim_refs::check),
];

/// The checks that are shown only if they find something.
const IF_FOUND: [&str; 3] = ["rescued", "journal", "claim_refs"];

/// The checks of the surroundings, in the order in which they are shown.
const SURROUNDINGS: [(&str, Check); 14] = [
    ("daemon", daemon::check),
    ("runtime_dir", runtime_directory::check),
    ("remote", remote::check),
    ("clone", clone::check),
    ("identity", identity::check),
    ("agents", agents::check),
    ("program", program::check),
    ("claims", claims::check),
    ("clock", clock::check),
    ("disk", disk::check),
    ("size", size::check),
    ("archive", archive::check),
    ("formats", formats::check),
    ("leftovers", leftovers::check),
];

/// The name that stands for all checks of the store itself.
const VALIDATE: &str = "validate";

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        self.refuse_unsupported()?;
        let place = globals.place()?;
        let mut fixed = 0;
        if self.fix {
            let orphans: Value = globals.value(&place, Call::RepairDeps { fix: true })?;
            fixed = orphans["fixed"].as_u64().unwrap_or_default();
        }
        let checks = self.checks(globals, &place)?;
        let overall_ok = checks.iter().all(|check| check.status != "error");
        let answer = DoctorAnswer { overall_ok, checks, fixed };
        let stdout = match globals.format() {
            Format::Json => render::json(&answer),
            _ => text(&answer),
        };
        Ok(Reply { exit: if overall_ok { exit::OK } else { exit::DOMAIN }, ..stdout_reply(stdout) })
    }

    fn refuse_unsupported(&self) -> Result<(), Failure> {
        let check = self.check.as_deref().unwrap_or(VALIDATE);
        if check == "pollution" || self.clean {
            return Err(Failure::invalid(
                "bd cannot tell from a title whether a bead is only a test, and nothing was deleted; \
                 find candidates with bd search and delete them with bd delete",
            ));
        }
        let names: Vec<&str> = [VALIDATE]
            .into_iter()
            .chain(names_of_the_store())
            .chain(SURROUNDINGS.into_iter().map(|(name, _)| name))
            .collect();
        if !names.contains(&check) {
            return Err(Failure::invalid(format!(
                "there is no check {check:?}; the checks are {}",
                names.join(", ")
            )));
        }
        if self.yes && !self.fix {
            return Err(Failure::usage("--yes requires --fix"));
        }
        Ok(())
    }

    fn checks(&self, globals: &Globals, place: &Place) -> Result<Vec<CheckAnswer>, Failure> {
        let only = self.check.as_deref();
        let is_chosen = |name: &str| {
            let is_of_the_store = || names_of_the_store().any(|known| known == name);
            only.is_none_or(|only| only == name || (only == VALIDATE && is_of_the_store()))
        };
        let mut checks = Vec::new();
        if store::NAMES.iter().any(|name| is_chosen(name)) {
            checks = store::checks(globals, place)?;
            checks.retain(|check| is_chosen(check.name));
        }
        // A store that cannot be opened was reported by the checks of the store.
        let examined = Examined {
            globals,
            place,
            status: globals.value(place, Call::query(Query::Status)).unwrap_or_default(),
            settings: globals.value(place, Call::ConfigList).unwrap_or_default(),
            probe: self.probe,
        };
        let chosen = OF_THE_STORE.iter().filter(|(name, _)| is_chosen(name));
        let chosen = chosen.map(|(name, check)| summary(name, check(&examined)));
        checks.extend(chosen.filter(|check| {
            !check.findings.is_empty() || !IF_FOUND.contains(&check.name) || only == Some(check.name)
        }));
        let chosen = SURROUNDINGS.iter().filter(|(name, _)| is_chosen(name));
        checks.extend(chosen.map(|(name, check)| summary(name, check(&examined))));
        Ok(checks)
    }
}

/// Returns the names of the checks that [`VALIDATE`] stands for.
fn names_of_the_store() -> impl Iterator<Item = &'static str> {
    store::NAMES.into_iter().chain(OF_THE_STORE.into_iter().map(|(name, _)| name))
}

fn summary(name: &'static str, findings: Vec<Value>) -> CheckAnswer {
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
            let line = format!("  {}", beads_engine::escape::escape(message));
            out.push_str(
                &terminal::size().map_or_else(|| line.clone(), |(columns, _)| render::wrap(&line, columns)),
            );
            out.push('\n');
        }
    }
    out
}
