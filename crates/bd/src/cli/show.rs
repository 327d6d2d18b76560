use beads_engine::request::{Call, Moment, Query};

use super::fields::FieldsArgs;
use super::revision::moment;

/// Show beads
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bd show bd-a1 bd-b2 --json\n  bd show bd-a1 --fields status,assignee\n  bd show bd-a1 --as-of 2h"
)]
pub struct Args {
    /// Ids of the beads; unambiguous prefixes are enough
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Show a past state: at a commit of beads/store (seven or more digits), or at a time (RFC 3339, a local
    /// date-time, a date, or an age such as 2h)
    #[arg(long, value_name = "REV|TIME", value_parser = moment)]
    as_of: Option<Moment>,
    #[command(flatten)]
    pub(super) fields: FieldsArgs,
}

impl Args {
    pub fn call(self) -> Call {
        Call::query(match self.as_of {
            None => Query::Show { ids: self.ids },
            Some(moment) => Query::ShowAsOf { ids: self.ids, moment },
        })
    }
}
