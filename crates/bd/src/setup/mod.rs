//! `bd setup`: what a coding agent's program has to be told to find the beads, in the files of a project. Everything written can be recognised
//! and taken out again; the rest of a file stays as it is, byte for byte.

mod json_file;
mod section;

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use beads_engine::confined::confined;
use beads_engine::failure::{Code, Failure};
use beads_engine::replace_file::replace_file;
use beads_store::open_regular;
use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Client {
    Claude,
    Codex,
    Gemini,
    Cursor,
    /// Whatever reads AGENTS.md
    Generic,
    /// Programs written for the Go bd, as bd init --compat sets this clone up for them
    Clients,
}

/// Under this heading everybody explains themselves to agents.
const SECTION: &str = "\
## Tasks

Work in this repository is tracked as beads, shared by all agents. Run `bd prime` for the commands, or use the `beads` MCP
server: `next` claims a task and gives its brief, `note` records findings, `done` closes it. Claim before you start; beads save and
sync themselves.
";

const CODEX: &str = "\
[mcp_servers.beads]
command = \"bd\"
args = [\"mcp\"]
";

/// One file, as it should be.
#[derive(Debug)]
pub struct Target {
    pub path: PathBuf,
    root: PathBuf,
    /// The program's own directory in the project, if the file is in one.
    directory: Option<PathBuf>,
    edit: Edit,
}

#[derive(Debug)]
enum Edit {
    /// A key that is ours, in an object of a JSON file.
    Entry { path: &'static [&'static str], value: Value },
    /// An element that is ours, in a list of a JSON file.
    Element { path: &'static [&'static str], value: Value },
    /// Lines between two marks.
    Section { marks: (&'static str, &'static str), text: &'static str },
}

const MARKDOWN: (&str, &str) = ("<!-- BEGIN BEADS -->", "<!-- END BEADS -->");
const TOML: (&str, &str) = ("# BEGIN BEADS", "# END BEADS");

/// The files of a project that matter to a client.
pub fn targets(client: Client, root: &Path) -> Vec<Target> {
    let target = |path: &str, edit| Target {
        path: root.join(path),
        root: root.to_owned(),
        directory: path.split_once('/').map(|(directory, _)| root.join(directory)),
        edit,
    };
    let server =
        || Edit::Entry { path: &["mcpServers", "beads"], value: json!({"command": "bd", "args": ["mcp"]}) };
    let hook = |command: &str| Edit::Element {
        path: &["hooks", "SessionStart"],
        value: json!({"hooks": [{"type": "command", "command": command}]}),
    };
    // What Claude Code's hooks print is read by its model; the others want it wrapped.
    let (plain, wrapped) = ("bd prime", "bd prime --hook");
    let mut targets = match client {
        Client::Claude => vec![target(".mcp.json", server()), target(".claude/settings.json", hook(plain))],
        Client::Gemini => {
            vec![target(".gemini/settings.json", server()), target(".gemini/settings.json", hook(wrapped))]
        }
        Client::Cursor => vec![target(".cursor/mcp.json", server())],
        Client::Codex => vec![
            target(".codex/config.toml", Edit::Section { marks: TOML, text: CODEX }),
            target(".codex/hooks.json", hook(wrapped)),
        ],
        Client::Generic => Vec::new(),
        // Settings of the store, not files of the project.
        Client::Clients => return Vec::new(),
    };
    targets.push(target("AGENTS.md", Edit::Section { marks: MARKDOWN, text: SECTION }));
    targets
}

impl Target {
    /// The file with our part in it, or without it. `None` for a file that need not be.
    fn edited(&self, before: Option<&str>, remove: bool) -> Result<Option<String>, Failure> {
        let text = before.unwrap_or_default();
        let edited = match &self.edit {
            Edit::Section { marks, .. } if remove => section::without(text, *marks),
            Edit::Section { marks, text: ours } => Ok(section::with(text, *marks, ours)),
            Edit::Entry { path, .. } if remove => json_file::without_entry(text, path),
            Edit::Entry { path, value } => json_file::with_entry(text, path, value),
            Edit::Element { path, value } if remove => json_file::without_element(text, path, value),
            Edit::Element { path, value } => json_file::with_element(text, path, value),
        };
        let name = self.path.display();
        let text = edited.map_err(|why| {
            let message =
                format!("{name} was left as it is: {why}; bd setup … --print shows what belongs into it");
            Failure::new(Code::CannotEdit, message)
        })?;
        let nothing_left = matches!(text.trim(), "" | "{}");
        Ok((!(remove && nothing_left)).then_some(text))
    }

    /// Reads the file where the path leads, which must be in the project: a clone may carry links out of it.
    fn read(&self) -> Result<Option<String>, Failure> {
        let refused = |error: std::io::Error| {
            let message = format!("{} was left as it is: {error}", self.path.display());
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

    /// Whether our part is there as it should be.
    pub fn is_there(&self) -> Result<bool, Failure> {
        let before = self.read()?;
        Ok(before.is_some() && self.edited(before.as_deref(), false)? == before)
    }

    /// What belongs into the file.
    pub fn shown(&self) -> Result<String, Failure> {
        Ok(self.edited(None, false)?.unwrap_or_default())
    }

    /// Writes the file, unless it is right already. Says whether it was changed.
    pub fn write(&self, remove: bool) -> Result<bool, Failure> {
        let before = self.read()?;
        if remove && before.is_none() {
            return Ok(false);
        }
        let after = self.edited(before.as_deref(), remove)?;
        if after == before {
            return Ok(false);
        }
        let failed = |error: std::io::Error| Failure::io("write", &self.path, &error);
        match after {
            None => {
                std::fs::remove_file(&self.path).map_err(failed)?;
                // A directory of the program goes too when nothing else is in it; if something is, it stays.
                let _ = self.directory.as_ref().map(std::fs::remove_dir);
            }
            Some(text) => {
                if let Some(parent) = self.path.parent() {
                    std::fs::create_dir_all(parent).map_err(failed)?;
                }
                replace_file(&self.path, text.as_bytes()).map_err(failed)?;
            }
        }
        Ok(true)
    }
}
