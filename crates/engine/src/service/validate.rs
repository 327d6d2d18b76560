use beads_core::query::{Finding, Severity};
use beads_core::snapshot::{DEPS, META, STATE, TOMBSTONES};
use beads_store::{REF, Repository};

use super::Service;
use crate::failure::{Code, Failure};
use crate::render::Answer;

const FILES: [&str; 4] = [DEPS, META, STATE, TOMBSTONES];

impl Service {
    /// The ref as it stands, decoded afresh, and then the state in memory.
    pub(super) fn validate(&self) -> Answer {
        let mut findings = Vec::new();
        match self.repository.tip().and_then(|tip| tip.map(|tip| self.repository.snapshot(&tip)).transpose())
        {
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
                Err(error) => findings.push(damage(&error)),
            },
            Err(error) => findings.push(Finding {
                severity: Severity::Error,
                code: Code::UnreadableRef,
                file: None,
                line: None,
                id: None,
                message: error.to_string(),
            }),
        }
        if self.repository.has_branch_in_the_way() {
            findings.push(trouble(Code::GitError, beads_store::Error::BranchInTheWay.to_string()));
        }
        for commit in self.replica.missing_commits() {
            let message = format!(
                "commit {commit} was saved here, but {REF} does not contain it and it cannot be read; changes may be \
                 missing: see whether another clone has it, and sync with that"
            );
            findings.push(trouble(Code::UnreadableRef, message));
        }
        findings.extend(self.replica.catalog().findings(self.replica.now_ms()));
        Answer::Findings(findings)
    }
}

/// Something wrong with the repository around the store.
fn trouble(code: Code, message: String) -> Finding {
    Finding { severity: Severity::Error, code, file: None, line: None, id: None, message }
}

/// A store that does not decode, as a finding.
fn damage(error: &beads_core::Error) -> Finding {
    let (file, line) = match error {
        beads_core::Error::Corrupt { file, line, .. } => (Some(*file), Some(*line)),
        _ => (None, None),
    };
    Finding {
        severity: Severity::Error,
        code: error.code(),
        file,
        line,
        id: None,
        message: error.to_string(),
    }
}

/// A store that cannot even be opened, as what `validate` says about it.
pub fn findings_of(failure: &Failure) -> Answer {
    let file = failure.details["file"].as_str().and_then(|name| FILES.into_iter().find(|file| *file == name));
    let line = failure.details["line"].as_u64().and_then(|line| usize::try_from(line).ok());
    let (severity, message) = (Severity::Error, failure.message.clone());
    let earlier = failure.code == Code::EarlierFormat;
    let code = if earlier { Code::EarlierFormat } else { Code::CorruptStore };
    Answer::Findings(vec![Finding { severity, code, file, line, id: None, message }])
}
