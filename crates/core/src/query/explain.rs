use serde::Serialize;

use super::{Impact, Ready, ReadyFilter, Standing};
use crate::{Actor, Bead, BeadId, BeadType, Catalog, Lineage, Result, Status, Timestamp, Word};

/// Why beads are handed out, and why others are not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// What `ready` lists, in its order. Epics with open children come last: they are listed, but never handed out.
    pub ready: Vec<(Ready, Impact)>,
    pub not_ready: Vec<NotReady>,
}

/// A live, unfinished bead that is not handed out now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotReady {
    pub lineage: Lineage,
    /// Everything that must change, not only the first thing.
    pub reasons: Vec<Reason>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Reason {
    /// It waits for these unfinished beads.
    Blocked { by: Vec<BeadId> },
    /// Claimed, and the lease runs.
    Held {
        by: Option<Actor>,
        #[serde(serialize_with = "time")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Rfc3339>"))]
        until: Option<Timestamp>,
    },
    /// It is in progress without a claim: `bd unclaim` frees it.
    Stuck { assignee: Option<Actor> },
    Deferred {
        #[serde(serialize_with = "time")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<crate::schema::Rfc3339>"))]
        until: Option<Timestamp>,
    },
    /// Its status or type has a word that keeps it from being handed out, such as `deferred`.
    SetAside { word: Word },
    /// An epic is done by doing its children.
    OpenChildren { children: Vec<BeadId> },
}

fn time<S: serde::Serializer>(time: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    time.map(|time| time.to_string()).serialize(serializer)
}

impl Catalog {
    /// The answer of `ready`, and each other unfinished bead that matches the filter with what stands in its way.
    pub fn explain(&self, asked: &ReadyFilter, now_ms: u64) -> Result<Explanation> {
        let impacts = self.impacts();
        let impact = |lineage: &Lineage| impacts.get(lineage).copied().unwrap_or_default();
        let ready = self.ready(asked, now_ms)?.into_iter();
        let prepared = asked.filter.prepare(self)?;
        let below =
            asked.under.as_deref().map(|name| self.resolve(name)).transpose()?.map(|root| self.below(root));
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
            // An epic that only waits for its children is listed among the ready, as `ready` does.
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
        match self.standing(lineage, now_ms) {
            Some(Standing::Held) => {
                reasons.push(Reason::Held { by: bead.claim.assignee.clone(), until: bead.claim.expires });
            }
            Some(Standing::Stuck) => reasons.push(Reason::Stuck { assignee: bead.claim.assignee.clone() }),
            _ => {}
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
