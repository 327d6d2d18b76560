//! Finds the store (DESIGN §7). Looks at a few paths without the git library, because every command runs
//! this.

use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::failure::Failure;

/// The bare repository of a private store, inside its `.beads` directory.
const PRIVATE_REPOSITORY: &str = "store.git";

/// The git repository of a jj repository that is not colocated with git.
const JJ_GIT: &str = ".jj/repo/store/git";

/// The location of a store that exists or that the first write creates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The git directory that holds the sync ref: the common directory of a repository, or the private one.
    pub git_dir: PathBuf,
    /// Whether the store is shared or private.
    pub kind: Kind,
    /// The branch that is checked out in the current directory.
    pub branch: String,
    /// The git work tree that contains a private store, if any.
    pub inside: Option<PathBuf>,
    /// The name of the current linked worktree or additional jj workspace.
    pub worktree: Option<String>,
}

/// The kind of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Inside a git repository, shared by all its worktrees.
    Repository,
    /// A `.beads` directory with a separate repository.
    Private,
}

/// Where to find the store, according to the command line and the environment.
#[derive(Debug, Clone, Default)]
pub struct PlaceOptions {
    /// `--db` or `BEADS_DB`: the path of a database file inside a `.beads` directory.
    pub db: Option<PathBuf>,
    /// `BEADS_DIR`: a `.beads` directory.
    pub dir: Option<PathBuf>,
    /// Whether to use a private store even inside a git repository.
    pub private: bool,
    /// The directory to start from.
    pub start: PathBuf,
}

impl PlaceOptions {
    fn from_env(db: Option<PathBuf>, start: &Path) -> Self {
        // Treat an empty variable as unset. As a path it would mean the current directory.
        let variable =
            |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let db = db.or_else(|| variable("BEADS_DB"));
        let dir = variable("BEADS_DIR").filter(|_| db.is_none());
        Self { db, dir, private: false, start: start.to_owned() }
    }

    /// Returns the store's directory if it was named explicitly.
    fn directory(&self, start: &Path) -> Option<PathBuf> {
        if let Some(db) = &self.db {
            let db = absolute_in(start, db);
            return Some(if db.is_dir() { db } else { db.parent().map(Path::to_owned).unwrap_or(db) });
        }
        let here = || self.private.then(|| start.join(".beads"));
        self.dir.as_ref().map(|directory| absolute_in(start, directory)).or_else(here)
    }
}

impl Place {
    /// Finds the store that the environment names, or the one around a directory.
    pub fn from_env(db: Option<PathBuf>, start: &Path) -> Result<Self, Failure> {
        Self::find(&PlaceOptions::from_env(db, start))
    }

    /// Finds the private store for `init --private`: in the named directory, or in `.beads` here.
    pub fn private_from_env(db: Option<PathBuf>, start: &Path) -> Result<Self, Failure> {
        Self::find(&PlaceOptions { private: true, ..PlaceOptions::from_env(db, start) })
    }

    /// Finds the store of the repository around a directory, even if a private store is nearer.
    pub fn of_repository(start: &Path) -> Result<Option<Self>, Failure> {
        let start = absolute(start)?;
        Ok(find_git(&start).map(|git| {
            let branch = branch_of(&git.git_dir);
            Self {
                git_dir: git.common_dir,
                kind: Kind::Repository,
                branch,
                inside: None,
                worktree: git.worktree,
            }
        }))
    }

    /// Returns the git directory and the work tree of the repository around a directory.
    pub fn repository_around(directory: &Path) -> Option<(PathBuf, PathBuf)> {
        let git = find_git(directory)?;
        Some((git.common_dir, git.work_tree?))
    }

    /// Returns the git directory of the work tree around a directory. Its `HEAD` is the one checked out
    /// there.
    pub fn git_dir_around(directory: &Path) -> Option<PathBuf> {
        find_git(directory).map(|git| git.git_dir)
    }

    /// Finds the store.
    pub fn find(options: &PlaceOptions) -> Result<Self, Failure> {
        let start = absolute(&options.start)?;
        let repository = find_git(&start);
        let worktree = repository.as_ref().and_then(|git| git.worktree.clone());
        Ok(Self { worktree, ..Self::find_store(options, &start, repository) })
    }

