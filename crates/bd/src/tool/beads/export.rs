use schemars::JsonSchema;
use serde::Deserialize;

use crate::failure::Failure;
use crate::render::ExportAnswer;
use crate::request::{Call, ExportFormat};
use crate::tool::{Definition, Question, field};

/// Give all beads as one text for other programs, under `content`
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Export {
    /// jsonl has deleted beads too, and beads.import takes it back exactly; the others have live beads only
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
    fn call(self) -> Result<Call, Failure> {
        Ok(Call::Export { format: self.format, path: None })
    }
}
