use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use beads_engine::failure::Failure;
use beads_engine::render::{Answer, ExportAnswer};
use beads_engine::request::{Call, ExportFormat, Reply};

use super::globals::Globals;
use super::output_file::{OutputFile, is_standard_output};

/// Export all beads
///
/// The default format is JSONL as the Go bd writes it, including deleted beads; bd import reads it back
/// without loss. legacy-store writes the files of the earlier Rust bd into a directory. The other formats
/// contain only live beads and cannot be imported. To keep a file up to date, set export.path with bd config
/// set.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bd export -o issues.jsonl\n  bd export --format mermaid\n  bd export --format legacy-store -o old-store"
)]
pub struct Args {
    /// Output format
    #[arg(long, value_enum, default_value_t = ExportFormat::Jsonl)]
    format: ExportFormat,
    /// Write to FILE, replaced atomically; a directory for legacy-store
    #[arg(long, short = 'o', value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        let format = self.format;
        let call = Call::Export { format, path: None };
        let path = self.output.map(|path| globals.absolute(&path)).transpose()?;
        if format == ExportFormat::LegacyStore {
            let path = path.ok_or_else(|| {
                Failure::usage("legacy-store writes several files; name an empty directory with -o")
            })?;
            return into_directory(globals, call, path);
        }
        let Some(path) = path.filter(|path| !is_standard_output(path)) else {
            return super::ask(globals, call, |_| ());
        };
        let file = OutputFile::open(&path)?;
        let exported: ExportAnswer = globals.value(&globals.place()?, call)?;
        file.finish(exported.content.unwrap_or_default().as_bytes())?;
        globals.answer(Answer::Exported(ExportAnswer { path: Some(path), content: None, ..exported }))
    }
}

/// Writes the files of an answer into a directory. Rejects a directory with other files, because they would
/// be read as part of the store.
fn into_directory(globals: &Globals, call: Call, directory: PathBuf) -> Result<Reply, Failure> {
    let failed = |error: io::Error| Failure::io("write", &directory, &error);
    let is_free = match std::fs::read_dir(&directory) {
        Ok(mut files) => files.next().is_none(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(error) => return Err(failed(error)),
    };
    if !is_free {
        let directory = directory.display();
        return Err(Failure::invalid(format!(
            "{directory} is not empty, so nothing was written; name a new or empty directory"
        )));
    }
    let exported: ExportAnswer = globals.value(&globals.place()?, call)?;
    let content = exported.content.unwrap_or_default();
    let files: BTreeMap<String, String> = serde_json::from_str(&content).map_err(Failure::internal)?;
    std::fs::create_dir_all(&directory).map_err(failed)?;
    for (name, content) in files {
        OutputFile::open(&directory.join(name))?.finish(content.as_bytes())?;
    }
    globals.answer(Answer::Exported(ExportAnswer { path: Some(directory), content: None, ..exported }))
}
