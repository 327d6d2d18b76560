use beads_core::query::{Finding, Severity};
use beads_core::snapshot::{CONFLICTS, DEPS, META, STATE, TOMBSTONES};
use beads_core::{Salvage, Snapshot};
use beads_store::{GitRepository, REF, Repository};

use super::archive::Archive;
use crate::failure::{Code, Failure};
use crate::place::Place;
use crate::render::Answer;

const FILES: [&str; 5] = [CONFLICTS, DEPS, META, STATE, TOMBSTONES];

impl Archive<'_> {
    /// The ref as it stands, decoded afresh, and then the state in memory.
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
        if self.repository.has_branch_in_the_way() {
            findings.push(trouble(Code::GitError, beads_store::Error::BranchInTheWay.to_string()));
        }
        for commit in self.missing {
            let message = format!(
                "commit {commit} was saved here, but {REF} does not contain it and it cannot be read; changes may be \
                 missing: see whether another clone has it, and sync with that"
            );
            findings.push(trouble(Code::UnreadableRef, message));
        }
        findings.extend(self.catalog.findings(self.now_ms));
        Answer::Findings(findings)
    }
}

/// Something wrong with the repository around the store.
fn trouble(code: Code, message: String) -> Finding {
    Finding { severity: Severity::Error, code, file: None, line: None, id: None, message }
}

fn tip(repository: &impl Repository) -> beads_store::Result<Option<Snapshot>> {
    repository.tip()?.map(|tip| repository.snapshot(&tip)).transpose()
}

/// Finds everything that is wrong with a store that cannot even be opened.
pub fn findings_of(place: &Place, failure: &Failure) -> Answer {
    let snapshot = GitRepository::open(&place.git_dir).and_then(|repository| tip(&repository));
    Answer::Findings(match snapshot {
        Ok(Some(snapshot)) => all_damage(&snapshot, failure),
        _ => vec![damage(failure)],
    })
}

/// Every line that cannot be read, and why the whole cannot: a file may also be wrong as a whole, with lines that are
/// each in order.
fn all_damage(snapshot: &Snapshot, failure: &Failure) -> Vec<Finding> {
    let mut salvage = Salvage::default();
    let files: Vec<_> =
        snapshot.files().into_iter().map(|(name, bytes)| (name.to_owned(), bytes.to_vec())).collect();
    let first = damage(failure);
    // A later format is refused as a whole.
    let unreadable = salvage.take_files(&files).map(|()| salvage.finish().1).unwrap_or_default();
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

/// A store that does not decode, as a finding under the code that every other command fails with.
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
