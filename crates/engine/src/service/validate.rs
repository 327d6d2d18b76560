use beads_core::query::{Finding, Severity};
use beads_core::snapshot::{CONFLICTS, DEPS, META, STATE, TOMBSTONES};
use beads_core::{Salvage, Snapshot};
use beads_store::{GitRepository, REF, Repository};

use super::archive::Archive;
use super::archived;
use crate::failure::{Code, Failure};
use crate::place::Place;
use crate::render::Answer;

const FILES: [&str; 5] = [CONFLICTS, DEPS, META, STATE, TOMBSTONES];

impl Archive<'_> {
    /// Checks the ref, which is decoded again, and the state in memory.
    pub(super) fn validate(&self) -> Answer {
        let mut findings = Vec::new();
        match tip(self.repository) {
            Ok(None) => {}
            Ok(Some(snapshot)) => match snapshot.decode() {
                Ok(decoded) => findings.extend(decoded.warnings.into_iter().map(|message| Finding {
                    severity: Severity::Warning,
                    code: Code::MissingChecksum,
                    file: Some(META),
                    line: Some(1),
                    id: None,
                    message,
                })),
                Err(error) => findings.extend(all_damage(&snapshot, &error.into())),
            },
            Err(error) => findings.push(damage(&error.into())),
        }
        if self.repository.has_conflicting_branch() {
            findings
                .push(repository_finding(Code::GitError, beads_store::Error::ConflictingBranch.to_string()));
        }
        for commit in self.missing {
            let message = format!(
                "commit {commit} was saved here, but {REF} does not contain it and it cannot be read; changes may be \
                 missing. If another clone has the commit, sync with that clone"
            );
            findings.push(repository_finding(Code::UnreadableRef, message));
        }
        findings.extend(archived::finding(self.repository, self.catalog));
        findings.extend(self.catalog.findings(self.now_ms));
        Answer::Findings(findings)
    }
}

/// Returns a finding about the repository.
fn repository_finding(code: Code, message: String) -> Finding {
    Finding { severity: Severity::Error, code, file: None, line: None, id: None, message }
}

/// Reads the snapshot that the ref points to.
fn tip(repository: &impl Repository) -> beads_store::Result<Option<Snapshot>> {
    repository.tip()?.map(|tip| repository.snapshot(&tip)).transpose()
}

/// Returns all findings about a store that cannot be opened.
pub fn findings_of(place: &Place, failure: &Failure) -> Answer {
    let snapshot = GitRepository::open(&place.git_dir).and_then(|repository| tip(&repository));
    Answer::Findings(match snapshot {
        Ok(Some(snapshot)) => all_damage(&snapshot, failure),
        _ => vec![damage(failure)],
    })
}

/// Returns a finding for every line that does not parse, and one for the whole snapshot, because a file can
/// be wrong even if each of its lines is valid.
fn all_damage(snapshot: &Snapshot, failure: &Failure) -> Vec<Finding> {
    let mut salvage = Salvage::default();
    let files: Vec<_> =
        snapshot.files().into_iter().map(|(name, bytes)| (name.to_owned(), bytes.to_vec())).collect();
    let first = damage(failure);
    // A later format is rejected as a whole.
    let unreadable = salvage.add_files(&files).map(|()| salvage.finish().1).unwrap_or_default();
    let mut findings: Vec<Finding> = unreadable
        .into_iter()
        .filter(|lost| lost.line.is_some())
        .map(|lost| Finding {
            file: FILES.into_iter().find(|file| *file == lost.file),
            line: lost.line,
            message: format!("{} line {}: {}", lost.file, lost.line.unwrap_or_default(), lost.reason),
            ..first.clone()
        })
        .collect();
    if !findings.iter().any(|known| (known.file, known.line) == (first.file, first.line)) {
        findings.insert(0, first);
    }
    findings
}

/// Returns a finding about a store that does not decode, with the code that other commands fail with.
fn damage(failure: &Failure) -> Finding {
    let name = failure.details["file"].as_str();
    Finding {
        severity: Severity::Error,
        code: failure.code.clone(),
        file: FILES.into_iter().find(|file| name == Some(file)),
        line: failure.details["line"].as_u64().and_then(|line| usize::try_from(line).ok()),
        id: None,
        message: failure.message.clone(),
    }
}
