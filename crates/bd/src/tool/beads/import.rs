use std::path::PathBuf;

use beads_engine::failure::Failure;
use beads_engine::request::{Call, ImportSource, InputNotes};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tool::{Action, Context, Definition, Outcome, field};

/// Import beads from a file of Go's bd or of beads.export; importing again changes nothing
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Import {
    /// File, relative to repo or the current directory; deletions.jsonl beside it is read too
    #[schemars(with = "field::Path")]
    path: PathBuf,
}

impl Definition for Import {
    const NAME: &'static str = "beads.import";
    const EXAMPLE: &'static str = r#"{"path":".beads/issues.jsonl"}"#;
    type Output = beads_core::import::Summary;
}

impl Action for Import {
    const MUTATES: bool = true;

    fn act(self, context: &Context<'_>) -> Result<Outcome, Failure> {
        let path = context.directory.join(&self.path);
        let path = path.canonicalize().ok().filter(|path| path.is_file()).ok_or_else(|| {
            let message = format!("there is no file {}; nothing was changed", self.path.display());
            Failure::missing_path(message, &path, "path")
        })?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let deletions = path.with_file_name("deletions.jsonl");
        let deletions = (deletions != path && deletions.is_file()).then_some(deletions);
        let source = ImportSource::Jsonl { path, name, deletions, copy_of: None };
        (context.progress)(0);
        let (dry_run, input) = (!context.apply, InputNotes::default());
        let call = Call::Import { source, dry_run, decisions: false, report: None, input };
        let outcome = context.ask(call)?;
        (context.progress)(100);
        Ok(outcome.with("applied", context.apply))
    }
}
