use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use beads_engine::confined::confined;
use beads_engine::failure::{Code, Failure};
use beads_store::open_regular;
use beads_store::replace_file;

use super::Client;
use super::edit::Edit;

/// A project file with the edits it should contain.
#[derive(Debug, Clone)]
pub struct Target {
    pub path: PathBuf,
    root: PathBuf,
    edits: Vec<Edit>,
}

/// The result of writing to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    Changed,
    Unchanged,
    /// Not changed, because another client still needs the content.
    Kept,
}

impl Target {
    pub fn new(root: &Path, path: &str, edits: Vec<Edit>) -> Self {
        Self { path: root.join(path), root: root.to_owned(), edits }
    }

    /// Returns the path relative to the root.
    pub fn name(&self) -> String {
        self.path.strip_prefix(&self.root).unwrap_or(&self.path).display().to_string()
    }

    fn refused(&self, why: &str) -> Failure {
        let name = self.path.display();
        let message =
            format!("{name} was left unchanged: {why}; bd setup … --print shows what belongs in it");
        Failure::new(Code::CannotEdit, message)
    }

    /// Returns the file with our parts.
    fn with(&self, before: Option<&str>, clients: &[Client]) -> Result<String, Failure> {
        let mut text = before.unwrap_or_default().to_owned();
        for edit in &self.edits {
            text = edit.with(&text, clients).map_err(|why| self.refused(&why))?;
        }
        Ok(text)
    }

    /// Reads the file. Its path must not lead out of the project: a clone may contain symlinks to other
    /// places.
    pub fn read(&self) -> Result<Option<String>, Failure> {
        let refused = |error: std::io::Error| {
            let message = format!("{} was left unchanged: {error}", self.path.display());
            Failure::new(Code::CannotEdit, message)
        };
        let path = confined(&self.root, &self.path).map_err(refused)?;
        let mut text = String::new();
        match open_regular(&path).and_then(|mut file| file.read_to_string(&mut text)) {
            Ok(_) => Ok(Some(text)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Failure::io("read", &self.path, &error)),
        }
    }

    /// Returns whether our parts are present and current.
    pub fn is_current(&self, clients: &[Client]) -> Result<bool, Failure> {
        let before = self.read()?;
        Ok(before.is_some() && Some(self.with(before.as_deref(), clients)?) == before)
    }

    /// Returns whether any part of ours is present.
    pub fn has_our_parts(&self) -> Result<bool, Failure> {
        let Some(before) = self.read()? else { return Ok(false) };
        let differs = |edit: &Edit| edit.without(&before, &[]).is_ok_and(|without| without != before);
        Ok(self.edits.iter().any(differs))
    }

    /// Returns what belongs in the file.
    pub fn content(&self, clients: &[Client]) -> Result<String, Failure> {
        self.with(None, clients)
    }

    /// Writes our parts to the file, unless they are current.
    pub fn write(&self, clients: &[Client]) -> Result<Written, Failure> {
        let before = self.read()?;
        let after = self.with(before.as_deref(), clients)?;
        if before.as_ref() == Some(&after) {
            return Ok(Written::Unchanged);
        }
        if let Some(parent) = self.path.parent() {
            std::fs::create_dir_all(parent).map_err(|error| Failure::io("write", &self.path, &error))?;
        }
        replace_file(&self.path, after.as_bytes())
            .map_err(|error| Failure::io("write", &self.path, &error))?;
        Ok(Written::Changed)
    }

    /// Removes our parts from the file, except those that the remaining clients need.
    pub fn remove(&self, left: &[Client], needed: &[Self]) -> Result<Written, Failure> {
        let Some(before) = self.read()? else { return Ok(Written::Unchanged) };
        let is_needed = |edit: &&Edit| {
            !matches!(edit, Edit::Guide { .. })
                && needed.iter().any(|other| other.path == self.path && other.edits.contains(edit))
        };
        let (kept, gone): (Vec<&Edit>, Vec<&Edit>) = self.edits.iter().partition(is_needed);
        let mut after = before.clone();
        for edit in gone.into_iter().rev() {
            after = edit.without(&after, left).map_err(|why| self.refused(&why))?;
        }
        if after == before {
            return Ok(if kept.is_empty() { Written::Unchanged } else { Written::Kept });
        }
        let failed = |error: std::io::Error| Failure::io("write", &self.path, &error);
        if matches!(after.trim(), "" | "{}") {
            std::fs::remove_file(&self.path).map_err(failed)?;
            self.remove_empty_directories();
        } else {
            replace_file(&self.path, after.as_bytes()).map_err(failed)?;
        }
        Ok(Written::Changed)
    }

    /// Removes the directories between the file and the root if they are empty.
    fn remove_empty_directories(&self) {
        let above = self.path.ancestors().skip(1).take_while(|directory| *directory != self.root);
        for directory in above {
            if std::fs::remove_dir(directory).is_err() {
                break;
            }
        }
    }
}
