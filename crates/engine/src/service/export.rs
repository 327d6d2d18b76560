//! Exports beads for other programs: with `bd export`, or to the file at `export.path`, which is kept up to
//! date.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use beads_core::{BeadView, EdgeKind, State, export_jsonl, export_legacy_store};

use beads_store::{open_regular, replace_file};

use super::Service;
use super::archived::WithArchive;
use super::reader::Reader;
use crate::escape::{escape_json, escape_lines};
use crate::failure::Failure;
use crate::place::Place;
use crate::render::{Answer, ArrowAnswer, ExportAnswer, NodeAnswer, csv, dot, markdown, mermaid};
use crate::request::{ExportFormat, Request};

/// Tracks whether the file at `export.path` has to be written.
#[derive(Debug, Default)]
pub(super) struct AutoExport {
    due: bool,
    /// The number of the last job.
    turn: u64,
    /// The number of the last job that was written. The mutex also serializes the writing threads.
    written: Arc<Mutex<u64>>,
}

/// A job that writes the file at `export.path` from a snapshot.
#[derive(Debug)]
pub struct ExportJob {
    state: State,
    path: PathBuf,
    turn: u64,
    written: Arc<Mutex<u64>>,
}

impl ExportJob {
    /// Replaces the file, unless its content is already right or a later job has written it.
    pub fn run(&self) -> Result<(), Failure> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if *written > self.turn {
            return Ok(());
        }
        let content = jsonl(&self.state).into_bytes();
        if !has_content(&self.path, &content) {
            write(&self.path, &content)?;
        }
        *written = self.turn;
        Ok(())
    }
}

/// Renders one line for each bead, with terminal control characters escaped.
fn jsonl(state: &State) -> String {
    printable(export_jsonl(state))
}

/// Renders the files of a legacy store, as an object from file name to content.
fn legacy_store(state: &State) -> String {
    let files: BTreeMap<_, _> =
        export_legacy_store(state).into_iter().map(|(name, lines)| (name, printable(lines))).collect();
    escape_json(serde_json::json!(files).to_string())
}

fn printable(lines: Vec<u8>) -> String {
    escape_json(
        String::from_utf8(lines)
            .unwrap_or_else(|error| String::from_utf8_lossy(&error.into_bytes()).into_owned()),
    )
}

/// Returns whether a regular file has this content. Does not block on pipes.
fn has_content(path: &Path, content: &[u8]) -> bool {
    let same_length =
        |file: &File| file.metadata().is_ok_and(|metadata| metadata.len() == content.len() as u64);
    let Some(mut file) = open_regular(path).ok().filter(same_length) else { return false };
    let mut present = Vec::with_capacity(content.len());
    file.read_to_end(&mut present).is_ok() && present == content
}

fn write(path: &Path, content: &[u8]) -> Result<(), Failure> {
    let parent = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    parent.and_then(|()| replace_file(path, content)).map_err(|error| Failure::io("write", path, &error))
}

impl Service {
    /// Marks the file at `export.path` as outdated after a change. With `no_export`, that is left to the next
    /// change.
    pub(super) fn note_change(&mut self, request: &Request, before: u64) {
        self.auto_export.due |= self.replica.position() > before && !request.no_export;
    }

    /// Marks the file as outdated after a merge.
    pub(super) fn note_merge(&mut self) {
        self.auto_export.due = true;
    }

    /// Returns the job that updates the file, if it is outdated. Call it after a commit, because the file
    /// must only show durable changes.
    pub fn take_export(&mut self) -> Option<ExportJob> {
        if !std::mem::take(&mut self.auto_export.due) {
            return None;
        }
        let path = self.export_path()?;
        Some(self.export_job(path))
    }

    fn export_job(&mut self, path: PathBuf) -> ExportJob {
        self.auto_export.turn += 1;
        ExportJob {
            state: self.replica.catalog().state().clone(),
            path,
            turn: self.auto_export.turn,
            written: self.auto_export.written.clone(),
        }
    }

    /// Writes the file at a path that is about to become `export.path`. The setting is not changed if the file
    /// cannot be written.
    pub(super) fn export_first_to(&mut self, path: &str) -> Result<(), Failure> {
        let checked = self.check_export_path(path)?;
        self.commit()?;
        if path.is_empty() {
            return Ok(());
        }
        self.auto_export.due = false;
        self.export_job(checked).run().map_err(|failure| {
            let message = format!("{}; export.path was not changed", failure.message);
            Failure { message, ..failure }
        })
    }

    fn export_path(&self) -> Option<PathBuf> {
        let path = self.config.get("export.path").ok().filter(|path| !path.is_empty())?;
        // The file may have been added to the index, or replaced by a link, since the path was set.
        self.check_export_path(path).ok()
    }
}

impl Reader<'_> {
    /// Renders all beads in a file format. Archived beads are exported as closed ones.
    pub(super) fn export_all(&self, place: &Place, format: ExportFormat) -> Result<Answer, Failure> {
        let whole = WithArchive::read(place, self.catalog.state())?;
        let catalog = whole.as_ref().map_or(self.catalog, |whole| &whole.catalog);
        Ok(Reader { catalog, ..*self }.export(format))
    }

    /// Renders all beads in a file format.
    fn export(&self, format: ExportFormat) -> Answer {
        let (beads, content) = self.exported(format);
        Answer::Exported(ExportAnswer { format, beads, path: None, content: Some(content) })
    }

    fn exported(&self, format: ExportFormat) -> (usize, String) {
        let catalog = self.catalog;
        let whole = match format {
            ExportFormat::Jsonl => Some(jsonl(catalog.state())),
            ExportFormat::LegacyStore => Some(legacy_store(catalog.state())),
            _ => None,
        };
        if let Some(content) = whole {
            return (catalog.state().beads().len(), content);
        }
        let mut views: Vec<BeadView> =
            catalog.live().filter_map(|(lineage, _)| catalog.view(lineage)).collect();
        views.sort_by(|a, b| a.id.cmp(&b.id));
        let content = match format {
            ExportFormat::Csv => csv::render(&views),
            ExportFormat::Md => markdown::render(&views),
            ExportFormat::Dot => drawn(&views, dot::render),
            ExportFormat::Mermaid | ExportFormat::Jsonl | ExportFormat::LegacyStore => {
                drawn(&views, mermaid::render)
            }
        };
        let content = match format {
            // Rows of CSV end with a carriage return, and its cells are already escaped.
            ExportFormat::Csv => content,
            _ => escape_lines(&content).into_owned(),
        };
        (views.len(), content)
    }
}

fn drawn(views: &[BeadView], draw: impl Fn(&[NodeAnswer], &[ArrowAnswer]) -> String) -> String {
    let (nodes, edges) = graph(views);
    draw(&nodes, &edges)
}

/// Returns every live bead and every edge between two of them, without layers or a critical path.
fn graph(views: &[BeadView]) -> (Vec<NodeAnswer>, Vec<ArrowAnswer>) {
    let (mut nodes, mut edges) = (Vec::new(), Vec::new());
    for view in views {
        nodes.push(NodeAnswer {
            id: view.id.clone(),
            title: view.title.clone(),
            status: view.status,
            priority: view.priority,
            issue_type: view.kind,
            layer: 0,
            critical: false,
        });
        let mut arrows: Vec<(EdgeKind, _)> =
            view.dependencies.iter().map(|link| (link.kind, link.id.clone())).collect();
        arrows.sort();
        edges.extend(arrows.into_iter().map(|(kind, to)| ArrowAnswer {
            from: view.id.clone(),
            to,
            kind,
            critical: false,
        }));
    }
    (nodes, edges)
}
