use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use beads_core::canonical::hex;
use beads_core::import::{LEGACY_FILES, LEGACY_NAMESPACES, LegacyFile};
use beads_engine::failure::{Code, Failure, exit};
use beads_engine::place::{Kind, Place};
use beads_engine::render::ExportAnswer;
use beads_engine::request::{Call, ExportFormat, ImportSource, InputNotes, Reply};
use clap::ValueEnum;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::globals::Globals;
use super::go_directory;
use super::output_file::OutputFile;
use super::progress::{Operation, Progress};
use super::spool::Spool;

/// Import beads from a file or another store
///
/// Reads .beads/issues.jsonl of the Go bd, with the deletions.jsonl next to it, and files that bd export
/// wrote. Ids are kept. Timestamps come from the file, so importing twice changes nothing, and later edits in
/// this store win. Invalid lines are reported and skipped. The input is never changed.
///
/// Without a file, bd import looks for a .beads directory here and in the parent directories, and shows what
/// it would import. With --yes it imports it.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bd import\n  bd import --yes --report decisions.jsonl\n  bd import .beads/issues.jsonl\n  bd import --verify .beads/issues.jsonl\n  bd import --dry-run - < issues.jsonl\n  bd import --from legacy-store beads/old\n  bd import --rescued ~/.local/state/beads/rescued/repo-1f2e3d4c-2026-11-17T054205Z.journal"
)]
pub struct Args {
    /// File, .beads directory, or - for standard input; for legacy-store a directory or ref; for
    /// private-store its .beads directory
    #[arg(value_name = "FILE|-")]
    input: Option<PathBuf>,
    /// Kind of input
    #[arg(long, value_enum, default_value_t = From::Jsonl, requires = "input")]
    from: From,
    /// Report what would be imported without changing anything
    #[arg(long)]
    dry_run: bool,
    /// Without a file: import the file that was found
    #[arg(long)]
    yes: bool,
    /// Write every decision to FILE, one line of JSON each
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Compare FILE with the store, field by field, without changing anything
    #[arg(long, value_name = "FILE", conflicts_with_all = ["input", "dry_run", "yes", "report"])]
    verify: Option<PathBuf>,
    /// Import a rescue file, which a daemon wrote when its repository was replaced (bd doctor lists them)
    #[arg(long, requires = "input", conflicts_with_all = ["from", "report", "verify", "yes"])]
    rescued: bool,
    /// With --rescued: import even if it shares no history with this store
    #[arg(long, requires = "rescued")]
    force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum From {
    Jsonl,
    LegacyStore,
    PrivateStore,
}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        if let Some(input) = self.input.as_ref().filter(|_| self.rescued) {
            let path = globals.absolute(input)?;
            let Self { force, dry_run, .. } = self;
            return super::ask(globals, Call::ImportRescued { path, force, dry_run }, |_| ());
        }
        if self.from == From::PrivateStore {
            return self.import_private_store(globals);
        }
        if let Some(file) = &self.verify {
            return verify(globals, file);
        }
        let report = self.open_report(globals)?;
        let Input { source, notes, label, dry_run, _spool } = match (&self.input, self.from) {
            (None, _) => self.found_input(globals)?,
            (Some(path), From::Jsonl) => self.jsonl_input(globals, path)?,
            (Some(path), From::LegacyStore | From::PrivateStore) => self.legacy_input(globals, path)?,
        };
        let _progress = Progress::show(format!("importing {label}"), Some(Operation::Import), globals);
        ask(&globals.place()?, globals, (source, dry_run, notes), report)
    }

    /// Opens the report file, before anything is imported.
    fn open_report(&self, globals: &Globals) -> Result<Option<OutputFile>, Failure> {
        let path = self.report.as_ref().map(|path| globals.absolute(path)).transpose()?;
        path.map(|path| OutputFile::open(&path)).transpose()
    }

    /// Returns the file of the nearest `.beads` directory. Without `--yes` this is a dry run.
    fn found_input(&self, globals: &Globals) -> Result<Input, Failure> {
        let found = go_directory::find(&globals.directory()?)?;
        let dry_run = self.dry_run || !self.yes;
        Ok(Input { notes: found.notes, dry_run, ..Input::file(&found.path) })
    }

    /// Returns a JSONL input. The daemon reads a regular file itself; other input is copied first, because
    /// only this process can read it.
    fn jsonl_input(&self, globals: &Globals, path: &Path) -> Result<Input, Failure> {
        let dry_run = self.dry_run;
        if path.as_os_str() == "-" {
            return Ok(Input { dry_run, ..Input::copied(std::io::stdin().lock(), "-")? });
        }
        let path = globals.absolute(path)?;
        let metadata = std::fs::metadata(&path).map_err(|error| Failure::io("read", &path, &error))?;
        if metadata.is_dir() {
            let nothing =
                || Failure::invalid(format!("{} is a directory with no file to import", path.display()));
            let found = go_directory::find_in(&path)?.ok_or_else(nothing)?;
            return Ok(Input { notes: found.notes, dry_run, ..Input::file(&found.path) });
        }
        if !metadata.is_file() {
            let pipe = File::open(&path).map_err(|error| Failure::io("read", &path, &error))?;
            return Ok(Input { dry_run, ..Input::copied(pipe, &name_of(&path))? });
        }
        let notes = InputNotes { found: None, warnings: go_directory::warnings(&path) };
        Ok(Input { notes, dry_run, ..Input::file(&path) })
    }

    /// Imports the beads of a private store into the store of the enclosing repository, which the private
    /// store shadows.
    fn import_private_store(&self, globals: &Globals) -> Result<Reply, Failure> {
        let input = self
            .input
            .as_ref()
            .ok_or_else(|| Failure::usage("name the .beads directory of the private store"))?;
        let directory = globals.absolute(input)?;
        let private = Place::from_env(Some(directory.join("beads.db")), &globals.directory()?)?;
        if private.kind != Kind::Private || !private.exists() {
            let message = format!("{} has no private store", directory.display());
            return Err(Failure::new(Code::NoStore, message));
        }
        let Some(repository) = Place::of_repository(&directory)? else {
            let message = format!("{} is not in a git repository", directory.display());
            return Err(Failure::new(Code::NoStore, message));
        };
        let spool = Spool::new()?;
        let report = self.open_report(globals)?;
        let exported: ExportAnswer =
            globals.value(&private, Call::Export { format: ExportFormat::Jsonl, path: None })?;
        let path = spool.write("issues.jsonl", exported.content.unwrap_or_default().as_bytes())?;
        let copy_of = Some(digest_of(&path).map_err(|error| Failure::io("read", &path, &error))?);
        let source = ImportSource::Jsonl { path, name: "issues.jsonl".to_owned(), deletions: None, copy_of };
        ask(&repository, globals, (source, self.dry_run, InputNotes::default()), report)
    }

    fn legacy_input(&self, globals: &Globals, path: &Path) -> Result<Input, Failure> {
        let (dry_run, notes) = (self.dry_run, InputNotes::default());
        let label = beads_engine::escape::escape(&path.display().to_string()).into_owned();
        let directory = globals.absolute(path)?;
        if directory.is_dir() {
            let source = ImportSource::LegacyStore { directory, copy_of: None };
            return Ok(Input { source, notes, label, dry_run, _spool: None });
        }
        let spool = Spool::new()?;
        let copy_of = Some(copy_commit(globals, path, &spool)?);
        let source = ImportSource::LegacyStore { directory: spool.directory.clone(), copy_of };
        Ok(Input { source, notes, label, dry_run, _spool: Some(spool) })
    }
}

