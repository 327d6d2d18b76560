use beads_engine::failure::Failure;
use beads_engine::request::{Call, Query};

use super::fields::FieldsArgs;
use super::filter::SelectionArgs;

/// List blocked beads and what blocks them
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  bd blocked --json",
    mut_arg("sort", |sort| sort.hide(true)),
    mut_arg("reverse", |reverse| reverse.hide(true))
)]
pub struct Args {
    #[command(flatten)]
    beads: SelectionArgs,
    #[command(flatten)]
    pub(super) fields: FieldsArgs,
}

impl Args {
    pub fn call(self) -> Result<Call, Failure> {
        let filter = self.beads.filter();
        if filter.sort != Default::default() {
            return Err(Failure::usage(
                "bd blocked cannot be sorted; it lists by priority, then oldest first",
            ));
        }
        Ok(Call::query(Query::Blocked(filter)))
    }
}
