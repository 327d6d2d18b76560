use std::path::PathBuf;

use beads_core::op::{Create, Dep};
use beads_core::{Actor, BeadId, Estimate, Label, Line, Op, Priority, Timestamp, Title, TypeName};
use beads_engine::failure::Failure;
use beads_engine::request::{Call, Mutate};

use super::input::Input;
use super::moment::ahead;
use super::{create_graph, input, markdown};

/// Make a new bead
///
/// Long text may come from standard input (-) or from a file (@/absolute/path).
///
/// --graph makes many beads with their edges in one step, all or none, from JSON: {"beads":[{"name":"a","title":"…"},
/// {"name":"b","title":"…","parent":"a","deps":["blocks:bd-x1"]}],"edges":[{"from":"a","to":"bd-c3","kind":"related"}]}.
/// A bead has the fields of the create operation (docs/PROTOCOL.md); parent, deps and edges take the names of the file or ids.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bd create \"Fix the login loop\" -t bug -p 1\n  bd create \"Write tests\" --parent bd-a1 --deps blocks:bd-b2 -d -\n  bd create \"Renew the certificate\" --due 2030-02-01 --defer +2d --estimate 30 --silent\n  bd create --graph plan.json --json"
)]
pub struct Args {
    /// What is to be done, on one line
    #[arg(required_unless_present_any = ["title_flag", "graph", "file"])]
    title: Option<Title>,
    #[arg(long = "title", id = "title_flag", value_name = "TITLE", conflicts_with = "title", hide = true)]
    title_flag: Option<Title>,
    /// An id of your own instead of a minted one
    #[arg(long)]
    id: Option<BeadId>,
    /// bug, feature, task, epic or chore, or a word such as decision or spike
    #[arg(long = "type", short = 't', value_name = "TYPE", default_value = "task")]
    kind: TypeName,
    /// 0 (urgent) to 4 (some day)
    #[arg(long, short = 'p', default_value = "2", value_name = "0-4", allow_negative_numbers = true)]
    priority: Priority,
    /// The whole story
    #[arg(long, short = 'd')]
    description: Option<String>,
    /// Take the description from a file, - for standard input
    #[arg(long, value_name = "FILE", conflicts_with = "description")]
    body_file: Option<PathBuf>,
    /// How it is to be done
    #[arg(long)]
    design: Option<String>,
    /// When it counts as done
    #[arg(long, value_name = "TEXT", visible_alias = "acceptance-criteria")]
    acceptance: Option<String>,
    /// A first note
    #[arg(long)]
    notes: Option<String>,
    /// Who should do it
    #[arg(long, short = 'a', value_name = "NAME")]
    assignee: Option<Actor>,
    /// Labels, separated by commas
    #[arg(
        long,
        short = 'l',
        value_name = "LABEL,…",
        value_delimiter = ',',
        visible_aliases = ["label", "set-labels"]
    )]
    labels: Vec<Label>,
    /// The bead this one is a part of
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// What it waits for: ids, or kind:id, separated by commas
    #[arg(long, value_name = "[KIND:]ID,…", value_delimiter = ',')]
    deps: Vec<Dep>,
    /// A pointer into another tracker
    #[arg(long, value_name = "REF")]
    external_ref: Option<Line>,
    /// The repository it came from
    #[arg(long, value_name = "REPO")]
    source_repo: Option<Line>,
    /// How long it should take, in minutes
    #[arg(long, short = 'e', value_name = "MINUTES", value_parser = input::minutes)]
    estimate: Option<Estimate>,
    /// When it must be done: RFC 3339, a date, or a time from now such as +2d
    #[arg(long, value_name = "TIME", value_parser = ahead)]
    due: Option<Timestamp>,
    /// Not ready before this time, written in the same ways
    #[arg(long, value_name = "TIME", value_parser = ahead)]
    defer: Option<Timestamp>,
    /// A JSON object for other tools
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
    /// Make a bead for each "## Title" of a Markdown file, fields under "### Priority", "### Labels" and so on; - for
    /// standard input
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
    /// Print nothing but the id
    #[arg(long)]
    silent: bool,
    /// Make many beads and their edges from a JSON file, - for standard input; all or none
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = [
            "title", "title_flag", "id", "description", "body_file", "design", "acceptance", "notes", "assignee",
            "labels", "parent", "deps", "external_ref", "source_repo", "estimate", "due", "defer", "metadata",
        ]
    )]
    graph: Option<PathBuf>,
    /// Show what would be made, and make nothing
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
            let creates = markdown::parse(&input.source(path)?)?;
            let ops = creates.into_iter().map(|create| Op::Create(Box::new(create))).collect();
            return Ok(Call::Mutate(Mutate { ops, many: true, dry_run: self.dry_run }));
        }
        let title = self.title.or(self.title_flag).ok_or_else(|| Failure::usage("a title is needed"))?;
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