/// Runs the import, and writes the report if one was requested.
fn ask(
    place: &Place,
    globals: &Globals,
    (source, dry_run, input): (ImportSource, bool, InputNotes),
    report: Option<OutputFile>,
) -> Result<Reply, Failure> {
    let call = Call::Import { source, dry_run, decisions: report.is_some(), report: None, input };
    let mut reply = super::ask_at(place, globals, call, |_| ())?;
    match (report, &reply.decisions) {
        (Some(file), Some(decisions)) => {
            let decisions: Vec<&RawValue> =
                serde_json::from_str(decisions.get()).map_err(Failure::internal)?;
            let lines: String = decisions.iter().map(|decision| format!("{}\n", decision.get())).collect();
            file.finish(lines.as_bytes()).map_err(|failure| {
                let outcome = if dry_run { "nothing was imported" } else { "the import itself succeeded" };
                Failure::new(failure.code, format!("{}; {outcome}", failure.message))
            })?;
        }
        (Some(_), None) if reply.exit == exit::OK => {
            reply.stderr.push_str(
                "note: this import ran before with the same request id, so no report was written\n",
            );
        }
        _ => {}
    }
    Ok(reply)
}

/// What to import and how.
struct Input {
    source: ImportSource,
    notes: InputNotes,
    /// For the progress line.
    label: String,
    dry_run: bool,
    _spool: Option<Spool>,
}

