//! Support for programs written for the Go `bd`: the files they expect in a work tree, and the setup of a
//! store for them.

use std::fs;
use std::path::{Path, PathBuf};

use super::Service;
use crate::confined::{confined, lexical};
use crate::dialect::Dialect;
use crate::failure::Failure;
use crate::place::{Kind, Place};
use crate::render::CompatSetup;
use beads_store::replace_file;

/// The export file that these programs watch, relative to the main work tree.
pub const EXPORT_PATH: &str = ".beads/issues.jsonl";

/// The file in `.beads` by which these programs recognize a workspace.
pub const METADATA: &str = "metadata.json";

/// The content that the Go `bd` writes.
const METADATA_CONTENT: &str = "{\n  \"database\": \"beads.db\",\n  \"jsonl_export\": \"issues.jsonl\"\n}\n";

/// A file in the store's directory that records that `bd init --compat` was suggested.
const POINTED: &str = "pointed-to-compat";

impl Service {
    /// Returns the directory that paths in settings are relative to: the main work tree, or the parent of the
    /// `.beads` directory.
    pub(super) fn home(&self) -> PathBuf {
        let work_tree = self.repository.inner().work_tree().filter(|_| self.place.kind == Kind::Repository);
        work_tree.unwrap_or_else(|| self.place.home()).to_owned()
    }

    /// Sets the compat dialect and creates the files that these programs expect. Existing files are not
    /// changed.
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
                self.export_first_to(EXPORT_PATH)?;
                self.set("export.path", EXPORT_PATH)?;
                None
            }
            Err(failure) => Some(failure.message),
        };
        let export_path = not_exported.is_none().then_some(EXPORT_PATH);
        Ok(CompatSetup { json_dialect: Dialect::Compat, metadata, export_path, not_exported })
    }

    /// Sets the compat dialect after an import from a `.beads` directory, because programs written for the Go
    /// `bd` will go on reading this store.
    pub(super) fn adopt_compat_dialect(&mut self, imported: &Path) -> Result<(), Failure> {
        let from_go_bd = imported.parent().and_then(Path::file_name).is_some_and(|name| name == ".beads");
        if from_go_bd && self.config.get("json.dialect")?.is_empty() {
            self.set("json.dialect", "compat")?;
            let line = "json.dialect is now compat: --json prints what programs written for the Go bd expect; \
                        to change this, run bd config set json.dialect spec";
            self.remarks.push(line.to_owned());
        }
        Ok(())
    }

    /// Suggests `bd init --compat` once, if the work tree has files of the Go `bd` and the store has no
    /// configured dialect.
    pub(super) fn suggest_compat_setup(&mut self) {
        if std::mem::replace(&mut self.checked_for_clients, true) {
            return;
        }
        let set = self.config.get("json.dialect").is_ok_and(|dialect| !dialect.is_empty());
        let pointed = self.place.store_dir().join(POINTED);
        if set || !self.home().join(".beads").join(METADATA).is_file() || pointed.exists() {
            return;
        }
        // If this fails, the suggestion is repeated, which does no harm.
        let _ = fs::write(&pointed, b"");
        self.remarks.push(
            "this work tree has .beads/metadata.json; bd init --compat sets the store up for the programs that read it"
                .to_owned(),
        );
    }

    /// Returns the file that `export.path` names. Rejects a file that git tracks, because every change of a
    /// bead would change the work tree; a pipe or a device; and a path in the work tree that leads out of it
    /// through a symbolic link.
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
        // A path outside the work tree was chosen by the user. One inside may be a link in a cloned,
        // untrusted repository.
        if lexical(&target).starts_with(&home) {
            match confined(&home, &target) {
                Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => {
                    return Err(refused(&format!("is refused: {error}")));
                }
                // Other errors will show when the file is written.
                _ => {}
            }
        }
        Ok(target)
    }

    /// Excludes a private store from `git status` of the surrounding work tree.
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

/// Adds paths of a work tree to `info/exclude`, unless they are listed already.
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
