//! Completes values with what is in the store.

use std::time::Duration;

use beads_core::query::{CountBy, Filter, Sort, SortKey, StatusFilter};
use beads_core::{BeadType, STATUS_CUSTOM, Status, TYPE_CUSTOM, counted};
use beads_engine::client::{self, Access};
use beads_engine::config;
use beads_engine::request::{Call, Output, Query};
use clap::Arg;
use serde_json::Value;

use super::Candidate;
use crate::cli::globals::Globals;

/// A shell waits for the answer, so a busy store is not waited for.
const TIMEOUT: Duration = Duration::from_millis(500);

/// The maximum number of ids, so that a list stays readable.
const MAX_IDS: usize = 200;

/// What `bd count` calls beads without a label or an assignee.
const NO_VALUE: [&str; 2] = ["(no labels)", "(unassigned)"];

/// What kind of value an argument takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Id,
    IdOrLabel,
    Conflict,
    Status,
    StatusFilter,
    Label,
    Actor,
    Type,
    Setting,
    Other,
}

/// Returns whether an argument takes several values separated by commas.
pub fn is_list(arg: &Arg) -> bool {
    value_names(arg).iter().any(|name| name.ends_with(",…")) || arg.get_value_delimiter() == Some(',')
}

fn value_names(arg: &Arg) -> Vec<&str> {
    arg.get_value_names().unwrap_or_default().iter().map(AsRef::as_ref).collect()
}

impl Kind {
    fn of(arg: &Arg) -> Self {
        match arg.get_long() {
            // These name something new, or something that is not a bead.
            Some("id" | "session" | "request-id" | "prefix") => return Self::Other,
            // A filter takes several statuses, and a bead has one.
            Some("status") if is_list(arg) => return Self::StatusFilter,
            Some("status") => return Self::Status,
            Some("type") => return Self::Type,
            Some("assignee" | "actor" | "author" | "to" | "holder") => return Self::Actor,
            _ => {}
        }
        match value_names(arg).as_slice() {
            ["ID", "LABEL"] => Self::IdOrLabel,
            names if names.iter().any(|name| name.trim_end_matches(",…").ends_with("ID")) => Self::Id,
            names if names.iter().any(|name| name.starts_with("LABEL")) => Self::Label,
            ["CONFLICT"] => Self::Conflict,
            ["TYPE"] => Self::Type,
            ["KEY"] => Self::Setting,
            _ => Self::Other,
        }
    }
}

/// Answers from the store that a command line names. Errors count as no answer.
#[derive(Debug)]
pub struct Values<'a> {
    globals: &'a Globals,
}

impl<'a> Values<'a> {
    pub fn new(globals: &'a Globals) -> Self {
        Self { globals }
    }

    /// Returns values of an argument that may begin with `part`.
    pub fn of(&self, arg: &Arg, part: &str) -> Vec<Candidate> {
        match Kind::of(arg) {
            Kind::Id => self.ids(part),
            Kind::IdOrLabel => [self.ids(part), self.labels()].concat(),
            Kind::Status => self.statuses(),
            Kind::StatusFilter => [self.statuses(), vec![Candidate::new("all", "every status")]].concat(),
            Kind::Conflict => self.conflicts(),
            Kind::Type => {
                let fixed = BeadType::ALL.map(|kind| Candidate::new(kind.as_str(), "")).into_iter();
                fixed.chain(self.custom_words(TYPE_CUSTOM)).collect()
            }
            Kind::Label => self.labels(),
            Kind::Actor => self.actors(),
            Kind::Setting => settings(),
            Kind::Other => Vec::new(),
        }
    }

    /// Asks the store, without waiting for it or contacting the remote.
    fn ask(&self, call: Call) -> Option<Value> {
        let place = self.globals.place().ok().filter(beads_engine::place::Place::exists)?;
        let mut request = self.globals.request(&place, call).ok()?;
        request.output = Output::default();
        request.offline = true;
        let access = self.globals.access();
        let access = Access { lock_timeout: TIMEOUT.min(access.lock_timeout), is_last: false, ..access };
        let reply = client::ask(&place, request, &access);
        serde_json::from_str(reply.result?.get()).ok()
    }

