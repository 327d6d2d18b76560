use serde::Serialize;

use super::{Impact, Readiness, Ready, ReadyFilter};
use crate::{Actor, Bead, BeadId, BeadType, Catalog, Lineage, Result, Status, Timestamp, Word};

/// Which beads are ready, and why the others are not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The answer of `ready`, in the same order. Epics with open children come last: they are listed, but
    /// `claim --next` skips them.
    pub ready: Vec<(Ready, Impact)>,
    /// The unfinished beads that are not ready.
    pub not_ready: Vec<NotReady>,
}

/// A live, unfinished bead that cannot be claimed now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotReady {
    /// The bead.
    pub lineage: Lineage,
    /// All reasons, not only the first one.
    pub reasons: Vec<Reason>,
}

/// Why a bead is not ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Reason {
    /// It waits for unfinished beads.
    Blocked {
        /// The open blockers.
        by: Vec<BeadId>,
    },
    /// It is claimed, and the lease has not expired.
    Held {
        /// The actor who holds it.
        by: Option<Actor>,
        /// When the lease expires.
        #[serde(serialize_with = "time")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Rfc3339>"))]
        until: Option<Timestamp>,
    },
    /// It is in progress without a claim. `bd unclaim` makes it ready.
    Stuck {
        /// The assignee, if there is one.
        assignee: Option<Actor>,
    },
    /// It waits for the answer to a question. `bd answer` makes it ready.
    Asked {
        /// The actor who asked.
        by: Actor,
        /// The question.
        question: String,
    },
    /// It is deferred.
    Deferred {
        /// When it becomes ready.
        #[serde(serialize_with = "time")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Rfc3339>"))]
        until: Option<Timestamp>,
    },
    /// It has a custom status or type that is never ready, such as `deferred`.
    SetAside {
        /// The custom status or type.
        word: Word,
    },
    /// It is an epic with open children. Work on those instead.
    OpenChildren {
        /// The open children.
        children: Vec<BeadId>,
    },
}

fn time<S: serde::Serializer>(time: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    time.map(|time| time.to_string()).serialize(serializer)
}

impl Catalog {
    /// Returns the answer of `ready`, and the reasons why the other unfinished beads that match the filter
    /// are not ready.
    pub fn explain(&self, request: &ReadyFilter, now_ms: u64) -> Result<Explanation> {
        let impacts = self.impacts();
        let impact = |lineage: &Lineage| impacts.get(lineage).copied().unwrap_or_default();
        let ready = self.ready(request, now_ms)?.into_iter();
        let prepared = request.filter.prepare(self)?;
        let below =
            request.under.as_deref().map(|name| self.resolve(name)).transpose()?.map(|root| self.below(root));
        let not_ready = self
            .live()
            .filter(|(_, bead)| bead.status() != Status::Closed)
            .filter(|(lineage, bead)| {
                below.as_ref().is_none_or(|below| below.contains(*lineage))
                    && prepared.matches(self, lineage, bead)
            })
            .map(|(lineage, bead)| NotReady {
                lineage: lineage.clone(),
                reasons: self.reasons(lineage, bead, now_ms),
            })
            // `ready` lists epics that wait only for their children, so they are no part of this list.
            .filter(|bead| bead.reasons.iter().any(|reason| !matches!(reason, Reason::OpenChildren { .. })));
        Ok(Explanation {
            ready: ready.map(|ready| (ready.clone(), impact(&ready.lineage))).collect(),
            not_ready: not_ready.collect(),
        })
    }

    fn reasons(&self, lineage: &Lineage, bead: &Bead, now_ms: u64) -> Vec<Reason> {
        let ids = |lineages: &mut dyn Iterator<Item = &Lineage>| -> Vec<BeadId> {
            lineages.map(|lineage| self.id_of(lineage).clone()).collect()
        };
        let mut reasons = Vec::new();
        let by = ids(&mut self.open_blockers(lineage));
        if !by.is_empty() {
            reasons.push(Reason::Blocked { by });
        }
        match self.readiness(lineage, now_ms) {
            Some(Readiness::Held) => {
                reasons.push(Reason::Held { by: bead.claim.assignee.clone(), until: bead.claim.expires });
            }
            Some(Readiness::Stuck) => reasons.push(Reason::Stuck { assignee: bead.claim.assignee.clone() }),
            _ => {}
        }
        for question in bead.open_questions() {
            let by = question.asked_by().clone();
            reasons.push(Reason::Asked { by, question: question.note.content.as_str().to_owned() });
        }
        let until = bead.defer_until.value.filter(|until| until.ms() > now_ms);
        if until.is_some() {
            reasons.push(Reason::Deferred { until });
        }
        if let Some(word) = self.set_aside_by(bead) {
            reasons.push(Reason::SetAside { word: word.clone() });
        }
        let children = ids(&mut self.open_children(lineage));
        if bead.kind.value.kind == BeadType::Epic && !children.is_empty() {
            reasons.push(Reason::OpenChildren { children });
        }
        reasons
    }
}
