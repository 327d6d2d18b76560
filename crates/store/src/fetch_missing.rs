//! Fetches objects that a partial clone lacks through libgit2, which cannot request single objects.

use std::path::{Path, PathBuf};

use git2::{Direction, FetchOptions, Oid};

use crate::Result;
use crate::credentials::callbacks;
use crate::native::{Connection, copy};
use crate::progress::Step;
use crate::repository::REF;
use crate::{libgit2, loose};

/// A temporary repository that is deleted when dropped.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Connection {
    /// Fetches an object: by itself from a path on this machine, otherwise with the last commit of the store.
    /// Returns whether it exists here now.
    pub(crate) fn fetch_object(&self, id: Oid) -> Result<bool> {
        let git = &self.repository.git;
        if let Some(local) = self.local_repository(Direction::Fetch)? {
            let theirs = local.git.odb()?;
            let (length, kind) = theirs.read_header(id)?;
            loose::check_length(length, kind).map_err(|reason| git2::Error::from_str(&reason))?;
            let found = theirs.read(id)?;
            git.odb()?.write(found.kind(), found.data())?;
            return Ok(true);
        }
        let scratch = Scratch(place(git.commondir()));
        self.fetch_into_scratch(&scratch.0)?;
        Ok(git.odb()?.exists(id))
    }

    /// Fetches the last commit into an empty repository. A server sends only objects that the client lacks,
    /// and it would assume that we have these.
    fn fetch_into_scratch(&self, path: &Path) -> Result<(), git2::Error> {
        libgit2::load_certificates();
        let git = &self.repository.git;
        let scratch = git2::Repository::init_bare(path)?;
        let url = self.url(Direction::Fetch)?;
        let mut options = FetchOptions::new();
        options.remote_callbacks(callbacks(git, &url)).download_tags(git2::AutotagOption::None);
        options.update_fetchhead(false).depth(1);
        scratch.remote_anonymous(&url)?.fetch(&[format!("+{REF}:{REF}")], Some(&mut options), None)?;
        copy(&scratch, git, scratch.refname_to_id(REF)?, [], Step::Receiving)
    }
}

/// Returns the path of this process's temporary repository.
fn place(common_dir: &Path) -> PathBuf {
    common_dir.join("beads").join(format!("bring-{}.tmp", std::process::id()))
}