    /// Returns ids with titles: unfinished beads first, the last changed ones first among these.
    fn ids(&self, part: &str) -> Vec<Candidate> {
        let text = (!part.is_empty()).then(|| part.to_owned());
        let sort = Sort { by: SortKey::Updated, reverse: false };
        let filter = Filter { text, sort, limit: Some(MAX_IDS), ..Filter::default() };
        let unfinished =
            Filter { status: vec![StatusFilter::Open, StatusFilter::InProgress], ..filter.clone() };
        let list = |filter| self.ask(Call::query(Query::List(filter))).unwrap_or_default();
        let mut found: Vec<Candidate> = Vec::new();
        let (first, then) = (list(unfinished), list(filter));
        for bead in [&first, &then].into_iter().flat_map(|list| list.as_array().into_iter().flatten()) {
            let id = text_of(bead, "id");
            if id.starts_with(part) && found.iter().all(|known| known.value != id) {
                found.push(Candidate::new(id, text_of(bead, "title")));
            }
        }
        found
    }

    fn statuses(&self) -> Vec<Candidate> {
        let derived = ["blocked", "deferred"].map(|word| Candidate::new(word, ""));
        let fixed = Status::ALL.map(|status| Candidate::new(status.as_str(), "")).into_iter();
        fixed.chain(derived).chain(self.custom_words(STATUS_CUSTOM)).collect()
    }

    /// Returns the conflicts that are not dismissed, with their bead and field.
    fn conflicts(&self) -> Vec<Candidate> {
        let list = self.ask(Call::ConflictList { all: false, bead: None }).unwrap_or_default();
        let shown = |conflict: &Value| {
            let about = format!("{} {}", text_of(conflict, "bead"), text_of(conflict, "field"));
            Candidate::new(text_of(conflict, "id"), about.trim())
        };
        list.as_array().into_iter().flatten().take(MAX_IDS).map(shown).collect()
    }

    fn labels(&self) -> Vec<Candidate> {
        self.groups(CountBy::Label)
    }

    fn actors(&self) -> Vec<Candidate> {
        let mut found = vec![Candidate::new("me", "the acting actor")];
        found.extend(self.groups(CountBy::Assignee));
        found
    }

    /// Returns the values of a field with the number of beads that have each.
    fn groups(&self, by: CountBy) -> Vec<Candidate> {
        let groups = self.ask(Call::query(Query::Count { filter: Filter::default(), by: Some(by) }));
        let groups = groups.unwrap_or_default();
        let group = |group: &Value| {
            let (name, count) = (text_of(group, "group"), group["count"].as_u64().unwrap_or_default());
            let is_value = !name.is_empty() && !NO_VALUE.contains(&name.as_str());
            is_value.then(|| Candidate::new(name, counted(count, "bead")))
        };
        groups["groups"].as_array().into_iter().flatten().filter_map(group).collect()
    }

    /// Returns the names in a setting such as `qa:in_progress,someday`.
    fn custom_words(&self, key: &str) -> Vec<Candidate> {
        let settings = self.ask(Call::ConfigList).unwrap_or_default();
        let words = settings[key].as_str().unwrap_or_default().split(',').filter(|word| !word.is_empty());
        words
            .map(|word| word.split_once(':').unwrap_or((word, "")))
            .map(|(word, of)| Candidate::new(word, of))
            .collect()
    }
}

fn settings() -> Vec<Candidate> {
    let local = config::KEYS.iter().map(|key| (key.name, key.about));
    let replicated = config::REPLICATED.iter().copied();
    let all = local.chain(replicated).chain([(config::PREFIX_KEY, "the prefix of new ids")]);
    all.map(|(name, about)| Candidate::new(name, about)).collect()
}

fn text_of(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap_or_default().to_owned()
}
