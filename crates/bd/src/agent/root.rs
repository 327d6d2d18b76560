//! Where the store is, and what a path means to it.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use beads_engine::confined::{confined, lexical};
use git2::{ErrorCode, Repository};

use super::error::{Code, Error, Reason, Result};

const BEADBOARD: &str = ".beadboard";
const EXCLUDED: &str = ".beadboard/";

/// The directory of the store, shared by all work trees of a repository.
#[derive(Debug, Clone)]
pub struct Root {
    dir: PathBuf,
    /// Scopes and paths are relative to this.
    base: PathBuf,
    cwd: PathBuf,
    common_dir: Option<PathBuf>,
    exclude: Option<PathBuf>,
}

impl Root {
    /// As the environment and the current directory say.
    pub fn from_env() -> Result<Root> {
        let cwd = std::env::current_dir().map_err(|why| Error::unreadable(Path::new("."), why))?;
        let chosen = std::env::var_os("BB_AGENT_ROOT").filter(|value| !value.is_empty());
        Root::find(&cwd, chosen.as_deref().map(Path::new), std::env::home_dir().as_deref())
    }

    /// `chosen` if given, else that of the repository around `cwd`, else the one in `home`.
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
            return Err(Error::new(Code::IoReadFailed, message).because(Reason::NoHome));
        };
        Ok(root(home.join(BEADBOARD).join("agent"), home.to_path_buf(), None))
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Hides the store from `git status`, without touching a tracked file. A repository whose git directory may not
    /// be written keeps working: the entry is a courtesy.
    pub fn exclude(&self) {
        if let Some(exclude) = &self.exclude {
            drop(add_line(exclude, EXCLUDED));
        }
    }

    /// A scope as it was typed: an absolute one inside the work tree is made relative.
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

    /// What files of the repository a path on this machine names: as spelled, and with links resolved. None if it
    /// lies outside. A path in another work tree of the repository counts like the same path in this one.
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

    /// The root of the work tree that a directory belongs to, if it is one of ours.
    fn base_of(&self, dir: &Path) -> PathBuf {
        let there = dir.ancestors().find(|dir| dir.is_dir()).unwrap_or(dir);
        match open_around(there) {
            Ok(Some(found)) if Some(found.commondir()) == self.common_dir.as_deref() => {
                found.workdir().unwrap_or(&self.base).to_path_buf()
            }
            _ => self.base.clone(),
        }
    }
}

/// A clone may carry links in place of the store's directories; nothing is read or written where they lead.
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

/// Finds the repository as git does and not as `beads_engine::place` does: this store is one for all work trees that git knows
/// (contract 2), and a link that leads nowhere must be an error.
fn open_around(dir: &Path) -> Result<Option<Repository>> {
    match Repository::discover(dir) {
        Ok(found) => Ok(Some(found)),
        // Falling back to the home directory when there is a repository would split one team over two stores.
        Err(why) if why.code() == ErrorCode::NotFound => {
            match dir.ancestors().map(|dir| dir.join(".git")).find(|link| link.is_file()) {
                Some(dangling) => Err(Error::damaged(&dangling, "it leads to no repository")),
                None => Ok(None),
            }
        }
        Err(why) => Err(Error::unreadable(dir, why.message())),
    }
}

/// The directory that holds the store, and whether the repository is bare. Depends on the common directory alone, so
/// that every work tree comes to the same answer.
fn main_work_tree(common_dir: &Path) -> Result<(PathBuf, bool)> {
    let main = Repository::open(common_dir).map_err(|why| Error::unreadable(common_dir, why.message()))?;
    let own = common_dir.to_path_buf();
    if main.is_bare() {
        return Ok((own, true));
    }
    if common_dir.file_name() == Some(".git".as_ref()) {
        return Ok((common_dir.parent().unwrap_or(common_dir).to_path_buf(), false));
    }
    // A submodule says where its work tree is; a git directory kept apart does not.
    let told = main.config().and_then(|config| config.get_path("core.worktree")).is_ok();
    Ok(match main.workdir() {
        Some(work_tree) if told => (work_tree.to_path_buf(), false),
        _ => (own, true),
    })
}

fn add_line(file: &Path, line: &str) -> std::io::Result<()> {
    let text = match fs::read_to_string(file) {
        Err(why) if why.kind() != std::io::ErrorKind::NotFound => return Err(why),
        text => text.unwrap_or_default(),
    };
    if text.lines().any(|there| there.trim_end() == line) {
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

/// As the file system sees it; the part that does not exist yet is taken by name.
fn resolved(path: &Path) -> PathBuf {
    for there in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (there.canonicalize(), path.strip_prefix(there)) {
            return lexical(&real.join(rest));
        }
    }
    lexical(path)
}