impl Input {
    fn file(path: &Path) -> Self {
        let deletions = path.with_file_name("deletions.jsonl");
        let deletions = (deletions != path && deletions.is_file()).then_some(deletions);
        let (path, name) = (path.to_owned(), name_of(path));
        let label = match path.metadata() {
            Ok(file) => format!("{name} ({} kB)", file.len().div_ceil(1000)),
            Err(_) => name.clone(),
        };
        Self {
            source: ImportSource::Jsonl { path, name, deletions, copy_of: None },
            notes: InputNotes::default(),
            label: beads_engine::escape::escape(&label).into_owned(),
            dry_run: false,
            _spool: None,
        }
    }

    /// Copies input that only this process can read.
    fn copied(source: impl Read, name: &str) -> Result<Self, Failure> {
        let spool = Spool::new()?;
        let path = spool.write("issues.jsonl", source)?;
        let copy_of = Some(digest_of(&path).map_err(|error| Failure::io("read", &path, &error))?);
        let source = ImportSource::Jsonl { path, name: name.to_owned(), deletions: None, copy_of };
        let label = beads_engine::escape::escape(name).into_owned();
        Ok(Self { source, notes: InputNotes::default(), label, dry_run: false, _spool: Some(spool) })
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn verify(globals: &Globals, file: &Path) -> Result<Reply, Failure> {
    let (path, _spool) = if file.as_os_str() == "-" {
        let spool = Spool::new()?;
        (spool.write("issues.jsonl", std::io::stdin().lock())?, Some(spool))
    } else {
        let path = globals.absolute(file)?;
        if !path.is_file() {
            return Err(Failure::new(Code::NotFound, format!("there is no file {}", path.display())));
        }
        (path, None)
    };
    super::ask(globals, Call::CompareFile { path, name: name_of(file) }, |_| ())
}

/// Copies the files of a commit in the current repository into the spool directory. Returns the commit id.
fn copy_commit(globals: &Globals, reference: &Path, spool: &Spool) -> Result<String, Failure> {
    let name = reference.to_string_lossy();
    let here = globals.absolute(Path::new("."))?;
    let missing = |error: git2::Error| {
        Failure::new(
            Code::NotFound,
            format!("{name} is neither a directory nor a reference: {}", error.message()),
        )
    };
    let git_dir = Place::git_dir_around(&here).unwrap_or(here);
    let repository = git2::Repository::open(git_dir).map_err(missing)?;
    let commit =
        repository.revparse_single(&name).and_then(|object| object.peel_to_commit()).map_err(missing)?;
    let tree = commit.tree().map_err(missing)?;
    let mut files = Vec::new();
    tree.walk(git2::TreeWalkMode::PreOrder, |directory, entry| {
        let path = format!("{directory}{}", String::from_utf8_lossy(entry.name_bytes()));
        if entry.kind() == Some(git2::ObjectType::Blob) && LegacyFile::of_path(&path).is_some() {
            files.push((path, entry.id()));
        }
        git2::TreeWalkResult::Ok
    })
    .map_err(missing)?;
    for (path, id) in &files {
        let blob = repository.find_blob(*id).map_err(missing)?;
        spool.write(path, blob.content())?;
    }
    if files.is_empty() {
        return Err(Failure::new(
            Code::NotFound,
            format!(
                "{name} has neither {} nor {LEGACY_NAMESPACES}/, so it is not a legacy store",
                LEGACY_FILES[0]
            ),
        ));
    }
    Ok(commit.id().to_string())
}

fn digest_of(path: &Path) -> std::io::Result<String> {
    let mut reader = BufReader::new(File::open(path)?);
    let mut digest = Sha256::new();
    loop {
        let chunk = reader.fill_buf()?;
        if chunk.is_empty() {
            return Ok(hex(&digest.finalize()));
        }
        digest.update(chunk);
        let read = chunk.len();
        reader.consume(read);
    }
}
