//! Installs links that run tools under their own names.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use beads_engine::failure::{Code, Failure};
use serde::Serialize;

use super::{Tool, table};

/// Which tools to link, and where.
#[derive(Debug, Clone)]
pub struct Install {
    pub dir: PathBuf,
    /// Prefix of every link's name.
    pub prefix: String,
    /// `beads` or `agent`; default: both.
    pub group: Option<String>,
    pub dry_run: bool,
}

#[derive(Debug, Serialize)]
pub struct Installed {
    pub dir: PathBuf,
    /// The target of the links.
    pub program: PathBuf,
    pub dry_run: bool,
    pub links: Vec<Link>,
}

#[derive(Debug, Serialize)]
pub struct Link {
    pub tool: &'static str,
    pub path: PathBuf,
    pub action: LinkAction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkAction {
    Created,
    /// The link pointed to another `bd` before.
    Replaced,
    Unchanged,
    /// Another file has that name; it was left unchanged.
    Refused,
}

impl LinkAction {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Replaced => "replaced",
            Self::Unchanged => "unchanged",
            Self::Refused => "refused: another file has that name",
        }
    }
}

impl Install {
    pub fn tools(&self) -> impl Iterator<Item = &'static Tool> {
        table().iter().filter(|tool| self.group.as_deref().is_none_or(|group| tool.group() == group))
    }

    /// Creates the links, or returns what it would create.
    pub fn run(&self) -> Result<Installed, Failure> {
        if self.prefix.contains(['/', '\0']) {
            return Err(Failure::invalid(format!(
                "the prefix {:?} cannot be part of a file name",
                self.prefix
            )));
        }
        let program = std::env::current_exe()
            .and_then(|path| path.canonicalize())
            .map_err(|error| Failure::new(Code::IoError, format!("cannot find this program: {error}")))?;
        if !self.dry_run {
            std::fs::create_dir_all(&self.dir).map_err(|error| Failure::io("create", &self.dir, &error))?;
        }
        let dir = self.dir.canonicalize().unwrap_or_else(|_| self.dir.clone());
        let mut links = Vec::new();
        for tool in self.tools() {
            let path = dir.join(format!("{}{}", self.prefix, tool.name));
            let action = plan(&path, &program);
            if !self.dry_run {
                apply_action(action, &path, &program).map_err(|error| Failure::io("link", &path, &error))?;
            }
            links.push(Link { tool: tool.name, path, action });
        }
        Ok(Installed { dir, program, dry_run: self.dry_run, links })
    }
}

fn plan(path: &Path, program: &Path) -> LinkAction {
    match std::fs::read_link(path) {
        Ok(target) if target == program => LinkAction::Unchanged,
        Ok(target) if target.file_name() == program.file_name() => LinkAction::Replaced,
        Ok(_) => LinkAction::Refused,
        Err(_) if path.symlink_metadata().is_ok() => LinkAction::Refused,
        Err(_) => LinkAction::Created,
    }
}

fn apply_action(action: LinkAction, path: &Path, program: &Path) -> std::io::Result<()> {
    match action {
        LinkAction::Created => symlink(program, path),
        LinkAction::Replaced => {
            // Create the new link beside the old one and rename it, so that the name always exists.
            let beside = path.with_extension(format!("new{}", std::process::id()));
            symlink(program, &beside)?;
            std::fs::rename(&beside, path)
        }
        LinkAction::Unchanged | LinkAction::Refused => Ok(()),
    }
}
