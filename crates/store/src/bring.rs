//! Brings objects that a partial clone lacks through the library, which has no way to ask for single ones.

use std::path::{Path, PathBuf};

use git2::{Direction, FetchOptions, Oid};

use crate::Result;
use crate::credentials::callbacks;
use crate::native::{Line, copy};
use crate::repository::REF;
use crate::{library, loose};

/// A repository that is deleted when it is no longer needed.
struct Apart(PathBuf);

impl Drop for Apart {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Line {
    /// Brings an object: alone from a path on this machine, with the last commit of the store otherwise. Returns whether it is
    /// here now.
    pub(crate) fn bring(&self, id: Oid) -> Result<bool> {
        let git = &self.repository.git;
        if let Some(neighbour) = self.neighbour(Direction::Fetch)? {
            let theirs = neighbour.git.odb()?;
            let (length, kind) = theirs.read_header(id)?;
            loose::check_length(length, kind).map_err(|reason| git2::Error::from_str(&reason))?;
            let found = theirs.read(id)?;
            git.odb()?.write(found.kind(), found.data())?;
            return Ok(true);
        }
        let apart = Apart(place(git.commondir()));
        self.fetch_apart(&apart.0)?;
        Ok(git.odb()?.exists(id))
    }

    /// Fetches the last commit into an empty repository: a server sends nothing that it believes to be here.
    fn fetch_apart(&self, path: &Path) -> Result<(), git2::Error> {
        library::load_certificates();
        let git = &self.repository.git;
        let apart = git2::Repository::init_bare(path)?;
        let url = self.url(Direction::Fetch)?;
        let mut options = FetchOptions::new();
        options.remote_callbacks(callbacks(git, &url)).download_tags(git2::AutotagOption::None);
        options.update_fetchhead(false).depth(1);
        apart.remote_anonymous(&url)?.fetch(&[format!("+{REF}:{REF}")], Some(&mut options), None)?;
        copy(&apart, git, apart.refname_to_id(REF)?, [])
    }
}

/// A directory of its own for each process.
fn place(common_dir: &Path) -> PathBuf {
    common_dir.join("beads").join(format!("bring-{}.tmp", std::process::id()))
}
