use std::path::PathBuf;

use beads_core::op::{Change, Dep, Update};
use beads_core::{Actor, Label, Line, Op, Priority, StatusName, Title, TypeName};
use beads_engine::failure::Failure;
use beads_engine::request::Call;

use super::claim;
use super::future_time::future_time;
use super::guard::GuardArgs;
use super::input;
use super::input::Input;

/// Update fields of one or more beads
///
/// Fields that are not named stay unchanged. An empty text clears a field.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bd update bd-a1 -p 0 --add-label urgent\n  bd update bd-a1 bd-b2 --status in_progress\n  bd update bd-a1 --deps bd-b2,blocks:bd-c3\n  bd update bd-a1 --claim"
)]
pub struct Args {
    /// Ids of the beads; unambiguous prefixes are enough
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    #[command(flatten)]
    guard: GuardArgs,
    /// Title, on one line
    #[arg(long)]
    title: Option<Title>,
    /// Description
    #[arg(long, short = 'd', visible_alias = "desc")]
    description: Option<String>,
    /// Read the description from FILE; - for standard input
    #[arg(long, value_name = "FILE", conflicts_with = "description")]
    body_file: Option<PathBuf>,
    /// Status: open, in_progress, closed, or a custom one such as blocked, deferred, review or cancelled
    #[arg(long, short = 's')]
    status: Option<StatusName>,
    /// Priority: 0 (urgent) to 4 (someday), P0 to P4, or high, medium, low
    #[arg(long, short = 'p', value_name = "0-4")]
    priority: Option<Priority>,
    /// Type: bug, feature, task, epic, chore, or a custom one such as decision or spike
    #[arg(long = "type", short = 't', value_name = "TYPE")]
    kind: Option<TypeName>,
    /// Assignee; me for yourself, empty to unassign
    #[arg(long, short = 'a', value_name = "NAME")]
    assignee: Option<String>,
    /// Override another actor's claim (requires --reason)
    #[arg(long, requires = "reason")]
    force: bool,
    /// Claim it: set assignee, lease and status in one step
    #[arg(long, conflicts_with_all = ["assignee", "status"])]
    claim: bool,
    /// Claim only if the remote confirms it; only for --claim without other changes
    #[arg(long, requires = "claim")]
    confirm: bool,
    /// Labels to add, comma-separated
    #[arg(long, value_name = "LABEL,…", value_delimiter = ',')]
    add_label: Vec<Label>,
    /// Labels to remove, comma-separated
    #[arg(long, value_name = "LABEL,…", value_delimiter = ',')]
    remove_label: Vec<Label>,
    /// Replace all labels; empty for none
    #[arg(long, value_name = "LABEL,…", num_args = 1)]
    set_labels: Option<String>,
    /// Design: how to do it
    #[arg(long)]
    design: Option<String>,
    /// Acceptance criteria: when it is done
    #[arg(long, value_name = "TEXT", visible_alias = "acceptance-criteria")]
    acceptance: Option<String>,
    /// Add a note; earlier notes stay
    #[arg(long)]
    notes: Option<String>,
    /// Add a note that appends TEXT to the latest --notes text
    #[arg(long, value_name = "TEXT", conflicts_with = "notes")]
    append_notes: Option<String>,
    /// Reason for a change of status or assignee: the close reason, else kept as a note
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Dependencies to add, in the format of bd create
    #[arg(long, value_name = "[ROLE:]ID,…", value_delimiter = ',')]
    deps: Vec<Dep>,
    /// Estimated time in minutes; empty to clear
    #[arg(long, short = 'e', value_name = "MINUTES")]
    estimate: Option<String>,
    /// Due date: RFC 3339, a local date-time, a date, or a time from now such as +2d; empty to clear
    #[arg(long, value_name = "TIME")]
    due: Option<String>,
    /// Not ready before TIME, in the same formats; empty to clear
    #[arg(long, value_name = "TIME")]
    defer: Option<String>,
    /// Metadata for other tools, as a JSON object that replaces the current one
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
    /// Reference to another tracker
    #[arg(long, value_name = "REF")]
    external_ref: Option<Line>,
    /// Repository it came from; empty to clear
    #[arg(long, value_name = "REPO")]
    source_repo: Option<Line>,
    /// Move it under this bead
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// Remove it from its parent
    #[arg(long, conflicts_with = "parent")]
    no_parent: bool,
}

impl Args {
    pub fn call(self, input: Input) -> Result<Call, Failure> {
        let parent = match (&self.parent, self.no_parent) {
            (Some(parent), _) if parent.is_empty() => Some(Change::Clear),
            (Some(parent), _) => Some(Change::Set(parent.clone())),
            (None, true) => Some(Change::Clear),
            (None, false) => None,
        };
        let update = Update {
            id: String::new(),
            guard: self.guard.guard(),
            title: self.title.clone(),
            description: input.body(self.description.as_ref(), self.body_file.as_ref())?,
            priority: self.priority,
            kind: self.kind.clone(),
            status: self.status.clone(),
            assignee: self.assignee()?,
            claim: self.claim,
            force: self.force,
            reason: input.optional(self.reason.as_ref())?.unwrap_or_default(),
            strict: false,
            set_labels: self.set_labels.as_deref().map(labels).transpose()?,
            add_labels: self.add_label,
            remove_labels: self.remove_label,
            design: input.optional(self.design.as_ref())?,
            acceptance_criteria: input.optional(self.acceptance.as_ref())?,
            notes: input.optional(self.notes.as_ref())?,
            append_notes: input.optional(self.append_notes.as_ref())?,
            deps: self.deps,
            external_ref: self.external_ref,
            source_repo: self.source_repo,
            estimated_minutes: change(self.estimate.as_deref(), input::minutes)?,
            due_at: change(self.due.as_deref(), future_time)?,
            defer_until: change(self.defer.as_deref(), future_time)?,
            metadata: input.optional(self.metadata.as_ref())?,
            parent,
        };
        let about_change = Update {
            guard: update.guard.clone(),
            force: update.force,
            reason: update.reason.clone(),
            ..Update::default()
        };
        if update == about_change {
            return Err(Failure::usage("nothing to update: name at least one field"));
        }
        let explains = update.status.is_some() || update.assignee.is_some() || update.claim;
        if !update.reason.is_empty() && !explains {
            return Err(Failure::usage("--reason requires a change of status or assignee"));
        }
        let op = |id: String| Op::Update(Box::new(Update { id, ..update.clone() }));
        Ok(claim::confirmed(Call::each(self.ids, op), self.confirm))
    }

    fn assignee(&self) -> Result<Option<Change<Actor>>, Failure> {
        change(self.assignee.as_deref(), |name| {
            name.parse().map_err(|error: beads_core::Error| error.to_string())
        })
    }
}

/// Parses a change of a field; an empty text clears it.
fn change<T>(
    text: Option<&str>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<Change<T>>, Failure> {
    Ok(match text {
        None => None,
        Some("") => Some(Change::Clear),
        Some(text) => Some(Change::Set(parse(text).map_err(Failure::invalid)?)),
    })
}

fn labels(list: &str) -> Result<Vec<Label>, Failure> {
    list.split(',').filter(|label| !label.trim().is_empty()).map(|label| Ok(label.parse()?)).collect()
}
