//! Finds the store's directory and maps paths to it.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use beads_engine::confined::{confined, lexical};
use git2::{ErrorCode, Repository};

use super::error::{Code, Error, Reason, Result};

const BEADBOARD: &str = ".beadboard";
const EXCLUDED: &str = ".beadboard/";

/// The location of the store, which all work trees of a repository share.
#[derive(Debug, Clone)]
pub struct Root {
    dir: PathBuf,
    /// The directory that scopes and paths are relative to.
    base: PathBuf,
    cwd: PathBuf,
    common_dir: Option<PathBuf>,
    exclude: Option<PathBuf>,
}

impl Root {
    /// Finds the store from the environment and the current directory.
    pub fn from_env() -> Result<Root> {
        let cwd = std::env::current_dir().map_err(|why| Error::unreadable(Path::new("."), why))?;
        let chosen = std::env::var_os("BB_AGENT_ROOT").filter(|value| !value.is_empty());
        Root::find(&cwd, chosen.as_deref().map(Path::new), std::env::home_dir().as_deref())
    }

    /// Returns the store at `chosen` if given, else in the repository around `cwd`, else in `home`.
    pub fn find(cwd: &Path, chosen: Option<&Path>, home: Option<&Path>) -> Result<Root> {
        let repository = open_around(cwd)?;
        let common_dir = repository.as_ref().map(|found| found.commondir().to_path_buf());
        let work_tree = repository.as_ref().and_then(Repository::workdir).map(Path::to_path_buf);
        let root = |dir: PathBuf, base: PathBuf, exclude| Root {
            dir,
            base,
            cwd: cwd.to_path_buf(),
            common_dir: common_dir.clone(),
            exclude,
        };
        if let Some(chosen) = chosen {
            return Ok(root(cwd.join(chosen), work_tree.unwrap_or_else(|| cwd.to_path_buf()), None));
        }
        if let Some(common_dir) = &common_dir {
            let (main, bare) = main_work_tree(common_dir)?;
            let exclude = (!bare).then(|| common_dir.join("info").join("exclude"));
            let base = work_tree.unwrap_or_else(|| main.clone());
            let dir = main.join(BEADBOARD).join("agent");
            refuse_links_out(&main, &dir)?;
            return Ok(root(dir, base, exclude));
        }
        let Some(home) = home else {
            let message = "Outside a repository the store is in the home directory, and HOME is not set. Set HOME or \
                           BB_AGENT_ROOT.";
            return Err(Error::new(Code::IoReadFailed, message).with_reason(Reason::NoHome));
        };
        Ok(root(home.join(BEADBOARD).join("agent"), home.to_path_buf(), None))
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Hides the store from `git status` without touching a tracked file. Errors are ignored: the entry is
    /// optional, and the git directory may be read-only.
    pub fn exclude(&self) {
        if let Some(exclude) = &self.exclude {
            drop(add_line(exclude, EXCLUDED));
        }
    }

    /// Returns a scope as typed, but makes an absolute path inside the work tree relative.
    pub fn scope_text(&self, given: &str) -> String {
        let path = Path::new(given);
        if !path.is_absolute() {
            return given.to_owned();
        }
        let slash = if given.ends_with('/') { "/" } else { "" };
        match path.strip_prefix(&self.base) {
            Ok(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
            Ok(inside) => format!("{}{slash}", inside.to_string_lossy()),
            Err(_) => given.to_owned(),
        }
    }

    /// Returns the repository paths of files on this machine: each as spelled and with links resolved; none
    /// if it lies outside. A path in another work tree of the repository counts like the same path in this
    /// one.
    pub fn inside(&self, paths: &[PathBuf]) -> Vec<Vec<String>> {
        let mut work_trees = HashMap::new();
        let one = |path: &PathBuf| {
            let spelled = self.cwd.join(path);
            let mut names: Vec<String> = Vec::new();
            for absolute in [lexical(&spelled), resolved(&spelled)] {
                let dir = absolute.parent().unwrap_or(&absolute).to_path_buf();
                let base = work_trees.entry(dir).or_insert_with_key(|dir| self.base_of(dir));
                if let Ok(inside) = absolute.strip_prefix(base) {
                    let name = inside.to_string_lossy().into_owned();
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
            }
            names
        };
        paths.iter().map(one).collect()
    }

    /// Returns the root of the directory's work tree if that belongs to this repository, else the base.
    fn base_of(&self, dir: &Path) -> PathBuf {
        let existing = dir.ancestors().find(|dir| dir.is_dir()).unwrap_or(dir);
        match open_around(existing) {
            Ok(Some(found)) if Some(found.commondir()) == self.common_dir.as_deref() => {
                found.workdir().unwrap_or(&self.base).to_path_buf()
            }
            _ => self.base.clone(),
        }
    }
}

/// Refuses a store whose directories are links that lead out of the repository, as a hostile clone may have
/// them.
fn refuse_links_out(main: &Path, dir: &Path) -> Result<()> {
    for name in ["", "agents", "messages", "messages/index", "reservations"] {
        let path = dir.join(name);
        confined(main, &path).map_err(|why| match why.kind() {
            std::io::ErrorKind::InvalidInput => Error::damaged(&path, why),
            _ => Error::unreadable(&path, why),
        })?;
    }
    Ok(())
}

/// Finds the repository as git does, unlike `beads_engine::place`: all work trees that git knows share this
/// store (contract 2), and a dangling `.git` file must be an error.
fn open_around(dir: &Path) -> Result<Option<Repository>> {
    match Repository::discover(dir) {
        Ok(found) => Ok(Some(found)),
        // Falling back to the home directory here would split one team over two stores.
        Err(why) if why.code() == ErrorCode::NotFound => {
            match dir.ancestors().map(|dir| dir.join(".git")).find(|link| link.is_file()) {
                Some(dangling) => Err(Error::damaged(&dangling, "it points to no repository")),
                None => Ok(None),
            }
        }
        Err(why) => Err(Error::unreadable(dir, why.message())),
    }
}

/// Returns the directory that holds the store, and whether the repository is bare. Depends only on the common
/// directory, so that every work tree gets the same answer.
fn main_work_tree(common_dir: &Path) -> Result<(PathBuf, bool)> {
    let main = Repository::open(common_dir).map_err(|why| Error::unreadable(common_dir, why.message()))?;
    let own = common_dir.to_path_buf();
    if main.is_bare() {
        return Ok((own, true));
    }
    if common_dir.file_name() == Some(".git".as_ref()) {
        return Ok((common_dir.parent().unwrap_or(common_dir).to_path_buf(), false));
    }
    // A submodule records where its work tree is; a separate git directory does not.
    let has_worktree_setting = main.config().and_then(|config| config.get_path("core.worktree")).is_ok();
    Ok(match main.workdir() {
        Some(work_tree) if has_worktree_setting => (work_tree.to_path_buf(), false),
        _ => (own, true),
    })
}

fn add_line(file: &Path, line: &str) -> std::io::Result<()> {
    let text = match fs::read_to_string(file) {
        Err(why) if why.kind() != std::io::ErrorKind::NotFound => return Err(why),
        text => text.unwrap_or_default(),
    };
    if text.lines().any(|existing| existing.trim_end() == line) {
        return Ok(());
    }
    if let Some(dir) = file.parent() {
        fs::create_dir_all(dir)?;
    }
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let mut file = fs::OpenOptions::new().append(true).create(true).open(file)?;
    file.write_all(format!("{gap}{line}\n").as_bytes())?;
    file.sync_all()
}

/// Resolves links in the part of a path that exists, and normalizes the rest by name.
fn resolved(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (ancestor.canonicalize(), path.strip_prefix(ancestor)) {
            return lexical(&real.join(rest));
        }
    }
    lexical(path)
}
