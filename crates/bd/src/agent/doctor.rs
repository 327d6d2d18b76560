//! `bb agent doctor`

use std::path::Path;

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::{Error, Result};
use super::files::{self, BadLine};
use super::message::Message;
use super::reservation::Reservation;
use super::store::{Session, Store};

/// Check every file of the store without changing anything
#[derive(Debug, Clone, Default, Args, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Doctor {}

/// The number of files checked, and what cannot be read.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Report {
    pub files: usize,
    pub findings: Vec<Finding>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    pub file: String,
    /// Counted from 1; null if it is about the whole file.
    pub line: Option<usize>,
    pub message: String,
}

pub fn doctor(store: &Store, _input: &Doctor) -> Result<Report> {
    let session = store.read()?;
    let mut report = Report { files: 0, findings: Vec::new() };
    for id in session.agent_ids()? {
        report.check_file(session.find_agent(&id));
    }
    for id in session.recipients()? {
        let sent: Vec<Message> = report.check_log(&session.inbox_path(&id));
        for message in &sent {
            report.check_file(session.current(message));
        }
    }
    reservations(&session, &mut report);
    Ok(report)
}

fn reservations(session: &Session<'_>, report: &mut Report) {
    report.check_file(session.reservations());
    let _: Vec<Reservation> = report.check_log(&session.history_path());
}

impl Report {
    /// Counts a file, and adds a finding if it could not be read.
    fn check_file<T>(&mut self, read: Result<T>) {
        self.files += 1;
        if let Err(failed) = read {
            self.add_error(&failed);
        }
    }

    /// Reads a log: returns its records, and adds a finding for each bad line.
    fn check_log<T: serde::de::DeserializeOwned>(&mut self, path: &Path) -> Vec<T> {
        self.files += 1;
        match files::read_log(path) {
            Ok((records, bad)) => {
                for BadLine { line, why } in bad {
                    let file = path.display().to_string();
                    let message =
                        format!("line {line} of {file} cannot be read: {why}. It was left unchanged.");
                    self.findings.push(Finding { file, line: Some(line), message });
                }
                records
            }
            Err(failed) => {
                self.add_error(&failed);
                Vec::new()
            }
        }
    }

    fn add_error(&mut self, failed: &Error) {
        let file = failed.details.get("file").and_then(|file| file.as_str()).unwrap_or_default().to_owned();
        self.findings.push(Finding { file, line: None, message: failed.message.clone() });
    }
}
