use std::path::PathBuf;

use beads_core::op::{Create, Dep};
use beads_core::{Actor, BeadId, Estimate, Label, Line, Op, Priority, Timestamp, Title, TypeName};
use beads_engine::failure::Failure;
use beads_engine::request::{Call, Mutate};

use super::future_time::future_time;
use super::input::Input;
use super::{create_graph, input, markdown};

/// Create a bead
///
/// Long text can be read from standard input (-) or from a file (@/absolute/path).
///
/// --graph creates many beads and their dependencies from JSON, all or none:
/// {"beads":[{"name":"a","title":"…"},
/// {"name":"b","title":"…","parent":"a","deps":["depends-on:bd-x1"]}],"edges":[{"from":"a","to":"bd-c3","kind":"related"}]}.
/// A bead has the fields of the create operation (docs/PROTOCOL.md). parent, deps and edges refer to names in
/// the file or to existing ids.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bd create \"Fix the login loop\" -t bug -p 1\n  bd create \"Write tests\" --parent bd-a1 --deps bd-b2 -d -\n  bd create \"Fix the schema\" --deps blocks:bd-c3      bd-c3 waits for the new bead\n  bd create \"Renew the certificate\" --due 2030-02-01 --defer +2d --estimate 30 --silent\n  bd create --graph plan.json --json"
)]
pub struct Args {
    /// Title, on one line
    #[arg(
        required_unless_present_any = ["title_flag", "graph", "file"],
        allow_hyphen_values = true
    )]
    title: Option<Title>,
    #[arg(long = "title", id = "title_flag", value_name = "TITLE", conflicts_with = "title", hide = true)]
    title_flag: Option<Title>,
    /// Use this id instead of a generated one
    #[arg(long)]
    id: Option<BeadId>,
    /// Type: bug, feature, task, epic, chore, or a custom one such as decision or spike
    #[arg(long = "type", short = 't', value_name = "TYPE", default_value = "task")]
    kind: TypeName,
    /// Priority: 0 (urgent) to 4 (someday), P0 to P4, or high, medium, low
    #[arg(long, short = 'p', default_value = "2", value_name = "0-4")]
    priority: Priority,
    /// Description
    #[arg(long, short = 'd', visible_alias = "desc")]
    description: Option<String>,
    /// Read the description from FILE; - for standard input
    #[arg(long, value_name = "FILE", conflicts_with = "description")]
    body_file: Option<PathBuf>,
    /// Design: how to do it
    #[arg(long)]
    design: Option<String>,
    /// Acceptance criteria: when it is done
    #[arg(long, value_name = "TEXT", visible_alias = "acceptance-criteria")]
    acceptance: Option<String>,
    /// First note
    #[arg(long)]
    notes: Option<String>,
    /// Assignee; me for yourself
    #[arg(long, short = 'a', value_name = "NAME")]
    assignee: Option<Actor>,
    /// Labels, comma-separated
    #[arg(
        long,
        short = 'l',
        value_name = "LABEL,…",
        value_delimiter = ',',
        visible_aliases = ["label", "set-labels"]
    )]
    labels: Vec<Label>,
    /// Parent bead
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// Dependencies, comma-separated; an id without a role blocks the new bead
    ///
    /// ID, depends-on:ID and blocked-by:ID: the new bead waits for ID. blocks:ID: ID waits for the new bead.
    /// parent:ID: the new bead is a child of ID. related:ID: the two are related. discovered-from:ID: the new
    /// bead was found while working on ID.
    #[arg(long, value_name = "[ROLE:]ID,…", value_delimiter = ',')]
    deps: Vec<Dep>,
    /// Reference to another tracker
    #[arg(long, value_name = "REF")]
    external_ref: Option<Line>,
    /// Repository it came from
    #[arg(long, value_name = "REPO")]
    source_repo: Option<Line>,
    /// Estimated time in minutes
    #[arg(long, short = 'e', value_name = "MINUTES", value_parser = input::minutes)]
    estimate: Option<Estimate>,
    /// Due date: RFC 3339, a local date-time, a date, or a time from now such as +2d
    #[arg(long, value_name = "TIME", value_parser = future_time)]
    due: Option<Timestamp>,
    /// Not ready before TIME, in the same formats
    #[arg(long, value_name = "TIME", value_parser = future_time)]
    defer: Option<Timestamp>,
    /// Metadata for other tools, as a JSON object
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
    /// Create a bead for each "## Title" of a Markdown FILE (- for standard input), with fields under
    /// "### Priority", "### Estimate" (minutes, or 2h), "### Labels" and so on. Other beads of the file may
    /// use its title or the text under "### Name" as parent or dependency; all are then created or none, as with
    /// --graph
    #[arg(
        long,
        short = 'f',
        value_name = "FILE",
        conflicts_with_all = [
            "title", "title_flag", "id", "description", "body_file", "design", "acceptance", "notes", "assignee",
            "labels", "parent", "deps", "external_ref", "source_repo", "estimate", "due", "defer", "metadata", "graph",
        ]
    )]
    file: Option<PathBuf>,
    /// Print only the id
    #[arg(long)]
    silent: bool,
    /// Create many beads and dependencies from a JSON FILE, all or none; - for standard input
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = [
            "title", "title_flag", "id", "description", "body_file", "design", "acceptance", "notes", "assignee",
            "labels", "parent", "deps", "external_ref", "source_repo", "estimate", "due", "defer", "metadata",
        ]
    )]
    graph: Option<PathBuf>,
    /// Show what would be created without creating it
    #[arg(long)]
    dry_run: bool,
}

