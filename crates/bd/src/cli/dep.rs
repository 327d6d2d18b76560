use beads_core::op::{DepAdd, DepRemove};
use beads_core::query::Direction;
use beads_core::{EdgeKind, Op};
use beads_engine::request::{Call, Query};
use clap::{Subcommand, ValueEnum};

/// Add, remove and list dependencies
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bd dep add bd-a1 bd-b2      bd-a1 waits for bd-b2\n  bd dep tree bd-a1")]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Make the first bead wait for the second
    #[command(after_help = "Example:\n  bd dep add bd-a1 bd-b2 --type related")]
    Add(Edge),
    /// Remove a dependency
    #[command(visible_alias = "rm", after_help = "Example:\n  bd dep remove bd-a1 bd-b2")]
    Remove(Edge),
    /// List the direct dependencies of a bead
    #[command(after_help = "Example:\n  bd dep list bd-a1 --direction up")]
    List {
        /// Id of the bead; an unambiguous prefix is enough
        #[arg(value_name = "ID")]
        id: String,
        /// down: what it waits for; up: what waits for it
        #[arg(long, default_value = "down")]
        direction: DirectionArg,
        /// Only this kind; the parent is listed only with --type parent
        #[arg(long = "type", short = 't', value_name = "KIND", visible_alias = "kind")]
        kind: Option<EdgeKind>,
    },
    /// Show everything a bead waits for, as a tree
    #[command(after_help = "Example:\n  bd dep tree bd-a1 --direction up --depth 3")]
    Tree {
        /// Id of the bead; an unambiguous prefix is enough
        #[arg(value_name = "ID")]
        id: String,
        /// down: what it waits for; up: what waits for it
        #[arg(long, default_value = "down")]
        direction: DirectionArg,
        /// Maximum number of levels
        #[arg(long, short = 'd', value_name = "N", visible_alias = "max-depth")]
        depth: Option<usize>,
    },
    /// List cycles, which a merge can create
    #[command(after_help = "Example:\n  bd dep cycles")]
    Cycles,
}

#[derive(Debug, clap::Args)]
struct Edge {
    /// The bead that waits
    #[arg(value_name = "ID")]
    from: String,
    /// The bead it waits for
    #[arg(value_name = "ID")]
    to: String,
    /// blocks, parent, related or discovered_from
    #[arg(long = "type", short = 't', value_name = "KIND", default_value = "blocks", visible_alias = "kind")]
    kind: EdgeKind,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum DirectionArg {
    Down,
    Up,
}

impl From<DirectionArg> for Direction {
    fn from(direction: DirectionArg) -> Self {
        match direction {
            DirectionArg::Down => Self::Down,
            DirectionArg::Up => Self::Up,
        }
    }
}

impl Args {
    pub fn call(self) -> Call {
        let one = |op| Call::one(op);
        match self.verb {
            Verb::Add(Edge { from, to, kind }) => one(Op::DepAdd(DepAdd { from, to, kind })),
            Verb::Remove(Edge { from, to, kind }) => one(Op::DepRemove(DepRemove { from, to, kind })),
            Verb::List { id, direction, kind } => {
                Call::query(Query::DepList { id, direction: direction.into(), kind })
            }
            Verb::Tree { id, direction, depth } => {
                Call::query(Query::DepTree { id, direction: direction.into(), depth })
            }
            Verb::Cycles => Call::query(Query::Cycles),
        }
    }
}
