//! Programs written for the Go `bd`: what they look for in a work tree, and how a store is set up for them.

use std::fs;
use std::path::{Path, PathBuf};

use super::Service;
use crate::confined::{confined, lexical};
use crate::dialect::Dialect;
use crate::failure::Failure;
use crate::place::{Kind, Place};
use crate::render::CompatSetup;
use beads_store::replace_file;

/// The file that clients watch, relative to the main work tree.
pub const EXPORT_PATH: &str = ".beads/issues.jsonl";

/// The file by which clients recognise a workspace, in `.beads`.
pub const METADATA: &str = "metadata.json";

/// As the Go `bd` writes it.
const METADATA_CONTENT: &str = "{\n  \"database\": \"beads.db\",\n  \"jsonl_export\": \"issues.jsonl\"\n}\n";

/// Says in the store's directory that the user was pointed to `bd init --compat`.
const POINTED: &str = "pointed-to-compat";

impl Service {
    /// The directory that paths in settings are relative to: the main work tree, or the one that has the `.beads` directory.
    pub(super) fn home(&self) -> PathBuf {
        let work_tree = self.repository.inner().work_tree().filter(|_| self.place.kind == Kind::Repository);
        work_tree.unwrap_or_else(|| self.place.home()).to_owned()
    }

    /// Sets the dialect, and makes what clients look for. A file that is there is left as it is.
    pub(super) fn set_up_clients(&mut self) -> Result<CompatSetup, Failure> {
        self.set("json.dialect", "compat")?;
        let beads = self.home().join(".beads");
        let metadata = beads.join(METADATA);
        confined(&self.home(), &metadata).map_err(|error| Failure::io("write", &metadata, &error))?;
        if !metadata.exists() {
            fs::create_dir_all(&beads).map_err(|error| Failure::io("make", &beads, &error))?;
            let written = replace_file(&metadata, METADATA_CONTENT.as_bytes());
            written.map_err(|error| Failure::io("write", &metadata, &error))?;
        }
        self.exclude(&[&metadata, &self.home().join(EXPORT_PATH)])?;
        let not_exported = match self.check_export_path(EXPORT_PATH) {
            Ok(_) => {
                self.set("export.path", EXPORT_PATH)?;
                self.export_now()?;
                None
            }
            Err(failure) => Some(failure.message),
        };
        let export_path = not_exported.is_none().then_some(EXPORT_PATH);
        Ok(CompatSetup { json_dialect: Dialect::Compat, metadata, export_path, not_exported })
    }

    /// A store that clients of the Go `bd` used is read by them further on.
    pub(super) fn expect_clients(&mut self, imported: &Path) -> Result<(), Failure> {
        let go_era = imported.parent().and_then(Path::file_name).is_some_and(|name| name == ".beads");
        if go_era && self.config.get("json.dialect")?.is_empty() {
            self.set("json.dialect", "compat")?;
            let line = "json.dialect is now compat: --json answers as programs written for the Go bd expect; \
                        bd config set json.dialect spec changes that";
            self.remarks.push(line.to_owned());
        }
        Ok(())
    }

    /// Points once to `bd init --compat` when a work tree has what clients look for and the store is not set up.
    pub(super) fn look_for_clients(&mut self) {
        if std::mem::replace(&mut self.looked_for_clients, true) {
            return;
        }
        let set = self.config.get("json.dialect").is_ok_and(|dialect| !dialect.is_empty());
        let pointed = self.place.store_dir().join(POINTED);
        if set || !self.home().join(".beads").join(METADATA).is_file() || pointed.exists() {
            return;
        }
        // Where nothing can be written it is said each time, which does no harm.
        let _ = fs::write(&pointed, b"");
        self.remarks.push(
            "this work tree has .beads/metadata.json; bd init --compat sets the store up for the programs that read it"
                .to_owned(),
        );
    }

    /// Returns where a file at `export.path` is written. Refuses a file that git tracks, because every change of a bead would
    /// change the work tree; a pipe or a device; and a path in the work tree that a link leads out of it.
    pub(super) fn check_export_path(&self, path: &str) -> Result<PathBuf, Failure> {
        let refused = |why: &str| {
            Failure::invalid(format!("{path} {why}; nothing is exported there. Choose another export.path"))
        };
        let home = self.home();
        let target = home.join(path);
        if path.is_empty() {
            return Ok(target);
        }
        if self.repository.inner().tracks(&target)? {
            return Err(refused("is tracked by git, and every change of a bead would show in git status"));
        }
        if fs::metadata(&target).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
            return Err(refused("is not a regular file"));
        }
        // A path outside was chosen by the user; one inside may have been replaced by whoever wrote the clone.
        if lexical(&target).starts_with(&home) {
            match confined(&home, &target) {
                Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => {
                    return Err(refused(&format!("is refused: {error}")));
                }
                // What else is in the way shows when the file is written.
                _ => {}
            }
        }
        Ok(target)
    }

    /// Keeps the repository of a private store out of `git status` of the work tree around it.
    pub(super) fn hide_private_store(&self) -> Result<(), Failure> {
        let directory = self.place.git_dir.parent().unwrap_or(&self.place.git_dir);
        match Place::repository_around(directory) {
            Some((git_dir, work_tree)) => exclude(&git_dir, &work_tree, &[&self.place.git_dir]),
            None => Ok(()),
        }
    }

    fn exclude(&self, paths: &[&Path]) -> Result<(), Failure> {
        match self.place.kind {
            Kind::Repository => exclude(&self.place.git_dir, &self.home(), paths),
            Kind::Private => Ok(()),
        }
    }
}

/// Adds paths of a work tree to `info/exclude`, unless they are there.
fn exclude(git_dir: &Path, work_tree: &Path, paths: &[&Path]) -> Result<(), Failure> {
    let file = git_dir.join("info/exclude");
    let mut text = match fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Failure::io("read", &file, &error)),
    };
    let before = text.clone();
    for path in paths {
        let Ok(inner) = path.strip_prefix(work_tree) else { continue };
        let line = format!("/{}", inner.display());
        if !text.lines().any(|known| known == line) {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&line);
            text.push('\n');
        }
    }
    if text == before {
        return Ok(());
    }
    let info = git_dir.join("info");
    fs::create_dir_all(&info).map_err(|error| Failure::io("make", &info, &error))?;
    replace_file(&file, text.as_bytes()).map_err(|error| Failure::io("write", &file, &error))
}
