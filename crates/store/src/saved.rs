//! The record of the last commit that the sync ref was seen to contain. It stands twice: in a file, because whatever moves
//! our ref may take other refs with it, and as a ref, because git deletes commits that no ref leads to.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

use git2::Oid;

use crate::disk::sync_directory;
use crate::repository::CommitId;
use crate::{Error, GitRepository, Result};

/// In the store's directory: the commit's name on a line.
const FILE: &str = "saved";

/// Keeps the commit from being collected as garbage.
const REFERENCE: &str = "refs/beads/saved";

impl GitRepository {
    fn saved_file(&self) -> PathBuf {
        self.git.commondir().join("beads").join(FILE)
    }

    /// The commits that the file and the ref name, without duplicates. What names no commit is none.
    pub(crate) fn saved_commits(&self) -> Result<Vec<CommitId>> {
        let path = self.saved_file();
        let mut commits: Vec<CommitId> = match fs::read_to_string(&path) {
            Ok(text) => Oid::from_str(text.trim_end()).iter().map(Oid::to_string).collect(),
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) if error.kind() == ErrorKind::InvalidData => Vec::new(),
            Err(source) => return Err(Error::Io { action: "read", path, source }),
        };
        if let Ok(kept) = self.git.refname_to_id(REFERENCE)
            && !commits.contains(&kept.to_string())
        {
            commits.push(kept.to_string());
        }
        Ok(commits)
    }

    /// Replaces the record, durably.
    pub(crate) fn write_saved(&self, commit: &str) -> Result<()> {
        if self.saved_commits()? == [commit] && self.git.refname_to_id(REFERENCE).is_ok() {
            return Ok(());
        }
        crate::git::outwait_lock(self.git.commondir(), REFERENCE);
        self.git.reference(REFERENCE, Oid::from_str(commit)?, true, "bd checkpoint")?;
        let path = self.saved_file();
        let write = || -> std::io::Result<()> {
            let directory = path.parent().unwrap_or(self.git.commondir());
            fs::create_dir_all(directory)?;
            let temporary = path.with_extension("tmp");
            let mut file = File::create(&temporary)?;
            file.write_all(format!("{commit}\n").as_bytes())?;
            file.sync_all()?;
            fs::rename(&temporary, &path)?;
            sync_directory(directory)
        };
        write().map_err(|source| Error::Io { action: "write", path: path.clone(), source })
    }

    /// Whether a commit and its files are here, without reading them.
    pub(crate) fn is_complete(&self, commit: &str) -> bool {
        let (Ok(tree), Ok(objects)) = (self.tree(commit), self.git.odb()) else { return false };
        tree.iter().all(|entry| objects.exists(entry.id()))
    }
}
