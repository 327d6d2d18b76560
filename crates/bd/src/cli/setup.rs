use std::collections::BTreeMap;
use std::path::Path;

use beads_engine::failure::{Code, Failure};
use beads_engine::place::Place;
use beads_engine::render;
use beads_engine::request::{Call, Format, Reply};
use serde_json::{Value, json};

use super::globals::Globals;
use super::{answered, ask_at, text_reply};
use crate::setup::{Client, Target, Written, by_hand, set_up, targets};

/// Tell the programs of coding agents about this repository's beads
///
/// Writes into files of the project: the MCP server, hooks for the start, the stops and the end of a session and for subagents
/// where the program has them, a skill with the work loop, and a section of AGENTS.md. Running it again changes nothing. What is
/// not ours in these files stays as it is. docs/AGENTS.md has a table.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bd setup claude\n  bd setup --all --check\n  bd setup codex --print\n  bd setup cursor --remove\n  bd setup clients"
)]
pub struct Args {
    #[arg(value_enum, required_unless_present = "all", conflicts_with = "all")]
    client: Option<Client>,
    /// Every program but those written for the Go bd
    #[arg(long)]
    all: bool,
    /// Only tell whether everything is in place; fails if it is not
    #[arg(long, conflicts_with_all = ["remove", "print"])]
    check: bool,
    /// Take out what setup has written, but what another program still needs
    #[arg(long, conflicts_with = "print")]
    remove: bool,
    /// Write into the files of this project, which is what happens anyway: setup never touches files of the user
    #[arg(long)]
    #[allow(dead_code, reason = "there is no other scope")]
    project: bool,
    /// Only show what belongs into which file
    #[arg(long)]
    print: bool,
}

/// What became of each file, in the order of first mention.
#[derive(Debug, Default)]
struct Rows(Vec<(String, &'static str)>);

impl Rows {
    /// A file that several clients share has one row, with what was done to it or is wrong with it.
    fn add(&mut self, file: String, state: &'static str) {
        match self.0.iter_mut().find(|(name, _)| *name == file) {
            Some((_, before)) if matches!(*before, "unchanged" | "kept" | "in place") => *before = state,
            Some(_) => {}
            None => self.0.push((file, state)),
        }
    }

    fn with_state(&self, state: &str) -> Vec<&str> {
        self.0.iter().filter(|row| row.1 == state).map(|row| row.0.as_str()).collect()
    }
}

impl Args {
    pub fn run(self, globals: &Globals) -> Result<Reply, Failure> {
        if self.client == Some(Client::Clients) {
            return self.clients(globals);
        }
        let here = globals.directory()?;
        let root = Place::repository_around(&here).map_or(here, |(_, work_tree)| work_tree);
        let root = root.as_path();
        let clients = self.client.map_or(Client::ALL.to_vec(), |client| vec![client]);
        if self.print {
            return print(&clients, root, globals);
        }
        let mut rows = Rows::default();
        for client in clients {
            match (self.check, self.remove) {
                (true, _) => check(client, root, &mut rows)?,
                (_, true) => remove(client, root, &mut rows)?,
                _ => write(client, root, &mut rows)?,
            }
        }
        let missing = rows.with_state("missing");
        if !missing.is_empty() {
            let message = format!("not set up: {}", missing.join(", "));
            return Err(Failure::new(Code::NotSetUp, message).with(json!({"files": missing})));
        }
        Ok(answered(match globals.format() {
            Format::Json => {
                let files: Vec<_> =
                    rows.0.iter().map(|(file, state)| json!({"file": file, "state": state})).collect();
                render::json(&json!({"files": files, "text": ""}))
            }
            _ => rows.0.iter().map(|(file, state)| format!("{state} {file}\n")).collect(),
        }))
    }

    /// Programs written for the Go `bd` need settings of this clone instead of files of the project.
    fn clients(&self, globals: &Globals) -> Result<Reply, Failure> {
        let place = globals.place()?;
        if self.print {
            let text = "json.dialect = compat\nexport.path = .beads/issues.jsonl\n# .beads/metadata.json\n";
            return Ok(text_reply(text, globals));
        }
        if self.remove {
            for key in ["json.dialect", "export.path"] {
                let _: Value = globals.value(&place, Call::ConfigUnset { key: key.to_owned() })?;
            }
            return Ok(text_reply("removed json.dialect and export.path\n", globals));
        }
        if self.check {
            let settings: Value = globals.value(&place, Call::ConfigList)?;
            let missing: Vec<_> = [("json.dialect", "compat"), ("export.path", ".beads/issues.jsonl")]
                .into_iter()
                .filter(|(key, value)| settings[key] != *value)
                .map(|(key, _)| key)
                .collect();
            if missing.is_empty() {
                return Ok(text_reply("in place json.dialect\nin place export.path\n", globals));
            }
            let message = format!("not set up: {}", missing.join(", "));
            return Err(Failure::new(Code::NotSetUp, message).with(json!({"settings": missing})));
        }
        ask_at(&place, globals, Call::Init { prefix: None, compat: true, private: false }, |_| ())
    }
}

/// The clients that are set up once this one is, in their order.
fn together_with(client: Client, root: &Path) -> Result<Vec<Client>, Failure> {
    let mut clients = set_up(root)?;
    clients.push(client);
    clients.sort();
    clients.dedup();
    Ok(clients)
}

fn check(client: Client, root: &Path, rows: &mut Rows) -> Result<(), Failure> {
    let clients = together_with(client, root)?;
    for target in targets(client, root) {
        let state = if target.is_there(&clients)? { "in place" } else { "missing" };
        rows.add(target.name(), state);
    }
    Ok(())
}

fn write(client: Client, root: &Path, rows: &mut Rows) -> Result<(), Failure> {
    let clients = together_with(client, root)?;
    for target in targets(client, root) {
        let state = match target.write(&clients)? {
            Written::Changed => "written",
            Written::Unchanged | Written::Kept => "unchanged",
        };
        rows.add(target.name(), state);
    }
    Ok(())
}

fn remove(client: Client, root: &Path, rows: &mut Rows) -> Result<(), Failure> {
    let mut left = set_up(root)?;
    left.retain(|other| *other != client);
    let needed: Vec<Target> = left.iter().flat_map(|other| targets(*other, root)).collect();
    for target in targets(client, root) {
        let state = match target.remove(&left, &needed)? {
            Written::Changed => "removed",
            Written::Unchanged => "unchanged",
            Written::Kept => "kept",
        };
        rows.add(target.name(), state);
    }
    Ok(())
}

/// Shows what belongs into which file, each file once.
fn print(clients: &[Client], root: &Path, globals: &Globals) -> Result<Reply, Failure> {
    let place = globals.place().ok();
    let is_linked = place.as_ref().is_some_and(|place| place.worktree.is_some());
    let store = place.map(|place| place.store_dir());
    let mut shown = String::new();
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    let mut files = Vec::new();
    for client in clients {
        for target in targets(*client, root) {
            let text = target.shown(clients)?;
            if seen.insert(target.name(), text.clone()).as_ref() != Some(&text) {
                shown.push_str(&format!("# {}\n{text}\n", target.name()));
                files.push(json!({"file": target.name(), "state": "shown"}));
            }
        }
        if let Some(note) = by_hand(*client, store.as_deref(), is_linked) {
            shown.push_str(&format!("{note}\n"));
        }
    }
    Ok(answered(match globals.format() {
        Format::Json => render::json(&json!({"files": files, "text": shown})),
        _ => shown,
    }))
}
