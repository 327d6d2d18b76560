use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use beads_core::canonical::hex;
use beads_core::import::LEGACY_FILES;
use beads_engine::failure::{Code, Failure};
use beads_engine::place::{Kind, Place};
use beads_engine::request::{Call, ExportFormat, ImportSource, Reply};
use clap::ValueEnum;
use sha2::{Digest, Sha256};

use super::globals::Globals;
use super::progress::Progress;

/// Take in beads from another tracker's file, or from the earlier store
///
/// Reads .beads/issues.jsonl of Go's bd, with deletions.jsonl beside it, and what bd export writes. Ids are kept; stamps come
/// from the file, so importing twice changes nothing and what was edited here later stays. Lines that cannot be read are
/// reported and skipped. The input is never changed.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bd import .beads/issues.jsonl\n  bd import --dry-run - < issues.jsonl\n  bd import --from legacy-store beads/old"
)]
pub struct Args {
    /// A file, - for standard input; with --from legacy-store a directory or a branch; with --from private-store its .beads directory
    #[arg(value_name = "FILE|-")]
    input: PathBuf,
    /// What the input is
    #[arg(long, value_enum, default_value_t = From::Jsonl)]
    from: From,
    /// Report what would happen and change nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum From {
    Jsonl,
    LegacyStore,
    PrivateStore,
}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        if self.from == From::PrivateStore {
            return self.private_store(globals);
        }
        let (source, _spool) = match self.from {
            From::Jsonl => self.jsonl(globals)?,
            From::LegacyStore | From::PrivateStore => self.legacy(globals)?,
        };
        let _progress = Progress::show(format!("importing {}", self.named()), globals.is_quiet());
        super::ask(globals, Call::Import { source, dry_run: self.dry_run }, |_| ())
    }

    /// What is imported, and how large it is if that is known, for somebody who waits.
    fn named(&self) -> String {
        let name = self.input.display().to_string();
        let name = beads_engine::escape::escape(&name);
        match std::fs::metadata(&self.input).ok().filter(std::fs::Metadata::is_file) {
            Some(file) => format!("{name} ({} kB)", file.len().div_ceil(1000)),
            None => name.into_owned(),
        }
    }

    /// Whoever holds the store reads the file itself. What only this process can read is put aside first.
    fn jsonl(&self, globals: &Globals) -> Result<(ImportSource, Option<Spool>), Failure> {
        let name = self.input.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if self.input.as_os_str() == "-" {
            let spool = Spool::new()?;
            return Ok((spool.jsonl(name, std::io::stdin().lock())?, Some(spool)));
        }
        let path = globals.absolute(&self.input)?;
        let metadata = std::fs::metadata(&path).map_err(|error| Failure::io("read", &path, &error))?;
        if metadata.is_dir() {
            return Err(Failure::invalid(format!("{} is a directory; name the file in it", path.display())));
        }
        if !metadata.is_file() {
            let spool = Spool::new()?;
            let pipe = File::open(&path).map_err(|error| Failure::io("read", &path, &error))?;
            return Ok((spool.jsonl(name, pipe)?, Some(spool)));
        }
        let deletions = path.with_file_name("deletions.jsonl");
        let deletions = (deletions != path && deletions.is_file()).then_some(deletions);
        Ok((ImportSource::Jsonl { path, name, deletions, copy_of: None }, None))
    }

    /// Takes the beads of a private store into the store of the repository around it, which it hides.
    fn private_store(&self, globals: &Globals) -> Result<Reply, Failure> {
        let directory = globals.absolute(&self.input)?;
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
        let path = spool.directory.join("issues.jsonl");
        let format = ExportFormat::Jsonl;
        let _: serde_json::Value =
            globals.value(&private, Call::Export { format, path: Some(path.clone()) })?;
        let copy_of = Some(digest_of(&path).map_err(|error| Failure::io("read", &path, &error))?);
        let source = ImportSource::Jsonl { path, name: "issues.jsonl".to_owned(), deletions: None, copy_of };
        super::ask_at(&repository, globals, Call::Import { source, dry_run: self.dry_run }, |_| ())
    }

    fn legacy(&self, globals: &Globals) -> Result<(ImportSource, Option<Spool>), Failure> {
        let directory = globals.absolute(&self.input)?;
        if directory.is_dir() {
            return Ok((ImportSource::LegacyStore { directory, copy_of: None }, None));
        }
        let spool = Spool::new()?;
        let copy_of = Some(checkout(globals, &self.input, &spool)?);
        Ok((ImportSource::LegacyStore { directory: spool.directory.clone(), copy_of }, Some(spool)))
    }
}

/// Puts the files of a commit aside and tells which. The branch is looked up in the repository around the caller.
fn checkout(globals: &Globals, reference: &Path, spool: &Spool) -> Result<String, Failure> {
    let name = reference.to_string_lossy();
    let here = globals.absolute(Path::new("."))?;
    let missing = |error: git2::Error| {
        Failure::new(
            Code::NotFound,
            format!("{name} is neither a directory nor a reference: {}", error.message()),
        )
    };
    let repository = git2::Repository::discover(&here).map_err(missing)?;
    let commit =
        repository.revparse_single(&name).and_then(|object| object.peel_to_commit()).map_err(missing)?;
    let tree = commit.tree().map_err(missing)?;
    for file in LEGACY_FILES {
        let Some(entry) = tree.get_name(file) else { continue };
        let blob = repository.find_blob(entry.id()).map_err(missing)?;
        spool.fill(file, blob.content())?;
    }
    if tree.get_name(LEGACY_FILES[0]).is_none() {
        return Err(Failure::new(Code::NotFound, format!("{name} has no {}", LEGACY_FILES[0])));
    }
    Ok(commit.id().to_string())
}

/// A directory of our own that goes when the import is over.
struct Spool {
    directory: PathBuf,
}

impl Spool {
    fn new() -> Result<Self, Failure> {
        use std::os::unix::fs::DirBuilderExt;
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|error| Failure::new(Code::IoError, error.to_string()))?;
        let directory = std::env::temp_dir().join(format!("bd-import-{}", hex(&random)));
        std::fs::DirBuilder::new()
            .mode(0o700)
            .create(&directory)
            .map_err(|error| Failure::io("make", &directory, &error))?;
        Ok(Self { directory })
    }

    /// Lines that only this process can read.
    fn jsonl(&self, name: String, source: impl Read) -> Result<ImportSource, Failure> {
        let path = self.fill("issues.jsonl", source)?;
        let copy_of = Some(digest_of(&path).map_err(|error| Failure::io("read", &path, &error))?);
        Ok(ImportSource::Jsonl { path, name, deletions: None, copy_of })
    }

    fn fill(&self, name: &str, mut source: impl Read) -> Result<PathBuf, Failure> {
        let path = self.directory.join(name);
        let mut options = std::fs::OpenOptions::new();
        let opened = options.write(true).create_new(true).mode(0o600).open(&path);
        opened
            .and_then(|mut file| std::io::copy(&mut source, &mut file))
            .map_err(|error| Failure::io("write", &path, &error))?;
        Ok(path)
    }
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

impl Drop for Spool {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