    /// Finds the store for a caller in directory `start`, which is in `repository`.
    fn find_store(options: &PlaceOptions, start: &Path, repository: Option<Git>) -> Self {
        let branch = repository.as_ref().map(|git| branch_of(&git.git_dir)).unwrap_or_default();
        if let Some(directory) = options.directory(start) {
            return Self::named(&directory, branch, options.private);
        }
        let root = repository.as_ref().and_then(|git| git.work_tree.clone());
        for directory in start.ancestors() {
            if is_private(&directory.join(".beads")) {
                return Self::private(&directory.join(".beads"), branch);
            }
            if let Some(main) = main_jj_workspace(directory)
                && is_private(&main.join(".beads"))
            {
                return Self::private(&main.join(".beads"), branch);
            }
            if Some(directory) == root.as_deref() || repository.is_some() && root.is_none() {
                break;
            }
        }
        match repository {
            Some(git) => {
                Self { git_dir: git.common_dir, kind: Kind::Repository, branch, inside: None, worktree: None }
            }
            None => Self::private(&start.join(".beads"), branch),
        }
    }

    /// Returns the store in an explicitly named directory. A `.beads` directory in a git work tree may be
    /// left over from another `bd`, or exist for its clients. It means the repository's store, unless it
    /// contains a private store.
    fn named(directory: &Path, branch: String, private: bool) -> Self {
        let place = Self::private(directory, branch);
        if place.exists() || private {
            return place;
        }
        let directory = resolved(directory);
        if directory.file_name().is_none_or(|name| name != ".beads") {
            return place;
        }
        match find_git(&directory).filter(|git| git.work_tree.is_some()) {
            Some(git) => Self {
                git_dir: git.common_dir,
                kind: Kind::Repository,
                branch: place.branch,
                inside: None,
                worktree: None,
            },
            None => place,
        }
    }

    fn private(directory: &Path, branch: String) -> Self {
        let directory = resolved(directory);
        let inside = find_git(&directory).and_then(|git| git.work_tree);
        let git_dir = directory.join(PRIVATE_REPOSITORY);
        Self { git_dir, kind: Kind::Private, branch, inside, worktree: None }
    }

    /// Returns the directory of all local files: journal, lock, settings, log.
    pub fn store_dir(&self) -> PathBuf {
        self.git_dir.join("beads")
    }

    /// Returns the directory that the store belongs to: the main work tree, or the parent of the `.beads`
    /// directory.
    pub fn home(&self) -> &Path {
        let inner = |path: &Path| {
            path.file_name().is_some_and(|name| name == ".git" || name == ".beads" || name == ".jj")
        };
        let around = match self.kind {
            Kind::Private => self.git_dir.parent(),
            Kind::Repository if self.git_dir.ends_with(JJ_GIT) => self.git_dir.ancestors().nth(3),
            Kind::Repository => Some(self.git_dir.as_path()),
        };
        let around = around.unwrap_or(&self.git_dir);
        around.parent().filter(|_| inner(around)).unwrap_or(around)
    }

    /// Returns the path of the store's lock.
    pub fn lock_path(&self) -> PathBuf {
        self.store_dir().join("lock")
    }

    /// Returns whether the store can be read. A repository always can; a private store is created by its
    /// first write.
    pub fn exists(&self) -> bool {
        self.kind == Kind::Repository || self.git_dir.join("HEAD").is_file()
    }

    /// Returns whether a write may create the private store. Inside a git repository it may not, because the
    /// new store would hide the repository's store.
    pub fn may_be_created_by_write(&self) -> bool {
        self.inside.is_none()
    }

    /// Returns whether the directory of a private store exists. It may be empty.
    pub fn has_directory(&self) -> bool {
        self.git_dir.parent().is_some_and(Path::is_dir)
    }

    /// Returns the `.beads` directory that clients of the Go `bd` look for.
    pub fn beads_dir(&self) -> PathBuf {
        self.home().join(".beads")
    }

    /// Returns the display name of the store: the name of the directory it belongs to.
    pub fn name(&self) -> String {
        if self.git_dir.ends_with(JJ_GIT) {
            return self
                .home()
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default();
        }
        let inner = ["store.git", ".beads", ".git"];
        let named = self
            .git_dir
            .ancestors()
            .filter_map(Path::file_name)
            .find(|name| !inner.iter().any(|i| name == i));
        named.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }
}

/// Returns whether a `.beads` directory contains a private store.
fn is_private(directory: &Path) -> bool {
    directory.join(PRIVATE_REPOSITORY).join("HEAD").is_file()
}

