use beads_engine::failure::Failure;
use beads_engine::render::ExportAnswer;
use beads_engine::request::{Call, ExportFormat};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::tool::{Definition, Items, Question, field, outcome};

/// Export all beads as one text, under `content`
///
/// With `stream` the chunks hold the lines of that text. No file is written.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Export {
    /// jsonl includes deleted beads, and beads.import reads it back exactly; the others have live beads only
    #[serde(default = "jsonl")]
    #[schemars(with = "field::ExportFormat")]
    format: ExportFormat,
}

fn jsonl() -> ExportFormat {
    ExportFormat::Jsonl
}

impl Definition for Export {
    const NAME: &'static str = "beads.export";
    const EXAMPLE: &'static str = r#"{"format":"mermaid"}"#;
    type Output = ExportAnswer;
}

impl Question for Export {
    const STREAM: Option<Items> = Some(lines);

    fn call(self) -> Result<Call, Failure> {
        if self.format == ExportFormat::LegacyStore {
            let message = "\"legacy_store\" is a directory of files, not one text; nothing was written. \
                           Use jsonl, or bd export for a directory";
            return Err(Failure::invalid(message).with(json!({"field": "format"})));
        }
        Ok(Call::Export { format: self.format, path: None })
    }
}

/// Splits the text into lines without their line feeds. Nothing else is removed, so that the text can be reassembled.
fn lines(result: &RawValue) -> Result<Vec<Box<RawValue>>, Failure> {
    #[derive(Deserialize)]
    struct Exported {
        content: String,
    }
    let exported: Exported = outcome::read(result)?;
    exported.content.split_terminator('\n').map(|line| outcome::raw(&line)).collect()
}
