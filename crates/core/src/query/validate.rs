use std::collections::BTreeMap;

use serde::Serialize;

use crate::limits::MAX_DRIFT_MS;
use crate::snapshot::{DEPS, META, STATE};
use crate::{Actor, Bead, BeadId, Catalog, Clock, Code, EdgeKey, Endpoint, Stamp, Timestamp};

/// The severity of a finding. Only errors make `bd validate` fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The store or a bead is damaged.
    Error,
    /// A problem that should be fixed.
    Warning,
    /// Harmless.
    Info,
}

impl Severity {
    /// Returns the name of the severity.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

/// A problem that was found in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// How serious it is.
    pub severity: Severity,
    /// Stable machine-readable name of the problem.
    pub code: Code,
    /// File of the store that has the problem.
    pub file: Option<&'static str>,
    /// Line in that file, counted from 1.
    pub line: Option<usize>,
    /// Bead that has the problem.
    pub id: Option<BeadId>,
    /// Description for people.
    pub message: String,
}

impl Catalog {
    /// Returns the problems that a snapshot can have although it decodes (§10.1): dependencies on unknown or
    /// deleted beads, cycles caused by a merge, stuck beads, clocks that are ahead, and a garbage-collection floor
    /// in the future.
    pub fn findings(&self, now_ms: u64) -> Vec<Finding> {
        let mut findings = Vec::new();
        let lines = self.edge_lines();
        for (key, edge) in self.state().edges() {
            if !edge.deleted {
                let finding = self.edge_finding(key);
                findings.extend(finding.map(|finding| Finding { line: lines.get(key).copied(), ..finding }));
            }
        }
        for (kind, cycle) in self.cycles() {
            let ids: Vec<_> = cycle.iter().map(|lineage| self.id_of(lineage).as_str()).collect();
            findings.push(Finding {
                severity: Severity::Warning,
                code: Code::Cycle,
                file: Some(DEPS),
                line: None,
                id: cycle.first().map(|lineage| self.id_of(lineage).clone()),
                message: format!("cycle of {kind} dependencies: {}", ids.join(", ")),
            });
        }
        findings.extend(self.stuck().map(|(lineage, _)| self.id_of(lineage)).map(|id| Finding {
            severity: Severity::Warning,
            code: Code::Stuck,
            file: Some(STATE),
            line: None,
            id: Some(id.clone()),
            message: format!(
                "{id} is in progress without a claim, so it never becomes ready; \
                 run bd update {id} --status open"
            ),
        }));
        findings.extend(self.unwritable(now_ms));
        findings.extend(self.future_actors(now_ms).into_iter().map(|(actor, at)| Finding {
            severity: Severity::Warning,
            code: Code::FutureStamp,
            file: Some(STATE),
            line: None,
            id: None,
            message: format!("{actor} wrote with a clock that is ahead: the latest write is from {at}"),
        }));
        findings.extend(self.future_floor(now_ms));
        findings
    }

    /// Returns the line number of each edge in `deps.jsonl`, which is sorted by ids and kind.
    fn edge_lines(&self) -> BTreeMap<&EdgeKey, usize> {
        let mut keys: Vec<_> = self.state().edges().keys().collect();
        keys.sort_by_key(|key| (self.name_of(&key.from), self.name_of(&key.to), key.kind));
        keys.into_iter().zip(1..).collect()
    }

    pub(super) fn name_of(&self, end: &Endpoint) -> BeadId {
        match end {
            Endpoint::Bead(lineage) => self.id_of(lineage).clone(),
            Endpoint::Bare(id) => id.clone(),
        }
    }

    fn edge_finding(&self, key: &EdgeKey) -> Option<Finding> {
        let ends = [&key.from, &key.to];
        let (from, to) = (self.name_of(&key.from), self.name_of(&key.to));
        let (severity, code, what, end) = if let Some(end) = ends.iter().find(|end| end.lineage().is_none()) {
            (Severity::Warning, Code::DanglingDependency, "does not exist", end)
        } else {
            let deleted = |end: &&&Endpoint| end.lineage().is_some_and(|lineage| self.is_gone(lineage));
            (Severity::Info, Code::OrphanedDependency, "was deleted", ends.iter().find(deleted)?)
        };
        let id = self.name_of(end);
        Some(Finding {
            severity,
            code,
            file: Some(DEPS),
            line: None,
            message: format!("{from} -> {to} ({}): {id} {what}", key.kind),
            id: Some(id),
        })
    }

    /// Finds the beads with a stamp so large that no greater one can be minted.
    fn unwritable(&self, now_ms: u64) -> impl Iterator<Item = Finding> + '_ {
        let stuck = move |bead: &Bead| Clock::new(Stamp::ZERO, u16::MAX).mint(now_ms, bead.stamps()).is_err();
        let beads = self.state().beads().iter().filter(move |(_, bead)| stuck(bead));
        beads.map(|(lineage, _)| {
            let id = self.id_of(lineage).clone();
            Finding {
                severity: Severity::Error,
                code: Code::ClockExhausted,
                file: Some(STATE),
                line: None,
                message: format!(
                    "{id} was stamped by a broken clock with the greatest possible time, so it can no longer be \
                     changed; create a new bead instead"
                ),
                id: Some(id),
            }
        })
    }

    /// Finds a garbage-collection floor that a fast clock has raised. Until then, every deletion disappears at the
    /// next sync, and the bead may come back from a replica that did not see it.
    fn future_floor(&self, now_ms: u64) -> Option<Finding> {
        let floor = self.state().gc_floor().stamp;
        (floor.ms() > now_ms).then(|| Finding {
            severity: Severity::Warning,
            code: Code::FutureStamp,
            file: Some(META),
            line: None,
            id: None,
            message: format!(
                "a clock that was ahead moved the garbage-collection floor to {}, so deleted beads are forgotten at \
                 once and cannot be restored; correct that clock, then run bd repair --reset-gc-floor",
                Timestamp::from(floor)
            ),
        })
    }

    /// Returns the actors whose newest stamp is further ahead than normal drift, with that time.
    fn future_actors(&self, now_ms: u64) -> BTreeMap<Actor, Timestamp> {
        let mut ahead = BTreeMap::new();
        for (lineage, bead) in self.state().beads().iter().filter(|(_, bead)| !bead.is_hollow()) {
            for mark in [bead.updated(), lineage.mark()] {
                if mark.at().ms() > now_ms.saturating_add(MAX_DRIFT_MS) {
                    let at = Timestamp::from(mark.at());
                    let latest = ahead.entry(mark.by().clone()).or_insert(at);
                    *latest = (*latest).max(at);
                }
            }
        }
        ahead
    }
}