struct Git {
    git_dir: PathBuf,
    common_dir: PathBuf,
    work_tree: Option<PathBuf>,
    worktree: Option<String>,
}

/// Finds the repository around a directory: a `.git` directory, a `.git` file that points elsewhere, the
/// repository of a jj workspace, or a bare repository.
fn find_git(start: &Path) -> Option<Git> {
    for directory in start.ancestors() {
        let dot_git = directory.join(".git");
        let git_dir = if is_git_dir(&dot_git) {
            Some((dot_git, Some(directory.to_owned())))
        } else if let Some(git_dir) = find_jj_git(directory) {
            Some((git_dir, Some(directory.to_owned())))
        } else if let Some(target) = read_pointer(&dot_git, "gitdir: ") {
            Some((absolute_in(directory, &target), Some(directory.to_owned())))
        } else {
            is_git_dir(directory).then(|| (directory.to_owned(), None))
        };
        if let Some((git_dir, work_tree)) = git_dir {
            let common_dir = read_pointer(&git_dir.join("commondir"), "")
                .map(|target| absolute_in(&git_dir, &target))
                .filter(|path| path.exists())
                .unwrap_or_else(|| git_dir.clone());
            return Some(Git {
                worktree: worktree_name(&git_dir, directory),
                common_dir: common_dir.canonicalize().unwrap_or(common_dir),
                git_dir,
                work_tree,
            });
        }
    }
    None
}

/// Returns the name of a linked worktree, which is unique in its repository, or of an additional jj
/// workspace.
fn worktree_name(git_dir: &Path, directory: &Path) -> Option<String> {
    let is_linked = git_dir.parent().and_then(Path::file_name).is_some_and(|name| name == "worktrees")
        && git_dir.join("commondir").exists();
    let named = if is_linked { git_dir } else { directory };
    let is_workspace = directory.join(".jj/repo").is_file();
    let name = named.file_name().filter(|_| is_linked || is_workspace)?;
    Some(name.to_string_lossy().into_owned())
}

/// Returns the git repository of a jj workspace. All workspaces of a jj repository share it: `.jj/repo` is
/// the directory that contains `store/git_target`, or a file that names that directory.
fn find_jj_git(directory: &Path) -> Option<PathBuf> {
    let repo = jj_repo(directory)?;
    let store = repo.join("store");
    let git_dir = absolute_in(&store, &read_pointer(&store.join("git_target"), "")?).canonicalize().ok()?;
    is_git_dir(&git_dir).then_some(git_dir)
}

fn jj_repo(directory: &Path) -> Option<PathBuf> {
    let jj = directory.join(".jj");
    let repo = jj.join("repo");
    if repo.is_dir() {
        return Some(repo);
    }
    absolute_in(&jj, &read_pointer(&repo, "")?).canonicalize().ok().filter(|repo| repo.is_dir())
}

/// Returns the main workspace of the jj repository that `directory` is a workspace of.
fn main_jj_workspace(directory: &Path) -> Option<PathBuf> {
    let repo = jj_repo(directory)?.canonicalize().ok()?;
    let jj = repo.parent().filter(|jj| jj.file_name().is_some_and(|name| name == ".jj"))?;
    jj.parent().map(Path::to_owned)
}

fn is_git_dir(path: &Path) -> bool {
    path.join("HEAD").exists()
        && (path.join("commondir").exists() || path.join("objects").is_dir() && path.join("refs").is_dir())
}

fn read_pointer(path: &Path, prefix: &str) -> Option<PathBuf> {
    if !path.is_file() {
        return None;
    }
    let text = fs::read_to_string(path).ok()?;
    Some(PathBuf::from(text.strip_prefix(prefix)?.trim_end()))
}

fn branch_of(git_dir: &Path) -> String {
    let head = fs::read_to_string(git_dir.join("HEAD")).unwrap_or_default();
    let branch = head.trim_end().strip_prefix("ref: refs/heads/").unwrap_or_default();
    branch.to_owned()
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    path.canonicalize().map_err(|error| Failure::io("find", path, &error))
}

/// Returns the path without symbolic links and `..`, as far as it exists. A store has the same path before
/// and after its first write.
fn resolved(path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => continue,
            Component::ParentDir => drop(resolved.pop()),
            other => resolved.push(other),
        }
        resolved = resolved.canonicalize().unwrap_or(resolved);
    }
    resolved
}

fn absolute_in(base: &Path, path: &Path) -> PathBuf {
    base.join(path)
}
