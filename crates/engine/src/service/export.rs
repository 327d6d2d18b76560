//! Beads as files for other programs: asked for with `bd export`, or kept up to date at `export.path`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use beads_core::{BeadView, EdgeKind, State, export_earlier_store, export_jsonl};

use beads_store::{open_regular, replace_file};

use super::Service;
use super::reader::Reader;
use crate::escape::{escape_json, escape_lines};
use crate::failure::Failure;
use crate::render::{Answer, ArrowAnswer, ExportAnswer, NodeAnswer, csv, dot, markdown, mermaid};
use crate::request::{ExportFormat, Request};

/// The file at `export.path` and whether it has to be written.
#[derive(Debug, Default)]
pub(super) struct AutoExport {
    due: bool,
    turn: u64,
    /// The last turn that was written. Threads that write take turns here.
    written: Arc<Mutex<u64>>,
}

/// One writing of the file at `export.path`, from a state set aside.
#[derive(Debug)]
pub struct ExportJob {
    state: State,
    path: PathBuf,
    turn: u64,
    written: Arc<Mutex<u64>>,
}

impl ExportJob {
    /// Replaces the file, unless it is as it should be or a later turn has written it.
    pub fn run(&self) -> Result<(), Failure> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if *written > self.turn {
            return Ok(());
        }
        let content = jsonl(&self.state).into_bytes();
        if !is_already(&self.path, &content) {
            write(&self.path, &content)?;
        }
        *written = self.turn;
        Ok(())
    }
}

/// One line for each bead, with nothing in them that a terminal obeys.
fn jsonl(state: &State) -> String {
    printable(export_jsonl(state))
}

/// An object with the contents of the files of an earlier store by name.
fn legacy_store(state: &State) -> String {
    let files: BTreeMap<_, _> =
        export_earlier_store(state).into_iter().map(|(name, lines)| (name, printable(lines))).collect();
    escape_json(serde_json::json!(files).to_string())
}

fn printable(lines: Vec<u8>) -> String {
    escape_json(
        String::from_utf8(lines)
            .unwrap_or_else(|error| String::from_utf8_lossy(&error.into_bytes()).into_owned()),
    )
}

/// Whether the file has this content. Anything but a regular file has not, and is not waited for.
fn is_already(path: &Path, content: &[u8]) -> bool {
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
    /// Takes note of a change for the file at `export.path`. A caller who asked not to flush leaves it to the next one.
    pub(super) fn note_change(&mut self, request: &Request, before: u64) {
        self.auto_export.due |= self.replica.position() > before && !request.no_export;
    }

    /// Takes note that a merge may have brought something for the file.
    pub(super) fn note_merge(&mut self) {
        self.auto_export.due = true;
    }

    /// What has to be written, if anything. Only what is durable may be told, so this comes after a commit.
    pub fn take_export(&mut self) -> Option<ExportJob> {
        if !std::mem::take(&mut self.auto_export.due) {
            return None;
        }
        let path = self.export_path()?;
        self.auto_export.turn += 1;
        Some(ExportJob {
            state: self.replica.catalog().state().clone(),
            path,
            turn: self.auto_export.turn,
            written: self.auto_export.written.clone(),
        })
    }

    /// Writes at once, so that whoever sets the path learns whether it can be written.
    pub(super) fn export_now(&mut self) -> Result<(), Failure> {
        self.commit()?;
        self.note_merge();
        self.take_export().map_or(Ok(()), |job| job.run())
    }

    fn export_path(&self) -> Option<PathBuf> {
        let path = self.config.get("export.path").ok().filter(|path| !path.is_empty())?;
        // It may have been added to the index, or replaced by a link, since the setting was made.
        self.check_export_path(path).ok()
    }
}

impl Reader<'_> {
    pub(super) fn export(&self, format: ExportFormat) -> Answer {
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
            // Rows end with a carriage return there, and every cell was looked at.
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

/// Every live bead and every edge between two of them. Nothing stands out, and there are no layers.
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
