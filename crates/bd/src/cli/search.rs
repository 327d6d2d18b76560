use beads_core::query::Filter;
use beads_engine::failure::Failure;
use beads_engine::request::{Call, Query};

use super::fields::FieldsArgs;
use super::filter::SelectionArgs;

/// Search beads by text in id, title, description or notes
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  bd search \"login loop\" --status open")]
pub struct Args {
    /// Text to find (case-insensitive)
    #[arg(required = true, allow_hyphen_values = true)]
    text: String,
    #[arg(hide = true)]
    more: Vec<String>,
    #[command(flatten)]
    beads: SelectionArgs,
    #[command(flatten)]
    pub(super) fields: FieldsArgs,
}

impl Args {
    pub fn call(self) -> Result<Call, Failure> {
        let text = [vec![self.text], self.more].concat().join(" ");
        if text.trim().is_empty() {
            return Err(Failure::invalid("an empty text matches every bead; use bd list"));
        }
        Ok(Call::query(Query::List(Filter { text: Some(text), ..self.beads.filter() })))
    }
}
