use std::path::PathBuf;

use beads_engine::failure::Failure;
use beads_engine::render::{Answer, ExportAnswer};
use beads_engine::request::{Call, ExportFormat, Reply};
use clap::ValueEnum;

use super::globals::Globals;
use super::output_file::{OutputFile, is_standard_output};

/// Write all beads for other programs
///
/// The default is lines in the shape of Go's bd, with tombstones, that bd import takes back exactly. The other formats
/// have live beads only. To keep such a file up to date, see bd config set export.path.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  bd export -o issues.jsonl\n  bd export --format mermaid")]
pub struct Args {
    #[arg(long, value_enum, default_value_t = Shape::Jsonl)]
    format: Shape,
    /// Replace this file in one step, instead of printing
    #[arg(long, short = 'o', value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Shape {
    Jsonl,
    Csv,
    Md,
    Dot,
    Mermaid,
}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        let format = match self.format {
            Shape::Jsonl => ExportFormat::Jsonl,
            Shape::Csv => ExportFormat::Csv,
            Shape::Md => ExportFormat::Md,
            Shape::Dot => ExportFormat::Dot,
            Shape::Mermaid => ExportFormat::Mermaid,
        };
        let call = Call::Export { format, path: None };
        let path = self.output.map(|path| globals.absolute(&path)).transpose()?;
        let Some(path) = path.filter(|path| !is_standard_output(path)) else {
            return super::ask(globals, call, |_| ());
        };
        let file = OutputFile::open(&path)?;
        let exported: ExportAnswer = globals.value(&globals.place()?, call)?;
        file.finish(exported.content.unwrap_or_default().as_bytes())?;
        globals.answer(Answer::Exported(ExportAnswer { path: Some(path), content: None, ..exported }))
    }
}
