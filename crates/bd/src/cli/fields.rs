//! `--fields`, for verbs that list beads.

use beads_engine::failure::Failure;
use beads_engine::field_name::FieldName;

#[derive(Debug, Clone, Default, clap::Args)]
pub struct FieldsArgs {
    /// Only these fields, as in the JSON of a bead; as text, one line per bead with a tab between fields
    #[arg(long, value_name = "FIELD,…", value_delimiter = ',', value_parser = field)]
    pub fields: Vec<FieldName>,
}

fn field(text: &str) -> Result<FieldName, String> {
    text.trim().parse().map_err(|failure: Failure| failure.message)
}
