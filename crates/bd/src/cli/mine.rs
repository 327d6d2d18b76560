use beads_core::query::{Filter, Sort, SortKey, StatusFilter};
use beads_engine::failure::Failure;
use beads_engine::request::{Call, Query};

use super::fields::FieldsArgs;
use super::me;

/// List the beads that you hold or that are assigned to you
///
/// Beads in progress come first. `bd list --assignee me` has more filters.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bd mine\n  bd mine --fields id,title,assignee_expires")]
pub struct Args {
    #[command(flatten)]
    pub(super) fields: FieldsArgs,
}

impl Args {
    pub fn call(self) -> Result<Call, Failure> {
        Ok(Call::query(Query::List(Filter {
            assignee: Some(me::ME.parse()?),
            status: vec![StatusFilter::InProgress, StatusFilter::Open],
            sort: Sort { by: SortKey::Status, reverse: true },
            ..Filter::default()
        })))
    }
}
