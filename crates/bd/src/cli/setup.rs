use std::collections::BTreeMap;
use std::path::Path;

use beads_engine::failure::{Code, Failure};
use beads_engine::place::Place;
use beads_engine::render;
use beads_engine::request::{Call, Format, Reply};
use serde_json::{Value, json};

use super::globals::Globals;
use super::{ask_at, stdout_reply, text_reply};
use crate::setup::{Client, Target, Written, configured_clients, manual_steps, targets};

/// Configure coding agents to use beads
///
/// Writes to files of the project: the MCP server, hooks for sessions and subagents where the agent supports
/// them, a skill with the workflow, and a section of AGENTS.md. Other content of these files is left
/// unchanged. Running it again changes nothing. See docs/AGENTS.md for the details.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  bd setup claude\n  bd setup --all --check\n  bd setup codex --print\n  bd setup cursor --remove\n  bd setup clients"
)]
pub struct Args {
    /// Coding agent to configure
    #[arg(value_enum, required_unless_present = "all", conflicts_with = "all")]
    client: Option<Client>,
    /// Configure every coding agent (but not clients)
    #[arg(long)]
    all: bool,
    /// Check that everything is in place, and fail if not
    #[arg(long, conflicts_with_all = ["remove", "print"])]
    check: bool,
    /// Remove what setup wrote, except what another coding agent still needs
    #[arg(long, conflicts_with = "print")]
    remove: bool,
    /// Write to files of this project (the default and only scope)
    #[arg(long)]
    #[allow(dead_code, reason = "there is no other scope")]
    project: bool,
    /// Print what would be in which file, without writing it
    #[arg(long)]
    print: bool,
}

/// The result for each file, in order of first mention.
#[derive(Debug, Default)]
struct Rows(Vec<(String, &'static str)>);

impl Rows {
    /// Adds a result. A file that several clients share has one row, with the most important state.
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
        Ok(stdout_reply(match globals.format() {
            Format::Json => {
                let files: Vec<_> =
                    rows.0.iter().map(|(file, state)| json!({"file": file, "state": state})).collect();
                render::json(&json!({"files": files, "text": ""}))
            }
            _ => rows.0.iter().map(|(file, state)| format!("{state} {file}\n")).collect(),
        }))
    }

    /// Sets up this clone for programs written for the Go `bd`, which need settings instead of project files.
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

/// Returns the clients that are configured once this one is, in order.
fn configured_with(client: Client, root: &Path) -> Result<Vec<Client>, Failure> {
    let mut clients = configured_clients(root)?;
    clients.push(client);
    clients.sort();
    clients.dedup();
    Ok(clients)
}

fn check(client: Client, root: &Path, rows: &mut Rows) -> Result<(), Failure> {
    let clients = configured_with(client, root)?;
    for target in targets(client, root) {
        let state = if target.is_current(&clients)? { "in place" } else { "missing" };
        rows.add(target.name(), state);
    }
    Ok(())
}

fn write(client: Client, root: &Path, rows: &mut Rows) -> Result<(), Failure> {
    let clients = configured_with(client, root)?;
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
    let mut left = configured_clients(root)?;
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

/// Prints what belongs in which file, each file once.
fn print(clients: &[Client], root: &Path, globals: &Globals) -> Result<Reply, Failure> {
    let place = globals.place().ok();
    let is_linked = place.as_ref().is_some_and(|place| place.worktree.is_some());
    let store = place.map(|place| place.store_dir());
    let mut shown = String::new();
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    let mut files = Vec::new();
    for client in clients {
        for target in targets(*client, root) {
            let text = target.content(clients)?;
            if seen.insert(target.name(), text.clone()).as_ref() != Some(&text) {
                shown.push_str(&format!("# {}\n{text}\n", target.name()));
                files.push(json!({"file": target.name(), "state": "shown"}));
            }
        }
        if let Some(note) = manual_steps(*client, store.as_deref(), is_linked) {
            shown.push_str(&format!("{note}\n"));
        }
    }
    Ok(stdout_reply(match globals.format() {
        Format::Json => render::json(&json!({"files": files, "text": shown})),
        _ => shown,
    }))
}
