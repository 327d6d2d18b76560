use beads_core::op::{Change, DepAdd, Unclaim, Update};
use beads_core::{EdgeKind, Op, Timestamp};
use beads_engine::request::{Atomic, Call};

use super::future_time::future_time;

/// Put a bead off until a time or until another bead is closed
///
/// Your claim is given back, and the bead becomes ready by itself. The same as `bd update --defer` and `bd dep add`.
#[derive(Debug, clap::Args)]
#[command(
    group = clap::ArgGroup::new("what").required(true).multiple(true),
    after_help = "Examples:\n  bd wait bd-a1 --until 2030-05-01\n  bd wait bd-a1 --until +2h\n  bd wait bd-a1 --until-closed bd-b2"
)]
pub struct Args {
    /// Id of the bead; an unambiguous prefix is enough
    #[arg(value_name = "ID")]
    id: String,
    /// The time from which it is ready again, such as +2h or 2030-05-01
    #[arg(long, value_name = "TIME", value_parser = future_time, group = "what")]
    until: Option<Timestamp>,
    /// The bead that has to be closed first; repeat for more
    #[arg(long, value_name = "ID", group = "what")]
    until_closed: Vec<String>,
}

impl Args {
    pub fn call(self) -> Call {
        let id = self.id;
        let defer = self.until.map(|until| {
            let defer_until = Some(Change::Set(until));
            Op::Update(Box::new(Update { id: id.clone(), defer_until, ..Update::default() }))
        });
        let blockers = self
            .until_closed
            .into_iter()
            .map(|to| Op::DepAdd(DepAdd { from: id.clone(), to, kind: EdgeKind::Blocks }));
        let release = Op::Unclaim(Unclaim { id: id.clone(), ..Unclaim::default() });
        let ops = defer.into_iter().chain(blockers).chain([release]).collect();
        Call::Atomic(Atomic { ops, ..Atomic::default() })
    }
}