impl Args {
    pub fn is_silent(&self) -> bool {
        self.silent
    }

    pub fn call(self, input: Input) -> Result<Call, Failure> {
        if let Some(path) = &self.graph {
            let text = input.source(path)?;
            return Ok(Call::Atomic(create_graph::parse(&text, self.dry_run)?));
        }
        if let Some(path) = &self.file {
            return create_from(&input.source(path)?, self.dry_run);
        }
        let title = self.title.or(self.title_flag).ok_or_else(|| Failure::usage("a title is required"))?;
        let create = Create {
            id: self.id,
            kind: self.kind,
            priority: self.priority,
            description: input.body(self.description.as_ref(), self.body_file.as_ref())?.unwrap_or_default(),
            design: input.optional(self.design.as_ref())?.unwrap_or_default(),
            acceptance_criteria: input.optional(self.acceptance.as_ref())?.unwrap_or_default(),
            notes: input.optional(self.notes.as_ref())?.unwrap_or_default(),
            assignee: self.assignee,
            labels: self.labels,
            parent: self.parent,
            deps: self.deps,
            external_ref: self.external_ref.unwrap_or_default(),
            source_repo: self.source_repo.unwrap_or_default(),
            estimated_minutes: self.estimate,
            due_at: self.due,
            defer_until: self.defer,
            metadata: input.optional(self.metadata.as_ref())?.unwrap_or_default(),
            ..Create::titled(title)
        };
        Ok(Call::Mutate(Mutate {
            ops: vec![Op::Create(Box::new(create))],
            many: false,
            dry_run: self.dry_run,
        }))
    }
}

/// Builds the call for a Markdown file. Beads that have names or refer to each other are created together.
fn create_from(page: &str, dry_run: bool) -> Result<Call, Failure> {
    let beads = markdown::parse(page)?;
    let refers_to = |title: &str| {
        let mut deps = beads.iter().flat_map(|bead| &bead.create.deps);
        let mut parents = beads.iter().filter_map(|bead| bead.create.parent.as_deref());
        deps.any(|dep| dep.id == title) || parents.any(|parent| parent == title)
    };
    if !beads.iter().any(|bead| bead.name.is_some() || refers_to(bead.create.title.as_str())) {
        let ops = beads.into_iter().map(|bead| Op::Create(Box::new(bead.create))).collect();
        return Ok(Call::Mutate(Mutate { ops, many: true, dry_run }));
    }
    let mut named: Vec<(String, Create)> = Vec::new();
    for (index, bead) in beads.into_iter().enumerate() {
        let title = bead.create.title.as_str();
        let is_taken = named.iter().any(|(known, _)| known == title);
        let or_title = || if is_taken { format!("bead {}", index + 1) } else { title.to_owned() };
        let name = bead.name.unwrap_or_else(or_title);
        if named.iter().any(|(known, _)| *known == name) {
            return Err(Failure::invalid(format!("the file has two beads named {name:?}")));
        }
        named.push((name, bead.create));
    }
    Ok(Call::Atomic(create_graph::assemble(named, Vec::new(), dry_run)?))
}
